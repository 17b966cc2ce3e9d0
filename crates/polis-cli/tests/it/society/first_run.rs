//! First run of a new user: the command of the README in an empty directory, with the documented setup and
//! the shipped team, against a scripted model that hires by the shipped role names and follows their prompts.

use std::path::Path;
use std::process::Command;

use polis_testkit::scripted_model::{ModelHttpRequest, ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use super::scripted_team::{created_ids, text_between, tool_call, tool_results};
use super::stdout_documents;
use crate::harness::test_project::{CommandOutput, polis_command};

/// The shipped team in one language: role names and markers in its prompts.
#[derive(Clone, Copy)]
pub(crate) struct ShippedTeam {
    locale: &'static str,
    architect: &'static str,
    programmer: &'static str,
    /// The line after which the requirement quotes the programmer's prompt.
    template: &'static str,
    /// Markers around a member's own name, and around its parent's, in its system prompt.
    own_name: (&'static str, &'static str),
    parent_name: (&'static str, &'static str),
}

pub(crate) const ENGLISH: ShippedTeam = ShippedTeam {
    locale: "en_GB.UTF-8",
    architect: "architect",
    programmer: "programmer",
    template: "When creating a programmer role, use the following prompt:\n",
    own_name: ("You are `", "`"),
    parent_name: ("`. `", "` hired you"),
};

const CHINESE: ShippedTeam = ShippedTeam {
    locale: "zh_CN.UTF-8",
    architect: "架构师",
    programmer: "程序员",
    template: "当创建程序员岗位时，使用以下提示词：\n",
    own_name: ("\n你是 `", "`"),
    parent_name: ("你由 `", "` 招募"),
};

const MODULE_NAMES: [&str; 2] = ["store", "cli"];

/// Returns the arguments of the README command that starts a society, verbatim.
fn readme_run_args() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("polis run \""))
        .expect("the README starts a society");
    let command = line.split(" #").next().unwrap();
    let (before, rest) = command.split_once('"').unwrap();
    let (requirement, flags) = rest.split_once('"').unwrap();
    let words = before.split_whitespace().chain([requirement]);
    let words = words.chain(flags.split_whitespace());
    words.skip(1).map(str::to_owned).collect()
}

/// Starts a model that follows the shipped prompts. With `faults`, every `nth` request gets the fault
/// instead.
pub(crate) fn scripted_model(
    team: ShippedTeam,
    faults: Option<(usize, ScriptedReply)>,
) -> ScriptedModel {
    ScriptedModel::start(move |request| {
        if let Some((nth, fault)) = &faults
            && request.index % nth == 1
        {
            return fault.clone();
        }
        let role = |name: &str| {
            let system = request.system_message();
            let heading = system.lines().find(|line| line.starts_with("# "));
            heading.is_some_and(|line| line.ends_with(&format!(": {name}")))
        };
        if role(team.architect) {
            architect_reply(request, team)
        } else if role(team.programmer) {
            programmer_reply(request, team)
        } else {
            root_reply(request, team)
        }
    })
}

/// Returns all user messages of a member's conversation, in order.
fn user_messages(request: &ModelHttpRequest) -> String {
    let messages = request.messages().iter().filter(|m| m["role"] == "user");
    let texts: Vec<&str> = messages.filter_map(|m| m["content"].as_str()).collect();
    texts.join("\n")
}

/// Returns the first message to a member without its heading line: the requirement, or the text that root
/// forwarded.
fn first_message_body(request: &ModelHttpRequest) -> &str {
    let mut messages = request.messages().iter().filter(|m| m["role"] == "user");
    let first = messages.next().and_then(|m| m["content"].as_str());
    first.unwrap().split_once('\n').unwrap().1
}

/// Finds the role, hires one agent for it, forwards the requirement and the role template, stops.
fn root_reply(request: &ModelHttpRequest, team: ShippedTeam) -> ScriptedReply {
    match request.assistant_message_count() {
        0 => ScriptedReply::tool_calls([tool_call(
            "r0",
            "find_role_by_name",
            json!({ "name": team.architect }),
        )]),
        1 => {
            let brief = json!({
                "objective": "deliver the requirement", "constraints": ["shell scripts"], "inputs": "none",
                "outputs": "a program", "completionCriteria": "its tests pass",
            });
            let hire = json!({ "role": team.architect, "taskBrief": brief });
            ScriptedReply::tool_calls([tool_call("r1", "spawn_agent", hire)])
        }
        2 => {
            let to = created_ids(request, "spawn_agent").remove(0);
            let forward = json!({ "to": to, "payload": { "text": first_message_body(request) } });
            ScriptedReply::tool_calls([tool_call("r2", "send_message", forward)])
        }
        _ => ScriptedReply::text("The architect has it."),
    }
}

/// Creates the programmer role from the template, hires one programmer per module, integrates their work,
/// delivers.
fn architect_reply(request: &ModelHttpRequest, team: ShippedTeam) -> ScriptedReply {
    let reports = user_messages(request).matches("MODULE DONE").count();
    match (request.assistant_message_count(), reports) {
        (0, _) => {
            let (_, prompt) = first_message_body(request).split_once(team.template).unwrap();
            let role = json!({ "name": team.programmer, "rolePrompt": prompt });
            let plan = json!({ "path": "docs/architecture.md", "content": "# store, cli\n" });
            ScriptedReply::tool_calls([
                tool_call("a0", "write_file", plan),
                tool_call("a1", "create_role", role),
            ])
        }
        (1, _) => ScriptedReply::tool_calls(MODULE_NAMES.map(|module| {
            let brief = json!({ "objective": format!("module {module}") });
            let hire = json!({ "role": team.programmer, "name": format!("{module}-dev"), "taskBrief": brief });
            tool_call(module, "spawn_agent", hire)
        })),
        (2, _) => {
            let hired = created_ids(request, "spawn_agent");
            let specify = json!({ "to": hired, "payload": { "text": "Write your module." } });
            ScriptedReply::tool_calls([tool_call("a3", "send_message", specify)])
        }
        (_, 2) if tool_results(request, "run_command").is_empty() => ScriptedReply::tool_calls([tool_call(
            "a4",
            "run_command",
            json!({ "command": "sh src/cli.sh add milk && sh src/cli.sh list" }),
        )]),
        (_, 2) if tool_results(request, "terminate_agent").is_empty() => {
            let hired = created_ids(request, "spawn_agent");
            let dismiss = |(n, id): (usize, &String)| {
                tool_call(&format!("a5{n}"), "terminate_agent", json!({ "agentId": id }))
            };
            let mut calls: Vec<_> = hired.iter().enumerate().map(dismiss).collect();
            let text = format!("Delivered: {}", tool_results(request, "run_command")[0]);
            let deliver = json!({ "to": "user", "payload": { "text": text } });
            calls.push(tool_call("a6", "send_message", deliver));
            ScriptedReply::tool_calls(calls)
        }
        _ => ScriptedReply::text("I wait."),
    }
}

/// Writes its module, tests it, reports to the agent that hired it, stops.
fn programmer_reply(request: &ModelHttpRequest, team: ShippedTeam) -> ScriptedReply {
    let system = request.system_message();
    let (begin, end) = team.parent_name;
    let parent = text_between(system, begin, end).unwrap();
    let (begin, end) = team.own_name;
    let me = system
        .rsplit_once(begin)
        .unwrap()
        .1
        .split_once(end)
        .unwrap()
        .0;
    let module = me.trim_end_matches("-dev");
    let path = format!("src/{module}.sh");
    let source = match module {
        "store" => "add() { echo \"$1\" >> list.txt; }\nlist() { cat list.txt; }\n",
        _ => ". src/store.sh\n\"$@\"\n",
    };
    match request.assistant_message_count() {
        0 => ScriptedReply::tool_calls([tool_call(
            "p0",
            "write_file",
            json!({ "path": path, "content": source }),
        )]),
        1 => ScriptedReply::tool_calls([tool_call(
            "p1",
            "run_command",
            json!({ "command": format!("sh -n {path} && echo syntax ok") }),
        )]),
        2 => {
            let report = format!(
                "MODULE DONE: {path}; {}",
                tool_results(request, "run_command")[0]
            );
            let report = json!({ "to": parent, "payload": { "text": report } });
            ScriptedReply::tool_calls([tool_call("p2", "send_message", report)])
        }
        _ => ScriptedReply::text("Reported."),
    }
}

/// Returns the README's `polis run` command in an empty directory. Only the model's address and key are
/// configured.
fn first_run_command(directory: &Path, team: ShippedTeam, model: &ScriptedModel) -> Command {
    let mut command = polis_command(directory);
    command
        .arg("--json")
        .args(readme_run_args())
        .env("LANG", team.locale)
        .env("OPENAI_BASE_URL", model.base_url())
        .env("OPENAI_API_KEY", super::MODEL_API_KEY);
    command
}

fn assert_shipped_team_delivers_files(team: ShippedTeam, faults: Option<(usize, ScriptedReply)>) {
    let room = tempfile::tempdir().unwrap();
    let model = scripted_model(team, faults);
    let answer = CommandOutput::from_output(
        first_run_command(room.path(), team, &model)
            .output()
            .unwrap(),
    );
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    let all = stdout_documents(&answer);
    let ended = all.last().unwrap();
    assert_eq!(ended["how"], "done", "{ended}");
    let said = ended["said"]["text"].as_str().unwrap();
    assert!(said.contains("milk"), "the program was really run: {said}");
    let todo = room.path().join("todo");
    for file in ["docs/architecture.md", "src/store.sh", "src/cli.sh"] {
        assert!(todo.join(file).is_file(), "{file} is missing");
    }
    assert_eq!(
        std::fs::read_to_string(todo.join("list.txt")).unwrap(),
        "milk\n"
    );
    // The shipped programmer asks for an endpoint tagged `code`, which is not configured: one warning for
    // all.
    let warnings: Vec<&Value> = all.iter().filter(|d| d["kind"] == "warning").collect();
    let [warning] = warnings[..] else {
        panic!("{warnings:?}");
    };
    let text = warning["text"].as_str().unwrap();
    assert!(
        text.contains("\"code\"") && text.contains("environment"),
        "{text}"
    );
    let refused: Vec<&Value> = (all.iter())
        .filter(|d| d["kind"] == "called" && d["end"] != "ok")
        .collect();
    assert_eq!(refused, Vec::<&Value>::new());
}

#[test]
fn shipped_english_team_delivers_files_with_the_documented_setup() {
    assert_shipped_team_delivers_files(ENGLISH, None);
}

#[test]
fn shipped_chinese_team_delivers_files_with_the_documented_setup() {
    assert_shipped_team_delivers_files(CHINESE, None);
}

/// Responses that announce calls and contain none, as some servers send under load, lose no work.
#[test]
fn empty_model_answers_lose_no_work() {
    let empty = ScriptedReply::text("").with_finish_reason("tool_calls");
    assert_shipped_team_delivers_files(ENGLISH, Some((4, empty)));
}
