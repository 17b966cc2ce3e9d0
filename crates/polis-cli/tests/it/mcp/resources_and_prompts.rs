//! Tests of MCP resources, prompts and argument completion.

use serde_json::{Value, json};

use super::test_mcp_client::{ALL_PROTOCOL_MODES, ProtocolMode, SESSION_2025_11, TestMcpClient};
use crate::board::board_helpers::{register_agent, register_team};
use crate::harness::test_project::TestProject;

fn list_resource_uris(client: &mut TestMcpClient) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let answer = client.request("resources/list", params);
        let page = answer["result"]["resources"].as_array().unwrap();
        assert!(!page.is_empty() && page.len() <= 100, "{}", page.len());
        for resource in page {
            assert!(!resource["name"].as_str().unwrap().is_empty());
            assert!(resource["mimeType"].is_string(), "{resource}");
            found.push(resource["uri"].as_str().unwrap().to_owned());
        }
        cursor = answer["result"].get("nextCursor").cloned();
        if cursor.is_none() {
            return found;
        }
    }
}

fn read_resource(client: &mut TestMcpClient, uri: &str) -> Value {
    let answer = client.request("resources/read", json!({"uri": uri}));
    let contents = &answer["result"]["contents"];
    assert_eq!(contents.as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(contents[0]["uri"], uri);
    contents[0].clone()
}

#[test]
fn listed_resources_can_be_read() {
    let project = TestProject::embedded();
    register_team(&project);
    project.write_board("global", "# Goals\n\nShip it.\n");
    project.run_ok(
        "user",
        &[
            "blackboard",
            "write",
            "shared/context.md",
            "--content",
            "we\n",
            "--mode",
            "overwrite",
        ],
    );
    let task = project.create_task(&["--description", "at length"]);
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        let listed = list_resource_uris(&mut client);
        for uri in [
            "polis://tasks",
            "polis://board/global",
            "polis://board/mid/architect",
            "polis://board/bottom/dev-1",
            "polis://blackboard/shared/context.md",
            "polis://task/1",
        ] {
            assert!(listed.contains(&uri.to_owned()), "{uri}: {listed:?}");
        }
        for uri in &listed {
            read_resource(&mut client, uri);
        }
        let global = read_resource(&mut client, "polis://board/global");
        assert_eq!(global["text"], "# Goals\n\nShip it.\n");
        assert_eq!(global["mimeType"], "text/markdown");
        assert_eq!(global["_meta"]["polis/version"], 1);
        let shown = read_resource(&mut client, &format!("polis://task/{task}"));
        assert_eq!(shown["mimeType"], "application/json");
        let document: Value = serde_json::from_str(shown["text"].as_str().unwrap()).unwrap();
        assert_eq!(document, project.get_task(&task));
        let ready = read_resource(&mut client, "polis://tasks");
        let ready: Value = serde_json::from_str(ready["text"].as_str().unwrap()).unwrap();
        assert_eq!(ready["tasks"][0]["id"], "1");
        let templates = client.request("resources/templates/list", json!({}));
        assert_eq!(
            templates["result"]["resourceTemplates"]
                .as_array()
                .unwrap()
                .len(),
            4
        );
    }
}

/// Clients cache a list once they have fetched it, so it must not contain values that change.
#[test]
fn listed_resources_contain_no_changing_values() {
    let project = TestProject::embedded();
    register_team(&project);
    project.write_board("global", "one\n");
    let task = project.create_task(&[]);
    let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    let mut list = || client.request("resources/list", json!({}))["result"]["resources"].clone();
    let before = list();
    for resource in before.as_array().unwrap() {
        let about = resource["description"].as_str().unwrap();
        assert!(about.len() > 5, "{resource}");
    }
    project.run_ok("ana", &["task", "claim", &task]);
    project.write_board("global", "two, and longer\n");
    project.run_ok("user", &["board", "append", "top", "--content", "first"]);
    assert_eq!(list(), before);
}

#[test]
fn resources_respect_board_permissions() {
    let project = TestProject::embedded();
    register_team(&project);
    project.run_ok(
        "loner",
        &["board", "write", "bottom/loner", "--content", "secret"],
    );
    let mut client = TestMcpClient::connect(&project, "dev-1", SESSION_2025_11);
    let listed = list_resource_uris(&mut client);
    assert!(
        !listed.contains(&"polis://board/bottom/loner".to_owned()),
        "{listed:?}"
    );
    let error = client.request_error(
        "resources/read",
        json!({"uri": "polis://board/bottom/loner"}),
        -32602,
    );
    assert_eq!(
        error["data"]["error"]["code"], "permission_denied",
        "{error}"
    );
    client.request_error(
        "resources/subscribe",
        json!({"uri": "polis://board/bottom/loner"}),
        -32602,
    );
    let mut own = TestMcpClient::connect(&project, "loner", SESSION_2025_11);
    assert_eq!(
        read_resource(&mut own, "polis://board/bottom/loner")["text"],
        "secret"
    );
}

#[test]
fn missing_resource_has_the_error_code_of_its_protocol() {
    let project = TestProject::embedded();
    register_agent(&project, "ada", "architect", "mid", "");
    for (era, code) in [(SESSION_2025_11, -32002), (ProtocolMode::Stateless, -32602)] {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        for uri in [
            "test://nonexistent",
            "polis://task/99",
            "polis://blackboard/no.md",
            "polis://file/no",
            "polis://nothing/x",
        ] {
            let error = client.request_error("resources/read", json!({"uri": uri}), code);
            assert_eq!(error["data"]["uri"], uri, "{error}");
        }
        client.request_error(
            "resources/read",
            json!({"uri": "polis://file/../../polis.toml"}),
            -32602,
        );
        client.request_error("resources/list", json!({"cursor": "nonsense"}), -32602);
    }
}

#[test]
fn long_resource_list_is_paginated() {
    let project = TestProject::embedded();
    register_agent(&project, "ada", "architect", "mid", "");
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let ids: Vec<i64> = (0..230)
        .map(|n| {
            let arguments = json!({"subject": format!("n {n}"), "description": ""});
            client.send_request(
                "tools/call",
                json!({"name": "TaskCreate", "arguments": arguments}),
            )
        })
        .collect();
    for id in ids {
        client.wait_for_response(id);
    }
    client.call_tool("TaskClaim", json!({"taskId": "200"}));
    client.call_tool("TaskClaim", json!({"taskId": "100"}));
    let listed = list_resource_uris(&mut client);
    let mut tasks: Vec<&String> = listed.iter().filter(|uri| uri.contains("task/")).collect();
    assert_eq!(
        tasks[..2],
        ["polis://task/100", "polis://task/200"],
        "tasks in progress come first"
    );
    tasks.sort();
    tasks.dedup();
    assert_eq!(tasks.len(), 230);
}

#[test]
fn long_resource_text_is_truncated_with_a_note() {
    let project = TestProject::embedded();
    register_agent(&project, "ada", "architect", "mid", "");
    let long = "0123456789abcdef\n".repeat(10_000);
    project.write_board("global", &long);
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let global = read_resource(&mut client, "polis://board/global");
    let text = global["text"].as_str().unwrap();
    assert!(
        text.len() < 70_000 && text.contains("whiteboard_read with board=global"),
        "{}",
        text.len()
    );
    assert_eq!(global["_meta"]["polis/size"], 170_000);
    client.call_tool("write_file", json!({"path": "a/long.txt", "content": long}));
    let file = read_resource(&mut client, "polis://file/a/long.txt");
    let text = file["text"].as_str().unwrap();
    assert!(
        text.len() < 70_000 && text.contains("read_file with startLine="),
        "{}",
        text.len()
    );
    client.call_tool(
        "write_file",
        json!({"path": "dot.png", "content": "iVBORw0KGgr/", "encoding": "base64"}),
    );
    let image = read_resource(&mut client, "polis://file/dot.png");
    assert_eq!(
        (&image["mimeType"], &image["blob"]),
        (&json!("image/png"), &json!("iVBORw0KGgr/"))
    );
}

#[test]
fn prompt_arguments_are_filled_in() {
    let project = TestProject::embedded();
    register_team(&project);
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "dev-1", era);
        let list = client.request("prompts/list", json!({}));
        let names: Vec<&str> = list["result"]["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|prompt| prompt["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["claim_next", "hand_over", "stand_up"]);
        let mut text = |name: &str, arguments: Value| {
            let answer =
                client.request("prompts/get", json!({"name": name, "arguments": arguments}));
            let message = &answer["result"]["messages"][0];
            assert_eq!(message["role"], "user", "{answer}");
            message["content"]["text"].as_str().unwrap().to_owned()
        };
        // Some clients have tools of the same names.
        for (name, arguments) in [
            ("claim_next", json!({})),
            ("claim_next", json!({"role": "architect"})),
            ("hand_over", json!({"task": "7", "to": "quinn"})),
            ("stand_up", json!({})),
        ] {
            let text = text(name, arguments);
            assert!(text.contains("tools of the polis server"), "{text}");
        }
        assert!(text("claim_next", json!({})).contains("TaskClaim"));
        assert!(text("claim_next", json!({"role": "architect"})).contains("roleFilter=architect"));
        let handed = text(
            "hand_over",
            json!({"task": "7", "to": "quinn", "note": "the key"}),
        );
        for part in ["taskId=7", "owner=quinn", "the key", "send_message"] {
            assert!(handed.contains(part), "{handed}");
        }
        assert!(text("stand_up", json!({})).contains("board=bottom/dev-1"));
        assert!(text("stand_up", json!({"board": "global"})).contains("board=global"));
        for (name, arguments) in [
            ("none", json!({})),
            ("hand_over", json!({"task": "7"})),
            ("hand_over", json!({"task": "seven", "to": "quinn"})),
            ("hand_over", json!({"task": 7, "to": "quinn"})),
            ("stand_up", json!({"board": "../x"})),
        ] {
            client.request_error(
                "prompts/get",
                json!({"name": name, "arguments": arguments}),
                -32602,
            );
        }
    }
}

/// opencode requests a prompt with `$1` for an argument, and substitutes the person's input in the text.
#[test]
fn prompt_placeholder_arguments_count_as_absent() {
    let project = TestProject::embedded();
    register_team(&project);
    let mut client = TestMcpClient::connect(&project, "dev-1", SESSION_2025_11);
    let mut text = |name: &str, arguments: Value| {
        let answer = client.request("prompts/get", json!({"name": name, "arguments": arguments}));
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (plain, report) = (text("claim_next", json!({})), text("stand_up", json!({})));
    for absent in [
        "",
        "  ",
        "$1",
        "$12",
        "${1}",
        "$ARGUMENTS",
        "${role}",
        "{role}",
        "{{ role }}",
        "<role>",
    ] {
        assert_eq!(
            text("claim_next", json!({"role": absent})),
            plain,
            "{absent}"
        );
        assert_eq!(
            text("stand_up", json!({"board": absent})),
            report,
            "{absent}"
        );
    }
    // A required argument stays in the text as a placeholder, for the client to fill in.
    let handed = text("hand_over", json!({"task": "$1", "to": "$2", "note": "$3"}));
    for part in ["taskId=$1", "owner=$2"] {
        assert!(handed.contains(part), "{handed}");
    }
    assert!(!handed.contains("$3"), "{handed}");
    // An amount of money is not a placeholder.
    let handed = text(
        "hand_over",
        json!({"task": "7", "to": "quinn", "note": "$100 left"}),
    );
    assert!(handed.contains("$100 left"), "{handed}");
}

#[test]
fn completion_suggests_matching_values() {
    let project = TestProject::embedded();
    register_team(&project);
    for subject in ["Fix the login", "Write the guide"] {
        project.run_ok("user", &["task", "create", "--subject", subject]);
    }
    let mut client = TestMcpClient::connect(&project, "dev-1", SESSION_2025_11);
    client.call_tool("write_file", json!({"path": "src/main.rs", "content": ""}));
    let mut complete = |reference: Value, argument: &str, typed: &str| {
        let params = json!({"ref": reference, "argument": {"name": argument, "value": typed}});
        let answer = client.request("completion/complete", params);
        let found = answer["result"]["completion"]["values"].as_array().unwrap();
        found
            .iter()
            .map(|value| value.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    assert_eq!(
        complete(prompt("claim_next"), "role", "arch"),
        ["architect"]
    );
    assert_eq!(complete(prompt("hand_over"), "to", "q"), ["quinn"]);
    assert!(complete(prompt("hand_over"), "to", "gone").is_empty());
    assert_eq!(complete(prompt("hand_over"), "task", "login"), ["1"]);
    assert_eq!(complete(prompt("hand_over"), "task", ""), ["1", "2"]);
    assert_eq!(complete(template("polis://task/{id}"), "id", "2"), ["2"]);
    let boards = complete(template("polis://board/{+name}"), "name", "");
    assert!(boards.contains(&"bottom/dev-1".to_owned()), "{boards:?}");
    assert!(!boards.contains(&"bottom/loner".to_owned()), "{boards:?}");
    assert_eq!(
        complete(template("polis://file/{+path}"), "path", "s"),
        ["src/"]
    );
    assert_eq!(
        complete(template("polis://file/{+path}"), "path", "src/m"),
        ["src/main.rs"]
    );
    assert!(complete(template("polis://file/{+path}"), "path", "../").is_empty());
    assert!(complete(prompt("unknown"), "arg1", "x").is_empty());
    assert!(complete(template("test://x/{id}"), "id", "x").is_empty());
}

#[test]
fn completion_returns_at_most_a_hundred_values() {
    let project = TestProject::embedded();
    register_agent(&project, "ada", "architect", "mid", "");
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let ids: Vec<i64> = (0..120)
        .map(|n| {
            let arguments = json!({"subject": format!("n {n}"), "description": ""});
            client.send_request(
                "tools/call",
                json!({"name": "TaskCreate", "arguments": arguments}),
            )
        })
        .collect();
    for id in ids {
        client.wait_for_response(id);
    }
    let params = json!({"ref": {"type": "ref/prompt", "name": "hand_over"}, "argument": {"name": "task", "value": ""}});
    let answer = client.request("completion/complete", params);
    let completion = &answer["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(120), &json!(true))
    );
}
