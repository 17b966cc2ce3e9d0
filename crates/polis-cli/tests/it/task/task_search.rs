//! Tests of task search and filters: by words, by required role, and newest first with pagination.

use crate::harness::test_project::{TestProject, on_both_stores};

fn task_search_finds_words_in_subject_and_description(project: &TestProject) {
    let create = |subject, description| {
        let named = ["--subject", subject, "--description", description];
        project.run_ok("user", &[&["task", "create"][..], &named].concat());
    };
    create("Fix the Login page", "one of 100");
    create("写文档", "about the login");
    create("third", "");
    let found = |text| project.list_task_ids("user", &["task", "list", "--search", text]);
    assert_eq!(found("LOGIN"), ["1", "2"]);
    assert_eq!(found("login 文档"), ["2"]);
    assert_eq!(found("#3"), ["3"]);
    assert_eq!(found("1"), ["1"]);
    assert_eq!(found("nowhere"), [] as [&str; 0]);
    let long = "x".repeat(201);
    project.run_refused(
        "user",
        &["task", "list", "--search", &long],
        2,
        "invalid_input",
    );
}

fn newest_first_pages_join_to_the_whole_list(project: &TestProject) {
    for _ in 0..5 {
        project.create_task(&[]);
    }
    let newest = ["task", "list", "--newest", "--limit", "2"];
    let page = project.run_ok("user", &newest);
    assert_eq!(page["next"], "4");
    let rest = project.list_task_ids("user", &["task", "list", "--newest", "--cursor", "4"]);
    assert_eq!(rest, ["3", "2", "1"]);
}

fn required_role_filter_matches_exactly(project: &TestProject) {
    project.create_task(&["--required-role", "architect"]);
    project.create_task(&[]);
    let of = |role| project.list_task_ids("user", &["task", "list", "--required-role", role]);
    assert_eq!(of("architect"), ["1"]);
    assert_eq!(of(""), ["2"]);
    assert_eq!(of("qa"), [] as [&str; 0]);
}

on_both_stores!(
    task_search_finds_words_in_subject_and_description,
    newest_first_pages_join_to_the_whole_list,
    required_role_filter_matches_exactly,
);
