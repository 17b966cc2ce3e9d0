//! Tests of claims: taking tasks, keeping them with leases, and releasing them.

use crate::board::{Board, eventually, on_both_stores};

fn a_claim_is_owner_and_state_in_one_commit(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    let task = board.ok("backend-leader-2", &["task", "claim", "1"]);
    assert_eq!(task["owner"], "backend-leader-2");
    assert_eq!(task["status"], "in_progress");
    assert_eq!(task["version"], 2);
    let log = board.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["kind"], "task.claimed");
    assert_eq!(log[1]["subject"], "task/1");
    assert_eq!(log[1]["data"]["changes"]["owner"], "backend-leader-2");
    assert_eq!(log[1]["data"]["changes"]["status"], "in_progress");
}

fn a_held_task_is_refused(board: &Board) {
    board.create(&[]);
    board.ok("architect", &["task", "claim", "1"]);
    let refused = board.refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
    assert_eq!(
        refused.message,
        "Task #1 is already claimed by \"architect\"."
    );
    let steal = ["task", "update", "1", "--owner", "architect-2"];
    board.refused("architect-2", &steal, 5, "already_claimed");
    assert_eq!(board.get("1")["owner"], "architect");
}

fn claiming_again_what_one_holds_changes_nothing(board: &Board) {
    board.create(&[]);
    let first = board.ok("architect", &["task", "claim", "1"]);
    let again = board.ok("architect", &["task", "claim", "1"]);
    assert_eq!(first, again);
    assert_eq!(board.log().len(), 2);
}

fn an_expected_version_guards_a_claim(board: &Board) {
    board.create(&[]);
    board.ok("user", &["task", "update", "1", "--subject", "changed"]);
    let claim = |version: &'static str| ["task", "claim", "1", "--expected-version", version];
    board.refused("architect", &claim("1"), 5, "version_mismatch");
    assert_eq!(board.ok("architect", &claim("2"))["owner"], "architect");
}

fn roles_hold_for_claims_and_the_lead_may_force(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    board.refused("architect", &["task", "claim", "1"], 3, "role_mismatch");
    let force = ["task", "claim", "1", "--force-assign"];
    board.refused("architect", &force, 3, "force_assign_forbidden");
    assert_eq!(board.ok("team-lead", &force)["owner"], "team-lead");
}

fn a_registered_role_counts_not_the_name(board: &Board) {
    board.ok(
        "user",
        &["agent", "add", "backend-leader-9", "--role", "architect"],
    );
    board.ok("user", &["agent", "add", "ada", "--role", "backend-leader"]);
    board.create(&["--required-role", "backend-leader"]);
    board.refused(
        "backend-leader-9",
        &["task", "claim", "1"],
        3,
        "role_mismatch",
    );
    assert_eq!(board.ok("ada", &["task", "claim", "1"])["owner"], "ada");
}

fn released_work_stays_in_progress_and_can_be_claimed(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    board.ok("backend-leader", &["task", "claim", "1"]);
    board.refused(
        "backend-leader-2",
        &["task", "release", "1"],
        5,
        "not_owner",
    );
    let released = board.ok("backend-leader", &["task", "release", "1"]);
    assert_eq!(
        (released["owner"].as_str(), released["status"].as_str()),
        (Some(""), Some("in_progress"))
    );
    assert_eq!(board.listed("backend-leader-2", &["task", "ready"]), ["1"]);
    board.refused("architect", &["task", "claim", "1"], 3, "role_mismatch");
    let claimed = board.ok("backend-leader-2", &["task", "claim"]);
    assert_eq!(
        (claimed["id"].as_str(), claimed["owner"].as_str()),
        (Some("1"), Some("backend-leader-2"))
    );
    let empty = board.ok("backend-leader-2", &["task", "update", "1", "--owner", ""]);
    assert_eq!(
        (empty["owner"].as_str(), empty["status"].as_str()),
        (Some(""), Some("in_progress"))
    );
}

fn a_lease_that_ran_out_makes_a_task_claimable(board: &Board) {
    board.create(&[]);
    let task = board.ok("architect", &["task", "claim", "1", "--lease", "50ms"]);
    assert_eq!(task["leaseMs"], 50);
    assert!(task["leaseExpiresAt"].is_string());
    eventually("the lease running out", || board.get("1")["stale"] == true);
    let listed = board.ok("user", &["task", "list"]);
    assert_eq!(listed["tasks"][0]["stale"], true);
    assert_eq!(board.listed("user", &["task", "list", "--ready"]), ["1"]);
    let taken = board.ok("architect-2", &["task", "claim", "1"]);
    assert_eq!(taken["owner"], "architect-2");
    assert!(taken.get("leaseExpiresAt").is_none() && taken.get("stale").is_none());
    board.refused("architect", &["task", "heartbeat", "1"], 5, "not_owner");
}

fn a_heartbeat_keeps_a_lease_and_the_version(board: &Board) {
    board.create(&[]);
    let claimed = board.ok("architect", &["task", "claim", "1", "--lease", "1h"]);
    let beaten = board.ok("architect", &["task", "heartbeat", "1", "--lease", "2h"]);
    assert_eq!(beaten["version"], claimed["version"]);
    assert_eq!(beaten["leaseMs"], 7_200_000);
    assert!(beaten["leaseExpiresAt"].as_str() > claimed["leaseExpiresAt"].as_str());
    board.refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
    board.refused("architect-2", &["task", "heartbeat", "1"], 5, "not_owner");
    board.ok(
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
    board.refused("architect", &["task", "heartbeat", "1"], 5, "not_owner");
}

fn a_heartbeat_revives_a_stale_claim_nobody_took(board: &Board) {
    board.create(&[]);
    board.ok("architect", &["task", "claim", "1", "--lease", "1ms"]);
    eventually("the lease running out", || board.get("1")["stale"] == true);
    board.ok("architect", &["task", "heartbeat", "1", "--lease", "1h"]);
    board.refused("architect-2", &["task", "claim", "1"], 5, "already_claimed");
}

fn a_heartbeat_without_a_lease_is_refused(board: &Board) {
    board.create(&[]);
    board.ok("architect", &["task", "claim", "1"]);
    let refused = board.refused("architect", &["task", "heartbeat", "1"], 2, "invalid_input");
    assert!(refused.hint.contains("--lease"), "{refused:?}");
    for bad in ["", "0s", "soon", "5", "-5m", "400d"] {
        let claim = ["task", "claim", "1", &format!("--lease={bad}")];
        board.refused("architect", &claim, 2, "invalid_input");
    }
}

fn the_best_task_is_claimed_first(board: &Board) {
    board.create(&["--metadata", r#"{"priority":"low"}"#]);
    board.create(&[
        "--required-role",
        "frontend-leader",
        "--metadata",
        r#"{"priority":"critical"}"#,
    ]);
    board.create(&["--type", "backend_implementation"]);
    board.create(&[
        "--required-role",
        "backend-leader",
        "--type",
        "backend_implementation",
    ]);
    board.create(&[
        "--metadata",
        r#"{"priority":"critical"}"#,
        "--add-blocked-by",
        "1",
    ]);
    let ranking = board.ok("backend-leader", &["task", "recommend"]);
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
            board.ok("backend-leader", &["task", "claim"])["id"],
            expected.as_str()
        );
    }
    let refused = board.refused("backend-leader", &["task", "claim"], 4, "nothing_to_claim");
    assert!(refused.hint.contains("polis task"), "{refused:?}");
}

fn a_task_assigned_beforehand_is_found_by_its_owner(board: &Board) {
    board.create(&["--metadata", r#"{"priority":"critical"}"#]);
    board.create(&["--metadata", r#"{"priority":"low"}"#]);
    board.ok(
        "team-lead",
        &["task", "update", "2", "--owner", "architect"],
    );
    board.refused("test-leader", &["task", "claim", "2"], 5, "already_claimed");
    let task = board.ok("architect", &["task", "claim"]);
    assert_eq!(
        (task["id"].as_str(), task["status"].as_str()),
        (Some("2"), Some("in_progress"))
    );
}

fn a_default_lease_comes_from_the_configuration(board: &Board) {
    std::fs::write(
        board.workspace("polis.toml"),
        "[tasks]\ndefault_lease = \"90s\"\n",
    )
    .unwrap();
    board.create(&[]);
    assert_eq!(
        board.ok("architect", &["task", "claim", "1"])["leaseMs"],
        90_000
    );
}

on_both_stores!(
    a_claim_is_owner_and_state_in_one_commit,
    a_held_task_is_refused,
    claiming_again_what_one_holds_changes_nothing,
    an_expected_version_guards_a_claim,
    roles_hold_for_claims_and_the_lead_may_force,
    a_registered_role_counts_not_the_name,
    released_work_stays_in_progress_and_can_be_claimed,
    a_lease_that_ran_out_makes_a_task_claimable,
    a_heartbeat_keeps_a_lease_and_the_version,
    a_heartbeat_revives_a_stale_claim_nobody_took,
    a_heartbeat_without_a_lease_is_refused,
    the_best_task_is_claimed_first,
    a_task_assigned_beforehand_is_found_by_its_owner,
    a_default_lease_comes_from_the_configuration,
);
