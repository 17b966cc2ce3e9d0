//! Tests of task permissions: required approval, `rbac.yaml` in permissive and strict mode, and retired
//! agents.

use crate::harness::test_project::{TestProject, on_both_stores};

fn set_approval_types(project: &TestProject, types: &str) {
    let text = format!("[tasks]\napproval_required = [{types}]\n");
    std::fs::write(project.data_path("polis.toml"), text).unwrap();
}

fn write_rbac(project: &TestProject, text: &str) {
    std::fs::write(project.data_path("rbac.yaml"), text).unwrap();
}

fn completion_of_task_without_required_approval_is_refused(project: &TestProject) {
    set_approval_types(project, "\"deployment\"");
    project.create_task(&["--type", "deployment"]);
    project.create_task(&["--type", "testing"]);
    for id in ["1", "2"] {
        project.run_ok("devops-leader", &["task", "claim", id]);
    }
    let complete = |id| ["task", "update", id, "--status", "completed"];
    project.run_ok("devops-leader", &complete("2"));
    let refused = project.run_refused("devops-leader", &complete("1"), 3, "approval_required");
    assert!(refused.hint.contains("polis task approve 1"), "{refused:?}");
    project.run_refused(
        "devops-leader",
        &["task", "approve", "1"],
        3,
        "permission_denied",
    );
    let approved = project.run_ok(
        "team-lead",
        &["task", "approve", "1", "--note", "looks good"],
    );
    assert_eq!(approved["approval"]["by"], "team-lead");
    assert_eq!(approved["approval"]["note"], "looks good");
    assert_eq!(approved["status"], "in_progress");
    assert_eq!(
        project.run_ok("devops-leader", &complete("1"))["status"],
        "completed"
    );
}

fn approval_is_cleared_when_the_owner_changes(project: &TestProject) {
    set_approval_types(project, "\"deployment\"");
    project.create_task(&["--type", "deployment"]);
    project.run_refused("team-lead", &["task", "approve", "1"], 5, "wrong_state");
    project.run_ok("devops-leader", &["task", "claim", "1"]);
    project.run_ok("team-lead", &["task", "approve", "1"]);
    project.run_ok("devops-leader", &["task", "release", "1"]);
    let task = project.run_ok("devops-leader-2", &["task", "claim", "1"]);
    assert!(task.get("approval").is_none());
    let complete = ["task", "update", "1", "--status", "completed"];
    project.run_refused("devops-leader-2", &complete, 3, "approval_required");
    assert_eq!(
        project.run_ok("team-lead", &complete)["approval"]["by"],
        "team-lead"
    );
}

/// The example of requirement 004 (docs/requirements.md), in the given mode.
fn example_rbac(mode: &str) -> String {
    format!(
        "mode: {mode}\nroles:\n  backend-leader:\n    permissions:\n      \
         - claim_task_type: [backend_implementation, bug_fix]\n      - update_own_tasks\n      \
         - comment_on_all_tasks\n"
    )
}

fn rbac_role_has_exactly_its_grants(project: &TestProject) {
    write_rbac(project, &example_rbac("permissive"));
    project.create_task(&["--type", "bug_fix"]);
    project.create_task(&["--type", "testing"]);
    project.create_task(&[]);
    project.run_ok("backend-leader", &["task", "claim", "1"]);
    project.run_ok(
        "backend-leader",
        &["task", "update", "1", "--description", "mine"],
    );
    project.run_ok(
        "backend-leader",
        &["task", "comment", "2", "--body", "hello"],
    );
    for args in [
        &["task", "claim", "2"][..],
        &["task", "claim", "3"],
        &["task", "update", "2", "--owner", "backend-leader"],
        &["task", "update", "2", "--description", "not mine"],
        &["task", "create", "--subject", "x"],
        &["task", "delete", "3"],
    ] {
        let refused = project.run_refused("backend-leader", args, 3, "permission_denied");
        assert!(refused.hint.contains("rbac.yaml"), "{refused:?}");
    }
    project.run_refused("backend-leader", &["task", "claim"], 4, "nothing_to_claim");
    project.run_ok(
        "architect",
        &["task", "create", "--subject", "not listed, and permissive"],
    );
}

fn rbac_strict_mode_lets_unlisted_roles_only_read(project: &TestProject) {
    write_rbac(project, &example_rbac("strict"));
    project.create_task(&["--type", "bug_fix"]);
    for args in [
        &["task", "create", "--subject", "x"][..],
        &["task", "claim", "1"],
        &["task", "update", "1", "--subject", "x"],
        &["task", "comment", "1", "--body", "x"],
    ] {
        project.run_refused("architect", args, 3, "permission_denied");
    }
    for args in [
        &["task", "list"][..],
        &["task", "get", "1"],
        &["task", "stats"],
        &["task", "graph"],
    ] {
        project.run_ok("architect", args);
    }
    project.run_ok(
        "team-lead",
        &["task", "create", "--subject", "the lead may"],
    );
    project.run_ok("user", &["task", "create", "--subject", "the person may"]);
    project.run_ok("backend-leader", &["task", "claim", "1"]);
}

fn rbac_can_grant_privileges_of_the_lead(project: &TestProject) {
    write_rbac(
        project,
        "roles:\n  architect:\n    permissions:\n      - force_assign\n      - approve_tasks\n      \
         - delete_completed_tasks\n      - update_all_tasks\n      - claim_tasks\n",
    );
    set_approval_types(project, "\"testing\"");
    project.create_task(&["--required-role", "backend-leader", "--type", "testing"]);
    project.run_ok(
        "architect",
        &[
            "task",
            "update",
            "1",
            "--owner",
            "test-leader",
            "--force-assign",
        ],
    );
    project.run_ok("test-leader", &["task", "claim", "1"]);
    project.run_ok("architect", &["task", "approve", "1"]);
    project.run_ok(
        "test-leader",
        &["task", "update", "1", "--status", "completed"],
    );
    assert_eq!(
        project.run_ok("architect", &["task", "delete", "1"])["status"],
        "deleted"
    );
}

fn required_role_and_type_are_changed_only_by_the_lead(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
    let change = [
        "task",
        "update",
        "1",
        "--required-role",
        "architect",
        "--type",
        "testing",
    ];
    project.run_refused("backend-leader", &change, 3, "permission_denied");
    let task = project.run_ok("team-lead", &change);
    assert_eq!(
        (task["requiredRole"].as_str(), task["taskType"].as_str()),
        (Some("architect"), Some("testing"))
    );
    let task = project.run_ok(
        "user",
        &["task", "update", "1", "--required-role", "", "--type", ""],
    );
    assert!(task.get("requiredRole").is_none() && task.get("taskType").is_none());
}

fn retired_agent_is_refused(project: &TestProject) {
    project.run_ok("user", &["agent", "add", "ada", "--role", "architect"]);
    project.create_task(&[]);
    project.run_ok("ada", &["task", "claim", "1"]);
    project.run_refused("user", &["agent", "retire", "ada"], 5, "agent_in_use");
    project.run_ok("ada", &["task", "update", "1", "--status", "completed"]);
    assert_eq!(
        project.run_ok("user", &["agent", "retire", "ada"])["status"],
        "retired"
    );
    project.run_refused(
        "ada",
        &["task", "create", "--subject", "x"],
        3,
        "permission_denied",
    );
    project.create_task(&[]);
    project.run_refused(
        "team-lead",
        &["task", "update", "2", "--owner", "ada"],
        4,
        "agent_not_found",
    );
    project.run_refused(
        "user",
        &["agent", "add", "ada", "--role", "architect"],
        5,
        "agent_exists",
    );
}

on_both_stores!(
    completion_of_task_without_required_approval_is_refused,
    approval_is_cleared_when_the_owner_changes,
    rbac_role_has_exactly_its_grants,
    rbac_strict_mode_lets_unlisted_roles_only_read,
    rbac_can_grant_privileges_of_the_lead,
    required_role_and_type_are_changed_only_by_the_lead,
    retired_agent_is_refused,
);
