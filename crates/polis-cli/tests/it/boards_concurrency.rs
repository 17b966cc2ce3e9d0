//! Concurrency tests of boards: many processes write one board. Every entry is present once and complete, no update is
//! lost, and there is no unnecessary conflict.

use serde_json::Value;

use crate::board::{Board, finish, on_both_stores, start};
use crate::boards_team::{add, content, version};
use crate::concurrency::together;

/// Returns the text of an entry, long enough that a torn write is visible.
fn entry(n: usize, k: usize) -> String {
    format!("<{n}/{k}:{}>", "x".repeat(40 + k))
}

fn eight_processes_append_a_hundred_entries_each(board: &Board) {
    for n in 0..8 {
        add(board, &format!("arch-{n}"), "architect", "mid", "");
    }
    let told = together(8, |n| {
        let agent = format!("arch-{n}");
        let append = |k| {
            let answer = board.ok(
                &agent,
                &["board", "append", "global", "--content", &entry(n, k)],
            );
            (version(&answer), entry(n, k))
        };
        (0..100).map(append).collect::<Vec<_>>()
    });
    let mut told: Vec<(u64, String)> = told.into_iter().flatten().collect();
    told.sort_unstable();
    let versions: Vec<u64> = told.iter().map(|(version, _)| *version).collect();
    assert_eq!(
        versions,
        (1..=800).collect::<Vec<_>>(),
        "versions are 1 to 800, each given once"
    );
    let view = board.view("global");
    assert_eq!(view["version"], 800);
    let text = content(&view);
    // In version order, each complete and exactly once.
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with('<')).collect();
    let expected: Vec<&str> = told.iter().map(|(_, entry)| entry.as_str()).collect();
    assert_eq!(found, expected);
    assert_eq!(text.matches("\n### Update - ").count(), 800);
    let appended = board.told("global");
    assert_eq!(appended, vec!["board.appended"; 800]);
    if board.is_embedded() {
        assert_eq!(board.bytes("global-whiteboard.md"), text.as_bytes());
    }
}

/// A board with a shared counter and one counter per process.
fn counters() -> String {
    let own: String = (0..8).map(|n| format!("## Own {n}\n\n0\n\n")).collect();
    format!("# Counters\n\n## Shared\n\n0\n\n{own}## End\nstays\n")
}

fn count(text: &str, title: &str) -> u64 {
    let after = text.split_once(&format!("## {title}\n\n")).unwrap().1;
    after.lines().next().unwrap().parse().unwrap()
}

/// Increments the counter of a section with optimistic concurrency. Returns the number of version conflicts.
fn increment(board: &Board, title: &str) -> usize {
    for conflicts in 0.. {
        let view = board.view("global");
        let next = (count(content(&view), title) + 1).to_string();
        let expect = version(&view).to_string();
        let set = [
            "board",
            "section",
            "set",
            "global",
            title,
            "--content",
            &next,
            "--expect",
            &expect,
        ];
        let answer = board.run("user", &set);
        if answer.exit == Some(0) {
            return conflicts;
        }
        let error = answer.error(5, "version_conflict");
        assert!(
            error["currentVersion"].as_u64().unwrap() > version(&view),
            "{error}"
        );
    }
    unreachable!("one of the attempts succeeds")
}

fn reading_and_writing_with_expect_loses_no_update(board: &Board) {
    board.put("global", &counters());
    together(8, |n| {
        for _ in 0..5 {
            increment(board, "Shared");
            increment(board, &format!("Own {n}"));
        }
    });
    let view = board.view("global");
    let text = content(&view);
    assert_eq!(count(text, "Shared"), 40);
    for n in 0..8 {
        assert_eq!(count(text, &format!("Own {n}")), 5);
    }
    assert_eq!(version(&view), 1 + 80, "a refused write made a version");
    assert!(text.ends_with("## End\nstays\n"));
}

fn different_sections_never_conflict(board: &Board) {
    board.put("global", &counters());
    together(8, |n| {
        let title = format!("Own {n}");
        for k in 1..=5 {
            let section = board.ok("user", &["board", "read", "global", "--section", &title]);
            assert_eq!(content(&section), (k - 1).to_string());
            let expect = section["sectionVersion"].as_str().unwrap();
            let text = k.to_string();
            // A single refusal fails the test: changes in other sections are not a conflict.
            board.ok(
                "user",
                &[
                    "board",
                    "section",
                    "set",
                    "global",
                    &title,
                    "--content",
                    &text,
                    "--expect-section",
                    expect,
                ],
            );
        }
    });
    let expected = (0..8).fold(counters(), |text, n| {
        text.replace(&format!("## Own {n}\n\n0\n"), &format!("## Own {n}\n\n5\n"))
    });
    assert_eq!(board.text("global"), expected);
    assert_eq!(board.version("global"), 1 + 40);
}

fn a_section_changed_meanwhile_is_a_conflict(board: &Board) {
    board.put("global", &counters());
    let read = |title: &str| board.ok("user", &["board", "read", "global", "--section", title]);
    let had = read("Shared");
    let had = had["sectionVersion"].as_str().unwrap();
    let set = |text: &str, expect: &str| {
        board.run(
            "user",
            &[
                "board",
                "section",
                "set",
                "global",
                "Shared",
                "--content",
                text,
                "--expect-section",
                expect,
            ],
        )
    };
    set("7", had).document();
    let error = set("1", had).error(5, "version_conflict");
    assert_eq!(error["currentVersion"], 2);
    assert_eq!(content(&read("Shared")), "7");
    let new = [
        "board",
        "section",
        "set",
        "global",
        "New",
        "--content",
        "x",
        "--expect-section",
        "absent",
    ];
    board.ok("user", &new);
    board.refused("user", &new, 5, "version_conflict");
    let delete = [
        "board",
        "section",
        "delete",
        "global",
        "Shared",
        "--expect-section",
        had,
    ];
    board.refused("user", &delete, 5, "version_conflict");
    assert_eq!(board.version("global"), 3);
}

/// The test of the source document (000 §10); also checks that the final text is complete.
fn writes_at_the_same_moment_come_one_after_the_other(board: &Board) {
    let texts = ["Content A\n", "Content B\n"].map(|line| line.repeat(500));
    for agent in ["agent-1", "agent-2"] {
        add(board, agent, "team-lead", "top", "");
    }
    for (name, text) in ["a", "b"].iter().zip(&texts) {
        std::fs::write(board.file(name), text).unwrap();
    }
    for round in 0..5 {
        let children = [("agent-1", "a"), ("agent-2", "b")].map(|(agent, file)| {
            start(&mut board.json_command(
                agent,
                &[
                    "board",
                    "write",
                    "global",
                    "--content-file",
                    file,
                    "--force",
                ],
            ))
        });
        let mut versions = children.map(|child| version(&finish(child).document()));
        versions.sort_unstable();
        assert_eq!(versions, [round * 2 + 1, round * 2 + 2]);
        assert!(texts.contains(&board.text("global")));
    }
}

fn expect_lets_one_of_many_through(board: &Board) {
    board.put("global", "begun\n");
    let answers = together(8, |n| {
        let text = n.to_string();
        board.run(
            "user",
            &[
                "board",
                "write",
                "global",
                "--content",
                &text,
                "--expect",
                "1",
            ],
        )
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.exit == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        let error: Value = answer.error(5, "version_conflict");
        assert_eq!(error["currentVersion"], 2);
    }
    assert_eq!(board.version("global"), 2);
}

/// The board is empty: one process creates it, the others see that it exists.
fn a_board_is_begun_once(board: &Board) {
    let template = board.text("top");
    together(8, |n| {
        let text = format!("entry {n}");
        board.ok("user", &["board", "append", "top", "--content", &text]);
    });
    let view = board.view("top");
    assert_eq!(view["version"], 8);
    let text = content(&view);
    assert!(text.starts_with(&template));
    assert_eq!(text.matches("# Top layer").count(), 1);
    for n in 0..8 {
        assert_eq!(text.matches(&format!("entry {n}")).count(), 1);
    }
}

on_both_stores!(
    eight_processes_append_a_hundred_entries_each,
    reading_and_writing_with_expect_loses_no_update,
    different_sections_never_conflict,
    a_section_changed_meanwhile_is_a_conflict,
    writes_at_the_same_moment_come_one_after_the_other,
    expect_lets_one_of_many_through,
    a_board_is_begun_once,
);
