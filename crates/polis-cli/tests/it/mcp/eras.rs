//! Tests of protocol negotiation: sessions of each revision, and stateless requests.

use serde_json::json;

use super::client::{ALL, Client, Era, LATER, initialize};
use crate::board::Board;
use crate::workspaces::add;

fn board() -> Board {
    let board = Board::embedded();
    add(&board, "ada", "");
    board
}

#[test]
fn a_session_is_begun_with_the_revision_that_was_asked_for() {
    let board = board();
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::start(board.command().args(["mcp", "--agent", "ada"]));
        let answer = client.request("initialize", initialize(version));
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
        client.wrong("logging/setLevel", json!({"level": "warning"}), -32601);
        client.wrong("subscriptions/listen", json!({"notifications": {}}), -32601);
        assert_eq!(client.finish().exit, Some(0));
    }
}

#[test]
fn a_revision_nobody_knows_is_answered_with_one_that_is_spoken() {
    let board = board();
    for unknown in ["2024-11-05", "2026-07-28", "1999-01-01"] {
        let mut client = Client::start(board.command().args(["mcp", "--agent", "ada"]));
        let answer = client.request("initialize", initialize(unknown));
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        client.call("TaskList", json!({}));
    }
}

#[test]
fn without_a_session_every_request_stands_for_itself() {
    let board = board();
    let mut client = Client::begin(&board, "ada", Era::Stateless);
    let answer = client.request("server/discover", json!({}));
    let result = &answer["result"];
    assert_eq!(
        result["supportedVersions"],
        json!(["2025-06-18", "2025-11-25", "2026-07-28"]),
        "{answer}"
    );
    assert!(result["instructions"].as_str().unwrap().contains("ada"));
    let id = client.call("TaskCreate", json!({"subject": "one", "description": ""}))["id"].clone();
    assert_eq!(id, "1");
    let listed = client.request("tools/list", json!({}));
    let result = &listed["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64(), "{result}");
    assert_eq!(result["cacheScope"], "private");
    for gone in ["ping", "logging/setLevel", "resources/subscribe"] {
        let params = json!({"uri": "polis://tasks", "level": "info"});
        client.wrong(gone, params, -32601);
    }
    let bare = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"});
    client.line(&bare.to_string());
    let answer = client.wait("a refusal", |message| message["id"] == "x");
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(client.finish().exit, Some(0));
}

#[test]
fn an_unknown_revision_of_a_request_is_refused_with_those_there_are() {
    let board = board();
    let mut client = Client::start(board.command().args(["mcp", "--agent", "ada"]));
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
fn unknown_methods_and_bad_parameters_are_told_apart() {
    let board = board();
    for era in ALL {
        let mut client = Client::begin(&board, "ada", era);
        client.wrong("no/such", json!({}), -32601);
        client.wrong("resources/read", json!({"uri": 5}), -32602);
        client.wrong("tools/call", json!({"arguments": {}}), -32602);
        client.call("TaskList", json!({}));
    }
}

#[test]
fn whoever_does_not_say_who_it_is_is_not_served() {
    let board = board();
    let answer = board.command().args(["--json", "mcp"]).output().unwrap();
    crate::board::Answer::of(answer).refusal(2, "invalid_input");
    let flags = ["--json", "mcp", "--agent", "ada", "--tools", "nonsense"];
    let answer = board.command().args(flags).output().unwrap();
    crate::board::Answer::of(answer).refusal(2, "invalid_input");
    // `--as` (or the environment) names the agent as well as `--agent` does.
    let mut client = Client::start(board.command().args(["--as", "ada", "mcp"]));
    let answer = client.request("initialize", initialize("2025-11-25"));
    let told = answer["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("ada"), "{told}");
}

#[test]
fn chinese_installations_are_spoken_to_in_chinese() {
    let board = Board::bare();
    board.ok("user", &["init", "--lang", "zh"]);
    let mut client = Client::begin(&board, "ada", LATER);
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
