//! Lifecycle of `polis run`: starting, answering questions, interrupting, resuming, leaving a run to a server, budgets,
//! and refusals before anything is created.

use polis_testkit::model_server::{ModelServer, Reply};
use serde_json::Value;

use super::{Running, answers, documents, saying, to_user, with_model};
use crate::board::{Answer, Board, eventually, on_both_stores};
use crate::server::Server;

on_both_stores!(
    a_run_asks_the_person_and_ends_when_everything_is_said,
    a_killed_run_goes_on_in_a_server,
    a_run_is_left_to_a_server,
);

/// Starts a model that asks a question, waits, and reports after the answer.
fn asking() -> ModelServer {
    saying(|step| match step {
        0 => to_user("c1", "Which colour?"),
        2 => to_user("c2", "It is painted."),
        _ => Reply::text("I wait."),
    })
}

fn a_run_asks_the_person_and_ends_when_everything_is_said(board: &Board) {
    let model = asking();
    let mut run = Running::start(&mut with_model(board, &model, &["run", "Paint the door"]));
    let asked = run.until("message");
    assert_eq!(
        (&asked["text"], &asked["agent"]),
        (&"Which colour?".into(), &"root".into())
    );
    // The script counts answers: input typed before root has ended its turn would be read one answer earlier.
    eventually("root waits for the answer", || {
        board.ok("user", &["society", "tree"])["members"][0]["status"] == "idle"
            && model.count() == 2
    });
    run.types("blue");
    let (last, exit) = run.end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert_eq!(last["said"]["text"], "It is painted.");
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-s3cret")
    );
    assert!(
        requests[0].body.contains("Paint the door"),
        "the requirement is put to root"
    );
    assert!(
        requests[0].body.contains("You are a software architect"),
        "with the team's roles"
    );
    assert!(!requests[1].body.contains("blue") && requests[2].body.contains("blue"));
    // The conversation is kept and can be read later.
    let log = board.ok("user", &["society", "log", "root"]);
    assert_eq!(log["turns"][0]["said"][0]["kind"], "heard");
    let shown = board.shown("user", &["society", "log", "root"]);
    assert!(
        shown.contains("Which colour?") && shown.contains("blue"),
        "{shown}"
    );
    let listed = board.ok("user", &["society", "ps"]);
    assert_eq!(listed["runs"][0]["requirement"], "Paint the door");
}

fn a_killed_run_goes_on_in_a_server(board: &Board) {
    let model = ModelServer::start(|request| match (request.number, answers(request)) {
        (0, _) => Reply::never(),
        (_, 0) => to_user("c1", "Done."),
        _ => Reply::text("I am done."),
    });
    let mut run = Running::start(&mut with_model(board, &model, &["run", "Paint the door"]));
    run.id();
    model.wait_for_requests(1);
    run.signal(rustix::process::Signal::KILL);
    run.child.wait().unwrap();
    let server = serving(board, &model);
    delivered(board, 1);
    let (exit, log) = server.end();
    assert!(exit.success(), "{log}");
    assert_eq!(
        model.count(),
        3,
        "asked again once, and once after the call"
    );
}

fn a_run_is_left_to_a_server(board: &Board) {
    let model = saying(|step| match step {
        0 => to_user("c1", "Done."),
        _ => Reply::text("I am done."),
    });
    let run = board.ok("user", &["run", "--detach", "Paint the door"]);
    assert_eq!(run["requirement"], "Paint the door");
    assert_eq!(model.count(), 0);
    let server = serving(board, &model);
    delivered(board, 1);
    // A run that is started while the server runs.
    board.ok("user", &["run", "--detach", "Paint the gate"]);
    delivered(board, 2);
    let (exit, log) = server.end();
    assert!(exit.success() && !log.contains("s3cret"), "{log}");
}

fn serving(board: &Board, model: &ModelServer) -> Server {
    Server::start_by(&mut with_model(
        board,
        model,
        &["serve", "--listen", "127.0.0.1:0"],
    ))
}

/// Waits until the person has `count` messages. Panics if there are more.
fn delivered(board: &Board, count: usize) {
    eventually("a message to the person", || {
        let mail = board.ok("user", &["message", "check", "--since", "0"]);
        let found = mail["messages"].as_array().unwrap().len();
        assert!(found <= count, "{mail}");
        found == count
    });
}

#[test]
fn an_interrupted_run_stops_cleanly_and_goes_on() {
    let board = Board::embedded();
    let model = ModelServer::start(|request| match (request.number, answers(request)) {
        (0, _) => Reply::never(),
        _ => Reply::text("Done."),
    });
    let mut run = Running::start(&mut with_model(&board, &model, &["run", "Paint the door"]));
    let id = run.id();
    model.wait_for_requests(1);
    run.signal(rustix::process::Signal::INT);
    let (last, exit) = run.end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("stopped"), Some(130)),
        "{last}"
    );
    let resume = with_model(&board, &model, &["run", "--resume", &id])
        .output()
        .unwrap();
    let resumed = Answer::of(resume);
    assert_eq!(resumed.exit, Some(0), "{resumed:?}");
    assert_eq!(documents(&resumed).first().unwrap()["kind"], "resumed");
    assert_eq!(model.count(), 2);
}

#[test]
fn a_budget_that_is_used_up_holds_the_run_until_there_is_more() {
    let board = Board::embedded();
    let model = saying(|step| match step {
        0..=2 => to_user(&format!("c{step}"), &format!("Coat {step}.")),
        _ => Reply::text("Done."),
    });
    let flags = ["run", "--budget-turns", "2", "Paint the door"];
    let held = Answer::of(with_model(&board, &model, &flags).output().unwrap());
    assert_eq!(held.exit, Some(5), "{held:?}");
    assert_eq!(documents(&held).last().unwrap()["how"], "held");
    let tree = board.ok("user", &["society", "tree"]);
    assert_eq!(tree["members"][0]["status"], "paused", "{tree}");
    let budget = board.ok("user", &["society", "budget"]);
    assert_eq!(budget["members"][0]["limits"]["turns"], 2, "{budget}");
    assert_eq!(budget["members"][0]["spent"]["turns"], 2, "{budget}");
    let more = ["run", "--resume", "--budget-turns", "9"];
    let done = Answer::of(with_model(&board, &model, &more).output().unwrap());
    assert_eq!(done.exit, Some(0), "{done:?}");
    assert_eq!(model.count(), 4);
}

#[test]
fn what_cannot_be_run_is_said_before_anything_is_begun() {
    let board = Board::embedded();
    let refused = |args: &[&str], exit, code| board.refused("user", args, exit, code);
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
        board.ok("user", &["society", "ps", "--all"])["runs"],
        Value::Array(vec![])
    );
    let shown = board.shown("user", &["society", "ps"]);
    assert!(
        shown.contains("polis run"),
        "an empty list teaches: {shown}"
    );
}

/// All refusals of a run happen before a project is created in the directory.
#[test]
fn refused_run_creates_nothing() {
    let board = Board::bare();
    let model = saying(|_| Reply::text("Done."));
    let refused = |command: &mut std::process::Command, exit, code| {
        Answer::of(command.output().unwrap()).refusal(exit, code);
        assert!(!board.workspace("").exists(), "{code} left a directory");
    };
    let without_model = &mut board.json_command("user", &["run", "Paint the door"]);
    refused(without_model, 2, "model_not_configured");
    let detached = ["run", "--detach", "Paint the door"];
    let without_model = &mut board.json_command("user", &detached);
    refused(without_model, 2, "model_not_configured");
    let unknown_team = ["run", "--team", "nobody", "Paint the door"];
    refused(
        &mut with_model(&board, &model, &unknown_team),
        4,
        "team_not_found",
    );
    let detached = ["run", "--detach", "--team", "nobody", "Paint the door"];
    refused(
        &mut with_model(&board, &model, &detached),
        4,
        "team_not_found",
    );
    // The directory contains the data directory of polis.
    let here = ["run", "--workspace", ".", "Paint the door"];
    refused(
        &mut with_model(&board, &model, &here),
        5,
        "workspace_overlaps",
    );
    let unknown_tool = ["run", "--approve", "nosuch", "Paint the door"];
    refused(
        &mut with_model(&board, &model, &unknown_tool),
        2,
        "invalid_input",
    );
    assert_eq!(model.count(), 0);
}

#[test]
fn a_directory_that_is_no_polis_is_made_one() {
    let board = Board::bare();
    let model = saying(|_| Reply::text("Done."));
    let answer = Answer::of(
        with_model(&board, &model, &["run", "Paint the door"])
            .output()
            .unwrap(),
    );
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    assert!(board.workspace("polis.toml").exists());
}

#[test]
fn a_key_is_never_shown() {
    let board = Board::embedded();
    let text = "[models]\ndefault = \"fast\"\n[models.fast]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey_env = \"MY_KEY\"\n";
    std::fs::write(board.workspace("polis.toml"), text).unwrap();
    for args in [&["config", "show"][..], &["doctor"], &["society", "ps"]] {
        let mut command = board.command();
        let output = command
            .args(args)
            .env("MY_KEY", "sk-s3cret")
            .output()
            .unwrap();
        let said = format!("{output:?}");
        assert!(!said.contains("s3cret"), "{said}");
    }
    let shown = board.ok("user", &["config", "show"]);
    assert_eq!(shown["models"]["fast"]["key_env"], "MY_KEY");
    let missing = board.refused("user", &["run", "x"], 2, "model_not_configured");
    assert!(missing.message.contains("MY_KEY"), "{missing:?}");
}
