//! Tests of subscriptions: subscribers are notified of changes made by any process.

use serde_json::{Value, json};

use super::client::{Client, Era, LATER, OLD};
use crate::board::{Board, on_both_stores};
use crate::boards_team::register;

const UPDATED: &str = "notifications/resources/updated";
const LIST: &str = "notifications/resources/list_changed";

/// Subscribes with the method of the client's protocol variant. Returns the id of the stream, if there is one.
fn subscribe(client: &mut Client, era: Era, uris: &[&str], list: bool) -> Option<i64> {
    if era == Era::Stateless {
        let mut wanted = json!({});
        if !uris.is_empty() {
            wanted["resourceSubscriptions"] = json!(uris);
        }
        if list {
            wanted["resourcesListChanged"] = json!(true);
        }
        let id = client.send("subscriptions/listen", json!({"notifications": wanted}));
        let told = client.notification("notifications/subscriptions/acknowledged");
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

fn updated(client: &mut Client, stream: Option<i64>) -> String {
    let told = client.notification(UPDATED);
    if let Some(id) = stream {
        let of = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*of, id, "{told}");
    }
    told["params"]["uri"].as_str().unwrap().to_owned()
}

fn changes_by_any_process_are_told_to_all(board: &Board) {
    register(board);
    let task = board.create(&[]);
    let task = format!("polis://task/{task}");
    for era in [OLD, LATER, Era::Stateless] {
        let mut one = Client::begin(board, "ana", era);
        let mut other = Client::begin(board, "ada", era);
        let uris = ["polis://board/global", task.as_str()];
        let first = subscribe(&mut one, era, &uris, false);
        let second = subscribe(&mut other, era, &uris, false);
        // Through one of the servers.
        one.call(
            "whiteboard_append",
            json!({"board": "global", "content": "by ana"}),
        );
        assert_eq!(updated(&mut one, first), uris[0]);
        assert_eq!(updated(&mut other, second), uris[0]);
        // Through the other server.
        other.call("TaskComment", json!({"taskId": "1", "body": "by ada"}));
        assert_eq!(updated(&mut one, first), task);
        assert_eq!(updated(&mut other, second), task);
        // Through the command line.
        board.ok(
            "ana",
            &["board", "append", "global", "--content", "by the line"],
        );
        assert_eq!(updated(&mut one, first), uris[0]);
        assert_eq!(updated(&mut other, second), uris[0]);
    }
}

fn the_list_is_told_to_have_changed(board: &Board) {
    register(board);
    for era in [LATER, Era::Stateless] {
        let mut client = Client::begin(board, "ana", era);
        subscribe(&mut client, era, &[], true);
        board.create(&[]);
        client.notification(LIST);
        let file = match era {
            Era::Stateless => "shared/new.md",
            Era::Session(_) => "shared/other.md",
        };
        board.ok(
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
        client.notification(LIST);
    }
}

fn what_may_not_be_read_is_not_told(board: &Board) {
    register(board);
    let mut client = Client::begin(board, "dev-1", Era::Stateless);
    let uris = [
        "polis://board/bottom/loner",
        "polis://board/bottom/dev-1",
        "polis://file/x",
        "test://x",
    ];
    let wanted = json!({"resourceSubscriptions": uris, "resourcesListChanged": true, "toolsListChanged": true});
    client.send("subscriptions/listen", json!({"notifications": wanted}));
    let told = client.notification("notifications/subscriptions/acknowledged");
    // Only what was accepted is delivered.
    let accepted = &told["params"]["notifications"];
    assert_eq!(
        *accepted,
        json!({"resourceSubscriptions": [uris[1]], "resourcesListChanged": true}),
    );
    board.ok(
        "loner",
        &["board", "write", "bottom/loner", "--content", "secret"],
    );
    board.ok(
        "dev-1",
        &["board", "write", "bottom/dev-1", "--content", "mine"],
    );
    assert_eq!(updated(&mut client, None), uris[1]);
    assert!(
        !client
            .kept()
            .iter()
            .any(|message| message["method"] == LIST)
    );
}

on_both_stores!(
    changes_by_any_process_are_told_to_all,
    the_list_is_told_to_have_changed,
    what_may_not_be_read_is_not_told,
);

#[test]
fn who_unsubscribed_hears_no_more() {
    let board = Board::embedded();
    register(&board);
    let mut client = Client::begin(&board, "ana", LATER);
    subscribe(
        &mut client,
        LATER,
        &["polis://board/global", "polis://board/top"],
        false,
    );
    let gone = json!({"uri": "polis://board/global"});
    client.request("resources/unsubscribe", gone);
    board.put("global", "not told\n");
    board.put("top", "told\n");
    assert_eq!(updated(&mut client, None), "polis://board/top");
    assert!(
        !client
            .kept()
            .iter()
            .any(|message| message["method"] == UPDATED)
    );
}

#[test]
fn a_cancelled_stream_tells_no_more() {
    let board = Board::embedded();
    register(&board);
    let mut client = Client::begin(&board, "ana", Era::Stateless);
    let first = subscribe(
        &mut client,
        Era::Stateless,
        &["polis://board/global"],
        false,
    );
    let second = subscribe(&mut client, Era::Stateless, &["polis://board/top"], false);
    board.put("global", "one\n");
    assert_eq!(updated(&mut client, first), "polis://board/global");
    client.notify("notifications/cancelled", json!({"requestId": first}));
    client.call("TaskList", json!({}));
    board.put("global", "two\n");
    board.put("top", "one\n");
    assert_eq!(updated(&mut client, second), "polis://board/top");
    assert!(
        !client
            .kept()
            .iter()
            .any(|message| message["method"] == UPDATED)
    );
}

#[test]
fn what_does_not_change_a_resource_is_not_told() {
    let board = Board::embedded();
    register(&board);
    let task = board.create(&[]);
    let mut client = Client::begin(&board, "ana", LATER);
    let uri = format!("polis://task/{task}");
    subscribe(&mut client, LATER, &["polis://board/global", &uri], false);
    let lock = board.ok("ana", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    board.ok("ana", &["board", "unlock", "global", "--token", token]);
    board.refused(
        "ana",
        &["task", "update", &task, "--status", "completed"],
        5,
        "invalid_transition",
    );
    board.create(&[]);
    board.ok("ana", &["task", "claim", &task]);
    assert_eq!(updated(&mut client, None), uri);
    let others = client
        .kept()
        .iter()
        .filter(|message| message["params"]["uri"] != *uri);
    assert_eq!(others.count(), 0, "{:?}", client.kept());
}

#[test]
fn there_is_a_bound_to_subscriptions() {
    let board = Board::embedded();
    register(&board);
    let mut client = Client::begin(&board, "ana", LATER);
    for n in 1..=256 {
        let answer = client.request(
            "resources/subscribe",
            json!({"uri": format!("polis://task/{n}")}),
        );
        assert_eq!(answer["result"], json!({}));
    }
    let one_more = json!({"uri": "polis://task/257"});
    let error = client.wrong("resources/subscribe", one_more, -32602);
    assert_eq!(error["data"]["error"]["code"], "rate_limited");
    let mut client = Client::begin(&board, "ana", Era::Stateless);
    let uris: Vec<Value> = (1..=300)
        .map(|n| json!(format!("polis://task/{n}")))
        .collect();
    client.send(
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": uris}}),
    );
    let told = client.notification("notifications/subscriptions/acknowledged");
    let accepted = told["params"]["notifications"]["resourceSubscriptions"]
        .as_array()
        .unwrap();
    assert_eq!(accepted.len(), 256);
}

#[test]
fn a_retired_agent_hears_nothing() {
    let board = Board::embedded();
    register(&board);
    let mut client = Client::begin(&board, "loner", Era::Stateless);
    let id = subscribe(
        &mut client,
        Era::Stateless,
        &["polis://board/global"],
        false,
    )
    .unwrap();
    board.ok("user", &["agent", "retire", "loner"]);
    // The server ends the stream.
    let answer = client.answer(id);
    assert!(answer.get("result").is_some(), "{answer}");
    board.put("global", "not for loner\n");
    client.refused(
        "whiteboard_read",
        json!({"board": "global"}),
        "permission_denied",
    );
    assert!(
        !client
            .kept()
            .iter()
            .any(|message| message["method"] == UPDATED)
    );
}
