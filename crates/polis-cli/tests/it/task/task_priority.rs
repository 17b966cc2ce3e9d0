//! Tests of task priority: the field and the metadata in step, claims and recommendations by priority, filter and
//! order of lists, import, and a store of a version without the field.

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores};
use crate::task::task_file_dir::{TaskFileDir, read_task_files};

const SQLITE_STORE: &str = include_str!("../../fixtures/store-2026-11-priorities.sqlite.sql");
const POSTGRES_STORE: &str = include_str!("../../fixtures/store-2026-11-priorities.postgres.sql");

/// Claims tasks without a number until none is left, and returns their numbers.
fn claim_all(project: &TestProject, agent: &str) -> Vec<String> {
    let mut claimed = Vec::new();
    loop {
        let outcome = project.run_json(agent, &["task", "claim"]);
        if outcome.exit_code != Some(0) {
            return claimed;
        }
        // Not every JSON parser supports the large number in the metadata, so the answer is not parsed.
        let (_, rest) = outcome.stdout.split_once("\"id\":\"").unwrap();
        claimed.push(rest.split('"').next().unwrap().to_owned());
    }
}

fn recommended_points(project: &TestProject, agent: &str) -> Vec<(String, i64)> {
    let ranking = project.run_ok(agent, &["task", "recommend"]);
    let all = ranking["recommendations"].as_array().unwrap();
    let points = all.iter().map(|one| {
        let id = one["task"]["id"].as_str().unwrap().to_owned();
        (id, one["score"].as_i64().unwrap())
    });
    points.collect()
}

fn claim_takes_important_task_before_fitting_one(project: &TestProject) {
    project.run_ok("user", &["agent", "add", "b1", "--role", "backend-leader"]);
    let bug = [
        "--subject",
        "HIGH bug: login broken",
        "--required-role",
        "backend-leader",
    ];
    let feature = [
        "--subject",
        "LOW nice-to-have endpoint",
        "--type",
        "backend_implementation",
    ];
    for (task, priority) in [(&bug[..], "high"), (&feature[..], "low")] {
        let metadata = format!(r#"{{"priority":"{priority}"}}"#);
        let mut args = vec!["task", "create", "--metadata", &metadata];
        args.extend(task);
        if priority == "low" {
            args.extend(["--required-role", "backend-leader"]);
        }
        project.run_ok("user", &args);
    }
    let ranked = recommended_points(project, "b1");
    assert_eq!(
        ranked,
        [("1".to_owned(), 300_020), ("2".to_owned(), 100_050)]
    );
    let shown = project.run_text("b1", &["task", "recommend"]);
    assert!(shown.contains("+300000  priority high"), "{shown}");
    assert!(
        shown.contains("Ranked by: assigned to you, priority,"),
        "{shown}"
    );
    assert_eq!(project.run_ok("b1", &["task", "claim"])["id"], "1");
}

fn priority_and_metadata_stay_in_step(project: &TestProject) {
    let fields = |task: &Value| (task["priority"].clone(), task["metadata"].clone());
    project.create_task(&["--priority", "high"]);
    let created = project.get_task("1");
    assert_eq!(
        fields(&created),
        (json!("high"), json!({ "priority": "high" }))
    );
    let update = |args: &[&str]| {
        let args = [&["task", "update", "1"], args].concat();
        fields(&project.run_ok("user", &args))
    };
    assert_eq!(
        update(&["--metadata", r#"{"priority":"P0","x":1}"#]),
        (json!("critical"), json!({ "priority": "P0", "x": 1 }))
    );
    assert_eq!(
        update(&["--priority", "low"]),
        (json!("low"), json!({ "priority": "low", "x": 1 }))
    );
    assert_eq!(
        update(&[
            "--priority",
            "normal",
            "--metadata",
            r#"{"priority":"medium"}"#
        ]),
        (json!("normal"), json!({ "priority": "normal", "x": 1 }))
    );
    assert_eq!(
        update(&["--metadata", r#"{"priority":"blue"}"#]),
        (Value::Null, json!({ "priority": "blue", "x": 1 }))
    );
    assert_eq!(
        update(&["--metadata", r#"{"priority":null}"#]),
        (Value::Null, json!({ "x": 1 }))
    );
    let history = project.run_text("user", &["task", "history", "1"]);
    assert!(history.contains("priority"), "{history}");
    for args in [
        &[
            "task",
            "create",
            "--subject",
            "s",
            "--priority",
            "high",
            "--metadata",
            r#"{"priority":"low"}"#,
        ][..],
        &[
            "task",
            "update",
            "1",
            "--priority",
            "high",
            "--metadata",
            r#"{"priority":null}"#,
        ],
        &["task", "update", "1", "--priority", "urgent"],
        &["task", "list", "--priority", "urgent"],
        &["task", "list", "--sort", "age"],
    ] {
        project.run_refused("user", args, 2, "invalid_input");
    }
    assert_eq!(project.get_task("1")["priority"], Value::Null);
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1"]);
}

fn list_is_filtered_and_sorted_by_priority(project: &TestProject) {
    for priority in ["low", "", "critical", "high", "normal", "critical"] {
        match priority {
            "" => project.create_task(&[]),
            priority => project.create_task(&["--priority", priority]),
        };
    }
    let list = |args: &[&str]| {
        let args = [&["task", "list"], args].concat();
        project.list_task_ids("user", &args)
    };
    let sorted = ["3", "6", "4", "2", "5", "1"];
    assert_eq!(list(&["--sort", "priority"]), sorted);
    assert_eq!(
        list(&["--sort", "priority", "--newest"]),
        ["6", "3", "4", "5", "2", "1"]
    );
    assert_eq!(list(&["--priority", "normal"]), ["2", "5"]);
    assert_eq!(list(&["--priority", "critical", "--newest"]), ["6", "3"]);
    assert_eq!(list(&["--ready", "--sort", "priority"]), sorted);
    let mut paged = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["task", "list", "--sort", "priority", "--limit", "2"];
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let page = project.run_ok("user", &args);
        let tasks = page["tasks"].as_array().unwrap();
        paged.extend(
            tasks
                .iter()
                .map(|task| task["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else {
            break;
        };
        cursor = Some(next.to_owned());
    }
    assert_eq!(paged, sorted);
    let other = ["task", "list", "--cursor", "high-4"];
    project.run_refused("user", &other, 2, "invalid_input");
    let other = ["task", "list", "--sort", "priority", "--cursor", "4"];
    project.run_refused("user", &other, 2, "invalid_input");
    let shown = project.run_text("user", &["task", "list"]);
    assert!(
        shown.lines().next().unwrap().contains("PRIORITY"),
        "{shown}"
    );
    let shown = project.run_text("user", &["task", "list", "--priority", "normal"]);
    assert!(!shown.contains("PRIORITY"), "{shown}");
    let shown = project.run_text("user", &["task", "get", "3"]);
    assert!(
        shown.contains("Priority") && !shown.contains("priority="),
        "{shown}"
    );
}

fn import_keeps_priority_of_field_or_metadata(project: &TestProject) {
    let files = TaskFileDir::new(project, "list");
    files
        .write_task(1, &json!({ "priority": "urgent" }))
        .write_task(2, &json!({ "metadata": { "priority": 1 } }))
        .write_task(3, &json!({ "priority": { "x": 1 } }))
        .write_task(
            4,
            &json!({ "priority": "low", "metadata": { "priority": "high" } }),
        )
        .write_task(
            5,
            &json!({ "priority": null, "metadata": { "priority": "blue" } }),
        );
    let report = files.import_as_user(project);
    let repaired: Vec<&str> = report["repaired"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(repaired, ["3.json", "4.json"], "{report}");
    let out = project.project_path("out");
    project.run_ok("user", &["task", "export", out.to_str().unwrap()]);
    let exported = read_task_files(&out);
    let fields: Vec<(Value, Value)> = (1..=5)
        .map(|n| {
            let task = &exported[&format!("{n}.json")];
            (
                task["priority"].clone(),
                task["metadata"]["priority"].clone(),
            )
        })
        .collect();
    assert_eq!(
        fields,
        [
            (json!("critical"), json!("urgent")),
            (json!("high"), json!(1)),
            (json!({ "x": 1 }), Value::Null),
            (json!("low"), json!("low")),
            (Value::Null, json!("blue")),
        ]
    );
    let again = project.run_ok("user", &["task", "import", out.to_str().unwrap()]);
    assert_eq!(
        (&again["imported"], &again["unchanged"]),
        (&json!(0), &json!(5)),
        "{again}"
    );
}

fn store_of_earlier_version_is_claimed_by_priority(project: &TestProject) {
    project.restore_store(SQLITE_STORE, POSTGRES_STORE);
    let sorted = project.list_task_ids("user", &["task", "list", "--sort", "priority"]);
    assert_eq!(sorted, ["7", "2", "3", "4", "5", "6", "1", "8"]);
    let low = project.list_task_ids("user", &["task", "list", "--priority", "low"]);
    assert_eq!(low, ["1", "8"]);
    // Imported with a field that the earlier version did not interpret.
    let urgent = project.get_task("7");
    assert_eq!(urgent["priority"], "critical");
    assert_eq!(urgent["metadata"], json!({ "priority": "Urgent" }));
    assert_eq!(project.get_task("8")["priority"], "low");
    // Two tasks wait for #4, and the type of #1 fits.
    assert_eq!(
        claim_all(project, "backend-leader"),
        ["7", "2", "4", "3", "1", "8"]
    );
}

on_both_stores!(
    claim_takes_important_task_before_fitting_one,
    priority_and_metadata_stay_in_step,
    list_is_filtered_and_sorted_by_priority,
    import_keeps_priority_of_field_or_metadata,
    store_of_earlier_version_is_claimed_by_priority,
);
