//! Tests of task search: by words, by role, and newest first.

use crate::board::{Board, on_both_stores};

fn words_are_found_in_subjects_and_descriptions(board: &Board) {
    let create = |subject, description| {
        let named = ["--subject", subject, "--description", description];
        board.ok("user", &[&["task", "create"][..], &named].concat());
    };
    create("Fix the Login page", "one of 100");
    create("写文档", "about the login");
    create("third", "");
    let found = |text| board.listed("user", &["task", "list", "--search", text]);
    assert_eq!(found("LOGIN"), ["1", "2"]);
    assert_eq!(found("login 文档"), ["2"]);
    assert_eq!(found("#3"), ["3"]);
    assert_eq!(found("1"), ["1"]);
    assert_eq!(found("nowhere"), [] as [&str; 0]);
    let long = "x".repeat(201);
    board.refused(
        "user",
        &["task", "list", "--search", &long],
        2,
        "invalid_input",
    );
}

fn pages_from_the_newest_on_join_to_the_whole_list(board: &Board) {
    for _ in 0..5 {
        board.create(&[]);
    }
    let newest = ["task", "list", "--newest", "--limit", "2"];
    let page = board.ok("user", &newest);
    assert_eq!(page["next"], "4");
    let rest = board.listed("user", &["task", "list", "--newest", "--cursor", "4"]);
    assert_eq!(rest, ["3", "2", "1"]);
}

fn a_required_role_is_asked_for_exactly(board: &Board) {
    board.create(&["--required-role", "architect"]);
    board.create(&[]);
    let of = |role| board.listed("user", &["task", "list", "--required-role", role]);
    assert_eq!(of("architect"), ["1"]);
    assert_eq!(of(""), ["2"]);
    assert_eq!(of("qa"), [] as [&str; 0]);
}

on_both_stores!(
    words_are_found_in_subjects_and_descriptions,
    pages_from_the_newest_on_join_to_the_whole_list,
    a_required_role_is_asked_for_exactly,
);
