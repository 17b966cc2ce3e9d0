//! Concurrency tests of the blackboard: many processes read and append to one file.

use super::PRODUCT_MANAGER;
use crate::harness::test_project::{TestProject, on_both_stores};
use crate::task::task_concurrency::run_concurrently;

fn concurrent_blackboard_appends_are_all_present_in_order(project: &TestProject) {
    const LINES: usize = 50;
    let versions = run_concurrently(8, |n| {
        let agent = format!("{PRODUCT_MANAGER}-{n}");
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
            let written = project.run_blackboard(&agent, &add).expect_document();
            (written["version"].as_u64().unwrap(), line)
        };
        (0..LINES).map(add).collect::<Vec<_>>()
    });
    let mut told: Vec<(u64, String)> = versions.into_iter().flatten().collect();
    told.sort_unstable();
    assert!(told.iter().map(|(v, _)| *v).eq(1..=8 * LINES as u64));
    let lines: Vec<&str> = told.iter().map(|(_, line)| &**line).collect();
    assert_eq!(
        project.read_blackboard_file("tasks/1/status.md"),
        lines.join("\n"),
        "not in version order"
    );
    if project.is_embedded() {
        assert_eq!(
            project.blackboard_file_bytes("tasks/1/status.md"),
            lines.join("\n").as_bytes()
        );
        let before = lines.len() - 1;
        let bak = project.blackboard_file_bytes("tasks/1/status.md.bak");
        assert_eq!(bak, lines.get(..before).unwrap().join("\n").as_bytes());
    }
}

fn concurrent_readers_see_complete_versions(project: &TestProject) {
    let content = |n: usize, k: usize| format!("{n} {k} ").repeat(2_000 + 1_000 * n);
    project.overwrite_blackboard_file("shared/context.md", &content(0, 0));
    run_concurrently(6, |n| {
        for k in 0..15 {
            if n < 2 {
                project.overwrite_blackboard_file("shared/context.md", &content(n, k));
                continue;
            }
            let text = project.read_blackboard_file("shared/context.md");
            let mut words = text.split_ascii_whitespace();
            let (n, k) = (words.next().unwrap(), words.next().unwrap());
            let (n, k) = (n.parse().unwrap(), k.parse().unwrap());
            assert!(text == content(n, k), "a mixture");
        }
    });
}

on_both_stores!(
    concurrent_blackboard_appends_are_all_present_in_order,
    concurrent_readers_see_complete_versions,
);
