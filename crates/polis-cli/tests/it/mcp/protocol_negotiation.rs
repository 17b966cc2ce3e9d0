//! Tests of MCP protocol negotiation: sessions of each revision, stateless requests, and protocol errors.

use serde_json::{Value, json};

use super::test_mcp_client::{
    ALL_PROTOCOL_MODES, ProtocolMode, SESSION_2025_11, TestMcpClient, initialize_params,
};
use crate::harness::test_project::TestProject;
use crate::workspace::workspace_access::register_bottom_agent;

fn project_with_ada() -> TestProject {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project
}

#[test]
fn initialize_with_supported_revision_uses_it() {
    let project = project_with_ada();
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client =
            TestMcpClient::spawn_server(project.command().args(["mcp", "--agent", "ada"]));
        let answer = client.request("initialize", initialize_params(version));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "polis");
        assert_eq!(result["serverInfo"]["title"], "polis");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        let told = result["instructions"].as_str().unwrap();
        assert!(told.contains("ada") && told.contains("TaskClaim"), "{told}");
        assert!(told.contains("tools of the polis server"), "{told}");
        assert_eq!(
            result["capabilities"],
            json!({
                "completions": {}, "prompts": {}, "tools": {},
                "resources": {"subscribe": true, "listChanged": true},
            })
        );
        // Answers in an older revision contain no fields of the newer one.
        assert!(result.get("resultType").is_none(), "{result}");
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
        // No tool logs, so the logging capability is not declared.
        client.request_error("logging/setLevel", json!({"level": "warning"}), -32601);
        client.request_error("subscriptions/listen", json!({"notifications": {}}), -32601);
        assert_eq!(client.close_and_wait().exit_code, Some(0));
    }
}

#[test]
fn initialize_with_unknown_revision_offers_a_supported_one() {
    let project = project_with_ada();
    for unknown in ["2024-11-05", "2026-07-28", "1999-01-01"] {
        let mut client =
            TestMcpClient::spawn_server(project.command().args(["mcp", "--agent", "ada"]));
        let answer = client.request("initialize", initialize_params(unknown));
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        client.call_tool("TaskList", json!({}));
    }
}

#[test]
fn stateless_requests_need_no_initialize() {
    let project = project_with_ada();
    let mut client = TestMcpClient::connect(&project, "ada", ProtocolMode::Stateless);
    let answer = client.request("server/discover", json!({}));
    let result = &answer["result"];
    assert_eq!(
        result["supportedVersions"],
        json!(["2025-06-18", "2025-11-25", "2026-07-28"]),
        "{answer}"
    );
    assert!(result["instructions"].as_str().unwrap().contains("ada"));
    let id =
        client.call_tool("TaskCreate", json!({"subject": "one", "description": ""}))["id"].clone();
    assert_eq!(id, "1");
    let listed = client.request("tools/list", json!({}));
    let result = &listed["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64(), "{result}");
    assert_eq!(result["cacheScope"], "private");
    for gone in ["ping", "logging/setLevel", "resources/subscribe"] {
        let params = json!({"uri": "polis://tasks", "level": "info"});
        client.request_error(gone, params, -32601);
    }
    let bare = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"});
    client.send_line(&bare.to_string());
    let answer = client.wait_for_message("a refusal", |message| message["id"] == "x");
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(client.close_and_wait().exit_code, Some(0));
}

#[test]
fn stateless_request_with_unknown_revision_lists_supported_ones() {
    let project = project_with_ada();
    let mut client = TestMcpClient::spawn_server(project.command().args(["mcp", "--agent", "ada"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = client.request("tools/list", json!({"_meta": meta}));
    let data = &answer["error"]["data"];
    assert_eq!(data["requested"], "2031-01-01", "{answer}");
    assert!(
        data["supported"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
}

#[test]
fn unknown_methods_and_invalid_parameters_have_distinct_errors() {
    let project = project_with_ada();
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        client.request_error("no/such", json!({}), -32601);
        client.request_error("resources/read", json!({"uri": 5}), -32602);
        client.request_error("tools/call", json!({"arguments": {}}), -32602);
        client.call_tool("TaskList", json!({}));
    }
}

#[test]
fn mcp_without_an_agent_is_refused() {
    let project = project_with_ada();
    let answer = project.command().args(["--json", "mcp"]).output().unwrap();
    crate::harness::test_project::CommandOutput::from_output(answer)
        .expect_refusal(2, "invalid_input");
    let flags = ["--json", "mcp", "--agent", "ada", "--tools", "nonsense"];
    let answer = project.command().args(flags).output().unwrap();
    crate::harness::test_project::CommandOutput::from_output(answer)
        .expect_refusal(2, "invalid_input");
    // `--as` (or the environment) names the agent as well as `--agent` does.
    let mut client = TestMcpClient::spawn_server(project.command().args(["--as", "ada", "mcp"]));
    let answer = client.request("initialize", initialize_params("2025-11-25"));
    let told = answer["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("ada"), "{told}");
}

#[test]
fn mcp_texts_of_a_chinese_project_are_chinese() {
    let project = TestProject::uninitialized();
    project.run_ok("user", &["init", "--lang", "zh"]);
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["title"], "认领下一个任务");
    let filled = client.request("prompts/get", json!({"name": "stand_up"}));
    let text = filled["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    for part in ["站会报告", "whiteboard_append", "polis 服务器"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn mcp_tools_of_a_chinese_project_are_chinese() {
    let has_chinese = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        text.contains(|c: char| matches!(c, '\u{4e00}'..='\u{9fff}'))
    };
    let project = TestProject::uninitialized();
    project.run_ok("user", &["init", "--lang", "zh"]);
    let mut ada = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let listed = ada.request("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert!(has_chinese(&tool["description"]), "{tool}");
        let parameters = tool["inputSchema"]["properties"].as_object();
        let mut parameters = parameters.into_iter().flatten();
        // `artifact:ID` is the only description that is only an example.
        let is_translated = |schema: &Value| {
            has_chinese(&schema["description"]) || schema["description"] == "`artifact:ID`"
        };
        assert!(
            parameters.all(|(_, schema)| is_translated(schema)),
            "{tool}"
        );
    }
    let resources = ada.request("resources/templates/list", json!({}));
    let template = &resources["result"]["resourceTemplates"][0];
    assert!(has_chinese(&template["description"]), "{template}");
    let created = ada.call_tool_result("TaskCreate", json!({"subject": "甲"}));
    assert_eq!(created["content"][0]["text"], "任务 1 已创建，版本 1：甲");
    assert_eq!(created["structuredContent"]["status"], "pending");
    ada.call_tool("TaskClaim", json!({"taskId": "1"}));
    let mut bob = TestMcpClient::connect(&project, "bob", SESSION_2025_11);
    let refused = bob.call_tool_result("TaskClaim", json!({"taskId": "1"}));
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    let (sentence, hint) = text.split_once('\n').unwrap();
    assert!(sentence.starts_with("already_claimed: 任务"), "{text}");
    assert!(hint.starts_with("下一步："), "{text}");
    let misspelt = bob.call_tool_result("TaskGet", json!({"task_id": "1"}));
    let text = &misspelt["content"][0]["text"];
    assert!(
        text.as_str().unwrap().starts_with("invalid_input: "),
        "{text}"
    );
    assert!(has_chinese(text), "{text}");
    // The line is not JSON; the client gets a protocol error.
    bob.send_line("{");
    let error = bob.wait_for_message("the error", |message| message.get("error").is_some());
    assert!(has_chinese(&error["error"]["message"]), "{error}");
}
