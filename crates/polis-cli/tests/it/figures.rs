//! Tests of `task stats` and `stats`: the success metrics (source document 004, §9.1), exact for a scripted day.

use serde_json::{Value, json};

use crate::board::{Board, on_both_stores};

/// Five tasks, four of them assigned, one across roles; two version conflicts, three invalid transitions.
fn a_day(board: &Board) {
    for role in ["backend-leader", "backend-leader", "frontend-leader"] {
        board.create(&["--required-role", role, "--type", "bug_fix"]);
    }
    board.create(&[]);
    board.create(&[]);
    let update =
        |agent: &str, args: &[&str]| board.ok(agent, &[&["task", "update"], args].concat());
    let refuse = |agent: &str, args: &[&str], exit, code| {
        board.refused(agent, &[&["task", "update"], args].concat(), exit, code);
    };
    board.ok("backend-leader", &["task", "claim", "1"]);
    board.ok("backend-leader-2", &["task", "claim", "2"]);
    update(
        "team-lead",
        &["3", "--owner", "architect", "--force-assign"],
    );
    update("test-leader", &["4", "--owner", "test-leader"]);
    refuse(
        "architect",
        &["1", "--subject", "x", "--expected-version", "1"],
        5,
        "version_mismatch",
    );
    refuse(
        "architect",
        &["1", "--subject", "x", "--expected-version", "9"],
        5,
        "version_mismatch",
    );
    refuse(
        "backend-leader",
        &["1", "--status", "pending"],
        5,
        "invalid_transition",
    );
    refuse(
        "test-leader",
        &["4", "--status", "completed"],
        5,
        "invalid_transition",
    );
    update("backend-leader", &["1", "--status", "completed"]);
    refuse(
        "backend-leader",
        &["1", "--status", "deleted"],
        5,
        "invalid_transition",
    );
    board.refused(
        "frontend-leader",
        &["task", "claim", "2"],
        5,
        "already_claimed",
    );
    board.ok("user", &["task", "delete", "5"]);
}

fn pick(figures: &Value, names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), figures[name].clone()))
        .collect()
}

fn the_figures_are_exact(board: &Board) {
    a_day(board);
    let figures = board.ok("user", &["task", "stats"]);
    let counts = [
        "created",
        "completed",
        "deleted",
        "assigned",
        "matched",
        "crossRole",
        "updates",
        "refused",
        "versionConflicts",
        "invalidTransitions",
        "refusals",
        "roleMatchRate",
        "crossRoleRate",
    ];
    assert_eq!(
        pick(&figures, &counts),
        json!({
            "created": 5, "completed": 1, "deleted": 1, "assigned": 4, "matched": 3, "crossRole": 1,
            "updates": 6, "refused": 6, "versionConflicts": 2, "invalidTransitions": 3,
            "refusals": {"already_claimed": 1, "invalid_transition": 3, "version_mismatch": 2},
            "roleMatchRate": 75.0, "crossRoleRate": 25.0,
        })
    );
    let rate = figures["conflictRate"].as_f64().unwrap();
    assert!((rate - 2.0 * 100.0 / 12.0).abs() < 1e-9, "{rate}");
    assert!(figures["averageDurationMs"].as_f64().unwrap() >= 0.0);
    assert!(figures["averageDurationMsByType"]["bug_fix"].is_number());
}

fn the_overview_counts(board: &Board) {
    a_day(board);
    let overview = board.ok("user", &["stats"]);
    assert_eq!(
        overview,
        json!({
            "pending": 2, "inProgress": 1, "completed": 1, "deleted": 1, "agents": 0,
            "events": board.log().len(),
        })
    );
}

fn an_empty_board_has_no_rates(board: &Board) {
    let figures = board.ok("user", &["task", "stats"]);
    for rate in [
        "roleMatchRate",
        "conflictRate",
        "crossRoleRate",
        "averageDurationMs",
    ] {
        assert_eq!(figures[rate], Value::Null, "{rate}");
    }
    assert_eq!(figures["invalidTransitions"], 0);
    assert!(
        board
            .shown("user", &["task", "stats"])
            .contains("target > 95%")
    );
}

fn figures_can_be_cut_by_time(board: &Board) {
    a_day(board);
    let stats = |args: &[&str]| board.ok("user", &[&["task", "stats"], args].concat());
    assert_eq!(stats(&["--since", "1d"])["created"], 5);
    assert_eq!(stats(&["--until", "1d"])["created"], 0);
    assert_eq!(stats(&["--since", "2000-01-01T00:00:00Z"])["created"], 5);
    assert_eq!(stats(&["--since", "2999-01-01T00:00:00Z"])["created"], 0);
    for by in ["hour", "day", "week"] {
        let figures = stats(&["--by", by]);
        let periods = figures["periods"].as_array().unwrap();
        let sum = |field: &str| {
            periods
                .iter()
                .map(|p| p[field].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(sum("created"), 5);
        assert_eq!(sum("updates"), 6);
        assert!(periods[0]["from"].as_str().unwrap().ends_with("00:00.000Z"));
    }
    board.refused(
        "user",
        &["task", "stats", "--since", "yesterday"],
        2,
        "invalid_input",
    );
}

on_both_stores!(
    the_figures_are_exact,
    the_overview_counts,
    an_empty_board_has_no_rates,
    figures_can_be_cut_by_time,
);
