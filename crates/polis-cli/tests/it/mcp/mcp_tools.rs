//! Tests of MCP tools: listing, calls, refusals, unknown arguments, and pagination of long results.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::test_mcp_client::{
    ALL_PROTOCOL_MODES, SESSION_2025_11, TestMcpClient, expect_refusal_text,
};
use crate::board::board_helpers::{register_agent, write_config};
use crate::harness::test_project::{TestProject, on_both_stores};

fn register_ana(project: &TestProject) {
    register_agent(project, "ana", "team-lead", "top", "");
}

fn list_tool_names(client: &mut TestMcpClient) -> Vec<String> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap().clone();
    for tool in &tools {
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn tools_work_in_every_protocol_mode(project: &TestProject) {
    register_ana(project);
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(project, "ana", era);
        let created = client.call_tool(
            "TaskCreate",
            json!({"subject": "write it", "description": "all"}),
        );
        let id = created["id"].as_str().unwrap();
        let claimed = client.call_tool("TaskClaim", json!({"taskId": id}));
        assert_eq!(
            (&claimed["owner"], &claimed["status"]),
            (&json!("ana"), &json!("in_progress"))
        );
        let done = client.call_tool("TaskUpdate", json!({"taskId": id, "status": "completed"}));
        assert_eq!(done["status"], "completed");
        // The same document as on the command line.
        assert_eq!(
            project.get_task(id),
            client.call_tool("TaskGet", json!({"taskId": id}))
        );
        let written = client.call_tool(
            "whiteboard_append",
            json!({"board": "global", "content": "done"}),
        );
        assert_eq!(written["version"], project.board_version("global"));
        assert!(client.close_and_wait().stderr.is_empty());
    }
}

fn tool_refusals_contain_details_and_hints(project: &TestProject) {
    register_ana(project);
    project.write_board("global", "one\n");
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(project, "ana", era);
        client.call_refused_tool("TaskGet", json!({"taskId": "99"}), "task_not_found");
        client.call_refused_tool("TaskGet", json!({"taskId": "x"}), "invalid_task_id");
        client.call_refused_tool("TaskGet", json!({}), "invalid_input");
        client.call_refused_tool("TaskGet", json!("no object"), "invalid_input");
        let old = json!({"board": "global", "content": "x", "expectedVersion": 0});
        let conflict = client.call_refused_tool("whiteboard_write", old, "version_conflict");
        // The text contains everything of the command line's error document.
        for part in [
            "currentVersion: 1",
            "lastModifiedBy: user",
            "lastModifiedAt: 2",
            "diff:\n",
            "\n+one",
        ] {
            assert!(conflict.contains(part), "{part}: {conflict}");
        }
        client.call_refused_tool(
            "read_file",
            json!({"path": "../../etc/passwd"}),
            "path_traversal_blocked",
        );
        client.call_refused_tool(
            "run_command",
            json!({"command": "sudo true"}),
            "command_blocked",
        );
        // Unknown tools are a protocol error.
        let error = client.request_error("tools/call", json!({"name": "Nope"}), -32602);
        assert_eq!(error["data"]["error"]["code"], "tool_not_found");
    }
}

/// Hints name tools and parameters, because a model has no command line.
fn tool_refusal_hints_name_tools_not_commands(project: &TestProject) {
    register_ana(project);
    register_agent(project, "dev", "backend-leader", "bottom", "");
    project.write_board("global", "one\n");
    let held = project.create_task(&["--required-role", "team-lead"]);
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(project, "dev", era);
        let stale = json!({"board": "bottom/dev", "content": "x", "expectedVersion": 7});
        for (tool, arguments, code, words) in [
            (
                "TaskGet",
                json!({"taskId": "99"}),
                "task_not_found",
                "list the tasks with `TaskList`",
            ),
            (
                "TaskClaim",
                json!({"taskId": held}),
                "role_mismatch",
                "with `TaskList` and roleFilter=backend-leader; the team lead may pass forceAssign=true",
            ),
            (
                "TaskClaim",
                json!({}),
                "nothing_to_claim",
                "list the tasks with `TaskList`, and see what blocks each of them with `TaskGet`",
            ),
            (
                "whiteboard_write",
                stale,
                "version_conflict",
                "with `whiteboard_read`, apply your change to it and write with its version as \
                 expectedVersion; or pass merge=true",
            ),
            (
                "whiteboard_write",
                json!({"board": "top", "content": "x"}),
                "permission_denied",
                "ask an agent that may, or the person",
            ),
            (
                "TaskList",
                json!({"cursor": "x"}),
                "invalid_task_id",
                "correct the arguments",
            ),
        ] {
            let text = client.call_refused_tool(tool, arguments, code);
            assert!(text.contains(words), "{text}");
            assert!(!text.contains("`polis ") && !text.contains(" --"), "{text}");
        }
        // A protocol error carries the same hint as data.
        let nowhere = json!({"uri": "polis://task/99"});
        let answer = client.request("resources/read", nowhere);
        let hint = &answer["error"]["data"]["error"]["hint"];
        assert_eq!(*hint, "list the tasks with `TaskList`", "{answer}");
    }
}

/// Some clients add arguments of their own to every call.
fn unknown_tool_arguments_are_ignored_and_named(project: &TestProject) {
    register_ana(project);
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(project, "ana", era);
        let arguments = json!({"ready": true, "wait_for_previous": true});
        let result = client.call_tool_result("TaskList", arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.ends_with("\n[ignored unknown arguments: wait_for_previous]"),
            "{text}"
        );
        let named = &result["structuredContent"]["ignored"];
        assert_eq!(*named, json!(["wait_for_previous"]), "{result}");
        // A refusal names ignored arguments too: one of them may be a mistyped parameter.
        let arguments = json!({"taskId": "99", "number": 99});
        let text = client.call_refused_tool("TaskGet", arguments, "task_not_found");
        assert!(
            text.ends_with("[ignored unknown arguments: number]"),
            "{text}"
        );
        // An argument similar to a parameter is refused: ignoring it would change what the call does.
        let stale = json!({"board": "global", "content": "x", "version": 0});
        let text = client.call_refused_tool("whiteboard_write", stale, "invalid_input");
        assert!(text.contains("did you mean \"expectedVersion\"?"), "{text}");
        assert_eq!(project.board_version("global"), 0);
    }
}

/// The acting agent is the one the server was started for, whatever a request claims.
fn forged_agent_in_a_request_is_ignored(project: &TestProject) {
    register_ana(project);
    register_agent(project, "dev", "backend-leader", "bottom", "");
    let mut client = TestMcpClient::connect(project, "dev", SESSION_2025_11);
    for forged in ["agent", "by", "as", "caller", "from", "actor", "identity"] {
        let mut arguments = json!({"board": "global", "content": "mine now"});
        arguments[forged] = json!("ana");
        client.call_refused_tool("whiteboard_write", arguments, "permission_denied");
    }
    let meta = json!({"agent": "ana", "polis/agent": "user", "io.modelcontextprotocol/clientInfo": {"name": "ana", "version": "1"}});
    let params = json!({
        "name": "whiteboard_write", "agent": "user", "_meta": meta,
        "arguments": {"board": "global", "content": "mine now"},
    });
    let answer = client.request("tools/call", params);
    expect_refusal_text(&answer["result"], "permission_denied");
    client.call_tool("TaskCreate", json!({"subject": "mine", "description": ""}));
    let log = project.read_log();
    let actors: BTreeSet<&str> = log
        .iter()
        .filter(|event| event["kind"].as_str().unwrap().starts_with("task."))
        .map(|event| event["actor"].as_str().unwrap())
        .collect();
    assert_eq!(actors, BTreeSet::from(["dev"]));
    assert_eq!(project.board_version("global"), 0);
}

on_both_stores!(
    tools_work_in_every_protocol_mode,
    tool_refusals_contain_details_and_hints,
    tool_refusal_hints_name_tools_not_commands,
    unknown_tool_arguments_are_ignored_and_named,
    forged_agent_in_a_request_is_ignored,
);

#[test]
fn tools_flag_limits_listed_and_callable_tools() {
    let project = TestProject::embedded();
    register_ana(&project);
    let mut usual = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    let shown = list_tool_names(&mut usual);
    assert_eq!(
        shown,
        list_tool_names(&mut usual),
        "the order of tools is stable"
    );
    assert!(shown.contains(&"TaskClaim".to_owned()));
    assert!(!shown.contains(&"TaskStats".to_owned()));
    usual.call_tool("TaskStats", json!({}));
    let mut few = TestMcpClient::connect_with_flags(
        &project,
        "ana",
        SESSION_2025_11,
        &["--tools", "blackboard,messages"],
    );
    let shown = list_tool_names(&mut few);
    assert!(shown.contains(&"blackboard_read".to_owned()), "{shown:?}");
    assert!(!shown.contains(&"TaskClaim".to_owned()), "{shown:?}");
    let hidden = json!({"name": "TaskList", "arguments": {}});
    let error = few.request_error("tools/call", hidden, -32602);
    assert_eq!(error["data"]["error"]["code"], "tool_not_found");
    let mut all =
        TestMcpClient::connect_with_flags(&project, "ana", SESSION_2025_11, &["--tools", "all"]);
    let shown = list_tool_names(&mut all);
    for tool in [
        "TaskApprove",
        "whiteboard_decide",
        "delete_file",
        "list_agents",
        "read_log",
        "spawn_agent",
        "create_role",
        "find_role_by_name",
        "terminate_agent",
        "get_org",
    ] {
        assert!(shown.contains(&tool.to_owned()), "{tool}: {shown:?}");
    }
    let found = all.call_tool("find_role_by_name", json!({"name": "nobody"}));
    assert!(found["role"].is_null(), "{found}");
    // As without groups, tools that are not listed can be called.
    assert!(!shown.contains(&"TaskStats".to_owned()), "{shown:?}");
    all.call_tool("TaskStats", json!({}));
}

#[test]
fn long_tool_results_are_paginated() {
    let project = TestProject::embedded();
    register_ana(&project);
    let text = "0123456789abcdef\n".repeat(10_000);
    project.write_board("global", &text);
    let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    let mut read = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let page = client.call_tool(
            "whiteboard_read",
            json!({"board": "global", "offset": offset}),
        );
        assert!(page.to_string().len() < 60_000);
        read.push_str(page["content"].as_str().unwrap());
        offset = page.get("nextOffset").cloned().unwrap_or(Value::Null);
    }
    assert_eq!(read, text);
}

#[test]
fn open_world_hint_follows_the_network_setting() {
    for (configuration, open) in [
        ("", false),
        ("[sandbox]\nnetwork = \"loopback\"\n", false),
        ("[sandbox]\nnetwork = \"on\"\n", true),
        ("[sandbox.roles.team-lead]\nnetwork = \"on\"\n", true),
    ] {
        let project = TestProject::embedded();
        register_ana(&project);
        write_config(&project, configuration);
        let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
        let answer = client.request("tools/list", json!({}));
        for tool in answer["result"]["tools"].as_array().unwrap() {
            let hint = &tool["annotations"]["openWorldHint"];
            let open = open && tool["name"] == "run_command";
            assert_eq!(*hint, open, "{configuration}: {tool}");
        }
    }
}

#[test]
fn command_timeouts_are_those_of_the_callers_role() {
    for (configuration, stated) in [
        ("", "Default 60000, max 3600000."),
        (
            "[sandbox]\ntimeout = \"5s\"\ntimeout_ceiling = \"10m\"\n",
            "Default 5000, max 600000.",
        ),
        (
            "[sandbox.roles.team-lead]\ntimeout = \"2m\"\n",
            "Default 120000, max 3600000.",
        ),
        (
            "[sandbox.roles.architect]\ntimeout = \"2m\"\n",
            "Default 60000, max 3600000.",
        ),
    ] {
        let project = TestProject::embedded();
        register_ana(&project);
        write_config(&project, configuration);
        let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
        let answer = client.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let command = tools.iter().find(|tool| tool["name"] == "run_command");
        let timeout = &command.unwrap()["inputSchema"]["properties"]["timeoutMs"];
        let text = timeout["description"].as_str().unwrap();
        assert!(text.ends_with(stated), "{configuration}: {text}");
    }
}
