//! Tests of the lifecycle of `polis run`: starting, answering, interrupting, resuming, detaching, budgets,
//! and refusals before anything is created.

use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply};
use serde_json::Value;

use super::{
    RunProcess, answer_count, command_with_model, message_user_reply, scripted_model_by_step,
    stdout_documents,
};
use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores, wait_until};
use crate::harness::test_server::TestServer;

on_both_stores!(
    run_asks_the_user_and_ends_when_settled,
    killed_run_is_continued_by_a_server,
    detached_run_is_driven_by_a_server,
);

/// Starts a model that asks a question, waits, and reports after the answer.
fn questioning_model() -> ScriptedModel {
    scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "Which colour?"),
        2 => message_user_reply("c2", "It is painted."),
        _ => ScriptedReply::text("I wait."),
    })
}

fn run_asks_the_user_and_ends_when_settled(project: &TestProject) {
    let model = questioning_model();
    let mut run = RunProcess::start(&mut command_with_model(
        project,
        &model,
        &["run", "Paint the door"],
    ));
    let asked = run.read_until("message");
    assert_eq!(
        (&asked["text"], &asked["agent"]),
        (&"Which colour?".into(), &"root".into())
    );
    // The script counts responses: input typed before root has ended its turn would be read one response
    // earlier.
    wait_until("root waits for the answer", || {
        project.run_ok("user", &["society", "tree"])["members"][0]["status"] == "idle"
            && model.request_count() == 2
    });
    run.type_line("blue");
    let (last, exit) = run.wait_for_end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert_eq!(last["said"]["text"], "It is painted.");
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(
        requests[0].header_value("authorization"),
        Some("Bearer sk-s3cret")
    );
    assert!(
        requests[0].body.contains("Paint the door"),
        "root receives the requirement"
    );
    assert!(
        requests[0].body.contains("You are a software architect"),
        "root receives the team's roles"
    );
    assert!(!requests[1].body.contains("blue") && requests[2].body.contains("blue"));
    // The conversation is kept and can be read later.
    let log = project.run_ok("user", &["society", "log", "root"]);
    assert_eq!(log["turns"][0]["said"][0]["kind"], "heard");
    let shown = project.run_text("user", &["society", "log", "root"]);
    assert!(
        shown.contains("Which colour?") && shown.contains("blue"),
        "{shown}"
    );
    let listed = project.run_ok("user", &["society", "ps"]);
    assert_eq!(listed["runs"][0]["requirement"], "Paint the door");
}

fn killed_run_is_continued_by_a_server(project: &TestProject) {
    let model = ScriptedModel::start(|request| match (request.index, answer_count(request)) {
        (0, _) => ScriptedReply::no_reply(),
        (_, 0) => message_user_reply("c1", "Done."),
        _ => ScriptedReply::text("I am done."),
    });
    let mut run = RunProcess::start(&mut command_with_model(
        project,
        &model,
        &["run", "Paint the door"],
    ));
    run.read_run_id();
    model.wait_for_requests(1);
    run.send_signal(rustix::process::Signal::KILL);
    run.child.wait().unwrap();
    let server = start_server_with_model(project, &model);
    wait_for_user_messages(project, 1);
    let (exit, log) = server.stop();
    assert!(exit.success(), "{log}");
    assert_eq!(
        model.request_count(),
        3,
        "one retry, and one request after the call"
    );
}

fn detached_run_is_driven_by_a_server(project: &TestProject) {
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "Done."),
        _ => ScriptedReply::text("I am done."),
    });
    let run = project.run_ok("user", &["run", "--detach", "Paint the door"]);
    assert_eq!(run["requirement"], "Paint the door");
    assert_eq!(model.request_count(), 0);
    let server = start_server_with_model(project, &model);
    wait_for_user_messages(project, 1);
    // A run that is started while the server runs.
    project.run_ok("user", &["run", "--detach", "Paint the gate"]);
    wait_for_user_messages(project, 2);
    let (exit, log) = server.stop();
    assert!(exit.success() && !log.contains("s3cret"), "{log}");
}

fn start_server_with_model(project: &TestProject, model: &ScriptedModel) -> TestServer {
    TestServer::start_with_command(&mut command_with_model(
        project,
        model,
        &["serve", "--listen", "127.0.0.1:0"],
    ))
}

/// Waits until the person has `count` messages. Panics if there are more.
fn wait_for_user_messages(project: &TestProject, count: usize) {
    wait_until("a message to the user", || {
        let mail = project.run_ok("user", &["message", "check", "--since", "0"]);
        let found = mail["messages"].as_array().unwrap().len();
        assert!(found <= count, "{mail}");
        found == count
    });
}

#[test]
fn interrupted_run_stops_cleanly_and_can_be_resumed() {
    let project = TestProject::embedded();
    let model = ScriptedModel::start(|request| match (request.index, answer_count(request)) {
        (0, _) => ScriptedReply::no_reply(),
        _ => ScriptedReply::text("Done."),
    });
    let mut run = RunProcess::start(&mut command_with_model(
        &project,
        &model,
        &["run", "Paint the door"],
    ));
    let id = run.read_run_id();
    model.wait_for_requests(1);
    run.send_signal(rustix::process::Signal::INT);
    let (last, exit) = run.wait_for_end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("stopped"), Some(130)),
        "{last}"
    );
    let resume = command_with_model(&project, &model, &["run", "--resume", &id])
        .output()
        .unwrap();
    let resumed = CommandOutput::from_output(resume);
    assert_eq!(resumed.exit_code, Some(0), "{resumed:?}");
    assert_eq!(
        stdout_documents(&resumed).first().unwrap()["kind"],
        "resumed"
    );
    assert_eq!(model.request_count(), 2);
}

#[test]
fn exhausted_budget_pauses_the_run_until_it_is_raised() {
    let project = TestProject::embedded();
    let model = scripted_model_by_step(|step| match step {
        0..=2 => message_user_reply(&format!("c{step}"), &format!("Coat {step}.")),
        _ => ScriptedReply::text("Done."),
    });
    let flags = ["run", "--budget-turns", "2", "Paint the door"];
    let held = CommandOutput::from_output(
        command_with_model(&project, &model, &flags)
            .output()
            .unwrap(),
    );
    assert_eq!(held.exit_code, Some(5), "{held:?}");
    assert_eq!(stdout_documents(&held).last().unwrap()["how"], "held");
    let tree = project.run_ok("user", &["society", "tree"]);
    assert_eq!(tree["members"][0]["status"], "paused", "{tree}");
    let budget = project.run_ok("user", &["society", "budget"]);
    assert_eq!(budget["members"][0]["limits"]["turns"], 2, "{budget}");
    assert_eq!(budget["members"][0]["spent"]["turns"], 2, "{budget}");
    let more = ["run", "--resume", "--budget-turns", "9"];
    let done = CommandOutput::from_output(
        command_with_model(&project, &model, &more)
            .output()
            .unwrap(),
    );
    assert_eq!(done.exit_code, Some(0), "{done:?}");
    assert_eq!(model.request_count(), 4);
}

#[test]
fn invalid_run_arguments_are_refused() {
    let project = TestProject::embedded();
    let refused = |args: &[&str], exit, code| project.run_refused("user", args, exit, code);
    let none = refused(&["run", "Paint the door"], 2, "model_not_configured");
    assert!(none.hint.contains("OPENAI_API_KEY"), "{none:?}");
    refused(&["run"], 2, "invalid_input");
    refused(&["run", "  "], 2, "invalid_input");
    refused(
        &["run", "--model", "replay:nothing.jsonl", "x"],
        2,
        "model_not_configured",
    );
    refused(
        &["run", "--detach", "--team", "nobody", "x"],
        4,
        "team_not_found",
    );
    refused(&["run", "--resume"], 2, "model_not_configured");
    refused(&["society", "tree"], 4, "run_not_found");
    refused(&["society", "tree", "nothing"], 4, "run_not_found");
    refused(&["society", "log", "nobody"], 4, "agent_not_found");
    refused(&["society", "approve"], 4, "approval_not_found");
    assert_eq!(
        project.run_ok("user", &["society", "ps", "--all"])["runs"],
        Value::Array(vec![])
    );
    let shown = project.run_text("user", &["society", "ps"]);
    assert!(
        shown.contains("polis run"),
        "an empty list suggests a command: {shown}"
    );
}

/// All refusals of a run happen before a project is created in the directory.
#[test]
fn refused_run_creates_nothing() {
    let project = TestProject::uninitialized();
    let model = scripted_model_by_step(|_| ScriptedReply::text("Done."));
    let refused = |command: &mut std::process::Command, exit, code| {
        CommandOutput::from_output(command.output().unwrap()).expect_refusal(exit, code);
        assert!(!project.data_path("").exists(), "{code} left a directory");
    };
    let without_model = &mut project.json_command("user", &["run", "Paint the door"]);
    refused(without_model, 2, "model_not_configured");
    let detached = ["run", "--detach", "Paint the door"];
    let without_model = &mut project.json_command("user", &detached);
    refused(without_model, 2, "model_not_configured");
    let unknown_team = ["run", "--team", "nobody", "Paint the door"];
    refused(
        &mut command_with_model(&project, &model, &unknown_team),
        4,
        "team_not_found",
    );
    let detached = ["run", "--detach", "--team", "nobody", "Paint the door"];
    refused(
        &mut command_with_model(&project, &model, &detached),
        4,
        "team_not_found",
    );
    // The directory contains the data directory of polis.
    let here = ["run", "--workspace", ".", "Paint the door"];
    refused(
        &mut command_with_model(&project, &model, &here),
        5,
        "workspace_overlaps",
    );
    let unknown_tool = ["run", "--approve", "nosuch", "Paint the door"];
    refused(
        &mut command_with_model(&project, &model, &unknown_tool),
        2,
        "invalid_input",
    );
    assert_eq!(model.request_count(), 0);
}

#[test]
fn run_in_a_directory_without_project_creates_one() {
    let project = TestProject::uninitialized();
    let model = scripted_model_by_step(|_| ScriptedReply::text("Done."));
    let answer = CommandOutput::from_output(
        command_with_model(&project, &model, &["run", "Paint the door"])
            .output()
            .unwrap(),
    );
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    assert!(project.data_path("polis.toml").exists());
}

#[test]
fn model_api_key_is_never_printed() {
    let project = TestProject::embedded();
    let text = "[models]\ndefault = \"fast\"\n[models.fast]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey_env = \"MY_KEY\"\n";
    std::fs::write(project.data_path("polis.toml"), text).unwrap();
    for args in [&["config", "show"][..], &["doctor"], &["society", "ps"]] {
        let mut command = project.command();
        let output = command
            .args(args)
            .env("MY_KEY", "sk-s3cret")
            .output()
            .unwrap();
        let said = format!("{output:?}");
        assert!(!said.contains("s3cret"), "{said}");
    }
    let shown = project.run_ok("user", &["config", "show"]);
    assert_eq!(shown["models"]["fast"]["key_env"], "MY_KEY");
    let missing = project.run_refused("user", &["run", "x"], 2, "model_not_configured");
    assert!(missing.message.contains("MY_KEY"), "{missing:?}");
}
