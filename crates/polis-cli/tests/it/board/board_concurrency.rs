//! Concurrency tests of boards: many processes write one board. Every entry is present once and complete, no
//! update is lost, and there is no unnecessary version conflict.

use serde_json::Value;

use crate::board::board_helpers::{content_field, register_agent, version_field};
use crate::harness::test_project::{TestProject, on_both_stores, spawn_captured, wait_for_output};
use crate::task::task_concurrency::run_concurrently;

/// Returns the text of an entry, long enough that a torn write is visible.
fn entry_text(n: usize, k: usize) -> String {
    format!("<{n}/{k}:{}>", "x".repeat(40 + k))
}

fn concurrent_appends_are_all_present_once_and_in_order(project: &TestProject) {
    for n in 0..8 {
        register_agent(project, &format!("arch-{n}"), "architect", "mid", "");
    }
    let told = run_concurrently(8, |n| {
        let agent = format!("arch-{n}");
        let append = |k| {
            let answer = project.run_ok(
                &agent,
                &["board", "append", "global", "--content", &entry_text(n, k)],
            );
            (version_field(&answer), entry_text(n, k))
        };
        (0..100).map(append).collect::<Vec<_>>()
    });
    let mut told: Vec<(u64, String)> = told.into_iter().flatten().collect();
    told.sort_unstable();
    let versions: Vec<u64> = told.iter().map(|(version, _)| *version).collect();
    assert_eq!(
        versions,
        (1..=800).collect::<Vec<_>>(),
        "versions are 1 to 800, each assigned once"
    );
    let view = project.read_board("global");
    assert_eq!(view["version"], 800);
    let text = content_field(&view);
    // In version order, each complete and exactly once.
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with('<')).collect();
    let expected: Vec<&str> = told.iter().map(|(_, entry)| entry.as_str()).collect();
    assert_eq!(found, expected);
    assert_eq!(text.matches("\n### Update - ").count(), 800);
    let appended = project.board_event_kinds("global");
    assert_eq!(appended, vec!["board.appended"; 800]);
    if project.is_embedded() {
        assert_eq!(
            project.data_file_bytes("global-whiteboard.md"),
            text.as_bytes()
        );
    }
}

/// A board with a shared counter and one counter per process.
fn counter_board() -> String {
    let own: String = (0..8).map(|n| format!("## Own {n}\n\n0\n\n")).collect();
    format!("# Counters\n\n## Shared\n\n0\n\n{own}## End\nstays\n")
}

fn read_counter(text: &str, title: &str) -> u64 {
    let after = text.split_once(&format!("## {title}\n\n")).unwrap().1;
    after.lines().next().unwrap().parse().unwrap()
}

/// Increments the counter of a section with optimistic concurrency. Returns the number of version conflicts.
fn increment_counter(project: &TestProject, title: &str) -> usize {
    for conflicts in 0.. {
        let view = project.read_board("global");
        let next = (read_counter(content_field(&view), title) + 1).to_string();
        let expect = version_field(&view).to_string();
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
        let answer = project.run_json("user", &set);
        if answer.exit_code == Some(0) {
            return conflicts;
        }
        let error = answer.expect_error(5, "version_conflict");
        assert!(
            error["currentVersion"].as_u64().unwrap() > version_field(&view),
            "{error}"
        );
    }
    unreachable!("one of the attempts succeeds")
}

fn concurrent_writes_with_expect_lose_no_update(project: &TestProject) {
    project.write_board("global", &counter_board());
    run_concurrently(8, |n| {
        for _ in 0..5 {
            increment_counter(project, "Shared");
            increment_counter(project, &format!("Own {n}"));
        }
    });
    let view = project.read_board("global");
    let text = content_field(&view);
    assert_eq!(read_counter(text, "Shared"), 40);
    for n in 0..8 {
        assert_eq!(read_counter(text, &format!("Own {n}")), 5);
    }
    assert_eq!(
        version_field(&view),
        1 + 80,
        "a refused write created a version"
    );
    assert!(text.ends_with("## End\nstays\n"));
}

fn concurrent_writes_to_different_sections_never_conflict(project: &TestProject) {
    project.write_board("global", &counter_board());
    run_concurrently(8, |n| {
        let title = format!("Own {n}");
        for k in 1..=5 {
            let section = project.run_ok("user", &["board", "read", "global", "--section", &title]);
            assert_eq!(content_field(&section), (k - 1).to_string());
            let expect = section["sectionVersion"].as_str().unwrap();
            let text = k.to_string();
            // A single refusal fails the test: changes in other sections are not a conflict.
            project.run_ok(
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
    let expected = (0..8).fold(counter_board(), |text, n| {
        text.replace(&format!("## Own {n}\n\n0\n"), &format!("## Own {n}\n\n5\n"))
    });
    assert_eq!(project.board_text("global"), expected);
    assert_eq!(project.board_version("global"), 1 + 40);
}

fn section_write_after_concurrent_change_is_a_conflict(project: &TestProject) {
    project.write_board("global", &counter_board());
    let read =
        |title: &str| project.run_ok("user", &["board", "read", "global", "--section", title]);
    let had = read("Shared");
    let had = had["sectionVersion"].as_str().unwrap();
    let set = |text: &str, expect: &str| {
        project.run_json(
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
    set("7", had).expect_document();
    let error = set("1", had).expect_error(5, "version_conflict");
    assert_eq!(error["currentVersion"], 2);
    assert_eq!(content_field(&read("Shared")), "7");
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
    project.run_ok("user", &new);
    project.run_refused("user", &new, 5, "version_conflict");
    let delete = [
        "board",
        "section",
        "delete",
        "global",
        "Shared",
        "--expect-section",
        had,
    ];
    project.run_refused("user", &delete, 5, "version_conflict");
    assert_eq!(project.board_version("global"), 3);
}

/// A test that requirement 000 (docs/requirements.md) lists; also checks that the final text is complete.
fn concurrent_writes_get_successive_versions(project: &TestProject) {
    let texts = ["Content A\n", "Content B\n"].map(|line| line.repeat(500));
    for agent in ["agent-1", "agent-2"] {
        register_agent(project, agent, "team-lead", "top", "");
    }
    for (name, text) in ["a", "b"].iter().zip(&texts) {
        std::fs::write(project.project_path(name), text).unwrap();
    }
    for round in 0..5 {
        let children = [("agent-1", "a"), ("agent-2", "b")].map(|(agent, file)| {
            spawn_captured(&mut project.json_command(
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
        let mut versions =
            children.map(|child| version_field(&wait_for_output(child).expect_document()));
        versions.sort_unstable();
        assert_eq!(versions, [round * 2 + 1, round * 2 + 2]);
        assert!(texts.contains(&project.board_text("global")));
    }
}

fn concurrent_writes_with_same_expected_version_let_one_win(project: &TestProject) {
    project.write_board("global", "begun\n");
    let answers = run_concurrently(8, |n| {
        let text = n.to_string();
        project.run_json(
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
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.exit_code == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        let error: Value = answer.expect_error(5, "version_conflict");
        assert_eq!(error["currentVersion"], 2);
    }
    assert_eq!(project.board_version("global"), 2);
}

/// The board is empty: one process creates it, the others see that it exists.
fn concurrent_first_appends_create_the_board_once(project: &TestProject) {
    let template = project.board_text("top");
    run_concurrently(8, |n| {
        let text = format!("entry {n}");
        project.run_ok("user", &["board", "append", "top", "--content", &text]);
    });
    let view = project.read_board("top");
    assert_eq!(view["version"], 8);
    let text = content_field(&view);
    assert!(text.starts_with(&template));
    assert_eq!(text.matches("# Top layer").count(), 1);
    for n in 0..8 {
        assert_eq!(text.matches(&format!("entry {n}")).count(), 1);
    }
}

on_both_stores!(
    concurrent_appends_are_all_present_once_and_in_order,
    concurrent_writes_with_expect_lose_no_update,
    concurrent_writes_to_different_sections_never_conflict,
    section_write_after_concurrent_change_is_a_conflict,
    concurrent_writes_get_successive_versions,
    concurrent_writes_with_same_expected_version_let_one_win,
    concurrent_first_appends_create_the_board_once,
);
