//! Steering a run from another process: approving and denying calls, pausing, resuming, sending messages and stopping.

use polis_testkit::model_server::Reply;

use super::{Running, saying, to_user, with_model};
use crate::board::{Board, eventually, on_both_stores};

on_both_stores!(
    a_call_waits_until_a_person_allows_it,
    a_run_is_paused_resumed_and_ended_from_elsewhere,
);

fn a_call_waits_until_a_person_allows_it(board: &Board) {
    let model = saying(|step| match step {
        0 => to_user("c1", "First."),
        1 => to_user("c2", "Second."),
        _ => Reply::text("Done."),
    });
    let args = ["run", "--approve", "send_message", "Paint the door"];
    let mut run = Running::start(&mut with_model(board, &model, &args));
    let first = run.until("approval");
    assert_eq!(
        (&first["tool"], &first["agent"]),
        (&"send_message".into(), &"root".into())
    );
    let waiting = board.ok("user", &["society", "approvals"]);
    assert_eq!(waiting["approvals"][0]["id"], first["id"]);
    assert_eq!(
        board.ok("user", &["society", "tree"])["members"][0]["status"],
        "asking"
    );
    let id = first["id"].as_str().unwrap();
    board.ok("user", &["society", "deny", id, "--note", "not yet"]);
    let second = run.until("approval");
    run.types("/approve");
    let said = run.until("message");
    assert_eq!(said["text"], "Second.");
    let (last, exit) = run.end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert!(
        model.requests()[1].body.contains("not yet"),
        "the agent is told why"
    );
    let all = board.ok("user", &["society", "approvals", "--all"]);
    let decided = |id: &serde_json::Value| {
        let list = all["approvals"].as_array().unwrap();
        let found = list.iter().find(|one| one["id"] == *id).unwrap();
        found["decision"]["allowed"].as_bool().unwrap()
    };
    assert_eq!(
        (decided(&first["id"]), decided(&second["id"])),
        (false, true)
    );
    let nobody = board.refused("user", &["society", "approve", id], 5, "wrong_state");
    assert!(!nobody.hint.is_empty());
}

fn a_run_is_paused_resumed_and_ended_from_elsewhere(board: &Board) {
    let model = saying(|step| match step {
        0 => to_user("c1", "Which colour?"),
        2 => to_user("c2", "And the handle?"),
        _ => Reply::text("I wait."),
    });
    let mut run = Running::start(&mut with_model(board, &model, &["run", "Paint the door"]));
    let id = run.id();
    run.until("message");
    // Wait until root is idle, so that the message sent during the pause is read after resuming.
    let idle = || board.ok("user", &["society", "tree", &id])["members"][0]["status"] == "idle";
    eventually("root waits", idle);
    board.ok("user", &["society", "pause", &id]);
    board.ok("user", &["society", "send", "root", "Blue.", "--run", &id]);
    let paused = board.ok("user", &["society", "ps"]);
    assert_eq!(paused["runs"][0]["status"], "paused");
    let before = model.count();
    board.ok("user", &["society", "resume", &id]);
    let asked = run.until("message");
    assert_eq!(asked["text"], "And the handle?");
    assert_eq!(before, 2, "nobody thinks while the run is paused");
    let shown = board.shown("user", &["society", "roles", &id]);
    assert!(
        shown.contains("architect") && shown.contains("programmer"),
        "{shown}"
    );
    board.ok("user", &["society", "stop", &id]);
    let (last, exit) = run.end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("over"), Some(0)),
        "{last}"
    );
    board.refused(
        "user",
        &["society", "send", "root", "x", "--run", &id],
        4,
        "recipient_not_found",
    );
    let shown = board.shown("user", &["society", "ps", "--all"]);
    assert!(shown.contains("over"), "{shown}");
}
