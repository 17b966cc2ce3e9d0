//! Tests of MCP resource subscriptions: subscribers are notified of changes made by any process.

use serde_json::{Value, json};

use super::test_mcp_client::{ProtocolMode, SESSION_2025_06, SESSION_2025_11, TestMcpClient};
use crate::board::board_helpers::register_team;
use crate::harness::test_project::{TestProject, on_both_stores};

const RESOURCE_UPDATED: &str = "notifications/resources/updated";
const RESOURCE_LIST_CHANGED: &str = "notifications/resources/list_changed";

/// Subscribes with the method of the client's protocol variant. Returns the id of the stream, if there is
/// one.
fn subscribe_to(
    client: &mut TestMcpClient,
    era: ProtocolMode,
    uris: &[&str],
    list: bool,
) -> Option<i64> {
    if era == ProtocolMode::Stateless {
        let mut wanted = json!({});
        if !uris.is_empty() {
            wanted["resourceSubscriptions"] = json!(uris);
        }
        if list {
            wanted["resourcesListChanged"] = json!(true);
        }
        let id = client.send_request("subscriptions/listen", json!({"notifications": wanted}));
        let told = client.wait_for_notification("notifications/subscriptions/acknowledged");
        assert_eq!(told["params"]["notifications"], wanted, "{told}");
        return Some(id);
    }
    for uri in uris {
        let answer = client.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    if list {
        client.request("resources/list", json!({}));
    }
    None
}

fn next_updated_uri(client: &mut TestMcpClient, stream: Option<i64>) -> String {
    let told = client.wait_for_notification(RESOURCE_UPDATED);
    if let Some(id) = stream {
        let of = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*of, id, "{told}");
    }
    told["params"]["uri"].as_str().unwrap().to_owned()
}

fn subscribers_are_notified_of_changes_by_any_process(project: &TestProject) {
    register_team(project);
    let task = project.create_task(&[]);
    let task = format!("polis://task/{task}");
    for era in [SESSION_2025_06, SESSION_2025_11, ProtocolMode::Stateless] {
        let mut one = TestMcpClient::connect(project, "ana", era);
        let mut other = TestMcpClient::connect(project, "ada", era);
        let uris = ["polis://board/global", task.as_str()];
        let first = subscribe_to(&mut one, era, &uris, false);
        let second = subscribe_to(&mut other, era, &uris, false);
        // Through one of the servers.
        one.call_tool(
            "whiteboard_append",
            json!({"board": "global", "content": "by ana"}),
        );
        assert_eq!(next_updated_uri(&mut one, first), uris[0]);
        assert_eq!(next_updated_uri(&mut other, second), uris[0]);
        // Through the other server.
        other.call_tool("TaskComment", json!({"taskId": "1", "body": "by ada"}));
        assert_eq!(next_updated_uri(&mut one, first), task);
        assert_eq!(next_updated_uri(&mut other, second), task);
        // Through the command line.
        project.run_ok(
            "ana",
            &["board", "append", "global", "--content", "by the line"],
        );
        assert_eq!(next_updated_uri(&mut one, first), uris[0]);
        assert_eq!(next_updated_uri(&mut other, second), uris[0]);
    }
}

fn subscribers_are_notified_of_list_changes(project: &TestProject) {
    register_team(project);
    for era in [SESSION_2025_11, ProtocolMode::Stateless] {
        let mut client = TestMcpClient::connect(project, "ana", era);
        subscribe_to(&mut client, era, &[], true);
        project.create_task(&[]);
        client.wait_for_notification(RESOURCE_LIST_CHANGED);
        let file = match era {
            ProtocolMode::Stateless => "shared/new.md",
            ProtocolMode::Session(_) => "shared/other.md",
        };
        project.run_ok(
            "user",
            &[
                "blackboard",
                "write",
                file,
                "--content",
                "x",
                "--mode",
                "overwrite",
            ],
        );
        client.wait_for_notification(RESOURCE_LIST_CHANGED);
    }
}

fn subscription_to_unreadable_resource_is_not_accepted(project: &TestProject) {
    register_team(project);
    let mut client = TestMcpClient::connect(project, "dev-1", ProtocolMode::Stateless);
    let uris = [
        "polis://board/bottom/loner",
        "polis://board/bottom/dev-1",
        "polis://file/x",
        "test://x",
    ];
    let wanted = json!({"resourceSubscriptions": uris, "resourcesListChanged": true, "toolsListChanged": true});
    client.send_request("subscriptions/listen", json!({"notifications": wanted}));
    let told = client.wait_for_notification("notifications/subscriptions/acknowledged");
    // Only what was accepted is delivered.
    let accepted = &told["params"]["notifications"];
    assert_eq!(
        *accepted,
        json!({"resourceSubscriptions": [uris[1]], "resourcesListChanged": true}),
    );
    project.run_ok(
        "loner",
        &["board", "write", "bottom/loner", "--content", "secret"],
    );
    project.run_ok(
        "dev-1",
        &["board", "write", "bottom/dev-1", "--content", "mine"],
    );
    assert_eq!(next_updated_uri(&mut client, None), uris[1]);
    assert!(
        !client
            .pending_messages()
            .iter()
            .any(|message| message["method"] == RESOURCE_LIST_CHANGED)
    );
}

on_both_stores!(
    subscribers_are_notified_of_changes_by_any_process,
    subscribers_are_notified_of_list_changes,
    subscription_to_unreadable_resource_is_not_accepted,
);

#[test]
fn unsubscribed_client_gets_no_notifications() {
    let project = TestProject::embedded();
    register_team(&project);
    let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    subscribe_to(
        &mut client,
        SESSION_2025_11,
        &["polis://board/global", "polis://board/top"],
        false,
    );
    let gone = json!({"uri": "polis://board/global"});
    client.request("resources/unsubscribe", gone);
    project.write_board("global", "not told\n");
    project.write_board("top", "told\n");
    assert_eq!(next_updated_uri(&mut client, None), "polis://board/top");
    assert!(
        !client
            .pending_messages()
            .iter()
            .any(|message| message["method"] == RESOURCE_UPDATED)
    );
}

#[test]
fn cancelled_stream_gets_no_notifications() {
    let project = TestProject::embedded();
    register_team(&project);
    let mut client = TestMcpClient::connect(&project, "ana", ProtocolMode::Stateless);
    let first = subscribe_to(
        &mut client,
        ProtocolMode::Stateless,
        &["polis://board/global"],
        false,
    );
    let second = subscribe_to(
        &mut client,
        ProtocolMode::Stateless,
        &["polis://board/top"],
        false,
    );
    project.write_board("global", "one\n");
    assert_eq!(next_updated_uri(&mut client, first), "polis://board/global");
    client.notify("notifications/cancelled", json!({"requestId": first}));
    client.call_tool("TaskList", json!({}));
    project.write_board("global", "two\n");
    project.write_board("top", "one\n");
    assert_eq!(next_updated_uri(&mut client, second), "polis://board/top");
    assert!(
        !client
            .pending_messages()
            .iter()
            .any(|message| message["method"] == RESOURCE_UPDATED)
    );
}

#[test]
fn subscribers_are_not_notified_of_unrelated_events() {
    let project = TestProject::embedded();
    register_team(&project);
    let task = project.create_task(&[]);
    let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    let uri = format!("polis://task/{task}");
    subscribe_to(
        &mut client,
        SESSION_2025_11,
        &["polis://board/global", &uri],
        false,
    );
    let lock = project.run_ok("ana", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    project.run_ok("ana", &["board", "unlock", "global", "--token", token]);
    project.run_refused(
        "ana",
        &["task", "update", &task, "--status", "completed"],
        5,
        "invalid_transition",
    );
    project.create_task(&[]);
    project.run_ok("ana", &["task", "claim", &task]);
    assert_eq!(next_updated_uri(&mut client, None), uri);
    let others = client
        .pending_messages()
        .iter()
        .filter(|message| message["params"]["uri"] != *uri);
    assert_eq!(others.count(), 0, "{:?}", client.pending_messages());
}

#[test]
fn subscriptions_above_the_limit_are_refused() {
    let project = TestProject::embedded();
    register_team(&project);
    let mut client = TestMcpClient::connect(&project, "ana", SESSION_2025_11);
    for n in 1..=256 {
        let answer = client.request(
            "resources/subscribe",
            json!({"uri": format!("polis://task/{n}")}),
        );
        assert_eq!(answer["result"], json!({}));
    }
    let one_more = json!({"uri": "polis://task/257"});
    let error = client.request_error("resources/subscribe", one_more, -32602);
    assert_eq!(error["data"]["error"]["code"], "rate_limited");
    let mut client = TestMcpClient::connect(&project, "ana", ProtocolMode::Stateless);
    let uris: Vec<Value> = (1..=300)
        .map(|n| json!(format!("polis://task/{n}")))
        .collect();
    client.send_request(
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": uris}}),
    );
    let told = client.wait_for_notification("notifications/subscriptions/acknowledged");
    let accepted = told["params"]["notifications"]["resourceSubscriptions"]
        .as_array()
        .unwrap();
    assert_eq!(accepted.len(), 256);
}

#[test]
fn retired_agent_gets_no_notifications() {
    let project = TestProject::embedded();
    register_team(&project);
    let mut client = TestMcpClient::connect(&project, "loner", ProtocolMode::Stateless);
    let id = subscribe_to(
        &mut client,
        ProtocolMode::Stateless,
        &["polis://board/global"],
        false,
    )
    .unwrap();
    project.run_ok("user", &["agent", "retire", "loner"]);
    // The server ends the stream.
    let answer = client.wait_for_response(id);
    assert!(answer.get("result").is_some(), "{answer}");
    project.write_board("global", "not for loner\n");
    client.call_refused_tool(
        "whiteboard_read",
        json!({"board": "global"}),
        "permission_denied",
    );
    assert!(
        !client
            .pending_messages()
            .iter()
            .any(|message| message["method"] == RESOURCE_UPDATED)
    );
}
