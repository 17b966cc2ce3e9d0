//! Tests that malformed parameters are refused with the error code of the expected type.

use polis_core::RefusalCode;
use polis_testkit::run_test;
use serde_json::json;

use crate::test_installation::TestInstallation;

#[test]
fn invalid_field_is_refused_with_the_code_of_its_type() {
    run_test(async {
        let world = TestInstallation::new().await;
        for (tool, params, code, told) in [
            (
                "TaskGet",
                json!({ "taskId": "x" }),
                RefusalCode::INVALID_TASK_ID,
                "\"x\"",
            ),
            (
                "TaskGet",
                json!({ "taskId": 5 }),
                RefusalCode::INVALID_TASK_ID,
                "not 5",
            ),
            (
                "TaskGet",
                json!({ "taskId": null }),
                RefusalCode::INVALID_TASK_ID,
                "not null",
            ),
            (
                "TaskGet",
                json!({ "taskId": ["1"] }),
                RefusalCode::INVALID_TASK_ID,
                "a list",
            ),
            (
                "TaskGet",
                json!({ "taskId": { "id": 1 } }),
                RefusalCode::INVALID_TASK_ID,
                "an object",
            ),
            (
                "TaskCreate",
                json!({ "subject": "a", "addBlocks": ["0"] }),
                RefusalCode::INVALID_TASK_ID,
                "\"0\"",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "status": "done" }),
                RefusalCode::INVALID_STATUS,
                "done",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "status": 3 }),
                RefusalCode::INVALID_STATUS,
                "not 3",
            ),
            (
                "TaskList",
                json!({ "taskType": "magic" }),
                RefusalCode::INVALID_TASK_TYPE,
                "magic",
            ),
            (
                "TaskCreate",
                json!({ "subject": "a", "taskType": "magic" }),
                RefusalCode::INVALID_TASK_TYPE,
                "magic",
            ),
            (
                "whiteboard_read",
                json!({ "board": "../x" }),
                RefusalCode::INVALID_BOARD,
                "../x",
            ),
            (
                "whiteboard_read",
                json!({ "board": 1.5 }),
                RefusalCode::INVALID_BOARD,
                "not 1.5",
            ),
            (
                "blackboard_read",
                json!({ "path": "../x" }),
                RefusalCode::INVALID_PATH,
                "x",
            ),
            (
                "list_agents",
                json!({ "cursor": "a/b" }),
                RefusalCode::INVALID_AGENT_ID,
                "a/b",
            ),
            (
                "show_agent",
                json!({ "id": true }),
                RefusalCode::INVALID_AGENT_ID,
                "not true",
            ),
            (
                "run_command",
                json!({ "command": "ls", "timeoutMs": -1 }),
                RefusalCode::INVALID_TIMEOUT,
                "",
            ),
            (
                "read_file",
                json!({ "path": "/etc/passwd" }),
                RefusalCode::PATH_TRAVERSAL_BLOCKED,
                "",
            ),
            (
                "get_artifact",
                json!({ "ref": "../x" }),
                RefusalCode::ARTIFACT_NOT_FOUND,
                "../x",
            ),
        ] {
            let (found, message) = world.call_refused("lead", tool, params.clone()).await;
            assert_eq!(found, code, "{tool} {params}: {message}");
            assert!(message.contains(told), "{tool} {params}: {message}");
            assert!(!message.contains('\u{1}'), "{message}");
        }
    });
}

#[test]
fn error_without_own_code_names_the_field() {
    run_test(async {
        let world = TestInstallation::new().await;
        for (tool, params, told) in [
            ("TaskGet", json!({}), "missing field `taskId`"),
            (
                "TaskGet",
                json!({ "taskId": "1", "id": "1" }),
                "unknown field `id`",
            ),
            (
                "TaskCreate",
                json!({ "subject": 5 }),
                "\"subject\": invalid type: integer `5`",
            ),
            (
                "TaskCreate",
                json!({ "subject": "a", "metadata": [] }),
                "\"metadata\"",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "expectedVersion": -1 }),
                "\"expectedVersion\"",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "expectedVersion": 1.5 }),
                "\"expectedVersion\"",
            ),
            (
                "TaskList",
                json!({ "limit": 4_294_967_296_u64 }),
                "\"limit\"",
            ),
            ("TaskList", json!({ "ready": "yes" }), "\"ready\""),
            (
                "blackboard_write",
                json!({ "path": "a", "content": "b", "mode": "add" }),
                "\"mode\": unknown variant `add`",
            ),
            (
                "search_files",
                json!({ "pattern": "a", "globs": ["a", 2] }),
                "\"globs[1]\"",
            ),
            ("TaskStats", json!({ "since": "yesterday" }), "\"since\""),
            (
                "send_message",
                json!({ "to": 5, "payload": "x" }),
                "\"to\": expected an agent's id",
            ),
            (
                "whiteboard_decide",
                json!({ "board": "global", "act": "sign" }),
                "`id`",
            ),
            (
                "whiteboard_decide",
                json!({ "board": "global", "act": "propose" }),
                "`content`",
            ),
            (
                "whiteboard_decide",
                json!({ "board": "global", "act": "sign", "id": "1", "reason": "x" }),
                "`reason`",
            ),
        ] {
            let (code, message) = world.call_refused("lead", tool, params.clone()).await;
            assert_eq!(
                code,
                RefusalCode::INVALID_INPUT,
                "{tool} {params}: {message}"
            );
            assert!(message.contains(told), "{tool} {params}: {message}");
        }
    });
}

#[test]
fn integral_number_with_decimal_point_is_accepted() {
    run_test(async {
        let world = TestInstallation::new().await;
        let made = world
            .call_tool("lead", "TaskCreate", json!({ "subject": "a" }))
            .await;
        assert_eq!(made.document["version"], 1);
        let params = json!({ "taskId": "1", "subject": "b", "expectedVersion": 1.0 });
        let changed = world.call_tool("lead", "TaskUpdate", params).await;
        assert_eq!(changed.document["version"], 2);
        let page = world
            .call_tool("lead", "TaskList", json!({ "limit": 1e2, "cursor": null }))
            .await;
        assert_eq!(page.document["tasks"].as_array().unwrap().len(), 1);
    });
}
