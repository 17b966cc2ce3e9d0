//! Tests of workspaces: assignment, inheritance, binding and access control.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::board::{Answer, Board, on_both_stores};

/// Registers an agent; an empty supervisor means none.
pub(crate) fn add(board: &Board, id: &str, supervisor: &str) {
    let mut args = vec![
        "agent",
        "add",
        id,
        "--role",
        "architect",
        "--layer",
        "bottom",
    ];
    if !supervisor.is_empty() {
        args.extend(["--supervisor", supervisor]);
    }
    board.ok("user", &args);
}

/// Registers two teams: ada with bob and cy below her, and eve alone.
pub(crate) fn teams(board: &Board) {
    for (id, supervisor) in [("ada", ""), ("bob", "ada"), ("cy", "bob"), ("eve", "root")] {
        add(board, id, supervisor);
    }
}

pub(crate) fn write(board: &Board, by: &str, path: &str) {
    board.ok(by, &["ws", "write", path, "--content", by]);
}

fn kinds(board: &Board) -> Vec<String> {
    let log = board.log();
    let kinds = log.iter().map(|event| event["kind"].as_str().unwrap());
    kinds.map(str::to_owned).collect()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn every_head_of_a_team_has_a_workspace_at_once(board: &Board) {
    teams(board);
    assert_eq!(
        kinds(board),
        [
            "agent.added",
            "workspace.assigned",
            "agent.added",
            "agent.added",
            "agent.added",
            "workspace.assigned",
        ]
    );
    let log = board.log();
    assert_eq!(log[1]["subject"], "workspace/ada");
    assert_eq!(log[1]["data"], json!({"workspaceId": "ada"}));
    let list = board.ok("user", &["ws", "list"]);
    let place = board.workspace("workspaces").canonicalize().unwrap();
    let entry = |n: usize, id: &str| {
        json!({
            "workspaceId": id, "workspacePath": place.join(id), "bound": false, "created": false,
            "createdAt": list["workspaces"][n]["createdAt"],
        })
    };
    assert_eq!(
        list,
        json!({"workspaces": [entry(0, "ada"), entry(1, "eve")]})
    );
    // No directory is created before the first write; reading creates nothing.
    assert_eq!(board.ok("cy", &["ws", "ls"]), json!({"files": []}));
    let info = json!({
        "fileCount": 0, "dirCount": 0, "totalSize": 0, "lastModified": null, "workspaceId": "ada",
    });
    assert_eq!(board.ok("cy", &["ws", "info"]), info);
    board.refused("cy", &["ws", "cat", "x"], 4, "file_not_found");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    write(board, "cy", "a/b.txt");
    assert_eq!(
        std::fs::read_to_string(place.join("ada/a/b.txt")).unwrap(),
        "cy"
    );
    let list = board.ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["created"], true);
    assert_eq!(list["workspaces"][1]["created"], false);
}

fn root_is_above_everybody_and_no_agent(board: &Board) {
    let args = [
        "agent",
        "add",
        "lead",
        "--role",
        "team-lead",
        "--supervisor",
        "root",
    ];
    let lead = board.ok("user", &args);
    assert_eq!(
        (&lead["layer"], &lead["supervisor"]),
        (&json!("top"), &json!("root"))
    );
    board.ok(
        "user",
        &[
            "agent",
            "add",
            "dev",
            "--role",
            "architect",
            "--supervisor",
            "lead",
        ],
    );
    add(board, "other", "");
    assert_eq!(
        board.shown("user", &["agent", "tree"]),
        "lead (team-lead, top)\n└─ dev (architect, mid)\nother (architect, bottom)\n"
    );
    for id in ["root", "user"] {
        board.refused("user", &["agent", "show", id], 4, "agent_not_found");
        board.refused("user", &["agent", "retire", id], 4, "agent_not_found");
    }
    // Board permissions depend on the registry, which does not contain root.
    assert_eq!(
        board.ok("lead", &["board", "can", "top"])["write"]["allowed"],
        true
    );
    assert_eq!(
        board.ok("dev", &["board", "can", "top"])["write"]["allowed"],
        false
    );
    board.ok("dev", &["board", "read", "mid/architect"]);
    board.refused("user", &["agent", "retire", "lead"], 5, "agent_in_use");
    board.ok("user", &["agent", "retire", "dev"]);
    board.ok("user", &["agent", "retire", "lead"]);
}

fn a_team_shares_one_and_teams_are_apart(board: &Board) {
    teams(board);
    for by in ["ada", "bob", "cy"] {
        write(board, by, &format!("from-{by}"));
    }
    write(board, "eve", "from-eve");
    for by in ["ada", "bob", "cy"] {
        for of in ["ada", "bob", "cy"] {
            let read = board.ok(by, &["ws", "cat", &format!("from-{of}")]);
            assert_eq!(read["content"], of);
            board.ok(by, &["ws", "cat", "from-ada", "--of", of]);
        }
        board.refused(by, &["ws", "cat", "from-eve"], 4, "file_not_found");
        let refused = board.refused(
            by,
            &["ws", "cat", "x", "--of", "eve"],
            3,
            "permission_denied",
        );
        assert!(refused.hint.contains("--of"), "{refused:?}");
    }
    board.refused(
        "eve",
        &["exec", "--of", "bob", "--", "true"],
        3,
        "permission_denied",
    );
    let last = board.log().pop().unwrap();
    assert_eq!(
        (&last["kind"], &last["actor"]),
        (&json!("file.refused"), &json!("eve"))
    );
    assert_eq!(last["subject"], "workspace/ada");
    // The user may act in any workspace.
    for (of, path) in [("cy", "from-bob"), ("eve", "from-eve")] {
        board.ok("user", &["ws", "cat", path, "--of", of]);
        board.ok(
            "user",
            &["ws", "write", "by-user", "--content", "x", "--of", of],
        );
    }
    assert_eq!(board.ok("ada", &["ws", "info"])["fileCount"], 4);
}

fn retiring_cuts_nobody_off(board: &Board) {
    teams(board);
    write(board, "cy", "kept");
    board.ok("user", &["agent", "retire", "cy"]);
    board.refused("cy", &["ws", "ls"], 3, "permission_denied");
    board.ok("user", &["agent", "retire", "bob"]);
    board.ok("user", &["agent", "retire", "ada"]);
    // The workspace stays, and the user can still access it through any agent that worked there.
    for of in ["ada", "bob", "cy"] {
        let read = board.ok("user", &["ws", "cat", "kept", "--of", of]);
        assert_eq!(read["content"], "cy");
    }
    assert_eq!(
        board.ok("user", &["ws", "list"])["workspaces"][0]["workspaceId"],
        "ada"
    );
}

fn who_has_none_is_told_what_to_do(board: &Board) {
    teams(board);
    for (who, hint) in [
        ("user", "--of AGENT"),
        ("root", "polis ws list"),
        ("stranger", "polis agent add stranger"),
    ] {
        for args in [
            &["ws", "ls"][..],
            &["ws", "info"],
            &["ws", "cat", "x"],
            &["ws", "write", "x", "--content", "x"],
            &["ws", "edit", "x", "--old", "a", "--new", "b"],
            &["ws", "rm", "x"],
            &["ws", "mv", "x", "y"],
            &["ws", "mkdir", "x"],
            &["ws", "search", "x"],
            &["ws", "bind", "somewhere"],
            &["exec", "--", "true"],
        ] {
            let refused = board.refused(who, args, 4, "workspace_not_assigned");
            assert!(refused.hint.contains(hint), "{who}: {refused:?}");
        }
    }
    board.refused(
        "user",
        &["ws", "ls", "--of", "nobody"],
        4,
        "workspace_not_assigned",
    );
    board.refused("user", &["ws", "ls", "--of", "a/b"], 2, "invalid_agent_id");
    assert!(!board.file("somewhere").exists());
}

/// Nothing an agent sees names a directory of the machine.
fn agents_see_no_directory_of_the_machine(board: &Board) {
    teams(board);
    board.ok("eve", &["ws", "bind", "bound"]);
    write(board, "cy", "x");
    let here = text(board.path());
    for agent in ["cy", "eve", "stranger"] {
        for args in [
            &["ws", "list"][..],
            &["ws", "info"],
            &["ws", "ls", "--recursive"],
            &["ws", "cat", "x"],
            &["ws", "cat", "../../polis.db"],
            &["ws", "cat", "/etc/passwd"],
            &["ws", "write", "x/y", "--content", "x"],
            &["ws", "write", "new", "--content", "x"],
            &["ws", "edit", "x", "--old", "a", "--new", "b"],
            &["ws", "search", "c"],
            &["ws", "search", "("],
            &["ws", "rm", "."],
            &["ws", "mv", "x", "../x"],
            &["ws", "mkdir", "x/y"],
            &["ws", "bind", ".agent-workspace"],
            &["ws", "bind", "other"],
            &["exec", "--", "pwd; ls; cat /etc/shadow; echo $HOME"],
            &["exec", "--timeout-ms", "50", "--", "sleep 5"],
            &["log"],
            &["agent", "list"],
        ] {
            for json in [true, false] {
                let mut command = board.command();
                command
                    .args(["--as", agent])
                    .args(json.then_some("--json"))
                    .args(args);
                let answer = Answer::of(command.output().unwrap());
                let said = format!("{}{}", answer.stdout, answer.stderr);
                assert!(!said.contains(here), "{agent} {args:?}: {said}");
                assert!(!said.contains("panicked"), "{agent} {args:?}: {said}");
            }
        }
    }
}

fn people_are_shown_tables_and_next_steps(board: &Board) {
    let none = board.shown("user", &["ws", "list"]);
    assert!(none.contains("polis agent add"), "{none}");
    teams(board);
    add(board, "程序员", "");
    assert!(
        board
            .shown("ada", &["ws", "ls"])
            .contains("polis --as AGENT ws write")
    );
    write(board, "ada", "笔记.md");
    write(board, "ada", "src/main.rs");
    assert_eq!(
        board.shown("bob", &["ws", "ls"]),
        "TYPE       SIZE  NAME\ndirectory  -     src/\nfile       3 B   笔记.md\n"
    );
    let shown = board.shown("ada", &["ws", "list"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("AGENT   PLACE    STATE"), "{shown}");
    assert!(lines[1].starts_with("ada     default  in use"), "{shown}");
    assert!(
        lines[3].starts_with("程序员  default  not written yet"),
        "{shown}"
    );
    assert!(!shown.contains("DIRECTORY"));
    assert!(board.shown("user", &["ws", "list"]).contains("DIRECTORY"));
    let info = board.shown("user", &["ws", "info", "--of", "ada"]);
    assert!(
        info.starts_with("Workspace of ada: 2 files, 1 directory, 6 B; last changed 2"),
        "{info}"
    );
    assert!(info.contains("\nIt is in /"), "{info}");
    assert_eq!(board.shown("ada", &["ws", "info"]).lines().count(), 1);
    let bound = board.shown("user", &["ws", "bind", "p", "--of", "eve"]);
    assert!(
        bound.starts_with("The workspace of eve is bound to /"),
        "{bound}"
    );
}

#[test]
fn init_makes_a_private_place_for_workspaces() {
    let board = Board::embedded();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&board.workspace("workspaces")), 0o700);
    add(&board, "ada", "");
    write(&board, "ada", "x");
    assert_eq!(mode(&board.workspace("workspaces/ada")), 0o700);
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn without_a_directory_there_are_no_files() {
    let board = Board::postgres();
    add(&board, "ada", "");
    std::fs::remove_dir_all(board.workspace("")).unwrap();
    for args in [
        &["ws", "ls"][..],
        &["ws", "write", "x", "--content", "x"],
        &["ws", "bind", "x"],
        &["exec", "--", "true"],
    ] {
        board.refused("ada", args, 4, "not_initialized");
    }
    let list = board.ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["created"], Value::Bool(false));
    board.ok("user", &["agent", "add", "bob", "--role", "architect"]);
    board.ok("user", &["doctor"]);
}

on_both_stores!(
    every_head_of_a_team_has_a_workspace_at_once,
    root_is_above_everybody_and_no_agent,
    a_team_shares_one_and_teams_are_apart,
    retiring_cuts_nobody_off,
    who_has_none_is_told_what_to_do,
    agents_see_no_directory_of_the_machine,
    people_are_shown_tables_and_next_steps,
);
