//! Tests that an MCP tool returns the same document as the corresponding command, for every read operation.

use serde_json::{Value, json};

use super::test_mcp_client::{SESSION_2025_11, TestMcpClient};
use crate::board::board_helpers::register_agent;
use crate::harness::test_project::{TestProject, on_both_stores};

/// Creates data of every kind with the command line.
fn create_all_data(project: &TestProject) -> String {
    register_agent(project, "ana", "team-lead", "top", "");
    let one = project.create_task(&["--metadata", r#"{"n":1.50}"#]);
    project.create_task(&["--add-blocked-by", &one]);
    for args in [
        &["task", "comment", &one, "--body", "hm @ana"][..],
        &["task", "claim", &one],
        &["board", "write", "global", "--content", "# A\n\none\n"],
        &["board", "section", "set", "global", "A", "--content", "two"],
        &["decision", "propose", "--content", "Rust"],
        &["milestone", "add", "M1", "--description", "first"],
        &["ws", "write", "src/a.txt", "--content", "one\ntwo\n"],
        &["message", "send", "ana", "--content", "to myself"],
    ] {
        project.run_ok("ana", args);
    }
    let shared = [
        "blackboard",
        "write",
        "tasks/1/status.md",
        "--content",
        "ok",
        "--mode",
        "overwrite",
    ];
    project.run_ok("user", &shared);
    let kept = &["artifact", "put", "--type", "spec", "--content", "text"];
    let kept = project.run_ok("ana", kept);
    kept["ref"].as_str().unwrap().to_owned()
}

fn tool_results_equal_command_documents(project: &TestProject) {
    let kept = create_all_data(project);
    let mut client = TestMcpClient::connect(project, "ana", SESSION_2025_11);
    let global = || json!({"board": "global"});
    let asked: [(&str, Value, &[&str]); 24] = [
        ("TaskGet", json!({"taskId": "1"}), &["task", "get", "1"]),
        ("TaskList", json!({}), &["task", "list"]),
        (
            "TaskList",
            json!({"ready": true}),
            &["task", "list", "--ready"],
        ),
        (
            "TaskList",
            json!({"limit": 1}),
            &["task", "list", "--limit", "1"],
        ),
        (
            "TaskComments",
            json!({"taskId": "1"}),
            &["task", "comments", "1"],
        ),
        (
            "TaskHistory",
            json!({"taskId": "1"}),
            &["task", "history", "1"],
        ),
        ("TaskRecommend", json!({}), &["task", "recommend"]),
        (
            "TaskStats",
            json!({"by": "week"}),
            &["task", "stats", "--by", "week"],
        ),
        ("whiteboard_list", json!({}), &["board", "list"]),
        ("whiteboard_read", global(), &["board", "read", "global"]),
        (
            "whiteboard_read",
            json!({"board": "global", "section": "A"}),
            &["board", "read", "global", "--section", "A"],
        ),
        (
            "whiteboard_history",
            global(),
            &["board", "history", "global"],
        ),
        (
            "whiteboard_show",
            json!({"board": "global", "version": 1}),
            &["board", "show", "global", "1"],
        ),
        (
            "whiteboard_diff",
            json!({"board": "global", "from": 1}),
            &["board", "diff", "global", "1"],
        ),
        (
            "whiteboard_decisions",
            global(),
            &["board", "decisions", "global"],
        ),
        (
            "whiteboard_milestones",
            global(),
            &["board", "milestones", "global"],
        ),
        (
            "blackboard_read",
            json!({"path": "tasks/1/status.md"}),
            &["blackboard", "read", "tasks/1/status.md"],
        ),
        (
            "read_file",
            json!({"path": "src/a.txt"}),
            &["ws", "cat", "src/a.txt"],
        ),
        (
            "list_files",
            json!({"recursive": true}),
            &["ws", "ls", "--recursive"],
        ),
        (
            "search_files",
            json!({"pattern": "tw."}),
            &["ws", "search", "tw."],
        ),
        ("get_workspace_info", json!({}), &["ws", "info"]),
        (
            "check_messages",
            json!({"since": 0}),
            &["message", "check", "--since", "0"],
        ),
        (
            "get_artifact",
            json!({"ref": kept}),
            &["artifact", "get", &kept],
        ),
        ("list_agents", json!({}), &["agent", "list"]),
    ];
    for (tool, params, args) in asked {
        let told = project.run_ok("ana", args);
        let mut answered = client.call_tool(tool, params);
        // A truncated answer to a model is marked as such.
        answered.as_object_mut().unwrap().remove("cut");
        assert_eq!(answered, told, "{tool} {args:?}");
    }
    let refused = project.run_refused("ana", &["task", "get", "99"], 4, "task_not_found");
    let told = client.call_refused_tool("TaskGet", json!({"taskId": "99"}), "task_not_found");
    assert!(told.contains(&refused.message), "{told}");
}

on_both_stores!(tool_results_equal_command_documents);
