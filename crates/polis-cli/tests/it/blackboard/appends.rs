//! Concurrency tests of the blackboard: many processes on one file.

use super::PM;
use crate::board::{Board, on_both_stores};
use crate::concurrency::together;

fn eight_processes_add_fifty_lines_each(board: &Board) {
    const LINES: usize = 50;
    let versions = together(8, |n| {
        let agent = format!("{PM}-{n}");
        let add = |k: usize| {
            let line = format!("{n} {k}");
            let add = [
                "--json",
                "write",
                "tasks/1/status.md",
                "--mode",
                "append",
                "--content",
                &line,
            ];
            let written = board.blackboard(&agent, &add).document();
            (written["version"].as_u64().unwrap(), line)
        };
        (0..LINES).map(add).collect::<Vec<_>>()
    });
    let mut told: Vec<(u64, String)> = versions.into_iter().flatten().collect();
    told.sort_unstable();
    assert!(told.iter().map(|(v, _)| *v).eq(1..=8 * LINES as u64));
    let lines: Vec<&str> = told.iter().map(|(_, line)| &**line).collect();
    assert_eq!(
        board.printed("tasks/1/status.md"),
        lines.join("\n"),
        "in the order they were told"
    );
    if board.is_embedded() {
        assert_eq!(
            board.black_bytes("tasks/1/status.md"),
            lines.join("\n").as_bytes()
        );
        let before = lines.len() - 1;
        let bak = board.black_bytes("tasks/1/status.md.bak");
        assert_eq!(bak, lines.get(..before).unwrap().join("\n").as_bytes());
    }
}

fn readers_beside_writers_see_whole_versions(board: &Board) {
    let content = |n: usize, k: usize| format!("{n} {k} ").repeat(2_000 + 1_000 * n);
    board.overwrite("shared/context.md", &content(0, 0));
    together(6, |n| {
        for k in 0..15 {
            if n < 2 {
                board.overwrite("shared/context.md", &content(n, k));
                continue;
            }
            let text = board.printed("shared/context.md");
            let mut words = text.split_ascii_whitespace();
            let (n, k) = (words.next().unwrap(), words.next().unwrap());
            let (n, k) = (n.parse().unwrap(), k.parse().unwrap());
            assert!(text == content(n, k), "a mixture");
        }
    });
}

on_both_stores!(
    eight_processes_add_fifty_lines_each,
    readers_beside_writers_see_whole_versions,
);
