//! Tests of questions to the person and the end of a run: answers reach the member that asked, notices are
//! not messages, a run with an open question is not done, and a finished run has the status `done`.

use std::process::Stdio;

use polis_testkit::scripted_model::{ModelHttpRequest, ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use super::scripted_team::{created_ids, tool_call};
use super::{
    RunProcess, command_with_model, message_user_reply, scripted_model_by_step, stdout_documents,
};
use crate::harness::test_project::{
    CommandOutput, TestProject, on_both_stores, spawn_captured, wait_for_output, wait_until,
};
use crate::harness::test_server::TestServer;
use crate::mcp::test_mcp_client::{SESSION_2025_11, TestMcpClient};

on_both_stores!(
    free_text_answers_the_oldest_open_question,
    run_with_an_open_question_is_not_done,
    question_of_a_dismissed_member_does_not_keep_the_run_open,
    free_text_after_a_dismissal_reaches_root,
    finished_run_has_an_end_state_and_a_duration,
    server_marks_a_finished_run_as_done_and_a_message_reopens_it,
    resumed_run_of_an_outside_agent_ends_when_it_has_settled,
    ended_document_names_members_that_did_not_finish,
);

const QUESTION: &str = "Should the list be stored as JSON or SQLite?";

/// Root hires a worker and asks the person a question; the worker makes a call that needs approval.
fn questioning_team() -> ScriptedModel {
    ScriptedModel::start(|request| {
        if request.system_message().contains("WORKER-ROLE") {
            approved_worker_reply(request)
        } else {
            questioning_root_reply(request)
        }
    })
}

fn questioning_root_reply(request: &ModelHttpRequest) -> ScriptedReply {
    let all: String = request.messages().iter().map(Value::to_string).collect();
    let said = |text: &str| request.body.matches(text).count();
    match request.assistant_message_count() {
        0 => ScriptedReply::tool_calls([
            tool_call(
                "r0",
                "create_role",
                json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" }),
            ),
            tool_call(
                "r1",
                "spawn_agent",
                json!({ "role": "worker", "taskBrief": { "objective": "work" } }),
            ),
            tool_call(
                "r2",
                "send_message",
                json!({ "to": "user", "payload": { "text": QUESTION } }),
            ),
        ]),
        1 => {
            let to = created_ids(request, "spawn_agent");
            let begin = json!({ "to": to, "payload": "begin" });
            ScriptedReply::tool_calls([tool_call("r3", "send_message", begin)])
        }
        _ if all.contains("SQLite please") && said("Using SQLite.") == 0 => {
            message_user_reply("r4", "Using SQLite.")
        }
        _ => ScriptedReply::text("I wait."),
    }
}

fn approved_worker_reply(request: &ModelHttpRequest) -> ScriptedReply {
    match request.assistant_message_count() {
        0 => ScriptedReply::tool_call("w0", "TaskCreate", &json!({ "subject": "approved" })),
        _ => ScriptedReply::text("Done."),
    }
}

fn read_mailbox(project: &TestProject, agent: &str) -> Vec<Value> {
    let mail = project.run_ok(agent, &["message", "check", "--since", "0"]);
    mail["messages"].as_array().unwrap().clone()
}

fn free_text_answers_the_oldest_open_question(project: &TestProject) {
    let model = questioning_team();
    let args = ["run", "--approve", "TaskCreate", "A todo list"];
    let mut run = RunProcess::start(&mut command_with_model(project, &model, &args));
    let question = run.read_until("message");
    assert_eq!(question["text"], QUESTION);
    run.read_until("approval");
    run.type_line("/approve");
    // The worker made the latest call, but it has not asked a question.
    wait_until("the approved call being executed", || {
        !project.list_task_subjects().is_empty()
    });
    run.type_line("SQLite please");
    let said = run.read_until("message");
    assert_eq!(said["text"], "Using SQLite.");
    let (last, exit) = run.wait_for_end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert_eq!(last["said"]["text"], "Using SQLite.");
    assert_eq!(last["openQuestions"], json!([]));
    // The person's mailbox contains only messages of members: approval requests are not messages.
    let texts: Vec<String> = (read_mailbox(project, "user").iter())
        .map(|message| message["payload"]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, [QUESTION, "Using SQLite."]);
    let sent = project.run_ok("user", &["society", "log", "root", "--from", "0"]);
    assert!(sent.to_string().contains("SQLite please"), "{sent}");
}

fn run_with_an_open_question_is_not_done(project: &TestProject) {
    let model = questioning_team();
    let args = ["run", "--approve", "TaskCreate", "--yes", "A todo list"];
    let answer =
        CommandOutput::from_output(command_with_model(project, &model, &args).output().unwrap());
    assert_eq!(answer.exit_code, Some(5), "{answer:?}");
    let last = stdout_documents(&answer).pop().unwrap();
    assert_eq!(last["how"], "held", "{last}");
    let open = last["openQuestions"].as_array().unwrap();
    assert_eq!(open.len(), 1, "{last}");
    assert_eq!(
        (&open[0]["from"], &open[0]["text"]),
        (&json!("root"), &json!(QUESTION))
    );
    assert_eq!(
        project.run_ok("user", &["society", "ps"])["runs"][0]["status"],
        "active"
    );
    // Answered by another process, the run continues and ends as done.
    project.run_ok("user", &["society", "send", "root", "SQLite please"]);
    let resumed = CommandOutput::from_output(
        command_with_model(project, &model, &["run", "--resume"])
            .output()
            .unwrap(),
    );
    assert_eq!(resumed.exit_code, Some(0), "{resumed:?}");
    assert_eq!(stdout_documents(&resumed).pop().unwrap()["how"], "done");
}

const ROOT_QUESTION: &str = "JSON or SQLite, then?";

/// Root hires a worker, which asks the person and reports; root then dismisses it and may ask a question of
/// its own.
fn dismissing_team_model(root_asks: bool) -> ScriptedModel {
    ScriptedModel::start(move |request| {
        if request.system_message().contains("WORKER-ROLE") {
            return questioning_worker_reply(request);
        }
        let all: String = request.messages().iter().map(Value::to_string).collect();
        match request.assistant_message_count() {
            0 => ScriptedReply::tool_calls([
                tool_call(
                    "r0",
                    "create_role",
                    json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" }),
                ),
                tool_call(
                    "r1",
                    "spawn_agent",
                    json!({ "role": "worker", "taskBrief": { "objective": "work" } }),
                ),
            ]),
            1 => {
                let begin =
                    json!({ "to": created_ids(request, "spawn_agent"), "payload": "begin" });
                ScriptedReply::tool_calls([tool_call("r2", "send_message", begin)])
            }
            _ if all.contains("I asked the person") && !all.contains("\"terminate_agent\"") => {
                let gone = json!({ "agentId": created_ids(request, "spawn_agent")[0] });
                ScriptedReply::tool_calls([tool_call("r3", "terminate_agent", gone)])
            }
            _ if root_asks
                && all.contains("\"terminate_agent\"")
                && !all.contains(ROOT_QUESTION) =>
            {
                message_user_reply("r5", ROOT_QUESTION)
            }
            _ if all.contains("SQLite please") && !all.contains("Using SQLite.") => {
                message_user_reply("r4", "Using SQLite.")
            }
            _ => ScriptedReply::text("I wait."),
        }
    })
}

fn questioning_worker_reply(request: &ModelHttpRequest) -> ScriptedReply {
    let report = json!({ "to": "root", "payload": "I asked the person" });
    match request.assistant_message_count() {
        0 => ScriptedReply::tool_calls([
            tool_call(
                "w0",
                "send_message",
                json!({ "to": "user", "payload": { "text": QUESTION } }),
            ),
            tool_call("w1", "send_message", report),
        ]),
        _ => ScriptedReply::text("I wait."),
    }
}

fn question_of_a_dismissed_member_does_not_keep_the_run_open(project: &TestProject) {
    let model = dismissing_team_model(false);
    let answer = CommandOutput::from_output(
        command_with_model(project, &model, &["run", "A todo list"])
            .output()
            .unwrap(),
    );
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    let last = stdout_documents(&answer).pop().unwrap();
    assert_eq!(last["how"], "done", "{last}");
    assert_eq!(last["openQuestions"], json!([]));
    let runs = project.run_ok("user", &["society", "ps"]);
    assert_eq!(runs["runs"][0]["status"], "done");
}

fn free_text_after_a_dismissal_reaches_root(project: &TestProject) {
    let model = dismissing_team_model(true);
    let mut run = RunProcess::start(&mut command_with_model(
        project,
        &model,
        &["run", "A todo list"],
    ));
    assert_eq!(run.read_until("message")["text"], QUESTION);
    assert_eq!(run.read_until("message")["text"], ROOT_QUESTION);
    run.type_line("SQLite please");
    let said = run.read_until("message");
    assert_eq!(said["text"], "Using SQLite.");
    let (last, exit) = run.wait_for_end();
    assert_eq!(exit, Some(0), "{last}");
}

fn finished_run_has_an_end_state_and_a_duration(project: &TestProject) {
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "It is painted."),
        2 => message_user_reply("c2", "The second coat is on."),
        _ => ScriptedReply::text("Done."),
    });
    let paint = || command_with_model(project, &model, &["run", "Paint the door"]).output();
    let first = CommandOutput::from_output(paint().unwrap());
    assert_eq!(first.exit_code, Some(0), "{first:?}");
    let ended = project.run_ok("user", &["society", "ps"])["runs"][0].clone();
    assert_eq!(ended["status"], "done", "{ended}");
    assert!(ended["endedAt"].is_string(), "{ended}");
    let lasted = ended["durationMs"].as_u64().unwrap();
    let shown = project.run_text("user", &["society", "ps"]);
    assert!(shown.contains("done"), "{shown}");
    let event = project.read_log().into_iter().next_back().unwrap();
    assert_eq!(event["kind"], "society.finished", "{event}");
    let id = ended["taskId"].as_str().unwrap();
    // A run that is done has nothing to pause.
    project.run_refused("user", &["society", "pause", id], 5, "wrong_state");
    assert_eq!(project.run_ok("user", &["society", "ps"])["runs"][0], ended);
    // A message reopens it; afterwards it is done again. The time between is not part of its duration.
    project.run_ok(
        "user",
        &["society", "send", "root", "A second coat.", "--run", id],
    );
    let again = command_with_model(project, &model, &["run", "--resume", id]).output();
    let again = CommandOutput::from_output(again.unwrap());
    assert_eq!(again.exit_code, Some(0), "{again:?}");
    let ended_again = project.run_ok("user", &["society", "ps"])["runs"][0].clone();
    assert_eq!(ended_again["status"], "done");
    assert!(ended_again["durationMs"].as_u64().unwrap() >= lasted);
    assert_ne!(ended_again["endedAt"], ended["endedAt"]);
}

fn server_marks_a_finished_run_as_done_and_a_message_reopens_it(project: &TestProject) {
    let config = "[society]\nlease = \"1s\"\n";
    std::fs::write(project.data_path("polis.toml"), config).unwrap();
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "It is painted."),
        2 => message_user_reply("c2", "The second coat is on."),
        _ => ScriptedReply::text("Done."),
    });
    let run = project.run_ok("user", &["run", "--detach", "Paint the door"]);
    let id = run["taskId"].as_str().unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let server = TestServer::start_with_command(&mut command_with_model(project, &model, &args));
    let status = || project.run_ok("user", &["society", "ps"])["runs"][0]["status"].clone();
    wait_until("the run is done", || status() == "done");
    project.run_ok(
        "user",
        &["society", "send", "root", "A second coat.", "--run", id],
    );
    wait_until("the message is answered", || {
        read_mailbox(project, "user").len() == 2
    });
    wait_until("the run is done again", || status() == "done");
    let kinds: Vec<String> = (project.read_log().iter())
        .filter_map(|event| event["kind"].as_str().map(str::to_owned))
        .filter(|kind| kind == "society.finished" || kind == "society.resumed")
        .collect();
    assert_eq!(
        kinds,
        ["society.finished", "society.resumed", "society.finished"]
    );
    let (exit, log) = server.stop();
    assert!(exit.success(), "{log}");
}

/// An outside agent hires a member, which reports to it. The outside agent does not read the report.
fn resumed_run_of_an_outside_agent_ends_when_it_has_settled(project: &TestProject) {
    project.run_ok("user", &["agent", "add", "claude", "--role", "team-lead"]);
    let mut client =
        TestMcpClient::connect_with_flags(project, "claude", SESSION_2025_11, &["--tools", "all"]);
    let role = json!({ "name": "worker", "rolePrompt": "You work." });
    client.call_tool("create_role", role);
    let ann = json!({ "role": "worker", "name": "ann", "taskBrief": { "objective": "work" } });
    client.call_tool("spawn_agent", ann);
    client.call_tool("send_message", json!({ "to": "ann", "payload": "begin" }));
    client.close_and_wait();
    let model = scripted_model_by_step(|step| match step {
        0 => ScriptedReply::tool_call(
            "c1",
            "send_message",
            &json!({ "to": "claude", "payload": "The work is done." }),
        ),
        _ => ScriptedReply::text("Done."),
    });
    let resume = ["run", "--resume", "claude"];
    let mut run = spawn_captured(command_with_model(project, &model, &resume).stdin(Stdio::null()));
    wait_until("the end of the run", || run.try_wait().unwrap().is_some());
    let answer = wait_for_output(run);
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    let last = stdout_documents(&answer).pop().unwrap();
    assert_eq!(
        (&last["how"], &last["taskId"]),
        (&json!("done"), &json!("claude"))
    );
    // Only `polis run` ends; the run stays active, because the outside agent may give its members more work.
    let runs = project.run_ok("user", &["society", "ps"]);
    assert_eq!(runs["runs"][0]["status"], "active", "{runs}");
}

fn ended_document_names_members_that_did_not_finish(project: &TestProject) {
    let root = |status: &str, why: &Value| {
        let mut root = json!({ "agentId": "root", "status": status });
        if !why.is_null() {
            root["why"] = why.clone();
        }
        json!([root])
    };
    let ended = |model: &ScriptedModel, args: &[&str], exit: i32| {
        let answer =
            CommandOutput::from_output(command_with_model(project, model, args).output().unwrap());
        assert_eq!(answer.exit_code, Some(exit), "{answer:?}");
        stdout_documents(&answer).pop().unwrap()
    };
    // The model's response is empty, and so is the second one.
    let silent = scripted_model_by_step(|_| ScriptedReply::text(""));
    let last = ended(&silent, &["run", "Paint the door"], 0);
    assert_eq!(last["how"], "done", "{last}");
    let why = &last["unfinishedMembers"][0]["why"];
    assert!(why.as_str().unwrap().contains("empty"), "{last}");
    assert_eq!(last["unfinishedMembers"], root("idle", why));
    // A call waits for approval.
    let asking = scripted_model_by_step(|_| {
        ScriptedReply::tool_call("c1", "TaskCreate", &json!({ "subject": "needs approval" }))
    });
    let args = ["run", "--approve", "TaskCreate", "Paint the door"];
    let last = ended(&asking, &args, 5);
    assert_eq!(last["how"], "held", "{last}");
    let why = &last["unfinishedMembers"][0]["why"];
    assert_eq!(last["unfinishedMembers"], root("asking", why), "{last}");
    let finished = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "It is painted."),
        _ => ScriptedReply::text("Done."),
    });
    let last = ended(&finished, &["run", "Paint the door"], 0);
    assert_eq!(last["unfinishedMembers"], json!([]), "{last}");
}
