//! Tests of the root of a bound workspace: a directory swapped for another one or a symlink is refused, and
//! the root overlaps no other project or workspace on the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::test_project::TestProject;
use crate::workspace::workspace_access::{path_str, register_bottom_agent};

fn register_bound_agent(project: &TestProject, agent: &str, directory: &Path) {
    register_bottom_agent(project, agent, "");
    project.run_ok("user", &["ws", "bind", path_str(directory), "--of", agent]);
}

/// Asserts that file tools and commands refuse the workspace.
fn assert_workspace_refused(project: &TestProject, agent: &str) {
    for args in [
        &["ws", "ls"][..],
        &["ws", "cat", "secret"],
        &["ws", "write", "pwn", "--content", "x"],
        &["ws", "info"],
        &["exec", "--", "cat secret; touch pwn"],
    ] {
        let refused = project.run_refused(agent, args, 2, "invalid_workspace");
        assert!(
            refused.hint.contains("bind the workspace again"),
            "{refused:?}"
        );
    }
}

#[test]
fn swapped_workspace_root_is_refused() {
    let project = TestProject::embedded();
    let machine = tempfile::tempdir().unwrap();
    let at = |name: &str| machine.path().canonicalize().unwrap().join(name);
    fs::create_dir_all(at("parent/ws")).unwrap();
    fs::create_dir_all(at("home")).unwrap();
    fs::write(at("home/secret"), "KEY").unwrap();
    register_bound_agent(&project, "ada", &at("parent/ws"));
    project.run_ok("ada", &["ws", "write", "mine", "--content", "x"]);
    // A symlink in its place.
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    symlink(at("home"), at("parent/ws")).unwrap();
    assert_workspace_refused(&project, "ada");
    // A symlink in the place of a parent directory.
    fs::remove_file(at("parent/ws")).unwrap();
    fs::rename(at("parent/moved"), at("parent/ws")).unwrap();
    fs::rename(at("parent"), at("away")).unwrap();
    symlink(at("home"), at("parent")).unwrap();
    fs::create_dir(at("home/ws")).unwrap();
    assert_workspace_refused(&project, "ada");
    // Another directory in its place.
    fs::remove_file(at("parent")).unwrap();
    fs::rename(at("away"), at("parent")).unwrap();
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    fs::rename(at("home"), at("parent/ws")).unwrap();
    assert_workspace_refused(&project, "ada");
    assert!(!at("parent/ws/pwn").exists());
    // The original directory again, and then another one that the person binds.
    fs::rename(at("parent/ws"), at("home")).unwrap();
    fs::rename(at("parent/moved"), at("parent/ws")).unwrap();
    assert_eq!(
        project.run_ok("ada", &["ws", "cat", "mine"])["content"],
        "x"
    );
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    fs::create_dir(at("parent/ws")).unwrap();
    assert_workspace_refused(&project, "ada");
    project.run_ok(
        "user",
        &["ws", "bind", path_str(&at("parent/ws")), "--of", "ada"],
    );
    let said = project.run_ok("ada", &["exec", "--", "ls -a"]);
    assert_eq!(said["stdout"], ".\n..\n", "{said}");
}

#[test]
fn workspace_overlapping_another_store_is_refused() {
    let (one, two) = (TestProject::embedded(), TestProject::embedded());
    let machine = tempfile::tempdir().unwrap();
    let at = |name: &str| machine.path().canonicalize().unwrap().join(name);
    fs::create_dir_all(at("work/sub")).unwrap();
    register_bound_agent(&one, "ada", &at("work"));
    register_bottom_agent(&two, "eve", "");
    for directory in [
        at("work"),
        at("work/sub"),
        at(""),
        one.path().to_owned(),
        one.data_path("workspaces/ada"),
    ] {
        let bind = ["ws", "bind", path_str(&directory), "--of", "eve"];
        two.run_refused("user", &bind, 5, "workspace_overlaps");
    }
    two.run_ok(
        "user",
        &["ws", "bind", path_str(&at("other")), "--of", "eve"],
    );
    one.run_refused(
        "user",
        &[
            "ws",
            "bind",
            path_str(&at("other/deep")),
            "--of",
            "ada",
            "--force",
        ],
        5,
        "workspace_overlaps",
    );
    // A workspace that was bound elsewhere leaves its old directory free.
    one.run_ok(
        "user",
        &["ws", "bind", path_str(&at("new")), "--of", "ada", "--force"],
    );
    register_bottom_agent(&two, "bob", "");
    two.run_ok(
        "user",
        &["ws", "bind", path_str(&at("work")), "--of", "bob"],
    );
}

#[test]
fn project_in_a_workspace_is_hidden_from_commands() {
    let project = TestProject::embedded();
    let machine = tempfile::tempdir().unwrap();
    let place = machine.path().canonicalize().unwrap();
    register_bound_agent(&project, "ada", &place);
    // Created by another program after the directory was bound.
    fs::create_dir(place.join(".agent-workspace")).unwrap();
    fs::write(place.join(".agent-workspace/polis.toml"), "secret").unwrap();
    let script = "cat .agent-workspace/polis.toml; echo x >> .agent-workspace/polis.toml; rm -rf .agent-workspace; ls -A .agent-workspace";
    let said = project.run_ok("ada", &["exec", "--", script]);
    assert_eq!(said["stdout"], "", "{said}");
    let kept = fs::read_to_string(place.join(".agent-workspace/polis.toml")).unwrap();
    assert_eq!(kept, "secret");
    assert_eq!(
        project.run_ok("ada", &["ws", "ls"])["files"],
        serde_json::json!([])
    );
}
