//! Tests of `polis ws commands`: lists finished commands, and commands that are running in another process.

use serde_json::Value;

use crate::harness::test_project::{TestProject, on_both_stores, wait_until};

fn register_two_agents(project: &TestProject) {
    for (id, role) in [("ada", "team-lead"), ("bob", "architect")] {
        project.run_ok("user", &["agent", "add", id, "--role", role]);
    }
}

fn list_commands(project: &TestProject, by: &str, args: &[&str]) -> Vec<Value> {
    let list = project.run_ok(by, &[&["ws", "commands"], args].concat());
    list["commands"].as_array().unwrap().clone()
}

fn command_list_includes_output_of_finished_commands(project: &TestProject) {
    register_two_agents(project);
    project.run_ok("ada", &["exec", "--", "echo one; echo two >&2; exit 3"]);
    project.run_ok("bob", &["exec", "--", "echo bob"]);
    let all = list_commands(project, "user", &[]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["command"], "echo bob", "newest first");
    assert_eq!(list_commands(project, "ada", &[]), all[1..]);
    assert_eq!(list_commands(project, "user", &["--of", "ada"]), all[1..]);
    let id = all[1]["id"].as_str().unwrap();
    let shown = project.run_ok("ada", &["ws", "commands", id]);
    assert_eq!(shown["exitCode"], 3);
    let output = shown["output"].as_str().unwrap();
    assert!(
        output.contains("one\n") && output.contains("two\n"),
        "{output}"
    );
    project.run_refused("bob", &["ws", "commands", id], 4, "command_not_found");
}

fn running_command_is_visible_to_another_process(project: &TestProject) {
    register_two_agents(project);
    let mut command = project.command();
    command.args(["--as", "ada", "exec", "--", "echo up; sleep 60"]);
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let running = || list_commands(project, "user", &["--running"]);
    wait_until("a running command", || running().len() == 1);
    let id = running()[0]["id"].as_str().unwrap().to_owned();
    wait_until("its output", || {
        project.run_ok("user", &["ws", "commands", &id])["output"] == "up\n"
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(list_commands(project, "user", &[])[0]["id"], id.as_str());
}

on_both_stores!(
    command_list_includes_output_of_finished_commands,
    running_command_is_visible_to_another_process,
);
