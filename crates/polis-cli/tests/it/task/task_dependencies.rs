//! Tests of task dependencies: both directions, readiness, cycle detection, and graph output.

use serde_json::json;

use crate::harness::test_project::{TestProject, on_both_stores};

/// Creates a chain of three tasks: 1 blocks 2, 2 blocks 3.
fn create_task_chain(project: &TestProject) {
    project.create_task(&[]);
    project.create_task(&["--add-blocked-by", "1"]);
    project.create_task(&["--add-blocked-by", "2"]);
}

fn complete_task(project: &TestProject, id: &str) -> serde_json::Value {
    project.run_ok("user", &["task", "claim", id]);
    project.run_ok("user", &["task", "update", id, "--status", "completed"])
}

fn dependency_update_changes_both_tasks(project: &TestProject) {
    for _ in 0..4 {
        project.create_task(&[]);
    }
    let task = project.run_ok(
        "user",
        &[
            "task",
            "update",
            "2",
            "--add-blocks",
            "3,4",
            "--add-blocked-by",
            "1",
        ],
    );
    assert_eq!(
        (&task["blocks"], &task["blockedBy"]),
        (&json!(["3", "4"]), &json!(["1"]))
    );
    for (id, field) in [("1", "blocks"), ("3", "blockedBy"), ("4", "blockedBy")] {
        let other = project.get_task(id);
        assert_eq!(other[field], json!(["2"]));
        assert_eq!(other["version"], 2, "the other task changed too");
    }
    let again = project.run_ok("user", &["task", "update", "2", "--add-blocks", "3"]);
    assert_eq!(again["blocks"], json!(["3", "4"]), "an edge is stored once");
    let task = project.run_ok(
        "user",
        &[
            "task",
            "update",
            "2",
            "--remove-blocks",
            "3",
            "--remove-blocked-by",
            "1",
        ],
    );
    assert_eq!(
        (&task["blocks"], &task["blockedBy"]),
        (&json!(["4"]), &json!([]))
    );
    assert_eq!(project.get_task("3")["blockedBy"], json!([]));
    assert_eq!(project.get_task("1")["blocks"], json!([]));
}

fn blocked_task_cannot_start_until_unblocked(project: &TestProject) {
    create_task_chain(project);
    assert_eq!(project.list_task_ids("user", &["task", "ready"]), ["1"]);
    let refused = project.run_refused("architect", &["task", "claim", "2"], 5, "task_blocked");
    assert!(refused.message.contains("#1"), "{refused:?}");
    project.run_refused(
        "architect",
        &["task", "update", "2", "--status", "in_progress"],
        5,
        "task_blocked",
    );
    let done = complete_task(project, "1");
    assert_eq!(done["unblocked"], json!(["2"]));
    assert_eq!(project.list_task_ids("user", &["task", "ready"]), ["2"]);
    let deleted = project.run_ok("user", &["task", "delete", "2"]);
    assert_eq!(
        deleted["unblocked"],
        json!(["3"]),
        "a deleted task blocks no other"
    );
    project.run_ok("architect", &["task", "claim", "3"]);
}

fn task_is_unblocked_by_its_last_blocker(project: &TestProject) {
    for _ in 0..3 {
        project.create_task(&[]);
    }
    project.create_task(&["--add-blocked-by", "1,2", "--add-blocked-by", "3"]);
    assert!(complete_task(project, "2").get("unblocked").is_none());
    assert!(complete_task(project, "1").get("unblocked").is_none());
    assert_eq!(complete_task(project, "3")["unblocked"], json!(["4"]));
    project.create_task(&["--add-blocked-by", "1,3"]);
    assert_eq!(
        project.list_task_ids("user", &["task", "ready"]),
        ["4", "5"]
    );
}

fn dependency_cycle_is_refused_with_its_path(project: &TestProject) {
    create_task_chain(project);
    let versions = || ["1", "2", "3"].map(|id| project.get_task(id)["version"].as_u64().unwrap());
    let before = versions();
    let close = ["task", "update", "1", "--add-blocked-by", "3"];
    let refused = project.run_refused("user", &close, 5, "dependency_cycle");
    assert_eq!(refused.message, "Dependency cycle: #3 -> #1 -> #2 -> #3.");
    let refused = project.run_refused(
        "user",
        &["task", "update", "2", "--add-blocks", "2"],
        5,
        "dependency_cycle",
    );
    assert_eq!(refused.message, "Dependency cycle: #2 -> #2.");
    let between = [
        "task",
        "create",
        "--subject",
        "x",
        "--add-blocks",
        "1",
        "--add-blocked-by",
        "3",
    ];
    project.run_refused("user", &between, 5, "dependency_cycle");
    assert_eq!(versions(), before, "a refused change changes nothing");
    assert_eq!(project.list_task_ids("user", &["task", "list"]).len(), 3);
}

#[test]
fn deleted_task_closes_no_dependency_cycle() {
    let project = TestProject::embedded();
    create_task_chain(&project);
    project.run_ok("user", &["task", "delete", "2"]);
    project.run_ok("user", &["task", "update", "3", "--add-blocks", "1"]);
}

fn dependency_on_missing_task_is_refused(project: &TestProject) {
    create_task_chain(project);
    project.run_ok("user", &["task", "delete", "3"]);
    for id in ["9", "3"] {
        project.run_refused(
            "user",
            &["task", "update", "1", "--add-blocks", id],
            4,
            "task_not_found",
        );
        let create = ["task", "create", "--subject", "x", "--add-blocked-by", id];
        project.run_refused("user", &create, 4, "task_not_found");
    }
    assert_eq!(project.get_task("1")["blocks"], json!(["2"]));
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1", "2"]);
}

fn task_graph_is_rendered_as_text_dot_and_mermaid(project: &TestProject) {
    project.run_ok("user", &["task", "create", "--subject", "调研 \"x\""]);
    project.run_ok(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "API",
            "--add-blocked-by",
            "1",
        ],
    );
    project.run_ok("user", &["task", "create", "--subject", "apart"]);
    project.run_ok("architect", &["task", "claim", "1"]);
    let text = "▶ #1 调研 \"x\" @architect\n└─ ☐ #2 API\n";
    assert_eq!(project.run_text("user", &["task", "graph"]), text);
    assert_eq!(project.run_ok("user", &["task", "graph"])["graph"], text);
    assert_eq!(project.run_text("user", &["task", "graph", "2"]), text);
    let dot = project.run_text("user", &["task", "graph", "--format", "dot"]);
    assert!(
        dot.starts_with("digraph tasks {\n") && dot.trim_end().ends_with('}'),
        "{dot}"
    );
    assert!(
        dot.contains(r##"t1 [label="#1 调研 \"x\"\nin_progress"];"##),
        "{dot}"
    );
    assert!(dot.contains("t1 -> t2;"), "{dot}");
    let mermaid = project.run_text("user", &["task", "graph", "--format", "mermaid"]);
    assert!(
        mermaid.starts_with("graph LR\n") && mermaid.contains("t1 --> t2"),
        "{mermaid}"
    );
    assert!(
        mermaid.contains(r##"t1["#35;1 调研 #quot;x#quot;"]:::in_progress"##),
        "{mermaid}"
    );
    project.run_refused("user", &["task", "graph", "9"], 4, "task_not_found");
}

fn task_graph_refers_to_a_task_in_the_language_of_the_person(project: &TestProject) {
    for (subject, blockers) in [("a", &[][..]), ("b", &["1"]), ("c", &["1", "2"])] {
        let mut args = vec!["task", "create", "--subject", subject];
        args.extend(blockers.iter().flat_map(|id| ["--add-blocked-by", *id]));
        project.run_ok("user", &args);
    }
    let english = "☐ #1 a\n├─ ☐ #2 b\n│  └─ ☐ #3 c\n└─ ☐ #3 (above)\n";
    let in_chinese = ["--lang", "zh", "task", "graph"];
    assert_eq!(project.run_text("user", &["task", "graph"]), english);
    assert_eq!(
        project.run_text("user", &in_chinese),
        english.replace(" (above)", "（见上文）")
    );
    assert_eq!(project.run_ok("user", &in_chinese)["graph"], english);
}

/// A dependency on the number that the next task will get is refused: that task does not exist yet.
fn dependency_on_the_next_unassigned_id_is_refused(project: &TestProject) {
    project.create_task(&[]);
    let create = ["task", "create", "--subject", "x", "--add-blocked-by", "2"];
    project
        .run_json("user", &create)
        .expect_refusal(4, "task_not_found");
    project.create_task(&["--add-blocked-by", "1"]);
    assert_eq!(project.get_task("2")["blockedBy"][0], "1");
}

on_both_stores!(
    dependency_on_the_next_unassigned_id_is_refused,
    dependency_update_changes_both_tasks,
    blocked_task_cannot_start_until_unblocked,
    task_is_unblocked_by_its_last_blocker,
    dependency_cycle_is_refused_with_its_path,
    dependency_on_missing_task_is_refused,
    task_graph_is_rendered_as_text_dot_and_mermaid,
    task_graph_refers_to_a_task_in_the_language_of_the_person,
);
