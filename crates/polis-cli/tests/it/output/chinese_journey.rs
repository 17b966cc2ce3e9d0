//! Journey of a Chinese-speaking reader with default configuration: from `polis --help` through a first run
//! to a claim that is refused over MCP. Nothing on the way may be an English sentence.

use std::net::TcpListener;
use std::process::Command;

use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use crate::harness::english_text::english_sentences;
use crate::harness::test_project::{CommandOutput, TestProject, wait_until};
use crate::harness::test_server::TestServer;
use crate::mcp::test_mcp_client::{SESSION_2025_11, TestMcpClient};
use crate::society::MODEL_API_KEY;
use crate::society::scripted_team::tool_call;

/// Asserts that a text has Chinese characters and no English sentence. `what` names where it is from.
fn assert_chinese(what: &str, text: &str) {
    let has_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    assert!(text.contains(has_chinese), "{what}: {text}");
    let english = english_sentences(text);
    assert_eq!(english, Vec::<String>::new(), "{what}: {text}");
}

/// Runs a command as a reader whose locale is Chinese, and checks everything that it prints.
fn run_chinese(command: &mut Command, arguments: &[&str], exit_code: i32) -> String {
    let command = command.env("LANG", "zh_CN.UTF-8").args(arguments);
    let output = CommandOutput::from_output(command.output().unwrap());
    assert_eq!(
        output.exit_code,
        Some(exit_code),
        "{arguments:?} {output:?}"
    );
    let text = output.stdout + &output.stderr;
    assert_chinese(&format!("{arguments:?}"), &text);
    text
}

/// A model that asks the person for nothing: it reports and stops.
fn reporting_model() -> ScriptedModel {
    ScriptedModel::start(|request| match request.assistant_message_count() {
        0 => ScriptedReply::tool_calls([tool_call(
            "c1",
            "send_message",
            json!({ "to": "user", "payload": { "text": "门已经刷成蓝色。" } }),
        )]),
        _ => ScriptedReply::text("完成。"),
    })
}

#[test]
fn journey_from_help_to_a_refused_claim_is_chinese() {
    let project = TestProject::uninitialized();
    for arguments in [
        &["--help"][..],
        &["help"],
        &["task", "--help"],
        &["task", "claim", "--help"],
        &["run", "--help"],
        &["mcp", "install", "--help"],
    ] {
        run_chinese(&mut project.command(), arguments, 0);
    }
    run_chinese(&mut project.command(), &["tsak"], 2);
    run_chinese(&mut project.command(), &["task", "list"], 4);
    run_chinese(&mut project.command(), &["init"], 0);
    for (arguments, exit_code) in [
        (
            &["agent", "add", "后 端", "--role", "backend-leader"][..],
            2,
        ),
        (&["agent", "add", "dev-1", "--role", "backend-leader"], 0),
        (&["agent", "add", "dev-2", "--role", "backend-leader"], 0),
        (&["task", "create", "--subject", "修复登录"], 0),
        (
            &["task", "create", "--subject", "甲", "--metadata", "[1]"],
            2,
        ),
        (
            &["task", "create", "--subject", "甲", "--metadata", "{\"a"],
            2,
        ),
        (
            &["message", "send", "dev-1", "--as-json", "--content", "x"],
            2,
        ),
        (&["task", "list"], 0),
        (&["--as", "dev-1", "task", "claim", "1"], 0),
        (&["task", "get", "1"], 0),
        (&["--as", "dev-2", "task", "claim", "1"], 5),
        (&["task", "comment", "1", "--body", "先看日志"], 0),
        (&["board", "read", "global"], 0),
        (
            &[
                "--as",
                "dev-2",
                "board",
                "write",
                "global",
                "--content",
                "x",
            ],
            3,
        ),
        (&["stats"], 0),
        (&["doctor"], 0),
        (&["config", "check"], 0),
        (&["society", "ps"], 0),
    ] {
        run_chinese(&mut project.command(), arguments, exit_code);
    }
    let model = reporting_model();
    let mut run = project.command();
    run.env("OPENAI_BASE_URL", model.base_url())
        .env("OPENAI_API_KEY", MODEL_API_KEY);
    let shown = run_chinese(&mut run, &["run", "把门刷成蓝色"], 0);
    assert!(shown.contains("门已经刷成蓝色。"), "{shown}");
    // What the model was given is Chinese as well: the rules, its role and the descriptions of its tools.
    let requests = model.requests();
    assert_chinese("the system message", requests[0].system_message());
    let request: Value = serde_json::from_str(&requests[0].body).unwrap();
    for tool in request["tools"].as_array().unwrap() {
        assert_tool_is_chinese(
            tool["function"]["name"].as_str().unwrap(),
            &tool["function"]["description"],
            &tool["function"]["parameters"],
        );
    }
    for arguments in [
        &["society", "ps"][..],
        &["society", "tree", "--all"],
        &["society", "log", "root"],
    ] {
        run_chinese(&mut project.command(), arguments, 0);
    }
    refused_claim_over_mcp_is_chinese(&project);
    failing_webhook_is_listed_in_chinese(&project);
}

/// The error of a delivery is stored as data: people read it in their language, programs in English.
fn failing_webhook_is_listed_in_chinese(project: &TestProject) {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{address}/");
    run_chinese(&mut project.command(), &["webhook", "add", &url], 0);
    let server = TestServer::start(project);
    run_chinese(
        &mut project.command(),
        &["task", "create", "--subject", "乙"],
        0,
    );
    let listed = || project.run_ok("user", &["webhook", "list"])["webhooks"][0].clone();
    wait_until("a failed delivery", || listed()["lastError"].is_string());
    assert_eq!(listed()["lastError"], "No connection: connection refused.");
    let shown = run_chinese(&mut project.command(), &["webhook", "list"], 0);
    assert!(shown.contains("无法连接：连接被拒绝。"), "{shown}");
    assert!(server.stop().0.success());
}

#[test]
fn statuses_of_tasks_are_labels_in_chinese_and_names_in_english() {
    let project = TestProject::embedded();
    project.create_task(&[]);
    let shown = |lang: &str, arguments: &[&str]| {
        let mut command = project.command();
        let output = command.args(["--lang", lang]).args(arguments).output();
        CommandOutput::from_output(output.unwrap()).stdout
    };
    for arguments in [&["task", "list"][..], &["task", "get", "1"]] {
        let (chinese, english) = (shown("zh", arguments), shown("en", arguments));
        assert!(chinese.contains("待处理"), "{chinese}");
        assert!(!chinese.contains("pending"), "{chinese}");
        assert!(english.contains("pending"), "{english}");
    }
}

/// A coding agent in the project, which `polis init` made a Chinese one.
fn refused_claim_over_mcp_is_chinese(project: &TestProject) {
    let settings = project.data_path("polis.toml");
    let configured = std::fs::read_to_string(&settings).unwrap();
    let limited = configured.replace("\n[sandbox]\n", "\n[sandbox]\noutput = \"2KiB\"\n");
    assert_ne!(limited, configured);
    std::fs::write(settings, limited).unwrap();
    let flags = ["--tools", "all"];
    let mut client = TestMcpClient::connect_with_flags(project, "dev-2", SESSION_2025_11, &flags);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 20, "{}", tools.len());
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert_tool_is_chinese(name, &tool["description"], &tool["inputSchema"]);
    }
    let refused = client.call_tool_result("TaskClaim", json!({ "taskId": "1" }));
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("already_claimed: 任务 #1 "), "{text}");
    assert!(text.contains("\n下一步："), "{text}");
    assert_chinese("the refused claim", text);
    for (tool, arguments) in [
        ("TaskClaim", json!({ "taskId": ["1"] })),
        ("TaskClaim", json!({ "taskId": {} })),
        ("TaskClaim", json!({ "taskId": 1.5 })),
        ("TaskCreate", json!({ "subject": "甲", "metadata": "a" })),
        ("TaskCreate", json!({ "subject": ["甲"] })),
        ("TaskCreate", json!({ "description": "甲" })),
        ("send_message", json!({ "to": 5, "payload": "甲" })),
    ] {
        let refused = client.call_tool_result(tool, arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        assert_chinese(tool, refused["content"][0]["text"].as_str().unwrap());
    }
    // More than the result may have, and a directory with the reserved name.
    let command = json!({ "command": "seq 1 4000; mkdir .agent-workspace" });
    let ran = client.call_tool_result("run_command", command);
    let text = ran["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("字节；完整输出在 $POLIS_OUTPUT/"), "{text}");
    assert!(text.contains(".agent-workspace 是保留名"), "{text}");
    assert_chinese("the long output", text);
    let listed = client.call_tool_result("TaskList", json!({}));
    assert_chinese(
        "the task list",
        listed["content"][0]["text"].as_str().unwrap(),
    );
    client.close_and_wait();
}

/// Asserts that a tool's description and those of all its parameters are Chinese.
fn assert_tool_is_chinese(name: &str, description: &Value, schema: &Value) {
    assert_chinese(name, description.as_str().unwrap());
    let properties = schema["properties"].as_object();
    for (parameter, schema) in properties.into_iter().flatten() {
        // Some parameters need no words: `artifact:ID`.
        if let Some(text) = schema["description"].as_str()
            && !text.starts_with('`')
        {
            assert_chinese(&format!("{name}.{parameter}"), text);
        }
    }
}
