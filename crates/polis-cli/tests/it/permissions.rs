//! Tests of permissions: approval, `rbac.yaml` in permissive and strict mode, retired agents.

use crate::board::{Board, on_both_stores};

fn set_approval(board: &Board, types: &str) {
    let text = format!("[tasks]\napproval_required = [{types}]\n");
    std::fs::write(board.workspace("polis.toml"), text).unwrap();
}

fn set_rbac(board: &Board, text: &str) {
    std::fs::write(board.workspace("rbac.yaml"), text).unwrap();
}

fn approval_comes_before_completion(board: &Board) {
    set_approval(board, "\"deployment\"");
    board.create(&["--type", "deployment"]);
    board.create(&["--type", "testing"]);
    for id in ["1", "2"] {
        board.ok("devops-leader", &["task", "claim", id]);
    }
    let complete = |id| ["task", "update", id, "--status", "completed"];
    board.ok("devops-leader", &complete("2"));
    let refused = board.refused("devops-leader", &complete("1"), 3, "approval_required");
    assert!(refused.hint.contains("polis task approve 1"), "{refused:?}");
    board.refused(
        "devops-leader",
        &["task", "approve", "1"],
        3,
        "permission_denied",
    );
    let approved = board.ok(
        "team-lead",
        &["task", "approve", "1", "--note", "looks good"],
    );
    assert_eq!(approved["approval"]["by"], "team-lead");
    assert_eq!(approved["approval"]["note"], "looks good");
    assert_eq!(approved["status"], "in_progress");
    assert_eq!(
        board.ok("devops-leader", &complete("1"))["status"],
        "completed"
    );
}

fn an_approval_ends_with_its_owner(board: &Board) {
    set_approval(board, "\"deployment\"");
    board.create(&["--type", "deployment"]);
    board.refused("team-lead", &["task", "approve", "1"], 5, "wrong_state");
    board.ok("devops-leader", &["task", "claim", "1"]);
    board.ok("team-lead", &["task", "approve", "1"]);
    board.ok("devops-leader", &["task", "release", "1"]);
    let task = board.ok("devops-leader-2", &["task", "claim", "1"]);
    assert!(task.get("approval").is_none());
    let complete = ["task", "update", "1", "--status", "completed"];
    board.refused("devops-leader-2", &complete, 3, "approval_required");
    assert_eq!(
        board.ok("team-lead", &complete)["approval"]["by"],
        "team-lead"
    );
}

/// The example of the source document (004 §10.1), in the given mode.
fn example(mode: &str) -> String {
    format!(
        "mode: {mode}\nroles:\n  backend-leader:\n    permissions:\n      \
         - claim_task_type: [backend_implementation, bug_fix]\n      - update_own_tasks\n      \
         - comment_on_all_tasks\n"
    )
}

fn a_listed_role_has_exactly_its_grants(board: &Board) {
    set_rbac(board, &example("permissive"));
    board.create(&["--type", "bug_fix"]);
    board.create(&["--type", "testing"]);
    board.create(&[]);
    board.ok("backend-leader", &["task", "claim", "1"]);
    board.ok(
        "backend-leader",
        &["task", "update", "1", "--description", "mine"],
    );
    board.ok(
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
        let refused = board.refused("backend-leader", args, 3, "permission_denied");
        assert!(refused.hint.contains("rbac.yaml"), "{refused:?}");
    }
    board.refused("backend-leader", &["task", "claim"], 4, "nothing_to_claim");
    board.ok(
        "architect",
        &["task", "create", "--subject", "not listed, and permissive"],
    );
}

fn strict_lets_others_only_read(board: &Board) {
    set_rbac(board, &example("strict"));
    board.create(&["--type", "bug_fix"]);
    for args in [
        &["task", "create", "--subject", "x"][..],
        &["task", "claim", "1"],
        &["task", "update", "1", "--subject", "x"],
        &["task", "comment", "1", "--body", "x"],
    ] {
        board.refused("architect", args, 3, "permission_denied");
    }
    for args in [
        &["task", "list"][..],
        &["task", "get", "1"],
        &["task", "stats"],
        &["task", "graph"],
    ] {
        board.ok("architect", args);
    }
    board.ok(
        "team-lead",
        &["task", "create", "--subject", "the lead may"],
    );
    board.ok("user", &["task", "create", "--subject", "the person may"]);
    board.ok("backend-leader", &["task", "claim", "1"]);
}

fn privileges_can_be_granted(board: &Board) {
    set_rbac(
        board,
        "roles:\n  architect:\n    permissions:\n      - force_assign\n      - approve_tasks\n      \
         - delete_completed_tasks\n      - update_all_tasks\n      - claim_tasks\n",
    );
    set_approval(board, "\"testing\"");
    board.create(&["--required-role", "backend-leader", "--type", "testing"]);
    board.ok(
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
    board.ok("test-leader", &["task", "claim", "1"]);
    board.ok("architect", &["task", "approve", "1"]);
    board.ok(
        "test-leader",
        &["task", "update", "1", "--status", "completed"],
    );
    assert_eq!(
        board.ok("architect", &["task", "delete", "1"])["status"],
        "deleted"
    );
}

fn only_the_lead_changes_what_a_task_requires(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    let change = [
        "task",
        "update",
        "1",
        "--required-role",
        "architect",
        "--type",
        "testing",
    ];
    board.refused("backend-leader", &change, 3, "permission_denied");
    let task = board.ok("team-lead", &change);
    assert_eq!(
        (task["requiredRole"].as_str(), task["taskType"].as_str()),
        (Some("architect"), Some("testing"))
    );
    let task = board.ok(
        "user",
        &["task", "update", "1", "--required-role", "", "--type", ""],
    );
    assert!(task.get("requiredRole").is_none() && task.get("taskType").is_none());
}

fn a_retired_agent_may_not_act(board: &Board) {
    board.ok("user", &["agent", "add", "ada", "--role", "architect"]);
    board.create(&[]);
    board.ok("ada", &["task", "claim", "1"]);
    board.refused("user", &["agent", "retire", "ada"], 5, "agent_in_use");
    board.ok("ada", &["task", "update", "1", "--status", "completed"]);
    assert_eq!(
        board.ok("user", &["agent", "retire", "ada"])["status"],
        "retired"
    );
    board.refused(
        "ada",
        &["task", "create", "--subject", "x"],
        3,
        "permission_denied",
    );
    board.create(&[]);
    board.refused(
        "team-lead",
        &["task", "update", "2", "--owner", "ada"],
        4,
        "agent_not_found",
    );
    board.refused(
        "user",
        &["agent", "add", "ada", "--role", "architect"],
        5,
        "agent_exists",
    );
}

on_both_stores!(
    approval_comes_before_completion,
    an_approval_ends_with_its_owner,
    a_listed_role_has_exactly_its_grants,
    strict_lets_others_only_read,
    privileges_can_be_granted,
    only_the_lead_changes_what_a_task_requires,
    a_retired_agent_may_not_act,
);
