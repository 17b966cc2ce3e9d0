//! Generates the reference pages (`docs/reference/`) from the code they describe: commands, error codes,
//! configuration keys, permissions, the OpenAPI document, tools, events and JSON Schemas.
//!
//! The test `reference_pages` compares the generated pages with `docs/reference/`; with
//! `POLIS_WRITE_REFERENCE=1` it rewrites the files instead.

mod events;
mod tools;

use std::fmt::Write as _;

use crate::refusal_tables::CliCode;
use clap::{Arg, Command};
use polis_core::role::DEFAULT_ROLES;
use polis_core::task::status::{TRANSITIONS, TransitionCallers};
use polis_core::{Permission, PermissionPolicy, RefusalCode, TaskType};
use polis_serve::http::problem::status_for_code;
use polis_serve::refusal_tables::HttpCode;
use polis_society::refusal_tables::SocietyCode;

use crate::command::schema;
use crate::config::all_keys;
use crate::config::models_config::ENDPOINT_KEYS;
use crate::error::exit_code;

/// Returns every page: its file name and its text.
pub fn reference_pages() -> Vec<(String, String)> {
    let mut pages = vec![
        ("cli.md".to_owned(), commands_page()),
        ("errors.md".to_owned(), errors_page()),
        ("configuration.md".to_owned(), configuration_page()),
        ("permissions.md".to_owned(), permissions_page()),
        ("openapi.json".to_owned(), openapi_page()),
        ("tools.md".to_owned(), tools::tools_page()),
        ("events.md".to_owned(), events::events_page()),
        (events::SCHEMA_FILE.to_owned(), events::event_data_schema()),
    ];
    pages.extend(
        schema::published_schemas()
            .into_iter()
            .map(|(name, text)| (format!("{name}.schema.json"), text + "\n")),
    );
    pages
}

/// Returns the OpenAPI document that `polis serve` serves at /v1/openapi.json.
fn openapi_page() -> String {
    let document = polis_serve::http::openapi::build_openapi_document();
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn commands_page() -> String {
    let mut page =
        "# Commands\n\nGenerated from the command tree; `polis COMMAND --help` prints the same.\n"
            .to_owned();
    let mut root = crate::command_tree();
    root.build();
    page.push_str("\n## Global flags\n\n");
    for argument in root.get_arguments().filter(|a| !a.is_hide_set()) {
        write_argument(&mut page, argument);
    }
    write_command(&mut page, &root, "polis");
    page
}

fn write_command(page: &mut String, command: &Command, path: &str) {
    let is_visible = |c: &&Command| !c.is_hide_set() && c.get_name() != "help";
    let mut subcommands = command.get_subcommands().filter(is_visible).peekable();
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
            write_argument(page, argument);
        }
    }
    for subcommand in subcommands {
        write_command(
            page,
            subcommand,
            &format!("{path} {}", subcommand.get_name()),
        );
    }
}

fn write_argument(page: &mut String, argument: &Arg) {
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

/// Returns the codes of all crates.
fn all_codes() -> impl Iterator<Item = &'static RefusalCode> {
    [
        RefusalCode::ALL,
        HttpCode::ALL,
        SocietyCode::ALL,
        CliCode::ALL,
    ]
    .into_iter()
    .flatten()
}

fn errors_page() -> String {
    let mut page = "# Error codes\n\nEvery refusal has a code, a message and a next step. Code and message are \
         the same on every surface; the next step names commands on the command line, tools over MCP and URLs over HTTP. \
         With `--json` a refusal is `{\"error\":{\"code\",\"message\",\"hint\"}}` on standard error. The exit code follows from the \
         class: 1 internal, 2 usage or invalid input, 3 forbidden, 4 not found, 5 conflict, 6 locked or timed out. Over HTTP \
         it is `application/problem+json` with the same code; an If-Match mismatch is always 412.\n\n\
         | code | exit | HTTP | meaning |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for code in all_codes() {
        let _ = writeln!(
            page,
            "| `{code}` | {} | {} | {} |",
            exit_code(code.kind()),
            status_for_code(*code).as_u16(),
            code.description()
        );
    }
    page
}

fn configuration_page() -> String {
    let mut page = "# Configuration\n\n`.agent-workspace/polis.toml`; unknown keys are errors. `polis config show` prints \
         the effective configuration, `polis config check` checks the file.\n\n| key | value | default | description |\n| --- | --- | --- | \
         --- |\n"
        .to_owned();
    for key in all_keys() {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} |",
            key.name, key.accepted_values, key.default, key.description
        );
    }
    page.push_str(
        "\n## `[models.NAME]`\n\nA model endpoint, under a name of your choice; there may be several. Without one, `OPENAI_API_KEY` or \
         `OPENAI_BASE_URL` in the environment define one, and `POLIS_MODEL` selects its model.\n\n| key | value | default | description |\n| --- | --- | --- | --- |\n",
    );
    for key in ENDPOINT_KEYS {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} |",
            key.name, key.accepted_values, key.default, key.description
        );
    }
    page
}

fn permissions_page() -> String {
    let mut page = "# Permissions and status transitions\n\nPermissions are set in `.agent-workspace/rbac.yaml`. Without this \
         file, every role has all permissions except those marked \"team lead\"; the team lead and the person have every \
         permission. The file replaces the permissions of a role; in `mode: strict` a role that is not listed may only \
         read, except the team lead. On the command line the caller's identity (`--as`) is not verified: every user who \
         can run commands in the directory is trusted, and `registered_only` in the configuration catches misspelt \
         names, not impersonation.\n\n```yaml\nmode: permissive\nroles:\n  backend-leader:\n    \
         permissions:\n      - claim_task_type: [backend_implementation, bug_fix]\n      - update_own_tasks\n      - \
         comment_on_all_tasks\ntask_type_roles:\n  backend_implementation: [backend-leader]\n```\n\n\
         | permission | allows | without the file |\n| --- | --- | --- |\n| `claim_task_type: [TYPE, …]` | claim tasks of these types | every type |\n"
        .to_owned();
    for (permission, name) in Permission::ALL {
        let who = if Permission::LEAD_ONLY.contains(&permission) {
            "team lead"
        } else {
            "every role"
        };
        let _ = writeln!(page, "| `{name}` | {} | {who} |", permission.description());
    }
    page.push_str("\nTransitions of a task's status; all others are forbidden:\n\n| from | to | who |\n| --- | --- | --- |\n");
    for (from, to, who) in TRANSITIONS {
        let who = match who {
            TransitionCallers::Anyone => "every role",
            TransitionCallers::Lead => "team lead, or `delete_completed_tasks`",
        };
        let _ = writeln!(page, "| `{}` | `{}` | {who} |", from.as_str(), to.as_str());
    }
    page.push_str("\nRoles (`roles` in the configuration adds more) and task types, with the roles for each type:\n\n");
    let _ = writeln!(page, "- roles: {}", DEFAULT_ROLES.join(", "));
    let policy = PermissionPolicy::default();
    for task_type in TaskType::ALL {
        let roles = policy
            .type_roles
            .get(task_type)
            .map_or_else(|| "every role".to_owned(), |roles| roles.join(", "));
        let _ = writeln!(page, "- `{}`: {roles}", task_type.as_str());
    }
    page
}
