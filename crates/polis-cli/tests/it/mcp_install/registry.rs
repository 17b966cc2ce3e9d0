//! Tests of the agent that `polis mcp install` registers.

use serde_json::json;

use super::{Desk, names};
use crate::board::{Answer, Board};

#[test]
fn a_new_agent_gets_the_role_that_is_asked_for_or_its_name_says() {
    let desk = Desk::new();
    for (agent, role, expected) in [
        ("claude", None, "backend-leader"),
        ("architect", None, "architect"),
        ("test-leader-2", None, "test-leader"),
        ("ada", Some("team-lead"), "team-lead"),
        ("助手-1", None, "backend-leader"),
    ] {
        let mut args = vec!["install", "claude", "--agent", agent];
        args.extend(role.into_iter().flat_map(|role| ["--role", role]));
        let done = desk.ok(&args);
        assert_eq!(
            (&done["registered"], &done["role"]),
            (&json!(true), &json!(expected))
        );
        assert_eq!(
            desk.board.ok("user", &["agent", "show", agent])["role"],
            expected
        );
    }
    // A role of the configuration counts.
    std::fs::write(desk.board.workspace("polis.toml"), "roles = [\"writer\"]\n").unwrap();
    assert_eq!(
        desk.ok(&["install", "claude", "--agent", "writer-1"])["role"],
        "writer"
    );
}

#[test]
fn an_agent_that_is_there_stays_what_it_is() {
    let desk = Desk::new();
    desk.board
        .ok("user", &["agent", "add", "ada", "--role", "architect"]);
    let done = desk.ok(&["install", "claude", "--agent", "ada"]);
    assert_eq!(
        (&done["registered"], &done["role"]),
        (&json!(false), &json!("architect"))
    );
    desk.ok(&["install", "claude", "--agent", "ada", "--role", "architect"]);
    let refused = desk.run(&["install", "cursor", "--agent", "ada", "--role", "team-lead"]);
    let refused = refused.refusal(5, "agent_exists");
    assert!(refused.message.contains("architect"), "{refused:?}");
    assert!(
        !desk.project().join(".cursor").exists(),
        "nothing is half done"
    );
}

#[test]
fn who_cannot_act_is_refused_and_nothing_written() {
    let desk = Desk::new();
    desk.board
        .ok("user", &["agent", "add", "old", "--role", "architect"]);
    desk.board.ok("user", &["agent", "retire", "old"]);
    for (agent, exit, code) in [
        ("old", 5, "agent_exists"),
        ("OLD", 5, "agent_exists"),
        ("user", 2, "invalid_input"),
        ("root", 2, "invalid_input"),
        ("external", 2, "invalid_input"),
        ("../x", 2, "invalid_agent_id"),
        ("", 2, "invalid_agent_id"),
    ] {
        desk.run(&["install", "claude", "--agent", agent])
            .refusal(exit, code);
    }
    desk.run(&["install", "claude", "--agent", "x", "--role", "cook"])
        .refusal(2, "invalid_role");
    // The caller must be permitted to register agents.
    let mut command = desk.command(&["install", "claude"]);
    command.args(["--as", "architect"]);
    let answer = Answer::of(command.output().unwrap());
    answer.refusal(3, "permission_denied");
    assert_eq!(names(&desk.project()), [".agent-workspace"]);
}

#[test]
fn a_store_that_only_a_flag_names_is_not_written_down() {
    let desk = Desk::new();
    let url = "postgres://ada:s3cret@127.0.0.1:1/polis";
    for scope in ["project", "user"] {
        let mut command = desk.command(&["install", "claude", "--scope", scope]);
        let answer = Answer::of(command.env("POLIS_STORE", url).output().unwrap());
        let refused = answer.refusal(2, "invalid_input");
        assert!(refused.hint.contains("polis.toml"), "{refused:?}");
        assert!(!answer.stderr.contains("s3cret"));
    }
    assert_eq!(names(&desk.project()), [".agent-workspace"]);
    assert!(names(desk.home.path()).is_empty());
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn a_store_of_the_configuration_has_the_agent() {
    let desk = Desk {
        board: Board::postgres(),
        home: tempfile::tempdir().unwrap(),
    };
    let url = desk.board.store_flags().pop().unwrap();
    std::fs::write(
        desk.board.workspace("polis.toml"),
        format!("store = {url:?}\n"),
    )
    .unwrap();
    let mut command = crate::board::bare_command(desk.board.path());
    command.env("HOME", desk.home.path());
    command.args(["--json", "mcp", "install", "claude"]);
    let done = Answer::of(command.output().unwrap()).document();
    assert_eq!(done["registered"], true);
    assert_eq!(desk.agents(), ["claude"]);
}
