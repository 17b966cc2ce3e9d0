//! Tests of board locks (leases): held by one agent, renewed by its holder, ended by expiry or token.

use serde_json::Value;

use crate::board::{Answer, Board, eventually, on_both_stores};
use crate::boards_team::{add, version};
use crate::concurrency::together;

fn team(board: &Board) {
    add(board, "ana", "team-lead", "top", "");
    add(board, "bea", "team-lead", "top", "");
}

fn lock(board: &Board, agent: &str, ttl: &str) -> Value {
    board.ok(agent, &["board", "lock", "global", "--ttl", ttl])
}

fn token(lock: &Value) -> &str {
    lock["token"].as_str().unwrap()
}

fn held_by(answer: &Answer, lock: &Value) {
    let error = answer.error(6, "board_locked");
    assert_eq!(error["holder"], lock["holder"]);
    assert_eq!(error["expiresAt"], lock["expiresAt"]);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains(lock["holder"].as_str().unwrap()),
        "{error}"
    );
}

fn a_lock_keeps_everybody_else_from_writing(board: &Board) {
    team(board);
    board.put("global", "# G\n\n## S\nx\n\n## Milestones\n- [ ] m\n");
    let held = lock(board, "ana", "1h");
    assert_eq!(held["holder"], "ana");
    let before = board.log();
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
            held_by(&board.run(agent, args), &held);
        }
    }
    assert_eq!(board.log(), before);
    let view = board.ok("bea", &["board", "read", "global"]);
    assert_eq!(view["lockedBy"], "ana");
    assert_eq!(view["lockedUntil"], held["expiresAt"]);
    let list = board.ok("bea", &["board", "list"]);
    assert_eq!(list["boards"][0]["lockedBy"], "ana");
    board.ok(
        "bea",
        &["board", "append", "top", "--content", "another board"],
    );
    board.ok(
        "ana",
        &[
            "board",
            "append",
            "global",
            "--content",
            "the holder writes",
        ],
    );
    board.ok(
        "ana",
        &["board", "unlock", "global", "--token", token(&held)],
    );
    board.ok(
        "bea",
        &["board", "append", "global", "--content", "free again"],
    );
    assert_eq!(board.version("global"), 3);
}

fn its_holder_enters_again_and_renews(board: &Board) {
    team(board);
    let first = lock(board, "ana", "1m");
    let again = lock(board, "ana", "5m");
    assert_eq!(token(&first), token(&again));
    assert!(again["expiresAt"].as_str() > first["expiresAt"].as_str());
    let short = lock(board, "ana", "1s");
    assert_eq!(
        short["expiresAt"], again["expiresAt"],
        "a short re-entry cuts nothing off"
    );
    let renew = [
        "board",
        "renew",
        "global",
        "--ttl",
        "10m",
        "--token",
        token(&first),
    ];
    let renewed = board.ok("ana", &renew);
    assert_eq!(token(&renewed), token(&first));
    assert!(renewed["expiresAt"].as_str() > again["expiresAt"].as_str());
    held_by(&board.run("bea", &renew), &renewed);
    assert_eq!(
        board.told("global"),
        [
            "board.locked",
            "board.renewed",
            "board.renewed",
            "board.renewed"
        ]
    );
    assert_eq!(board.version("global"), 0, "a lock is no version");
}

fn only_the_token_gives_it_back(board: &Board) {
    team(board);
    let held = lock(board, "ana", "1h");
    for agent in ["ana", "bea", "user"] {
        let unlock = ["board", "unlock", "global", "--token", "guessed"];
        board.refused(agent, &unlock, 5, "lock_lost");
        let renew = ["board", "renew", "global", "--token", "guessed"];
        board.refused(agent, &renew, 5, "lock_lost");
    }
    held_by(&board.run("bea", &["board", "lock", "global"]), &held);
    let unlock = ["board", "unlock", "global", "--token", token(&held)];
    assert_eq!(board.ok("ana", &unlock)["released"], true);
    board.refused("ana", &unlock, 5, "lock_lost");
}

fn a_lock_that_ended_is_taken_over(board: &Board) {
    team(board);
    let first = lock(board, "ana", "20ms");
    let mut second = None;
    eventually("the lock's end", || {
        let answer = board.run("bea", &["board", "lock", "global", "--ttl", "1h"]);
        second = (answer.exit == Some(0)).then(|| answer.document());
        second.is_some()
    });
    let second = second.unwrap();
    assert_ne!(token(&second), token(&first));
    assert_eq!(second["holder"], "bea");
    held_by(
        &board.run("ana", &["board", "append", "global", "--content", "x"]),
        &second,
    );
    for verb in ["renew", "unlock"] {
        let args = ["board", verb, "global", "--token", token(&first)];
        board.refused("ana", &args, 5, "lock_lost");
    }
    board.ok(
        "bea",
        &["board", "append", "global", "--content", "mine now"],
    );
}

fn a_lock_that_ended_keeps_nobody_from_writing(board: &Board) {
    team(board);
    board.put("global", "begun\n");
    let held = lock(board, "ana", "20ms");
    eventually("the lock's end", || {
        board
            .run("bea", &["board", "append", "global", "--content", "x"])
            .exit
            == Some(0)
    });
    // No other agent has taken the expired lock, so it can still be renewed.
    board.ok(
        "ana",
        &[
            "board",
            "renew",
            "global",
            "--token",
            token(&held),
            "--ttl",
            "1h",
        ],
    );
    board.refused(
        "bea",
        &["board", "append", "global", "--content", "x"],
        6,
        "board_locked",
    );
}

fn the_default_is_five_seconds_and_an_hour_the_most(board: &Board) {
    board.put("global", "begun\n");
    let held = board.ok("user", &["board", "lock", "global"]);
    let until = held["expiresAt"].as_str().unwrap();
    let log = board.log();
    let at = log.last().unwrap()["at"].as_str().unwrap();
    assert_eq!(
        (milliseconds(until) - milliseconds(at)).rem_euclid(DAY),
        5_000
    );
    for ttl in ["0s", "2h", "x", ""] {
        board.refused(
            "user",
            &["board", "lock", "global", "--ttl", ttl],
            2,
            "invalid_input",
        );
    }
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Returns the milliseconds since midnight of a timestamp.
fn milliseconds(stamp: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| stamp[range].parse::<i64>().unwrap();
    part(11..13) * 3_600_000 + part(14..16) * 60_000 + part(17..19) * 1_000 + part(20..23)
}

fn one_of_many_gets_the_lock(board: &Board) {
    for n in 0..8 {
        add(board, &format!("top-{n}"), "team-lead", "top", "");
    }
    let answers = together(8, |n| {
        board.run(
            &format!("top-{n}"),
            &["board", "lock", "global", "--ttl", "1h"],
        )
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.exit == Some(0));
    assert_eq!(won.len(), 1);
    let held = won[0].document();
    lost.iter().for_each(|answer| held_by(answer, &held));
}

/// Writers that serialize by the lock need no expected version: each reads and writes alone.
fn a_lock_makes_turns(board: &Board) {
    for n in 0..4 {
        add(board, &format!("top-{n}"), "team-lead", "top", "");
    }
    board.put("global", "0");
    together(4, |n| {
        let agent = format!("top-{n}");
        for _ in 0..3 {
            let mut held = None;
            eventually("a turn", || {
                let answer = board.run(&agent, &["board", "lock", "global", "--ttl", "1h"]);
                held = (answer.exit == Some(0)).then(|| answer.document());
                held.is_some()
            });
            let view = board.ok(&agent, &["board", "read", "global"]);
            let next: u64 = view["content"].as_str().unwrap().parse::<u64>().unwrap() + 1;
            let next = next.to_string();
            let write = board.ok(
                &agent,
                &["board", "write", "global", "--content", &next, "--force"],
            );
            assert_eq!(version(&write), version(&view) + 1);
            board.ok(
                &agent,
                &[
                    "board",
                    "unlock",
                    "global",
                    "--token",
                    token(&held.unwrap()),
                ],
            );
        }
    });
    assert_eq!(board.text("global"), "12");
}

on_both_stores!(
    a_lock_keeps_everybody_else_from_writing,
    its_holder_enters_again_and_renews,
    only_the_token_gives_it_back,
    a_lock_that_ended_is_taken_over,
    a_lock_that_ended_keeps_nobody_from_writing,
    the_default_is_five_seconds_and_an_hour_the_most,
    one_of_many_gets_the_lock,
    a_lock_makes_turns,
);
