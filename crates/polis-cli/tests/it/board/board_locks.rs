//! Tests of board locks (leases): held by one agent, renewed by its holder, released by token or expiry.

use serde_json::Value;

use crate::board::board_helpers::{register_agent, version_field};
use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores, wait_until};
use crate::task::task_concurrency::run_concurrently;

fn register_two_leads(project: &TestProject) {
    register_agent(project, "ana", "team-lead", "top", "");
    register_agent(project, "bea", "team-lead", "top", "");
}

fn lock_board(project: &TestProject, agent: &str, ttl: &str) -> Value {
    project.run_ok(agent, &["board", "lock", "global", "--ttl", ttl])
}

fn lock_token(lock: &Value) -> &str {
    lock["token"].as_str().unwrap()
}

fn assert_locked_by(answer: &CommandOutput, lock: &Value) {
    let error = answer.expect_error(6, "board_locked");
    assert_eq!(error["holder"], lock["holder"]);
    assert_eq!(error["expiresAt"], lock["expiresAt"]);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains(lock["holder"].as_str().unwrap()),
        "{error}"
    );
}

fn locked_board_refuses_writes_of_other_agents(project: &TestProject) {
    register_two_leads(project);
    project.write_board("global", "# G\n\n## S\nx\n\n## Milestones\n- [ ] m\n");
    let held = lock_board(project, "ana", "1h");
    assert_eq!(held["holder"], "ana");
    let before = project.read_log();
    for args in [
        &["board", "write", "global", "--content", "x"][..],
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "1",
        ],
        &["board", "append", "global", "--content", "x"],
        &["board", "section", "set", "global", "S", "--content", "y"],
        &[
            "board",
            "section",
            "append",
            "global",
            "S",
            "--content",
            "y",
        ],
        &["board", "section", "delete", "global", "S"],
        &["board", "restore", "global", "1"],
        &["board", "decision", "propose", "--content", "x"],
        &["board", "milestone", "add", "n"],
        &["board", "milestone", "done", "m"],
        &["board", "lock", "global"],
    ] {
        for agent in ["bea", "user"] {
            assert_locked_by(&project.run_json(agent, args), &held);
        }
    }
    assert_eq!(project.read_log(), before);
    let view = project.run_ok("bea", &["board", "read", "global"]);
    assert_eq!(view["lockedBy"], "ana");
    assert_eq!(view["lockedUntil"], held["expiresAt"]);
    let list = project.run_ok("bea", &["board", "list"]);
    assert_eq!(list["boards"][0]["lockedBy"], "ana");
    project.run_ok(
        "bea",
        &["board", "append", "top", "--content", "another board"],
    );
    project.run_ok(
        "ana",
        &[
            "board",
            "append",
            "global",
            "--content",
            "the holder writes",
        ],
    );
    project.run_ok(
        "ana",
        &["board", "unlock", "global", "--token", lock_token(&held)],
    );
    project.run_ok(
        "bea",
        &["board", "append", "global", "--content", "free again"],
    );
    assert_eq!(project.board_version("global"), 3);
}

fn lock_holder_may_reenter_and_renew(project: &TestProject) {
    register_two_leads(project);
    let first = lock_board(project, "ana", "1m");
    let again = lock_board(project, "ana", "5m");
    assert_eq!(lock_token(&first), lock_token(&again));
    assert!(again["expiresAt"].as_str() > first["expiresAt"].as_str());
    let short = lock_board(project, "ana", "1s");
    assert_eq!(
        short["expiresAt"], again["expiresAt"],
        "a shorter re-entry does not shorten the lock"
    );
    let renew = [
        "board",
        "renew",
        "global",
        "--ttl",
        "10m",
        "--token",
        lock_token(&first),
    ];
    let renewed = project.run_ok("ana", &renew);
    assert_eq!(lock_token(&renewed), lock_token(&first));
    assert!(renewed["expiresAt"].as_str() > again["expiresAt"].as_str());
    assert_locked_by(&project.run_json("bea", &renew), &renewed);
    assert_eq!(
        project.board_event_kinds("global"),
        [
            "board.locked",
            "board.renewed",
            "board.renewed",
            "board.renewed"
        ]
    );
    assert_eq!(
        project.board_version("global"),
        0,
        "a lock creates no version"
    );
}

fn unlock_without_the_token_is_refused(project: &TestProject) {
    register_two_leads(project);
    let held = lock_board(project, "ana", "1h");
    for agent in ["ana", "bea", "user"] {
        let unlock = ["board", "unlock", "global", "--token", "guessed"];
        project.run_refused(agent, &unlock, 5, "lock_lost");
        let renew = ["board", "renew", "global", "--token", "guessed"];
        project.run_refused(agent, &renew, 5, "lock_lost");
    }
    assert_locked_by(
        &project.run_json("bea", &["board", "lock", "global"]),
        &held,
    );
    let unlock = ["board", "unlock", "global", "--token", lock_token(&held)];
    assert_eq!(project.run_ok("ana", &unlock)["released"], true);
    project.run_refused("ana", &unlock, 5, "lock_lost");
}

fn expired_lock_can_be_taken_over(project: &TestProject) {
    register_two_leads(project);
    let first = lock_board(project, "ana", "20ms");
    let mut second = None;
    wait_until("the lock's end", || {
        let answer = project.run_json("bea", &["board", "lock", "global", "--ttl", "1h"]);
        second = (answer.exit_code == Some(0)).then(|| answer.expect_document());
        second.is_some()
    });
    let second = second.unwrap();
    assert_ne!(lock_token(&second), lock_token(&first));
    assert_eq!(second["holder"], "bea");
    assert_locked_by(
        &project.run_json("ana", &["board", "append", "global", "--content", "x"]),
        &second,
    );
    for verb in ["renew", "unlock"] {
        let args = ["board", verb, "global", "--token", lock_token(&first)];
        project.run_refused("ana", &args, 5, "lock_lost");
    }
    project.run_ok(
        "bea",
        &["board", "append", "global", "--content", "mine now"],
    );
}

fn expired_lock_does_not_block_writes(project: &TestProject) {
    register_two_leads(project);
    project.write_board("global", "begun\n");
    let held = lock_board(project, "ana", "20ms");
    wait_until("the lock's end", || {
        project
            .run_json("bea", &["board", "append", "global", "--content", "x"])
            .exit_code
            == Some(0)
    });
    // No other agent has taken the expired lock, so it can still be renewed.
    project.run_ok(
        "ana",
        &[
            "board",
            "renew",
            "global",
            "--token",
            lock_token(&held),
            "--ttl",
            "1h",
        ],
    );
    project.run_refused(
        "bea",
        &["board", "append", "global", "--content", "x"],
        6,
        "board_locked",
    );
}

fn lock_ttl_defaults_to_five_seconds_and_is_at_most_an_hour(project: &TestProject) {
    project.write_board("global", "begun\n");
    let held = project.run_ok("user", &["board", "lock", "global"]);
    let until = held["expiresAt"].as_str().unwrap();
    let log = project.read_log();
    let at = log.last().unwrap()["at"].as_str().unwrap();
    assert_eq!(
        (milliseconds_since_midnight(until) - milliseconds_since_midnight(at)).rem_euclid(DAY_MS),
        5_000
    );
    for ttl in ["0s", "2h", "x", ""] {
        project.run_refused(
            "user",
            &["board", "lock", "global", "--ttl", ttl],
            2,
            "invalid_input",
        );
    }
}

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Returns the milliseconds since midnight of a timestamp.
fn milliseconds_since_midnight(stamp: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| stamp[range].parse::<i64>().unwrap();
    part(11..13) * 3_600_000 + part(14..16) * 60_000 + part(17..19) * 1_000 + part(20..23)
}

fn concurrent_lock_requests_let_one_win(project: &TestProject) {
    for n in 0..8 {
        register_agent(project, &format!("top-{n}"), "team-lead", "top", "");
    }
    let answers = run_concurrently(8, |n| {
        project.run_json(
            &format!("top-{n}"),
            &["board", "lock", "global", "--ttl", "1h"],
        )
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.exit_code == Some(0));
    assert_eq!(won.len(), 1);
    let held = won[0].expect_document();
    lost.iter()
        .for_each(|answer| assert_locked_by(answer, &held));
}

/// Writers that serialize by the lock need no expected version: each reads and writes alone.
fn lock_serializes_read_and_write(project: &TestProject) {
    for n in 0..4 {
        register_agent(project, &format!("top-{n}"), "team-lead", "top", "");
    }
    project.write_board("global", "0");
    run_concurrently(4, |n| {
        let agent = format!("top-{n}");
        for _ in 0..3 {
            let mut held = None;
            wait_until("a turn", || {
                let answer = project.run_json(&agent, &["board", "lock", "global", "--ttl", "1h"]);
                held = (answer.exit_code == Some(0)).then(|| answer.expect_document());
                held.is_some()
            });
            let view = project.run_ok(&agent, &["board", "read", "global"]);
            let next: u64 = view["content"].as_str().unwrap().parse::<u64>().unwrap() + 1;
            let next = next.to_string();
            let write = project.run_ok(
                &agent,
                &["board", "write", "global", "--content", &next, "--force"],
            );
            assert_eq!(version_field(&write), version_field(&view) + 1);
            project.run_ok(
                &agent,
                &[
                    "board",
                    "unlock",
                    "global",
                    "--token",
                    lock_token(&held.unwrap()),
                ],
            );
        }
    });
    assert_eq!(project.board_text("global"), "12");
}

on_both_stores!(
    locked_board_refuses_writes_of_other_agents,
    lock_holder_may_reenter_and_renew,
    unlock_without_the_token_is_refused,
    expired_lock_can_be_taken_over,
    expired_lock_does_not_block_writes,
    lock_ttl_defaults_to_five_seconds_and_is_at_most_an_hour,
    concurrent_lock_requests_let_one_win,
    lock_serializes_read_and_write,
);
