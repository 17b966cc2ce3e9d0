//! The test cases TC-01 to TC-21 of requirement 004 (docs/requirements.md), over the command line.

use crate::harness::test_project::{TestProject, on_both_stores, spawn_captured, wait_for_output};

/// Error message for a stale version, in the wording of requirement 004 (docs/requirements.md).
fn version_mismatch_message(expected: u64, current: u64) -> String {
    format!(
        "Task version mismatch. Expected: {expected}, Current: {current}.\n\
         Another agent has modified this task. Please refresh and retry."
    )
}

/// Creates a task that is in progress at this version.
fn create_task_in_progress(project: &TestProject, version: u64) -> String {
    let id = project.create_task(&[]);
    project.run_ok("user", &["task", "update", &id, "--status", "in_progress"]);
    for n in 3..=version {
        let description = format!("revision {n}");
        project.run_ok(
            "user",
            &["task", "update", &id, "--description", &description],
        );
    }
    assert_eq!(project.get_task(&id)["version"], version);
    id
}

fn create_backend_task(project: &TestProject) -> String {
    project.create_task(&["--required-role", "backend-leader"])
}

fn tc01_create_with_a_required_role(project: &TestProject) {
    let task = project.run_ok(
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
    assert_eq!(project.get_task(task["id"].as_str().unwrap()), task);
}

fn tc02_create_with_an_invalid_required_role(project: &TestProject) {
    let refused = project.run_refused(
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
        refused.message.starts_with("Invalid required role"),
        "{refused:?}"
    );
    assert!(project.list_task_ids("user", &["task", "list"]).is_empty());
}

fn tc03_create_without_a_required_role(project: &TestProject) {
    let task = project.run_ok("user", &["task", "create", "--subject", "x"]);
    assert_eq!(task["version"], 1);
    assert!(task.get("requiredRole").is_none());
    assert!(task.get("taskType").is_none());
}

fn tc04_create_with_a_task_type(project: &TestProject) {
    let create = |name: &'static str| ["task", "create", "--subject", "x", "--type", name];
    let task = project.run_ok("user", &create("backend_implementation"));
    assert_eq!(task["taskType"], "backend_implementation");
    let refused = project.run_refused("user", &create("cooking"), 2, "invalid_task_type");
    assert!(
        refused.message.starts_with("Invalid task type"),
        "{refused:?}"
    );
}

fn tc05_list_without_a_role_filter(project: &TestProject) {
    for role in ["backend-leader", "frontend-leader"] {
        project.create_task(&["--required-role", role]);
    }
    project.create_task(&[]);
    assert_eq!(
        project.list_task_ids("user", &["task", "list"]),
        ["1", "2", "3"]
    );
}

fn tc06_list_with_a_role_filter(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
    project.create_task(&["--required-role", "frontend-leader"]);
    project.create_task(&[]);
    let filtered = ["task", "list", "--role-filter", "backend-leader"];
    assert_eq!(project.list_task_ids("user", &filtered), ["1", "3"]);
}

fn tc07_list_role_filter_matches_the_owner(project: &TestProject) {
    let id = project.create_task(&["--required-role", "frontend-leader"]);
    project.run_ok(
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
    assert_eq!(project.list_task_ids("user", &filtered), [id]);
}

fn tc08_update_with_matching_version_succeeds(project: &TestProject) {
    let id = create_task_in_progress(project, 3);
    let task = project.run_ok(
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

fn tc09_update_with_outdated_version_is_refused(project: &TestProject) {
    let id = create_task_in_progress(project, 5);
    let refused = project.run_refused(
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
    assert_eq!(refused.message, version_mismatch_message(3, 5));
    let task = project.get_task(&id);
    assert_eq!(
        (task["version"].as_u64(), task["status"].as_str()),
        (Some(5), Some("in_progress"))
    );
}

fn tc10_update_without_expected_version_succeeds(project: &TestProject) {
    let id = create_task_in_progress(project, 3);
    let task = project.run_ok("user", &["task", "update", &id, "--status", "completed"]);
    assert_eq!(task["version"], 4);
}

fn tc11_assignment_with_matching_role_succeeds(project: &TestProject) {
    let id = create_backend_task(project);
    let task = project.run_ok(
        "backend-leader",
        &["task", "update", &id, "--owner", "backend-leader"],
    );
    assert_eq!(task["owner"], "backend-leader");
    assert_eq!(task["version"], 2);
}

fn tc12_assignment_with_other_role_is_refused(project: &TestProject) {
    let id = create_backend_task(project);
    let refused = project.run_refused(
        "frontend-leader",
        &["task", "update", &id, "--owner", "frontend-leader"],
        3,
        "role_mismatch",
    );
    // In requirement 004 the second line shows a tool call; the command line names its command instead.
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
    assert_eq!(project.get_task(&id)["owner"], "");
}

/// A refused assignment names the agent whose role does not match, not the caller.
fn tc12_assignment_to_agent_with_other_role_is_refused(project: &TestProject) {
    let id = create_backend_task(project);
    let assign = ["task", "update", &id, "--owner", "test-leader"];
    let refused = project.run_refused("team-lead", &assign, 3, "role_mismatch");
    assert_eq!(
        refused.message,
        "Role mismatch. Task requires \"backend-leader\", but \"test-leader\" is \"test-leader\"."
    );
    assert!(refused.hint.contains("--force-assign"), "{refused:?}");
    let assign = ["task", "update", &id, "--owner", "ghost"];
    let refused = project.run_refused("team-lead", &assign, 3, "role_mismatch");
    assert_eq!(
        refused.message,
        "Role mismatch. Task requires \"backend-leader\", and \"ghost\" is not a registered agent."
    );
    assert_eq!(project.get_task(&id)["owner"], "");
}

fn tc13_forced_assignment_by_the_team_lead_succeeds(project: &TestProject) {
    let id = create_backend_task(project);
    let force = [
        "task",
        "update",
        &id,
        "--owner",
        "architect",
        "--force-assign",
    ];
    let shown = project.run_text("team-lead", &force);
    assert!(
        shown.starts_with(&format!(
            "Task #{id} force-assigned to \"architect\" (overriding requiredRole: \"backend-leader\")\n"
        )),
        "{shown}"
    );
    let task = project.get_task(&id);
    assert_eq!(task["owner"], "architect");
    assert_eq!(task["requiredRole"], "backend-leader");
    assert_eq!(task["version"], 2);
}

fn tc14_forced_assignment_by_another_agent_is_refused(project: &TestProject) {
    let id = create_backend_task(project);
    let refused = project.run_refused(
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
    assert_eq!(project.get_task(&id)["owner"], "");
}

fn tc15_assignment_without_required_role_succeeds_for_any_role(project: &TestProject) {
    for role in ["devops-leader", "任何角色", "backend-leader-2"] {
        let id = project.create_task(&[]);
        let task = project.run_ok(role, &["task", "update", &id, "--owner", role]);
        assert_eq!(task["owner"], role);
    }
}

fn tc16_pending_to_in_progress_is_allowed(project: &TestProject) {
    let id = project.create_task(&[]);
    let task = project.run_ok(
        "architect",
        &["task", "update", &id, "--status", "in_progress"],
    );
    assert_eq!(task["status"], "in_progress");
}

fn tc17_in_progress_to_completed_is_allowed(project: &TestProject) {
    let id = create_task_in_progress(project, 2);
    let task = project.run_ok(
        "architect",
        &["task", "update", &id, "--status", "completed"],
    );
    assert_eq!(task["status"], "completed");
}

fn tc18_completed_to_in_progress_is_forbidden(project: &TestProject) {
    let id = create_task_in_progress(project, 2);
    project.run_ok("user", &["task", "update", &id, "--status", "completed"]);
    for (to, agent) in [("in_progress", "architect"), ("pending", "team-lead")] {
        let update = ["task", "update", &id, "--status", to];
        let refused = project.run_refused(agent, &update, 5, "invalid_transition");
        assert_eq!(
            refused.message,
            format!(
                "Invalid status transition: \"completed\" -> \"{to}\".\n\
                 Allowed transitions from \"completed\": [\"deleted\"] (team-lead only)."
            )
        );
    }
    let delete = ["task", "update", &id, "--status", "deleted"];
    project.run_refused("architect", &delete, 5, "invalid_transition");
    assert_eq!(project.run_ok("team-lead", &delete)["status"], "deleted");
}

fn tc19_in_progress_to_pending_is_forbidden(project: &TestProject) {
    let id = create_task_in_progress(project, 2);
    let update = ["task", "update", &id, "--status", "pending"];
    let refused = project.run_refused("user", &update, 5, "invalid_transition");
    assert_eq!(
        refused.message,
        "Invalid status transition: \"in_progress\" -> \"pending\".\n\
         Allowed transitions from \"in_progress\": [\"completed\", \"deleted\"]."
    );
    assert_eq!(project.get_task(&id)["version"], 2);
}

fn tc20_concurrent_assignments_let_one_win(project: &TestProject) {
    for _ in 0..5 {
        let id = create_backend_task(project);
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
            spawn_captured(&mut project.json_command(agent, &update))
        });
        let answers = children.map(wait_for_output);
        let winner = answers.iter().position(|a| a.exit_code == Some(0)).unwrap();
        assert_eq!(answers[winner].expect_document()["owner"], agents[winner]);
        let refused = answers[1 - winner].expect_refusal(5, "version_mismatch");
        assert_eq!(refused.message, version_mismatch_message(1, 2));
        assert_eq!(project.get_task(&id)["owner"], agents[winner]);
    }
}

fn tc21_update_after_stale_read_is_refused(project: &TestProject) {
    let id = project.create_task(&[]);
    assert_eq!(project.get_task(&id)["version"], 1);
    let started = project.run_ok(
        "architect-2",
        &["task", "update", &id, "--status", "in_progress"],
    );
    assert_eq!(started["version"], 2);
    let refused = project.run_refused(
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
    assert_eq!(refused.message, version_mismatch_message(1, 2));
    assert_eq!(project.get_task(&id)["owner"], "");
}

on_both_stores!(
    tc01_create_with_a_required_role,
    tc02_create_with_an_invalid_required_role,
    tc03_create_without_a_required_role,
    tc04_create_with_a_task_type,
    tc05_list_without_a_role_filter,
    tc06_list_with_a_role_filter,
    tc07_list_role_filter_matches_the_owner,
    tc08_update_with_matching_version_succeeds,
    tc09_update_with_outdated_version_is_refused,
    tc10_update_without_expected_version_succeeds,
    tc11_assignment_with_matching_role_succeeds,
    tc12_assignment_with_other_role_is_refused,
    tc12_assignment_to_agent_with_other_role_is_refused,
    tc13_forced_assignment_by_the_team_lead_succeeds,
    tc14_forced_assignment_by_another_agent_is_refused,
    tc15_assignment_without_required_role_succeeds_for_any_role,
    tc16_pending_to_in_progress_is_allowed,
    tc17_in_progress_to_completed_is_allowed,
    tc18_completed_to_in_progress_is_forbidden,
    tc19_in_progress_to_pending_is_forbidden,
    tc20_concurrent_assignments_let_one_win,
    tc21_update_after_stale_read_is_refused,
);
