//! Questions to the person and the end of a run: answers reach the member that asked, notices are not messages, a run
//! with an open question is not done, and a finished run has the status `done`.

use std::process::Stdio;

use polis_testkit::model_server::{ModelServer, Reply, Request};
use serde_json::{Value, json};

use super::team::{made, tool};
use super::{Running, documents, saying, to_user, with_model};
use crate::board::{Answer, Board, eventually, finish, on_both_stores, start};
use crate::mcp::client::{Client, LATER};
use crate::server::Server;

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

/// Root hires a worker and asks the person; the worker makes a call that the person has to approve.
fn asking_team() -> ModelServer {
    ModelServer::start(|request| match request.system().contains("WORKER-ROLE") {
        true => worker(request),
        false => root(request),
    })
}

fn root(request: &Request) -> Reply {
    let all: String = request.messages().iter().map(Value::to_string).collect();
    let said = |text: &str| request.body.matches(text).count();
    match request.answers() {
        0 => Reply::calls([
            tool(
                "r0",
                "create_role",
                json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" }),
            ),
            tool(
                "r1",
                "spawn_agent",
                json!({ "role": "worker", "taskBrief": { "objective": "work" } }),
            ),
            tool(
                "r2",
                "send_message",
                json!({ "to": "user", "payload": { "text": QUESTION } }),
            ),
        ]),
        1 => {
            let to = made(request, "spawn_agent");
            let begin = json!({ "to": to, "payload": "begin" });
            Reply::calls([tool("r3", "send_message", begin)])
        }
        _ if all.contains("SQLite please") && said("Using SQLite.") == 0 => {
            to_user("r4", "Using SQLite.")
        }
        _ => Reply::text("I wait."),
    }
}

fn worker(request: &Request) -> Reply {
    match request.answers() {
        0 => Reply::call("w0", "TaskCreate", &json!({ "subject": "approved" })),
        _ => Reply::text("Done."),
    }
}

fn mail_to(board: &Board, agent: &str) -> Vec<Value> {
    let mail = board.ok(agent, &["message", "check", "--since", "0"]);
    mail["messages"].as_array().unwrap().clone()
}

fn free_text_answers_the_oldest_open_question(board: &Board) {
    let model = asking_team();
    let args = ["run", "--approve", "TaskCreate", "A todo list"];
    let mut run = Running::start(&mut with_model(board, &model, &args));
    let question = run.until("message");
    assert_eq!(question["text"], QUESTION);
    run.until("approval");
    run.types("/approve");
    // The worker made the latest call, but it has not asked a question.
    eventually("the call is carried out", || {
        !board.listed_subjects().is_empty()
    });
    run.types("SQLite please");
    let said = run.until("message");
    assert_eq!(said["text"], "Using SQLite.");
    let (last, exit) = run.end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert_eq!(last["said"]["text"], "Using SQLite.");
    assert_eq!(last["openQuestions"], json!([]));
    // The person's mailbox contains only messages of members: approval requests are not messages.
    let texts: Vec<String> = (mail_to(board, "user").iter())
        .map(|message| message["payload"]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, [QUESTION, "Using SQLite."]);
    let sent = board.ok("user", &["society", "log", "root", "--from", "0"]);
    assert!(sent.to_string().contains("SQLite please"), "{sent}");
}

fn run_with_an_open_question_is_not_done(board: &Board) {
    let model = asking_team();
    let args = ["run", "--approve", "TaskCreate", "--yes", "A todo list"];
    let answer = Answer::of(with_model(board, &model, &args).output().unwrap());
    assert_eq!(answer.exit, Some(5), "{answer:?}");
    let last = documents(&answer).pop().unwrap();
    assert_eq!(last["how"], "held", "{last}");
    let open = last["openQuestions"].as_array().unwrap();
    assert_eq!(open.len(), 1, "{last}");
    assert_eq!(
        (&open[0]["from"], &open[0]["text"]),
        (&json!("root"), &json!(QUESTION))
    );
    assert_eq!(
        board.ok("user", &["society", "ps"])["runs"][0]["status"],
        "active"
    );
    // Answered from elsewhere, the run continues and ends as done.
    board.ok("user", &["society", "send", "root", "SQLite please"]);
    let resumed = Answer::of(
        with_model(board, &model, &["run", "--resume"])
            .output()
            .unwrap(),
    );
    assert_eq!(resumed.exit, Some(0), "{resumed:?}");
    assert_eq!(documents(&resumed).pop().unwrap()["how"], "done");
}

const ROOT_QUESTION: &str = "JSON or SQLite, then?";

/// Root hires a worker, which asks the person and reports; root then dismisses it and may ask a question of its own.
fn dismissing_team(root_asks: bool) -> ModelServer {
    ModelServer::start(move |request| {
        if request.system().contains("WORKER-ROLE") {
            return asking_worker(request);
        }
        let all: String = request.messages().iter().map(Value::to_string).collect();
        match request.answers() {
            0 => Reply::calls([
                tool(
                    "r0",
                    "create_role",
                    json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" }),
                ),
                tool(
                    "r1",
                    "spawn_agent",
                    json!({ "role": "worker", "taskBrief": { "objective": "work" } }),
                ),
            ]),
            1 => {
                let begin = json!({ "to": made(request, "spawn_agent"), "payload": "begin" });
                Reply::calls([tool("r2", "send_message", begin)])
            }
            _ if all.contains("I asked the person") && !all.contains("\"terminate_agent\"") => {
                let gone = json!({ "agentId": made(request, "spawn_agent")[0] });
                Reply::calls([tool("r3", "terminate_agent", gone)])
            }
            _ if root_asks
                && all.contains("\"terminate_agent\"")
                && !all.contains(ROOT_QUESTION) =>
            {
                to_user("r5", ROOT_QUESTION)
            }
            _ if all.contains("SQLite please") && !all.contains("Using SQLite.") => {
                to_user("r4", "Using SQLite.")
            }
            _ => Reply::text("I wait."),
        }
    })
}

fn asking_worker(request: &Request) -> Reply {
    let report = json!({ "to": "root", "payload": "I asked the person" });
    match request.answers() {
        0 => Reply::calls([
            tool(
                "w0",
                "send_message",
                json!({ "to": "user", "payload": { "text": QUESTION } }),
            ),
            tool("w1", "send_message", report),
        ]),
        _ => Reply::text("I wait."),
    }
}

fn question_of_a_dismissed_member_does_not_keep_the_run_open(board: &Board) {
    let model = dismissing_team(false);
    let answer = Answer::of(
        with_model(board, &model, &["run", "A todo list"])
            .output()
            .unwrap(),
    );
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let last = documents(&answer).pop().unwrap();
    assert_eq!(last["how"], "done", "{last}");
    assert_eq!(last["openQuestions"], json!([]));
    let runs = board.ok("user", &["society", "ps"]);
    assert_eq!(runs["runs"][0]["status"], "done");
}

fn free_text_after_a_dismissal_reaches_root(board: &Board) {
    let model = dismissing_team(true);
    let mut run = Running::start(&mut with_model(board, &model, &["run", "A todo list"]));
    assert_eq!(run.until("message")["text"], QUESTION);
    assert_eq!(run.until("message")["text"], ROOT_QUESTION);
    run.types("SQLite please");
    let said = run.until("message");
    assert_eq!(said["text"], "Using SQLite.");
    let (last, exit) = run.end();
    assert_eq!(exit, Some(0), "{last}");
}

fn finished_run_has_an_end_state_and_a_duration(board: &Board) {
    let model = saying(|step| match step {
        0 => to_user("c1", "It is painted."),
        2 => to_user("c2", "The second coat is on."),
        _ => Reply::text("Done."),
    });
    let paint = || with_model(board, &model, &["run", "Paint the door"]).output();
    let first = Answer::of(paint().unwrap());
    assert_eq!(first.exit, Some(0), "{first:?}");
    let ended = board.ok("user", &["society", "ps"])["runs"][0].clone();
    assert_eq!(ended["status"], "done", "{ended}");
    assert!(ended["endedAt"].is_string(), "{ended}");
    let lasted = ended["durationMs"].as_u64().unwrap();
    let shown = board.shown("user", &["society", "ps"]);
    assert!(shown.contains("done"), "{shown}");
    let event = board.log().into_iter().next_back().unwrap();
    assert_eq!(event["kind"], "society.finished", "{event}");
    let id = ended["taskId"].as_str().unwrap();
    // A run that is done has nothing to pause.
    board.refused("user", &["society", "pause", id], 5, "wrong_state");
    assert_eq!(board.ok("user", &["society", "ps"])["runs"][0], ended);
    // A message reopens it; afterwards it is done again. The time between is not part of its duration.
    board.ok(
        "user",
        &["society", "send", "root", "A second coat.", "--run", id],
    );
    let again = with_model(board, &model, &["run", "--resume", id]).output();
    let again = Answer::of(again.unwrap());
    assert_eq!(again.exit, Some(0), "{again:?}");
    let ended_again = board.ok("user", &["society", "ps"])["runs"][0].clone();
    assert_eq!(ended_again["status"], "done");
    assert!(ended_again["durationMs"].as_u64().unwrap() >= lasted);
    assert_ne!(ended_again["endedAt"], ended["endedAt"]);
}

fn server_marks_a_finished_run_as_done_and_a_message_reopens_it(board: &Board) {
    let config = "[society]\nlease = \"1s\"\n";
    std::fs::write(board.workspace("polis.toml"), config).unwrap();
    let model = saying(|step| match step {
        0 => to_user("c1", "It is painted."),
        2 => to_user("c2", "The second coat is on."),
        _ => Reply::text("Done."),
    });
    let run = board.ok("user", &["run", "--detach", "Paint the door"]);
    let id = run["taskId"].as_str().unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let server = Server::start_by(&mut with_model(board, &model, &args));
    let status = || board.ok("user", &["society", "ps"])["runs"][0]["status"].clone();
    eventually("the run is done", || status() == "done");
    board.ok(
        "user",
        &["society", "send", "root", "A second coat.", "--run", id],
    );
    eventually("the message is answered", || {
        mail_to(board, "user").len() == 2
    });
    eventually("the run is done again", || status() == "done");
    let kinds: Vec<String> = (board.log().iter())
        .filter_map(|event| event["kind"].as_str().map(str::to_owned))
        .filter(|kind| kind == "society.finished" || kind == "society.resumed")
        .collect();
    assert_eq!(
        kinds,
        ["society.finished", "society.resumed", "society.finished"]
    );
    let (exit, log) = server.end();
    assert!(exit.success(), "{log}");
}

/// An outside agent hires a member, which reports to it. The outside agent does not read the report.
fn resumed_run_of_an_outside_agent_ends_when_it_has_settled(board: &Board) {
    board.ok("user", &["agent", "add", "claude", "--role", "team-lead"]);
    let mut client = Client::begin_with(board, "claude", LATER, &["--tools", "all"]);
    let role = json!({ "name": "worker", "rolePrompt": "You work." });
    client.call("create_role", role);
    let ann = json!({ "role": "worker", "name": "ann", "taskBrief": { "objective": "work" } });
    client.call("spawn_agent", ann);
    client.call("send_message", json!({ "to": "ann", "payload": "begin" }));
    client.finish();
    let model = saying(|step| match step {
        0 => Reply::call(
            "c1",
            "send_message",
            &json!({ "to": "claude", "payload": "The work is done." }),
        ),
        _ => Reply::text("Done."),
    });
    let resume = ["run", "--resume", "claude"];
    let mut run = start(with_model(board, &model, &resume).stdin(Stdio::null()));
    eventually("the end of the run", || run.try_wait().unwrap().is_some());
    let answer = finish(run);
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let last = documents(&answer).pop().unwrap();
    assert_eq!(
        (&last["how"], &last["taskId"]),
        (&json!("done"), &json!("claude"))
    );
    // Only `polis run` ends; the run stays active, because the outside agent may give its members more work.
    let runs = board.ok("user", &["society", "ps"]);
    assert_eq!(runs["runs"][0]["status"], "active", "{runs}");
}

fn ended_document_names_members_that_did_not_finish(board: &Board) {
    let root = |status: &str, why: &Value| {
        let mut root = json!({ "agentId": "root", "status": status });
        if !why.is_null() {
            root["why"] = why.clone();
        }
        json!([root])
    };
    let ended = |model: &ModelServer, args: &[&str], exit: i32| {
        let answer = Answer::of(with_model(board, model, args).output().unwrap());
        assert_eq!(answer.exit, Some(exit), "{answer:?}");
        documents(&answer).pop().unwrap()
    };
    // The model's answer is empty, and so is the second one.
    let silent = saying(|_| Reply::text(""));
    let last = ended(&silent, &["run", "Paint the door"], 0);
    assert_eq!(last["how"], "done", "{last}");
    let why = &last["unfinishedMembers"][0]["why"];
    assert!(why.as_str().unwrap().contains("empty"), "{last}");
    assert_eq!(last["unfinishedMembers"], root("idle", why));
    // A call waits for the person.
    let asking =
        saying(|_| Reply::call("c1", "TaskCreate", &json!({ "subject": "needs approval" })));
    let args = ["run", "--approve", "TaskCreate", "Paint the door"];
    let last = ended(&asking, &args, 5);
    assert_eq!(last["how"], "held", "{last}");
    let why = &last["unfinishedMembers"][0]["why"];
    assert_eq!(last["unfinishedMembers"], root("asking", why), "{last}");
    let finished = saying(|step| match step {
        0 => to_user("c1", "It is painted."),
        _ => Reply::text("Done."),
    });
    let last = ended(&finished, &["run", "Paint the door"], 0);
    assert_eq!(last["unfinishedMembers"], json!([]), "{last}");
}
