//! Tests of the agent that `polis mcp install` registers: its role, refusals, and the store it is written to.

use serde_json::json;

use super::{TestProjectWithHome, file_names};
use crate::harness::test_project::{CommandOutput, TestProject};

#[test]
fn new_agent_gets_the_requested_role_or_that_of_its_name() {
    let setup = TestProjectWithHome::new();
    for (agent, role, expected) in [
        ("claude", None, "backend-leader"),
        ("architect", None, "architect"),
        ("test-leader-2", None, "test-leader"),
        ("ada", Some("team-lead"), "team-lead"),
        ("助手-1", None, "backend-leader"),
    ] {
        let mut args = vec!["install", "claude", "--agent", agent];
        args.extend(role.into_iter().flat_map(|role| ["--role", role]));
        let done = setup.run_mcp_ok(&args);
        assert_eq!(
            (&done["registered"], &done["role"]),
            (&json!(true), &json!(expected))
        );
        assert_eq!(
            setup.project.run_ok("user", &["agent", "show", agent])["role"],
            expected
        );
    }
    // A role defined in the configuration is accepted.
    std::fs::write(
        setup.project.data_path("polis.toml"),
        "roles = [\"writer\"]\n",
    )
    .unwrap();
    assert_eq!(
        setup.run_mcp_ok(&["install", "claude", "--agent", "writer-1"])["role"],
        "writer"
    );
}

#[test]
fn existing_agent_keeps_its_role() {
    let setup = TestProjectWithHome::new();
    setup
        .project
        .run_ok("user", &["agent", "add", "ada", "--role", "architect"]);
    let done = setup.run_mcp_ok(&["install", "claude", "--agent", "ada"]);
    assert_eq!(
        (&done["registered"], &done["role"]),
        (&json!(false), &json!("architect"))
    );
    setup.run_mcp_ok(&["install", "claude", "--agent", "ada", "--role", "architect"]);
    let refused = setup.run_mcp(&["install", "cursor", "--agent", "ada", "--role", "team-lead"]);
    let refused = refused.expect_refusal(5, "agent_exists");
    assert!(refused.message.contains("architect"), "{refused:?}");
    assert!(
        !setup.project_dir().join(".cursor").exists(),
        "a refused install wrote a file"
    );
}

#[test]
fn install_for_an_invalid_agent_is_refused_and_writes_nothing() {
    let setup = TestProjectWithHome::new();
    setup
        .project
        .run_ok("user", &["agent", "add", "old", "--role", "architect"]);
    setup.project.run_ok("user", &["agent", "retire", "old"]);
    for (agent, exit, code) in [
        ("old", 5, "agent_exists"),
        ("OLD", 5, "agent_exists"),
        ("user", 2, "invalid_input"),
        ("root", 2, "invalid_input"),
        ("external", 2, "invalid_input"),
        ("../x", 2, "invalid_agent_id"),
        ("", 2, "invalid_agent_id"),
    ] {
        setup
            .run_mcp(&["install", "claude", "--agent", agent])
            .expect_refusal(exit, code);
    }
    setup
        .run_mcp(&["install", "claude", "--agent", "x", "--role", "cook"])
        .expect_refusal(2, "invalid_role");
    // The caller must be permitted to register agents.
    let mut command = setup.mcp_command(&["install", "claude"]);
    command.args(["--as", "architect"]);
    let answer = CommandOutput::from_output(command.output().unwrap());
    answer.expect_refusal(3, "permission_denied");
    assert_eq!(file_names(&setup.project_dir()), [".agent-workspace"]);
}

#[test]
fn install_does_not_write_a_store_url_given_by_flag() {
    let setup = TestProjectWithHome::new();
    let url = "postgres://ada:s3cret@127.0.0.1:1/polis";
    for scope in ["project", "user"] {
        let mut command = setup.mcp_command(&["install", "claude", "--scope", scope]);
        let answer = CommandOutput::from_output(command.env("POLIS_STORE", url).output().unwrap());
        let refused = answer.expect_refusal(2, "invalid_input");
        assert!(refused.hint.contains("polis.toml"), "{refused:?}");
        assert!(!answer.stderr.contains("s3cret"));
    }
    assert_eq!(file_names(&setup.project_dir()), [".agent-workspace"]);
    assert!(file_names(setup.home.path()).is_empty());
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn install_registers_the_agent_in_the_configured_store() {
    let setup = TestProjectWithHome {
        project: TestProject::postgres(),
        home: tempfile::tempdir().unwrap(),
    };
    let url = setup.project.store_flags().pop().unwrap();
    std::fs::write(
        setup.project.data_path("polis.toml"),
        format!("store = {url:?}\n"),
    )
    .unwrap();
    let mut command = crate::harness::test_project::polis_command(setup.project.path());
    command.env("HOME", setup.home.path());
    command.args(["--json", "mcp", "install", "claude"]);
    let done = CommandOutput::from_output(command.output().unwrap()).expect_document();
    assert_eq!(done["registered"], true);
    assert_eq!(setup.agent_ids(), ["claude"]);
}
