//! Tests that malformed parameters are refused with the error code of the expected type.

use polis_core::Code;
use polis_testkit::run;
use serde_json::json;

use crate::world::World;

#[test]
fn a_field_refuses_with_its_own_code() {
    run(async {
        let world = World::new().await;
        for (tool, params, code, told) in [
            (
                "TaskGet",
                json!({ "taskId": "x" }),
                Code::InvalidTaskId,
                "\"x\"",
            ),
            (
                "TaskGet",
                json!({ "taskId": 5 }),
                Code::InvalidTaskId,
                "not 5",
            ),
            (
                "TaskGet",
                json!({ "taskId": null }),
                Code::InvalidTaskId,
                "not null",
            ),
            (
                "TaskGet",
                json!({ "taskId": ["1"] }),
                Code::InvalidTaskId,
                "a list",
            ),
            (
                "TaskGet",
                json!({ "taskId": { "id": 1 } }),
                Code::InvalidTaskId,
                "an object",
            ),
            (
                "TaskCreate",
                json!({ "subject": "a", "addBlocks": ["0"] }),
                Code::InvalidTaskId,
                "\"0\"",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "status": "done" }),
                Code::InvalidStatus,
                "done",
            ),
            (
                "TaskUpdate",
                json!({ "taskId": "1", "status": 3 }),
                Code::InvalidStatus,
                "not 3",
            ),
            (
                "TaskList",
                json!({ "taskType": "magic" }),
                Code::InvalidTaskType,
                "magic",
            ),
            (
                "TaskCreate",
                json!({ "subject": "a", "taskType": "magic" }),
                Code::InvalidTaskType,
                "magic",
            ),
            (
                "whiteboard_read",
                json!({ "board": "../x" }),
                Code::InvalidBoard,
                "../x",
            ),
            (
                "whiteboard_read",
                json!({ "board": 1.5 }),
                Code::InvalidBoard,
                "not 1.5",
            ),
            (
                "blackboard_read",
                json!({ "path": "../x" }),
                Code::InvalidPath,
                "x",
            ),
            (
                "list_agents",
                json!({ "cursor": "a/b" }),
                Code::InvalidAgentId,
                "a/b",
            ),
            (
                "show_agent",
                json!({ "id": true }),
                Code::InvalidAgentId,
                "not true",
            ),
            (
                "run_command",
                json!({ "command": "ls", "timeoutMs": -1 }),
                Code::InvalidTimeout,
                "",
            ),
            (
                "read_file",
                json!({ "path": "/etc/passwd" }),
                Code::PathTraversalBlocked,
                "",
            ),
            (
                "get_artifact",
                json!({ "ref": "../x" }),
                Code::ArtifactNotFound,
                "../x",
            ),
        ] {
            let (found, message) = world.refused("lead", tool, params.clone()).await;
            assert_eq!(found, code, "{tool} {params}: {message}");
            assert!(message.contains(told), "{tool} {params}: {message}");
            assert!(!message.contains('\u{1}'), "{message}");
        }
    });
}

#[test]
fn what_has_no_code_of_its_own_names_the_field() {
    run(async {
        let world = World::new().await;
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
            let (code, message) = world.refused("lead", tool, params.clone()).await;
            assert_eq!(code, Code::InvalidInput, "{tool} {params}: {message}");
            assert!(message.contains(told), "{tool} {params}: {message}");
        }
    });
}

#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    run(async {
        let world = World::new().await;
        let made = world
            .does("lead", "TaskCreate", json!({ "subject": "a" }))
            .await;
        assert_eq!(made.document["version"], 1);
        let params = json!({ "taskId": "1", "subject": "b", "expectedVersion": 1.0 });
        let changed = world.does("lead", "TaskUpdate", params).await;
        assert_eq!(changed.document["version"], 2);
        let page = world
            .does("lead", "TaskList", json!({ "limit": 1e2, "cursor": null }))
            .await;
        assert_eq!(page.document["tasks"].as_array().unwrap().len(), 1);
    });
}
