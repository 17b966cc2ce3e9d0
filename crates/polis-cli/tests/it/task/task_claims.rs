//! Tests of task claims: claiming, leases, heartbeats, releasing, and the ranking of a claim without a task
//! number.

use crate::harness::test_project::{TestProject, on_both_stores, wait_until};

fn claim_sets_owner_and_status_in_one_commit(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
    let task = project.run_ok("backend-leader-2", &["task", "claim", "1"]);
    assert_eq!(task["owner"], "backend-leader-2");
    assert_eq!(task["status"], "in_progress");
    assert_eq!(task["version"], 2);
    let log = project.read_log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["kind"], "task.claimed");
    assert_eq!(log[1]["subject"], "task/1");
    assert_eq!(log[1]["data"]["changes"]["owner"], "backend-leader-2");
    assert_eq!(log[1]["data"]["changes"]["status"], "in_progress");
}

fn claim_of_task_owned_by_another_is_refused(project: &TestProject) {
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "1"]);
    let refused = project.run_refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
    assert_eq!(
        refused.message,
        "Task #1 is already claimed by \"architect\"."
    );
    let steal = ["task", "update", "1", "--owner", "architect-2"];
    project.run_refused("architect-2", &steal, 5, "already_claimed");
    assert_eq!(project.get_task("1")["owner"], "architect");
}

fn claim_repeated_by_its_owner_changes_nothing(project: &TestProject) {
    project.create_task(&[]);
    let first = project.run_ok("architect", &["task", "claim", "1"]);
    let again = project.run_ok("architect", &["task", "claim", "1"]);
    assert_eq!(first, again);
    assert_eq!(project.read_log().len(), 2);
}

fn claim_with_outdated_expected_version_is_refused(project: &TestProject) {
    project.create_task(&[]);
    project.run_ok("user", &["task", "update", "1", "--subject", "changed"]);
    let claim = |version: &'static str| ["task", "claim", "1", "--expected-version", version];
    project.run_refused("architect", &claim("1"), 5, "version_mismatch");
    assert_eq!(
        project.run_ok("architect", &claim("2"))["owner"],
        "architect"
    );
}

fn claim_requires_the_role_unless_forced_by_the_lead(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
    project.run_refused("architect", &["task", "claim", "1"], 3, "role_mismatch");
    let force = ["task", "claim", "1", "--force-assign"];
    project.run_refused("architect", &force, 3, "force_assign_forbidden");
    assert_eq!(project.run_ok("team-lead", &force)["owner"], "team-lead");
}

fn claim_uses_the_registered_role_not_the_name(project: &TestProject) {
    project.run_ok(
        "user",
        &["agent", "add", "backend-leader-9", "--role", "architect"],
    );
    project.run_ok("user", &["agent", "add", "ada", "--role", "backend-leader"]);
    project.create_task(&["--required-role", "backend-leader"]);
    project.run_refused(
        "backend-leader-9",
        &["task", "claim", "1"],
        3,
        "role_mismatch",
    );
    assert_eq!(
        project.run_ok("ada", &["task", "claim", "1"])["owner"],
        "ada"
    );
}

fn released_task_stays_in_progress_and_is_claimable(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
    project.run_ok("backend-leader", &["task", "claim", "1"]);
    project.run_refused(
        "backend-leader-2",
        &["task", "release", "1"],
        5,
        "not_owner",
    );
    let released = project.run_ok("backend-leader", &["task", "release", "1"]);
    assert_eq!(
        (released["owner"].as_str(), released["status"].as_str()),
        (Some(""), Some("in_progress"))
    );
    assert_eq!(
        project.list_task_ids("backend-leader-2", &["task", "ready"]),
        ["1"]
    );
    project.run_refused("architect", &["task", "claim", "1"], 3, "role_mismatch");
    let claimed = project.run_ok("backend-leader-2", &["task", "claim"]);
    assert_eq!(
        (claimed["id"].as_str(), claimed["owner"].as_str()),
        (Some("1"), Some("backend-leader-2"))
    );
    let empty = project.run_ok("backend-leader-2", &["task", "update", "1", "--owner", ""]);
    assert_eq!(
        (empty["owner"].as_str(), empty["status"].as_str()),
        (Some(""), Some("in_progress"))
    );
}

fn expired_lease_makes_task_claimable(project: &TestProject) {
    project.create_task(&[]);
    let task = project.run_ok("architect", &["task", "claim", "1", "--lease", "50ms"]);
    assert_eq!(task["leaseMs"], 50);
    assert!(task["leaseExpiresAt"].is_string());
    wait_until("the lease running out", || {
        project.get_task("1")["stale"] == true
    });
    let listed = project.run_ok("user", &["task", "list"]);
    assert_eq!(listed["tasks"][0]["stale"], true);
    assert_eq!(
        project.list_task_ids("user", &["task", "list", "--ready"]),
        ["1"]
    );
    let taken = project.run_ok("architect-2", &["task", "claim", "1"]);
    assert_eq!(taken["owner"], "architect-2");
    assert!(taken.get("leaseExpiresAt").is_none() && taken.get("stale").is_none());
    project.run_refused("architect", &["task", "heartbeat", "1"], 5, "not_owner");
}

fn heartbeat_extends_the_lease_without_a_new_version(project: &TestProject) {
    project.create_task(&[]);
    let claimed = project.run_ok("architect", &["task", "claim", "1", "--lease", "1h"]);
    let beaten = project.run_ok("architect", &["task", "heartbeat", "1", "--lease", "2h"]);
    assert_eq!(beaten["version"], claimed["version"]);
    assert_eq!(beaten["leaseMs"], 7_200_000);
    assert!(beaten["leaseExpiresAt"].as_str() > claimed["leaseExpiresAt"].as_str());
    project.run_refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
    project.run_refused("architect-2", &["task", "heartbeat", "1"], 5, "not_owner");
    project.run_ok(
        "architect",
        &[
            "task",
            "update",
            "1",
            "--status",
            "completed",
            "--expected-version",
            "2",
        ],
    );
    project.run_refused("architect", &["task", "heartbeat", "1"], 5, "not_owner");
}

fn heartbeat_revives_a_stale_claim(project: &TestProject) {
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "1", "--lease", "1ms"]);
    wait_until("the lease running out", || {
        project.get_task("1")["stale"] == true
    });
    project.run_ok("architect", &["task", "heartbeat", "1", "--lease", "1h"]);
    project.run_refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
}

fn heartbeat_without_a_lease_is_refused(project: &TestProject) {
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "1"]);
    let refused = project.run_refused("architect", &["task", "heartbeat", "1"], 2, "invalid_input");
    assert!(refused.hint.contains("--lease"), "{refused:?}");
    for bad in ["", "0s", "soon", "5", "-5m", "400d"] {
        let claim = ["task", "claim", "1", &format!("--lease={bad}")];
        project.run_refused("architect", &claim, 2, "invalid_input");
    }
}

fn claim_without_id_takes_the_highest_ranked_task(project: &TestProject) {
    project.create_task(&["--metadata", r#"{"priority":"low"}"#]);
    project.create_task(&[
        "--required-role",
        "frontend-leader",
        "--metadata",
        r#"{"priority":"critical"}"#,
    ]);
    project.create_task(&["--type", "backend_implementation"]);
    project.create_task(&[
        "--required-role",
        "backend-leader",
        "--type",
        "backend_implementation",
    ]);
    project.create_task(&[
        "--metadata",
        r#"{"priority":"critical"}"#,
        "--add-blocked-by",
        "1",
    ]);
    let ranking = project.run_ok("backend-leader", &["task", "recommend"]);
    let ranked: Vec<_> = ranking["recommendations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            let points: i64 = r["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x["points"].as_i64().unwrap())
                .sum();
            assert_eq!(r["score"], points);
            r["task"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ranked, ["4", "3", "1"]);
    for expected in ranked {
        assert_eq!(
            project.run_ok("backend-leader", &["task", "claim"])["id"],
            expected.as_str()
        );
    }
    let refused = project.run_refused("backend-leader", &["task", "claim"], 4, "nothing_to_claim");
    assert!(refused.hint.contains("polis task"), "{refused:?}");
}

fn claim_without_id_prefers_an_assigned_task(project: &TestProject) {
    project.create_task(&["--metadata", r#"{"priority":"critical"}"#]);
    project.create_task(&["--metadata", r#"{"priority":"low"}"#]);
    project.run_ok(
        "team-lead",
        &["task", "update", "2", "--owner", "architect"],
    );
    project.run_refused("test-leader", &["task", "claim", "2"], 5, "already_claimed");
    let task = project.run_ok("architect", &["task", "claim"]);
    assert_eq!(
        (task["id"].as_str(), task["status"].as_str()),
        (Some("2"), Some("in_progress"))
    );
}

fn claim_uses_the_configured_default_lease(project: &TestProject) {
    std::fs::write(
        project.data_path("polis.toml"),
        "[tasks]\ndefault_lease = \"90s\"\n",
    )
    .unwrap();
    project.create_task(&[]);
    assert_eq!(
        project.run_ok("architect", &["task", "claim", "1"])["leaseMs"],
        90_000
    );
}

on_both_stores!(
    claim_sets_owner_and_status_in_one_commit,
    claim_of_task_owned_by_another_is_refused,
    claim_repeated_by_its_owner_changes_nothing,
    claim_with_outdated_expected_version_is_refused,
    claim_requires_the_role_unless_forced_by_the_lead,
    claim_uses_the_registered_role_not_the_name,
    released_task_stays_in_progress_and_is_claimable,
    expired_lease_makes_task_claimable,
    heartbeat_extends_the_lease_without_a_new_version,
    heartbeat_revives_a_stale_claim,
    heartbeat_without_a_lease_is_refused,
    claim_without_id_takes_the_highest_ranked_task,
    claim_without_id_prefers_an_assigned_task,
    claim_uses_the_configured_default_lease,
);
