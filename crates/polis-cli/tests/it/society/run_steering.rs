//! Tests of steering a run from another process: approving and denying calls, pausing, resuming, sending
//! messages and stopping.

use polis_testkit::scripted_model::ScriptedReply;

use super::{RunProcess, command_with_model, message_user_reply, scripted_model_by_step};
use crate::harness::test_project::{TestProject, on_both_stores, wait_until};

on_both_stores!(
    call_waits_for_approval_of_the_user,
    run_can_be_paused_resumed_and_stopped_by_another_process,
);

fn call_waits_for_approval_of_the_user(project: &TestProject) {
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "First."),
        1 => message_user_reply("c2", "Second."),
        _ => ScriptedReply::text("Done."),
    });
    let args = ["run", "--approve", "send_message", "Paint the door"];
    let mut run = RunProcess::start(&mut command_with_model(project, &model, &args));
    let first = run.read_until("approval");
    assert_eq!(
        (&first["tool"], &first["agent"]),
        (&"send_message".into(), &"root".into())
    );
    let waiting = project.run_ok("user", &["society", "approvals"]);
    assert_eq!(waiting["approvals"][0]["id"], first["id"]);
    assert_eq!(
        project.run_ok("user", &["society", "tree"])["members"][0]["status"],
        "asking"
    );
    let id = first["id"].as_str().unwrap();
    project.run_ok("user", &["society", "deny", id, "--note", "not yet"]);
    let second = run.read_until("approval");
    run.type_line("/approve");
    let said = run.read_until("message");
    assert_eq!(said["text"], "Second.");
    let (last, exit) = run.wait_for_end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("done"), Some(0)),
        "{last}"
    );
    assert!(
        model.requests()[1].body.contains("not yet"),
        "the agent receives the reason"
    );
    let all = project.run_ok("user", &["society", "approvals", "--all"]);
    let decided = |id: &serde_json::Value| {
        let list = all["approvals"].as_array().unwrap();
        let found = list.iter().find(|one| one["id"] == *id).unwrap();
        found["decision"]["allowed"].as_bool().unwrap()
    };
    assert_eq!(
        (decided(&first["id"]), decided(&second["id"])),
        (false, true)
    );
    let nobody = project.run_refused("user", &["society", "approve", id], 5, "wrong_state");
    assert!(!nobody.hint.is_empty());
}

fn run_can_be_paused_resumed_and_stopped_by_another_process(project: &TestProject) {
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "Which colour?"),
        2 => message_user_reply("c2", "And the handle?"),
        _ => ScriptedReply::text("I wait."),
    });
    let mut run = RunProcess::start(&mut command_with_model(
        project,
        &model,
        &["run", "Paint the door"],
    ));
    let id = run.read_run_id();
    run.read_until("message");
    // Wait until root is idle, so that the message sent during the pause is read after resuming.
    let idle =
        || project.run_ok("user", &["society", "tree", &id])["members"][0]["status"] == "idle";
    wait_until("root waits", idle);
    project.run_ok("user", &["society", "pause", &id]);
    project.run_ok("user", &["society", "send", "root", "Blue.", "--run", &id]);
    let paused = project.run_ok("user", &["society", "ps"]);
    assert_eq!(paused["runs"][0]["status"], "paused");
    let before = model.request_count();
    project.run_ok("user", &["society", "resume", &id]);
    let asked = run.read_until("message");
    assert_eq!(asked["text"], "And the handle?");
    assert_eq!(before, 2, "no model request while the run is paused");
    let shown = project.run_text("user", &["society", "roles", &id]);
    assert!(
        shown.contains("architect") && shown.contains("programmer"),
        "{shown}"
    );
    project.run_ok("user", &["society", "stop", &id]);
    let (last, exit) = run.wait_for_end();
    assert_eq!(
        (last["how"].as_str(), exit),
        (Some("over"), Some(0)),
        "{last}"
    );
    project.run_refused(
        "user",
        &["society", "send", "root", "x", "--run", &id],
        4,
        "recipient_not_found",
    );
    let shown = project.run_text("user", &["society", "ps", "--all"]);
    assert!(shown.contains("stopped"), "{shown}");
}
