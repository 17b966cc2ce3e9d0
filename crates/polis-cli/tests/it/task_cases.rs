//! The test cases of the task design document (source document 004, §6), by their numbers.

use crate::board::{Board, finish, on_both_stores, start};

/// Error message for a stale version, as in the source document (004 §5.2.1).
fn mismatch(expected: u64, current: u64) -> String {
    format!(
        "Task version mismatch. Expected: {expected}, Current: {current}.\n\
         Another agent has modified this task. Please refresh and retry."
    )
}

/// Creates a task that is in progress at this version.
fn in_progress_at(board: &Board, version: u64) -> String {
    let id = board.create(&[]);
    board.ok("user", &["task", "update", &id, "--status", "in_progress"]);
    for n in 3..=version {
        let description = format!("revision {n}");
        board.ok(
            "user",
            &["task", "update", &id, "--description", &description],
        );
    }
    assert_eq!(board.get(&id)["version"], version);
    id
}

fn backend_task(board: &Board) -> String {
    board.create(&["--required-role", "backend-leader"])
}

fn tc01_create_with_a_required_role(board: &Board) {
    let task = board.ok(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "后端",
            "--required-role",
            "backend-leader",
        ],
    );
    assert_eq!(task["version"], 1);
    assert_eq!(task["requiredRole"], "backend-leader");
    assert_eq!(task["status"], "pending");
    assert_eq!(task["owner"], "");
    assert_eq!(board.get(task["id"].as_str().unwrap()), task);
}

fn tc02_create_with_an_invalid_required_role(board: &Board) {
    let refused = board.refused(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "x",
            "--required-role",
            "invalid-role",
        ],
        2,
        "invalid_required_role",
    );
    assert!(
        refused.message.starts_with("Invalid requiredRole"),
        "{refused:?}"
    );
    assert!(board.listed("user", &["task", "list"]).is_empty());
}

fn tc03_create_without_a_required_role(board: &Board) {
    let task = board.ok("user", &["task", "create", "--subject", "x"]);
    assert_eq!(task["version"], 1);
    assert!(task.get("requiredRole").is_none());
    assert!(task.get("taskType").is_none());
}

fn tc04_create_with_a_task_type(board: &Board) {
    let create = |name: &'static str| ["task", "create", "--subject", "x", "--type", name];
    let task = board.ok("user", &create("backend_implementation"));
    assert_eq!(task["taskType"], "backend_implementation");
    let refused = board.refused("user", &create("cooking"), 2, "invalid_task_type");
    assert!(
        refused.message.starts_with("Invalid taskType"),
        "{refused:?}"
    );
}

fn tc05_list_without_a_role_filter(board: &Board) {
    for role in ["backend-leader", "frontend-leader"] {
        board.create(&["--required-role", role]);
    }
    board.create(&[]);
    assert_eq!(board.listed("user", &["task", "list"]), ["1", "2", "3"]);
}

fn tc06_list_with_a_role_filter(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    board.create(&["--required-role", "frontend-leader"]);
    board.create(&[]);
    let filtered = ["task", "list", "--role-filter", "backend-leader"];
    assert_eq!(board.listed("user", &filtered), ["1", "3"]);
}

fn tc07_the_role_filter_matches_the_owner(board: &Board) {
    let id = board.create(&["--required-role", "frontend-leader"]);
    board.ok(
        "team-lead",
        &[
            "task",
            "update",
            &id,
            "--owner",
            "backend-leader",
            "--force-assign",
        ],
    );
    let filtered = ["task", "list", "--role-filter", "backend-leader"];
    assert_eq!(board.listed("user", &filtered), [id]);
}

fn tc08_the_version_matches(board: &Board) {
    let id = in_progress_at(board, 3);
    let task = board.ok(
        "user",
        &[
            "task",
            "update",
            &id,
            "--status",
            "completed",
            "--expected-version",
            "3",
        ],
    );
    assert_eq!(task["version"], 4);
    assert_eq!(task["status"], "completed");
}

fn tc09_the_version_does_not_match(board: &Board) {
    let id = in_progress_at(board, 5);
    let refused = board.refused(
        "user",
        &[
            "task",
            "update",
            &id,
            "--status",
            "completed",
            "--expected-version",
            "3",
        ],
        5,
        "version_mismatch",
    );
    assert_eq!(refused.message, mismatch(3, 5));
    let task = board.get(&id);
    assert_eq!(
        (task["version"].as_u64(), task["status"].as_str()),
        (Some(5), Some("in_progress"))
    );
}

fn tc10_without_an_expected_version(board: &Board) {
    let id = in_progress_at(board, 3);
    let task = board.ok("user", &["task", "update", &id, "--status", "completed"]);
    assert_eq!(task["version"], 4);
}

fn tc11_the_role_matches(board: &Board) {
    let id = backend_task(board);
    let task = board.ok(
        "backend-leader",
        &["task", "update", &id, "--owner", "backend-leader"],
    );
    assert_eq!(task["owner"], "backend-leader");
    assert_eq!(task["version"], 2);
}

fn tc12_the_role_does_not_match(board: &Board) {
    let id = backend_task(board);
    let refused = board.refused(
        "frontend-leader",
        &["task", "update", &id, "--owner", "frontend-leader"],
        3,
        "role_mismatch",
    );
    // The source document's second line shows a tool call; the command line names its command instead.
    assert_eq!(
        refused.message,
        "Role mismatch. Task requires \"backend-leader\", but you are \"frontend-leader\"."
    );
    assert!(
        refused
            .hint
            .contains("polis task list --role-filter frontend-leader"),
        "{}",
        refused.hint
    );
    assert_eq!(board.get(&id)["owner"], "");
}

/// A refused assignment names the agent whose role does not match, not the caller.
fn tc12_the_role_of_another_does_not_match(board: &Board) {
    let id = backend_task(board);
    let assign = ["task", "update", &id, "--owner", "test-leader"];
    let refused = board.refused("team-lead", &assign, 3, "role_mismatch");
    assert_eq!(
        refused.message,
        "Role mismatch. Task requires \"backend-leader\", but \"test-leader\" is \"test-leader\"."
    );
    assert!(refused.hint.contains("--force-assign"), "{refused:?}");
    assert_eq!(board.get(&id)["owner"], "");
}

fn tc13_the_team_lead_forces_an_assignment(board: &Board) {
    let id = backend_task(board);
    let force = [
        "task",
        "update",
        &id,
        "--owner",
        "architect",
        "--force-assign",
    ];
    let shown = board.shown("team-lead", &force);
    assert!(
        shown.starts_with(&format!(
            "Task #{id} force-assigned to \"architect\" (overriding requiredRole: \"backend-leader\")\n"
        )),
        "{shown}"
    );
    let task = board.get(&id);
    assert_eq!(task["owner"], "architect");
    assert_eq!(task["requiredRole"], "backend-leader");
    assert_eq!(task["version"], 2);
}

fn tc14_only_the_team_lead_may_force(board: &Board) {
    let id = backend_task(board);
    let refused = board.refused(
        "frontend-leader",
        &[
            "task",
            "update",
            &id,
            "--owner",
            "frontend-leader",
            "--force-assign",
        ],
        3,
        "force_assign_forbidden",
    );
    assert_eq!(refused.message, "Only team-lead can use forceAssign");
    assert_eq!(board.get(&id)["owner"], "");
}

fn tc15_without_a_required_role_anyone_may(board: &Board) {
    for role in ["devops-leader", "任何角色", "backend-leader-2"] {
        let id = board.create(&[]);
        let task = board.ok(role, &["task", "update", &id, "--owner", role]);
        assert_eq!(task["owner"], role);
    }
}

fn tc16_pending_to_in_progress(board: &Board) {
    let id = board.create(&[]);
    let task = board.ok(
        "architect",
        &["task", "update", &id, "--status", "in_progress"],
    );
    assert_eq!(task["status"], "in_progress");
}

fn tc17_in_progress_to_completed(board: &Board) {
    let id = in_progress_at(board, 2);
    let task = board.ok(
        "architect",
        &["task", "update", &id, "--status", "completed"],
    );
    assert_eq!(task["status"], "completed");
}

fn tc18_completed_to_in_progress_is_forbidden(board: &Board) {
    let id = in_progress_at(board, 2);
    board.ok("user", &["task", "update", &id, "--status", "completed"]);
    for (to, agent) in [("in_progress", "architect"), ("pending", "team-lead")] {
        let update = ["task", "update", &id, "--status", to];
        let refused = board.refused(agent, &update, 5, "invalid_transition");
        assert_eq!(
            refused.message,
            format!(
                "Invalid status transition: \"completed\" -> \"{to}\".\n\
                 Allowed transitions from \"completed\": [\"deleted\"] (team-lead only)."
            )
        );
    }
    let delete = ["task", "update", &id, "--status", "deleted"];
    board.refused("architect", &delete, 5, "invalid_transition");
    assert_eq!(board.ok("team-lead", &delete)["status"], "deleted");
}

fn tc19_in_progress_to_pending_is_forbidden(board: &Board) {
    let id = in_progress_at(board, 2);
    let update = ["task", "update", &id, "--status", "pending"];
    let refused = board.refused("user", &update, 5, "invalid_transition");
    assert_eq!(
        refused.message,
        "Invalid status transition: \"in_progress\" -> \"pending\".\n\
         Allowed transitions from \"in_progress\": [\"completed\", \"deleted\"]."
    );
    assert_eq!(board.get(&id)["version"], 2);
}

fn tc20_two_agents_claim_at_the_same_moment(board: &Board) {
    for _ in 0..5 {
        let id = backend_task(board);
        let agents = ["backend-leader", "backend-leader-2"];
        let children = agents.map(|agent| {
            let update = [
                "task",
                "update",
                &id,
                "--owner",
                agent,
                "--expected-version",
                "1",
            ];
            start(&mut board.json_command(agent, &update))
        });
        let answers = children.map(finish);
        let winner = answers.iter().position(|a| a.exit == Some(0)).unwrap();
        assert_eq!(answers[winner].document()["owner"], agents[winner]);
        let refused = answers[1 - winner].refusal(5, "version_mismatch");
        assert_eq!(refused.message, mismatch(1, 2));
        assert_eq!(board.get(&id)["owner"], agents[winner]);
    }
}

fn tc21_an_agent_that_read_stale_data(board: &Board) {
    let id = board.create(&[]);
    assert_eq!(board.get(&id)["version"], 1);
    let started = board.ok(
        "architect-2",
        &["task", "update", &id, "--status", "in_progress"],
    );
    assert_eq!(started["version"], 2);
    let refused = board.refused(
        "architect",
        &[
            "task",
            "update",
            &id,
            "--owner",
            "architect",
            "--expected-version",
            "1",
        ],
        5,
        "version_mismatch",
    );
    assert_eq!(refused.message, mismatch(1, 2));
    assert_eq!(board.get(&id)["owner"], "");
}

on_both_stores!(
    tc01_create_with_a_required_role,
    tc02_create_with_an_invalid_required_role,
    tc03_create_without_a_required_role,
    tc04_create_with_a_task_type,
    tc05_list_without_a_role_filter,
    tc06_list_with_a_role_filter,
    tc07_the_role_filter_matches_the_owner,
    tc08_the_version_matches,
    tc09_the_version_does_not_match,
    tc10_without_an_expected_version,
    tc11_the_role_matches,
    tc12_the_role_does_not_match,
    tc12_the_role_of_another_does_not_match,
    tc13_the_team_lead_forces_an_assignment,
    tc14_only_the_team_lead_may_force,
    tc15_without_a_required_role_anyone_may,
    tc16_pending_to_in_progress,
    tc17_in_progress_to_completed,
    tc18_completed_to_in_progress_is_forbidden,
    tc19_in_progress_to_pending_is_forbidden,
    tc20_two_agents_claim_at_the_same_moment,
    tc21_an_agent_that_read_stale_data,
);
