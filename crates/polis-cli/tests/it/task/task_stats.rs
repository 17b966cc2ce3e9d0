//! Tests of `polis task stats` and `polis stats`: the success metrics of requirement 004
//! (docs/requirements.md), exact for a scripted day.

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores};

/// Five tasks, four of them assigned, one across roles; two version conflicts, three invalid transitions.
fn scripted_day(project: &TestProject) {
    for role in ["backend-leader", "backend-leader", "frontend-leader"] {
        project.create_task(&["--required-role", role, "--type", "bug_fix"]);
    }
    project.create_task(&[]);
    project.create_task(&[]);
    let update =
        |agent: &str, args: &[&str]| project.run_ok(agent, &[&["task", "update"], args].concat());
    let refuse = |agent: &str, args: &[&str], exit, code| {
        project.run_refused(agent, &[&["task", "update"], args].concat(), exit, code);
    };
    project.run_ok("backend-leader", &["task", "claim", "1"]);
    project.run_ok("backend-leader-2", &["task", "claim", "2"]);
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
    project.run_refused(
        "frontend-leader",
        &["task", "claim", "2"],
        5,
        "already_claimed",
    );
    project.run_ok("user", &["task", "delete", "5"]);
}

fn pick_fields(figures: &Value, names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), figures[name].clone()))
        .collect()
}

fn task_stats_are_exact_for_a_scripted_day(project: &TestProject) {
    scripted_day(project);
    let figures = project.run_ok("user", &["task", "stats"]);
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
        pick_fields(&figures, &counts),
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

fn stats_overview_counts_tasks_and_events(project: &TestProject) {
    scripted_day(project);
    let overview = project.run_ok("user", &["stats"]);
    assert_eq!(
        overview,
        json!({
            "pending": 2, "inProgress": 1, "completed": 1, "deleted": 1, "agents": 0,
            "events": project.read_log().len(),
        })
    );
}

fn task_stats_without_tasks_have_no_rates(project: &TestProject) {
    let figures = project.run_ok("user", &["task", "stats"]);
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
        project
            .run_text("user", &["task", "stats"])
            .contains("target > 95%")
    );
}

fn task_stats_can_be_limited_by_time(project: &TestProject) {
    scripted_day(project);
    let stats = |args: &[&str]| project.run_ok("user", &[&["task", "stats"], args].concat());
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
    project.run_refused(
        "user",
        &["task", "stats", "--since", "yesterday"],
        2,
        "invalid_input",
    );
}

on_both_stores!(
    task_stats_are_exact_for_a_scripted_day,
    stats_overview_counts_tasks_and_events,
    task_stats_without_tasks_have_no_rates,
    task_stats_can_be_limited_by_time,
);
