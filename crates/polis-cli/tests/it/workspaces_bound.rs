//! Tests of workspaces bound to a chosen directory: valid targets, permissions and overlaps.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

use serde_json::json;

use crate::board::{Answer, Board, finish, on_both_stores, start};
use crate::workspaces::{add, teams, text, write};

fn bind(board: &Board, by: &str, of: &str, to: &Path) -> Answer {
    board.run(by, &["ws", "bind", text(to), "--of", of])
}

fn a_directory_is_bound_as_it_really_is(board: &Board) {
    teams(board);
    let project = board.file("project");
    symlink(&project, board.file("link")).unwrap();
    std::fs::create_dir(&project).unwrap();
    // A relative path through a symlink, to a directory that does not exist yet.
    let bound = board.ok("user", &["ws", "bind", "link/deep/er", "--of", "ada"]);
    let place = project.canonicalize().unwrap().join("deep/er");
    assert!(place.is_dir());
    assert_eq!(
        bound,
        json!({
            "workspaceId": "ada", "workspacePath": place, "bound": true, "created": true,
            "createdAt": bound["createdAt"],
        })
    );
    write(board, "cy", "from-cy");
    assert_eq!(
        std::fs::read_to_string(place.join("from-cy")).unwrap(),
        "cy"
    );
    assert!(!board.workspace("workspaces/ada").exists());
    // Binding to the same directory again is harmless, to another one is not.
    let events = board.log().len();
    assert_eq!(
        board.ok("user", &["ws", "bind", text(&place), "--of", "ada"]),
        bound
    );
    assert_eq!(board.log().len(), events);
    let refused = bind(board, "ada", "ada", &board.file("new")).refusal(5, "workspace_exists");
    assert!(refused.hint.contains("--force"), "{refused:?}");
    assert!(!board.file("new").exists(), "made for a refused request");
    let args = ["ws", "bind", "new", "--force"];
    let moved = board.ok("ada", &args);
    assert_eq!(moved.get("workspacePath"), None, "told to an agent");
    assert_eq!(board.ok("cy", &["ws", "ls"]), json!({"files": []}));
    assert!(place.join("from-cy").exists(), "what is left behind stays");
    let log = board.log();
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

fn a_default_directory_in_use_is_not_left_by_accident(board: &Board) {
    teams(board);
    write(board, "bob", "work");
    bind(board, "user", "ada", &board.file("new")).refusal(5, "workspace_exists");
    assert!(!board.file("new").exists());
    board.ok("user", &["ws", "bind", "new", "--of", "ada", "--force"]);
    board.refused("bob", &["ws", "cat", "work"], 4, "file_not_found");
    assert!(board.workspace("workspaces/ada/work").exists());
}

fn only_heads_of_teams_are_bound_and_not_by_everybody(board: &Board) {
    teams(board);
    let to = board.file("new");
    let refused = bind(board, "user", "cy", &to).refusal(2, "invalid_workspace");
    assert!(refused.hint.contains("bob"), "{refused:?}");
    board.refused("bob", &["ws", "bind", "new"], 2, "invalid_workspace");
    bind(board, "eve", "ada", &to).refusal(3, "permission_denied");
    bind(board, "bob", "ada", &to).refusal(3, "permission_denied");
    board.refused(
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
    board.refused("user", &["agent", "show", "x"], 4, "agent_not_found");
    assert!(!to.exists());
    board.ok("user", &["agent", "add", "lead", "--role", "team-lead"]);
    board.ok("lead", &["ws", "bind", "new", "--of", "ada"]);
    board.ok("eve", &["ws", "bind", "mine"]);
}

fn directories_do_not_overlap(board: &Board) {
    teams(board);
    bind(board, "user", "ada", &board.file("a/b")).document();
    for place in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/../b", "."] {
        let to = board.file(place);
        let there = to.exists();
        bind(board, "user", "eve", &to).refusal(5, "workspace_overlaps");
        let new = [
            "agent",
            "add",
            "new",
            "--role",
            "architect",
            "--workspace",
            text(&to),
        ];
        board.refused("user", &new, 5, "workspace_overlaps");
        assert_eq!(to.exists(), there, "{place} was made for a refused request");
    }
    board.refused("user", &["agent", "show", "new"], 4, "agent_not_found");
    // polis's own data, with any store.
    for place in ["", "x", "workspaces", "workspaces/eve", "workspaces/new"] {
        bind(board, "user", "eve", &board.workspace(place)).refusal(5, "workspace_overlaps");
    }
    assert!(!board.workspace("x").exists());
    // A directory with a common name prefix does not overlap.
    bind(board, "user", "eve", &board.file("a/bc")).document();
}

fn what_cannot_be_a_workspace_is_refused(board: &Board) {
    teams(board);
    std::fs::write(board.file("file"), "x").unwrap();
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
        board.refused("eve", &["ws", "bind", to], exit, code);
    }
    assert_eq!(
        board.ok("user", &["ws", "list"])["workspaces"][1]["bound"],
        false
    );
    let locked = board.file("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o500)).unwrap();
    // Root may write everywhere; other users are refused.
    if !is_root() {
        board.refused(
            "eve",
            &["ws", "bind", text(&locked)],
            3,
            "permission_denied",
        );
        let inside = locked.join("inside");
        board.refused(
            "eve",
            &["ws", "bind", text(&inside)],
            3,
            "permission_denied",
        );
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn an_agent_can_be_registered_with_its_directory(board: &Board) {
    let args = [
        "agent",
        "add",
        "dev",
        "--role",
        "architect",
        "--workspace",
        "project",
    ];
    let agent = board.ok("user", &args);
    assert_eq!(agent.get("workspacePath"), None);
    let project = board.file("project").canonicalize().unwrap();
    assert_eq!(
        board.log()[1]["data"],
        json!({"workspaceId": "dev", "bound": true})
    );
    let list = board.ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["workspacePath"], text(&project));
    write(board, "dev", "x");
    assert!(project.join("x").exists());
}

fn of_racing_binds_one_succeeds(board: &Board) {
    let agents: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
    for agent in &agents {
        add(board, agent, "");
    }
    let places = ["w", "w/deep", "w/deep/er", "w"];
    let children: Vec<Child> = agents
        .iter()
        .zip(places.iter().cycle())
        .map(|(agent, place)| start(&mut board.json_command(agent, &["ws", "bind", place])))
        .collect();
    let answers: Vec<Answer> = children.into_iter().map(finish).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit == Some(0));
    assert_eq!(won.len(), 1, "{answers:?}");
    for answer in lost {
        answer.refusal(5, "workspace_overlaps");
    }
    let list = board.ok("user", &["ws", "list"]);
    let bound = list["workspaces"].as_array().unwrap().iter();
    assert_eq!(bound.filter(|entry| entry["bound"] == true).count(), 1);
}

/// Records a directory as an agent's workspace, as a store that polis did not write may.
fn record(board: &Board, agent: &str, directory: &str) {
    let database = rusqlite::Connection::open(board.workspace("polis.db")).unwrap();
    let changed = database.execute(
        "UPDATE workspaces SET body = json_set(body, '$.workspacePath', ?2) WHERE id = ?1",
        [agent, directory],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn directory_that_only_the_store_names_is_checked_at_use() {
    let board = Board::embedded();
    teams(&board);
    let other = Board::embedded();
    teams(&other);
    bind(&other, "user", "ada", &other.file("theirs")).document();
    let theirs = other.file("theirs").canonicalize().unwrap();
    let project = other.path().canonicalize().unwrap();
    for (directory, exit, code) in [
        ("/etc", 2, "invalid_workspace"),
        ("/var/../etc", 2, "invalid_workspace"),
        (text(&theirs), 5, "workspace_overlaps"),
        (text(&project), 5, "workspace_overlaps"),
    ] {
        record(&board, "ada", directory);
        for args in [
            &["ws", "cat", "hostname"][..],
            &["ws", "ls"],
            &["ws", "write", "planted", "--content", "x"],
            &["exec", "--", "cat hostname"],
        ] {
            board.refused("ada", args, exit, code);
        }
    }
    assert!(!theirs.join("planted").exists());
    write(&other, "ada", "still-theirs");
    // One that could be bound is accepted.
    let free = board.file("free");
    std::fs::create_dir(&free).unwrap();
    record(&board, "ada", text(&free.canonicalize().unwrap()));
    write(&board, "ada", "mine");
}

on_both_stores!(
    a_directory_is_bound_as_it_really_is,
    a_default_directory_in_use_is_not_left_by_accident,
    only_heads_of_teams_are_bound_and_not_by_everybody,
    directories_do_not_overlap,
    what_cannot_be_a_workspace_is_refused,
    an_agent_can_be_registered_with_its_directory,
    of_racing_binds_one_succeeds,
);
