//! Tests of `polis ws bind`: valid target directories, permissions, and overlaps.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

use serde_json::json;

use crate::harness::test_project::{
    CommandOutput, TestProject, on_both_stores, spawn_captured, wait_for_output,
};
use crate::workspace::workspace_access::{
    path_str, register_bottom_agent, register_two_teams, write_workspace_file,
};

fn bind_workspace(project: &TestProject, by: &str, of: &str, to: &Path) -> CommandOutput {
    project.run_json(by, &["ws", "bind", path_str(to), "--of", of])
}

fn workspace_is_bound_to_the_canonical_path(board: &TestProject) {
    register_two_teams(board);
    let project = board.project_path("project");
    symlink(&project, board.project_path("link")).unwrap();
    std::fs::create_dir(&project).unwrap();
    // A relative path through a symlink, to a directory that does not exist yet.
    let bound = board.run_ok("user", &["ws", "bind", "link/deep/er", "--of", "ada"]);
    let place = project.canonicalize().unwrap().join("deep/er");
    assert!(place.is_dir());
    assert_eq!(
        bound,
        json!({
            "workspaceId": "ada", "workspacePath": place, "bound": true, "created": true,
            "createdAt": bound["createdAt"],
        })
    );
    write_workspace_file(board, "cy", "from-cy");
    assert_eq!(
        std::fs::read_to_string(place.join("from-cy")).unwrap(),
        "cy"
    );
    assert!(!board.data_path("workspaces/ada").exists());
    // Binding to the same directory again is harmless, to another one is not.
    let events = board.read_log().len();
    assert_eq!(
        board.run_ok("user", &["ws", "bind", path_str(&place), "--of", "ada"]),
        bound
    );
    assert_eq!(board.read_log().len(), events);
    let refused = bind_workspace(board, "ada", "ada", &board.project_path("new"))
        .expect_refusal(5, "workspace_exists");
    assert!(refused.hint.contains("--force"), "{refused:?}");
    assert!(
        !board.project_path("new").exists(),
        "created for a refused request"
    );
    let args = ["ws", "bind", "new", "--force"];
    let moved = board.run_ok("ada", &args);
    assert_eq!(
        moved.get("workspacePath"),
        None,
        "an agent sees a host path"
    );
    assert_eq!(board.run_ok("cy", &["ws", "ls"]), json!({"files": []}));
    assert!(
        place.join("from-cy").exists(),
        "files in the old directory are kept"
    );
    let log = board.read_log();
    let told = log
        .iter()
        .filter(|event| event["kind"] == "workspace.bound");
    let told: Vec<_> = told.map(|event| event["data"].clone()).collect();
    assert_eq!(
        told,
        [
            json!({"workspaceId": "ada", "bound": true}),
            json!({"workspaceId": "ada", "bound": true, "moved": true}),
        ]
    );
}

fn binding_away_from_a_used_default_directory_needs_force(project: &TestProject) {
    register_two_teams(project);
    write_workspace_file(project, "bob", "work");
    bind_workspace(project, "user", "ada", &project.project_path("new"))
        .expect_refusal(5, "workspace_exists");
    assert!(!project.project_path("new").exists());
    project.run_ok("user", &["ws", "bind", "new", "--of", "ada", "--force"]);
    project.run_refused("bob", &["ws", "cat", "work"], 4, "file_not_found");
    assert!(project.data_path("workspaces/ada/work").exists());
}

fn binding_is_allowed_only_for_team_heads_by_permitted_agents(project: &TestProject) {
    register_two_teams(project);
    let to = project.project_path("new");
    let refused = bind_workspace(project, "user", "cy", &to).expect_refusal(2, "invalid_workspace");
    assert!(refused.hint.contains("bob"), "{refused:?}");
    project.run_refused("bob", &["ws", "bind", "new"], 2, "invalid_workspace");
    bind_workspace(project, "eve", "ada", &to).expect_refusal(3, "permission_denied");
    bind_workspace(project, "bob", "ada", &to).expect_refusal(3, "permission_denied");
    project.run_refused(
        "user",
        &[
            "agent",
            "add",
            "x",
            "--role",
            "architect",
            "--supervisor",
            "ada",
            "--workspace",
            "new",
        ],
        2,
        "invalid_workspace",
    );
    project.run_refused("user", &["agent", "show", "x"], 4, "agent_not_found");
    assert!(!to.exists());
    project.run_ok("user", &["agent", "add", "lead", "--role", "team-lead"]);
    project.run_ok("lead", &["ws", "bind", "new", "--of", "ada"]);
    project.run_ok("eve", &["ws", "bind", "mine"]);
}

fn binding_to_an_overlapping_directory_is_refused(project: &TestProject) {
    register_two_teams(project);
    bind_workspace(project, "user", "ada", &project.project_path("a/b")).expect_document();
    for place in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/../b", "."] {
        let to = project.project_path(place);
        let there = to.exists();
        bind_workspace(project, "user", "eve", &to).expect_refusal(5, "workspace_overlaps");
        let new = [
            "agent",
            "add",
            "new",
            "--role",
            "architect",
            "--workspace",
            path_str(&to),
        ];
        project.run_refused("user", &new, 5, "workspace_overlaps");
        assert_eq!(
            to.exists(),
            there,
            "{place} was created for a refused request"
        );
    }
    project.run_refused("user", &["agent", "show", "new"], 4, "agent_not_found");
    // polis's own data, with any store.
    for place in ["", "x", "workspaces", "workspaces/eve", "workspaces/new"] {
        bind_workspace(project, "user", "eve", &project.data_path(place))
            .expect_refusal(5, "workspace_overlaps");
    }
    assert!(!project.data_path("x").exists());
    // A directory with a common name prefix does not overlap.
    bind_workspace(project, "user", "eve", &project.project_path("a/bc")).expect_document();
}

fn binding_to_an_unsuitable_directory_is_refused(project: &TestProject) {
    register_two_teams(project);
    std::fs::write(project.project_path("file"), "x").unwrap();
    for (to, exit, code) in [
        ("file", 2, "not_a_directory"),
        ("file/below", 2, "not_a_directory"),
        ("/", 2, "invalid_workspace"),
        ("/etc/polis-it", 2, "invalid_workspace"),
        ("/proc/polis-it", 2, "invalid_workspace"),
        ("/home", 2, "invalid_workspace"),
        ("missing/../elsewhere", 2, "invalid_workspace"),
        ("", 2, "invalid_workspace"),
    ] {
        project.run_refused("eve", &["ws", "bind", to], exit, code);
    }
    assert_eq!(
        project.run_ok("user", &["ws", "list"])["workspaces"][1]["bound"],
        false
    );
    let locked = project.project_path("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o500)).unwrap();
    // Root may write everywhere; other users are refused.
    if !is_root() {
        project.run_refused(
            "eve",
            &["ws", "bind", path_str(&locked)],
            3,
            "permission_denied",
        );
        let inside = locked.join("inside");
        project.run_refused(
            "eve",
            &["ws", "bind", path_str(&inside)],
            3,
            "permission_denied",
        );
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn agent_can_be_registered_with_a_workspace_directory(board: &TestProject) {
    let args = [
        "agent",
        "add",
        "dev",
        "--role",
        "architect",
        "--workspace",
        "project",
    ];
    let agent = board.run_ok("user", &args);
    assert_eq!(agent.get("workspacePath"), None);
    let project = board.project_path("project").canonicalize().unwrap();
    assert_eq!(
        board.read_log()[1]["data"],
        json!({"workspaceId": "dev", "bound": true})
    );
    let list = board.run_ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["workspacePath"], path_str(&project));
    write_workspace_file(board, "dev", "x");
    assert!(project.join("x").exists());
}

fn concurrent_overlapping_binds_let_one_win(project: &TestProject) {
    let agents: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
    for agent in &agents {
        register_bottom_agent(project, agent, "");
    }
    let places = ["w", "w/deep", "w/deep/er", "w"];
    let children: Vec<Child> = agents
        .iter()
        .zip(places.iter().cycle())
        .map(|(agent, place)| {
            spawn_captured(&mut project.json_command(agent, &["ws", "bind", place]))
        })
        .collect();
    let answers: Vec<CommandOutput> = children.into_iter().map(wait_for_output).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit_code == Some(0));
    assert_eq!(won.len(), 1, "{answers:?}");
    for answer in lost {
        answer.expect_refusal(5, "workspace_overlaps");
    }
    let list = project.run_ok("user", &["ws", "list"]);
    let bound = list["workspaces"].as_array().unwrap().iter();
    assert_eq!(bound.filter(|entry| entry["bound"] == true).count(), 1);
}

/// Records a directory as an agent's workspace, as a store that polis did not write may.
fn set_stored_workspace_path(project: &TestProject, agent: &str, directory: &str) {
    let database = rusqlite::Connection::open(project.data_path("polis.db")).unwrap();
    let changed = database.execute(
        "UPDATE workspaces SET body = json_set(body, '$.workspacePath', ?2) WHERE id = ?1",
        [agent, directory],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn stored_workspace_path_is_checked_at_use() {
    let board = TestProject::embedded();
    register_two_teams(&board);
    let other = TestProject::embedded();
    register_two_teams(&other);
    bind_workspace(&other, "user", "ada", &other.project_path("theirs")).expect_document();
    let theirs = other.project_path("theirs").canonicalize().unwrap();
    let project = other.path().canonicalize().unwrap();
    for (directory, exit, code) in [
        ("/etc", 2, "invalid_workspace"),
        ("/var/../etc", 2, "invalid_workspace"),
        (path_str(&theirs), 5, "workspace_overlaps"),
        (path_str(&project), 5, "workspace_overlaps"),
    ] {
        set_stored_workspace_path(&board, "ada", directory);
        for args in [
            &["ws", "cat", "hostname"][..],
            &["ws", "ls"],
            &["ws", "write", "planted", "--content", "x"],
            &["exec", "--", "cat hostname"],
        ] {
            board.run_refused("ada", args, exit, code);
        }
    }
    assert!(!theirs.join("planted").exists());
    write_workspace_file(&other, "ada", "still-theirs");
    // A directory that could be bound is accepted.
    let free = board.project_path("free");
    std::fs::create_dir(&free).unwrap();
    set_stored_workspace_path(&board, "ada", path_str(&free.canonicalize().unwrap()));
    write_workspace_file(&board, "ada", "mine");
}

on_both_stores!(
    workspace_is_bound_to_the_canonical_path,
    binding_away_from_a_used_default_directory_needs_force,
    binding_is_allowed_only_for_team_heads_by_permitted_agents,
    binding_to_an_overlapping_directory_is_refused,
    binding_to_an_unsuitable_directory_is_refused,
    agent_can_be_registered_with_a_workspace_directory,
    concurrent_overlapping_binds_let_one_win,
);
