//! Generates the reference pages (`docs/reference/`) from the code they describe: commands, error codes, configuration
//! keys, permissions, the OpenAPI document, tools and JSON Schemas.
//!
//! A test compares the generated pages with `docs/reference/`; with `POLIS_WRITE_REFERENCE=1` it writes them.

mod tools;

use std::fmt::Write as _;

use clap::{Arg, Command};
use polis_core::role::DEFAULT_ROLES;
use polis_core::task::status::{TRANSITIONS, Who};
use polis_core::{Code, Permission, Policy, TaskType};
use polis_serve::http::problem::status_of;

use crate::command::schema;
use crate::config::keys;
use crate::config::models::ENDPOINT_KEYS;
use crate::error::exit_code;

/// Returns every page: its file name and its text.
pub fn pages() -> Vec<(String, String)> {
    let mut pages = vec![
        ("cli.md".to_owned(), commands()),
        ("errors.md".to_owned(), errors()),
        ("configuration.md".to_owned(), configuration()),
        ("permissions.md".to_owned(), permissions()),
        ("openapi.json".to_owned(), description()),
        ("tools.md".to_owned(), tools::page()),
    ];
    pages.extend(
        schema::published()
            .into_iter()
            .map(|(name, text)| (format!("{name}.schema.json"), text + "\n")),
    );
    pages
}

/// Returns the OpenAPI document that `polis serve` serves at /v1/openapi.json.
fn description() -> String {
    let document = polis_serve::http::openapi::document();
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn commands() -> String {
    let mut page =
        "# Commands\n\nGenerated from the command tree; `polis COMMAND --help` says the same.\n"
            .to_owned();
    let mut root = crate::command_tree();
    root.build();
    page.push_str("\n## Flags of every command\n\n");
    for argument in root.get_arguments().filter(|a| !a.is_hide_set()) {
        flag(&mut page, argument);
    }
    describe(&mut page, &root, "polis");
    page
}

fn describe(page: &mut String, command: &Command, path: &str) {
    let below = |c: &&Command| !c.is_hide_set() && c.get_name() != "help";
    let mut subcommands = command.get_subcommands().filter(below).peekable();
    let own = |a: &&Arg| {
        use clap::ArgAction::{Help, HelpLong, HelpShort, Version};
        let usual = matches!(a.get_action(), Help | HelpLong | HelpShort | Version);
        !a.is_global_set() && !a.is_hide_set() && !usual
    };
    let mut arguments = command.get_arguments().filter(own).peekable();
    if subcommands.peek().is_none() || arguments.peek().is_some() {
        let about = command.get_long_about().or_else(|| command.get_about());
        let _ = write!(
            page,
            "\n## {path}\n\n{}\n",
            about.map(ToString::to_string).unwrap_or_default()
        );
        if arguments.peek().is_some() {
            page.push('\n');
        }
        for argument in arguments {
            flag(page, argument);
        }
    }
    for subcommand in subcommands {
        describe(
            page,
            subcommand,
            &format!("{path} {}", subcommand.get_name()),
        );
    }
}

fn flag(page: &mut String, argument: &Arg) {
    let value = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values());
    let value = value.map(|names| names.join(" ")).unwrap_or_default();
    let name = match argument.get_long() {
        Some(long) if value.is_empty() => format!("--{long}"),
        Some(long) => format!("--{long} {value}"),
        None => value,
    };
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let choices: Vec<_> = argument
        .get_possible_values()
        .iter()
        .map(|v| v.get_name().to_owned())
        .collect();
    let choices = if choices.is_empty() || !argument.get_action().takes_values() {
        String::new()
    } else {
        format!(" (one of {})", choices.join(", "))
    };
    let _ = writeln!(page, "- `{name}`: {help}{choices}");
}

fn errors() -> String {
    let mut page = "# Error codes\n\nEvery refusal has a code, a sentence and a next step. Code and sentence are \
         the same on every surface; the next step names commands on the command line, tools over MCP and addresses over HTTP. \
         With `--json` a refusal is `{\"error\":{\"code\",\"message\",\"hint\"}}` on standard error. The exit code follows from the \
         class: 1 internal, 2 usage or invalid input, 3 forbidden, 4 not found, 5 conflict, 6 locked or timed out. Over HTTP \
         it is `application/problem+json` with the same code; a mismatch with If-Match is 412 whatever the table says.\n\n\
         | code | exit | HTTP | means |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for code in Code::ALL {
        let _ = writeln!(
            page,
            "| `{code}` | {} | {} | {} |",
            exit_code(code.kind()),
            status_of(*code).as_u16(),
            code.about()
        );
    }
    page
}

fn configuration() -> String {
    let mut page = "# Configuration\n\n`.agent-workspace/polis.toml`; unknown keys are errors. `polis config show` prints \
         what is in force, `polis config check` checks the file.\n\n| key | takes | default | for |\n| --- | --- | --- | \
         --- |\n"
        .to_owned();
    for key in keys() {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} |",
            key.name, key.takes, key.default, key.about
        );
    }
    page.push_str(
        "\n## `[models.NAME]`\n\nAn endpoint of models, under a name of your choice; there may be several. Without any, `OPENAI_API_KEY` or \
         `OPENAI_BASE_URL` in the environment make one, and `POLIS_MODEL` names its model.\n\n| key | takes | default | for |\n| --- | --- | --- | --- |\n",
    );
    for key in ENDPOINT_KEYS {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} |",
            key.name, key.takes, key.default, key.about
        );
    }
    page
}

fn permissions() -> String {
    let mut page = "# Permissions and states\n\nWithout a file every role may do what is not marked; the team lead and the \
         person may do everything. On the command line a caller is who it says it is (`--as`): whoever may run \
         commands in the directory is trusted with it, and `registered_only` in the configuration catches misspelt \
         names, not liars. `.agent-workspace/rbac.yaml` lists what a role may do instead; in `mode: strict` a \
         role that is not listed, the team lead excepted, may only read.\n\n```yaml\nmode: permissive\nroles:\n  backend-leader:\n    \
         permissions:\n      - claim_task_type: [backend_implementation, bug_fix]\n      - update_own_tasks\n      - \
         comment_on_all_tasks\ntask_type_roles:\n  backend_implementation: [backend-leader]\n```\n\n\
         | permission | allows to | without a file |\n| --- | --- | --- |\n| `claim_task_type: [TYPE, …]` | take tasks of these types for itself | every type |\n"
        .to_owned();
    for (permission, name) in Permission::ALL {
        let who = if Permission::LEAD_ONLY.contains(&permission) {
            "team lead"
        } else {
            "everybody"
        };
        let _ = writeln!(page, "| `{name}` | {} | {who} |", permission.about());
    }
    page.push_str("\nThe states of a task; what is not listed is forbidden:\n\n| from | to | who |\n| --- | --- | --- |\n");
    for (from, to, who) in TRANSITIONS {
        let who = match who {
            Who::Anyone => "everybody",
            Who::Lead => "team lead, or `delete_completed_tasks`",
        };
        let _ = writeln!(page, "| `{}` | `{}` | {who} |", from.as_str(), to.as_str());
    }
    page.push_str("\nRoles (more through `roles` in the configuration) and types of task, with the roles each type is for:\n\n");
    let _ = writeln!(page, "- roles: {}", DEFAULT_ROLES.join(", "));
    let policy = Policy::default();
    for task_type in TaskType::ALL {
        let roles = policy
            .type_roles
            .get(task_type)
            .map_or_else(|| "everybody".to_owned(), |roles| roles.join(", "));
        let _ = writeln!(page, "- `{}`: {roles}", task_type.as_str());
    }
    page
}
