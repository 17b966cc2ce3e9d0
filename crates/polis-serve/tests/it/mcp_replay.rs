//! Replay of MCP request streams over HTTP: priming events, and resumption after a lost connection.

use std::time::Duration;

use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::message::SendMessage;
use polis_ops::op;
use polis_testkit::run;
use serde_json::{Value, json};

use crate::mcp_house::{House, Reply, eventually, request};

fn call(id: i64, tool: &str, arguments: Value) -> Option<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    Some(request(id, "tools/call", params))
}

/// A call that waits for a message to its caller.
fn wait_for_message(id: i64) -> Option<Value> {
    call(id, "check_messages", json!({"waitMs": 30_000}))
}

async fn send_message(house: &House, to: &str, text: &str) {
    let message = json!({"to": to, "payload": text}).to_string();
    let message: SendMessage = serde_json::from_str(&message).unwrap();
    op::send_message(&house.polis, &AgentId::user(), &message)
        .await
        .unwrap();
}

/// Requests the events after an event id.
async fn resume(house: &House, who: &str, session: &str, last: &str) -> Reply {
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
        ("last-event-id", last),
    ];
    house.send(Method::GET, Some(who), &headers, None).await
}

/// Starts a call, reads the event that names its stream, and drops the connection. Returns the id of that
/// event.
async fn call_and_hang_up(house: &House, who: &str, session: &str, body: Option<Value>) -> String {
    let mut reply = house.in_session(who, session, Method::POST, body).await;
    let first = reply.event().await.unwrap();
    assert_eq!(first.message, None, "{first:?}");
    reply.hang_up();
    first.id.unwrap()
}

async fn until_idle(house: &House) {
    eventually("the end of the call", || !house.service.is_busy()).await;
}

#[test]
fn stream_begins_with_a_named_event_from_2025_11_25_on() {
    run(async {
        let house = House::open().await;
        for (revision, primed) in [("2025-06-18", false), ("2025-11-25", true)] {
            let session = house.begin_at("ann", revision).await;
            let headers = [
                ("mcp-session-id", session.as_str()),
                ("mcp-protocol-version", revision),
            ];
            let list = call(2, "TaskList", json!({}));
            let mut reply = house.send(Method::POST, Some("ann"), &headers, list).await;
            let first = reply.event().await.unwrap();
            // A client of an older revision parses every event as JSON.
            assert_eq!(first.message.is_none(), primed, "{revision}: {first:?}");
            assert!(first.id.is_some(), "{revision}: {first:?}");
            assert_eq!(first.retry.is_some(), primed, "{revision}: {first:?}");
            if primed {
                assert_eq!(reply.answer(2).await["id"], 2);
            }
            assert_eq!(reply.event().await, None, "it ends with the answer");
        }
    });
}

#[test]
fn answer_that_became_ready_while_away_is_delivered_on_resume() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let last = call_and_hang_up(&house, "ann", &session, wait_for_message(7)).await;
        send_message(&house, "ann", "while you were away").await;
        until_idle(&house).await;
        // The call is answered by now, because a later request of the session is.
        let ping = Some(request(8, "ping", json!({})));
        let mut reply = house.in_session("ann", &session, Method::POST, ping).await;
        reply.answer(8).await;
        let mut resumed = resume(&house, "ann", &session, &last).await;
        assert_eq!(resumed.status, StatusCode::OK);
        let event = resumed.event().await.expect("the answer is lost");
        let answer = event.message.unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("while you were away"), "{answer}");
        assert_eq!(resumed.event().await, None, "it ends with the answer");
        // Received events are not sent again; events lost on the way are.
        let mut again = resume(&house, "ann", &session, &event.id.unwrap()).await;
        assert_eq!(again.event().await, None);
        let mut again = resume(&house, "ann", &session, &last).await;
        assert_eq!(again.answer(7).await, answer);
    });
}

#[test]
fn answer_that_becomes_ready_after_resume_is_delivered() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let last = call_and_hang_up(&house, "ann", &session, wait_for_message(7)).await;
        let mut first = resume(&house, "ann", &session, &last).await;
        // The newest stream gets the response; the previous one ends.
        let mut second = resume(&house, "ann", &session, &last).await;
        assert_eq!(first.event().await, None);
        send_message(&house, "ann", "now").await;
        let answer = second.answer(7).await;
        assert!(answer.to_string().contains("now"), "{answer}");
    });
}

#[test]
fn client_of_an_older_revision_resumes_after_the_last_event_it_has() {
    run(async {
        let house = House::open().await;
        let session = house.begin_at("ann", "2025-06-18").await;
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let mut stay = request(
            7,
            "tools/call",
            json!({"name": "run_command", "arguments": {"command": "stay"}}),
        );
        stay["params"]["_meta"]["progressToken"] = json!("p");
        let mut reply = house
            .send(Method::POST, Some("ann"), &headers, Some(stay))
            .await;
        let progress = reply.event().await.unwrap();
        let message = progress.message.unwrap();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        reply.hang_up();
        let last = progress.id.unwrap();
        let mut resumed = resume(&house, "ann", &session, &last).await;
        house
            .in_session("ann", &session, Method::DELETE, None)
            .await;
        // The progress notification is not repeated, and the stream ends with its session.
        assert_eq!(resumed.event().await, None);
    });
}

#[test]
fn streams_are_resumed_by_their_own_session_only() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let last = call_and_hang_up(&house, "ann", &session, wait_for_message(7)).await;
        send_message(&house, "ann", "a secret").await;
        until_idle(&house).await;
        let other = house.begin("ann").await;
        let bobs = house.begin("bob").await;
        for (who, session) in [("ann", &other), ("bob", &bobs)] {
            let mut resumed = resume(&house, who, session, &last).await;
            assert_eq!(resumed.status, StatusCode::OK);
            assert_eq!(resumed.event().await, None, "{who}");
        }
        let stolen = resume(&house, "bob", &session, &last).await;
        assert_eq!(stolen.status, StatusCode::NOT_FOUND);
        let mut resumed = resume(&house, "ann", &session, &last).await;
        resumed.answer(7).await;
    });
}

#[test]
fn nonsense_as_last_event_is_answered_with_an_empty_stream() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        call_and_hang_up(&house, "ann", &session, call(7, "TaskList", json!({}))).await;
        for last in [
            "x",
            "r",
            "r/",
            "r1",
            "r9/0",
            "r0/99999999999999999999",
            "r-1/0",
            "/0",
            "0/0",
        ] {
            let mut resumed = resume(&house, "ann", &session, last).await;
            assert_eq!(resumed.status, StatusCode::OK, "{last}");
            assert_eq!(resumed.event().await, None, "{last}");
        }
    });
}

#[test]
fn kept_answers_are_bounded_in_number_and_size() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let mut lasts: Vec<String> = Vec::new();
        for id in 10..60 {
            // One after another, because the newest response is the one completed last.
            if let Some(last) = lasts.last() {
                assert!(is_kept(&house, &session, last).await);
            }
            lasts.push(
                call_and_hang_up(&house, "ann", &session, call(id, "TaskList", json!({}))).await,
            );
        }
        until_idle(&house).await;
        let mut kept = 0;
        for last in &lasts {
            kept += usize::from(is_kept(&house, &session, last).await);
        }
        assert!((16..=32).contains(&kept), "{kept}");
        assert!(is_kept(&house, &session, lasts.last().unwrap()).await);
        // Fewer large responses are kept, but always the newest.
        let text = "0123456789abcdef\n".repeat(1_200);
        let write = json!({"board": "global", "content": text});
        let mut reply = house
            .in_session(
                "ann",
                &session,
                Method::POST,
                call(2, "whiteboard_write", write),
            )
            .await;
        reply.answer(2).await;
        let mut lasts: Vec<String> = Vec::new();
        for id in 100..120 {
            if let Some(last) = lasts.last() {
                assert!(is_kept(&house, &session, last).await);
            }
            let read = call(id, "whiteboard_read", json!({"board": "global"}));
            lasts.push(call_and_hang_up(&house, "ann", &session, read).await);
        }
        until_idle(&house).await;
        let mut kept = 0;
        for last in &lasts {
            kept += usize::from(is_kept(&house, &session, last).await);
        }
        assert!((1..=10).contains(&kept), "{kept}");
        assert!(is_kept(&house, &session, lasts.last().unwrap()).await);
    });
}

/// Returns whether the events after an event id are still kept.
async fn is_kept(house: &House, session: &str, last: &str) -> bool {
    let mut resumed = resume(house, "ann", session, last).await;
    resumed.event().await.is_some()
}

#[test]
fn kept_answers_are_dropped_after_a_while() {
    run(async {
        let house = House::open_with(|options| options.replay = Duration::from_millis(50)).await;
        let session = house.begin("ann").await;
        let last = call_and_hang_up(&house, "ann", &session, call(7, "TaskList", json!({}))).await;
        until_idle(&house).await;
        let forgotten = async {
            while is_kept(&house, &session, &last).await {
                tokio::task::yield_now().await;
            }
        };
        let forgotten = tokio::time::timeout(Duration::from_secs(30), forgotten).await;
        forgotten.expect("it is kept for ever");
    });
}
