//! MCP replay tests: request streams over HTTP with priming events, resumption by `Last-Event-ID` after a
//! lost connection, and the limits of stored responses.

use std::time::Duration;

use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::message::SendMessageParams;
use polis_ops::op;
use polis_testkit::run_test;
use serde_json::{Value, json};

use crate::test_mcp_server::{McpResponse, TestMcpServer, json_rpc_request, wait_until};

fn tool_call(id: i64, tool: &str, arguments: Value) -> Option<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    Some(json_rpc_request(id, "tools/call", params))
}

/// A call that waits for a message to its caller.
fn message_wait_call(id: i64) -> Option<Value> {
    tool_call(id, "check_messages", json!({"waitMs": 30_000}))
}

async fn send_message(server: &TestMcpServer, to: &str, text: &str) {
    let message = json!({"to": to, "payload": text}).to_string();
    let message: SendMessageParams = serde_json::from_str(&message).unwrap();
    op::send_message(&server.app.request(&AgentId::user()), &message)
        .await
        .unwrap();
}

/// Requests the events after an event id.
async fn resume_stream(
    server: &TestMcpServer,
    who: &str,
    session: &str,
    last: &str,
) -> McpResponse {
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
        ("last-event-id", last),
    ];
    server.send(Method::GET, Some(who), &headers, None).await
}

/// Starts a call, reads the event that names its stream, and drops the connection. Returns the id of that
/// event.
async fn call_and_disconnect(
    server: &TestMcpServer,
    who: &str,
    session: &str,
    body: Option<Value>,
) -> String {
    let mut reply = server
        .send_in_session(who, session, Method::POST, body)
        .await;
    let first = reply.next_event().await.unwrap();
    assert_eq!(first.message, None, "{first:?}");
    reply.disconnect();
    first.id.unwrap()
}

async fn wait_until_idle(server: &TestMcpServer) {
    wait_until("the end of the call", || !server.service.is_busy()).await;
}

#[test]
fn stream_starts_with_priming_event_since_2025_11_25() {
    run_test(async {
        let server = TestMcpServer::start().await;
        for (revision, primed) in [("2025-06-18", false), ("2025-11-25", true)] {
            let session = server.start_session_at("ann", revision).await;
            let headers = [
                ("mcp-session-id", session.as_str()),
                ("mcp-protocol-version", revision),
            ];
            let list = tool_call(2, "TaskList", json!({}));
            let mut reply = server.send(Method::POST, Some("ann"), &headers, list).await;
            let first = reply.next_event().await.unwrap();
            // A client of an older revision parses every event as JSON.
            assert_eq!(first.message.is_none(), primed, "{revision}: {first:?}");
            assert!(first.id.is_some(), "{revision}: {first:?}");
            assert_eq!(first.retry.is_some(), primed, "{revision}: {first:?}");
            if primed {
                assert_eq!(reply.response_to(2).await["id"], 2);
            }
            assert_eq!(
                reply.next_event().await,
                None,
                "the stream ends with the response"
            );
        }
    });
}

#[test]
fn response_completed_while_disconnected_is_replayed() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let last = call_and_disconnect(&server, "ann", &session, message_wait_call(7)).await;
        send_message(&server, "ann", "while you were away").await;
        wait_until_idle(&server).await;
        // The call is answered by now, because a later request of the session is.
        let ping = Some(json_rpc_request(8, "ping", json!({})));
        let mut reply = server
            .send_in_session("ann", &session, Method::POST, ping)
            .await;
        reply.response_to(8).await;
        let mut resumed = resume_stream(&server, "ann", &session, &last).await;
        assert_eq!(resumed.status, StatusCode::OK);
        let event = resumed.next_event().await.expect("the response is lost");
        let answer = event.message.unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("while you were away"), "{answer}");
        assert_eq!(
            resumed.next_event().await,
            None,
            "the stream ends with the response"
        );
        // Received events are not sent again; events lost on the way are.
        let mut again = resume_stream(&server, "ann", &session, &event.id.unwrap()).await;
        assert_eq!(again.next_event().await, None);
        let mut again = resume_stream(&server, "ann", &session, &last).await;
        assert_eq!(again.response_to(7).await, answer);
    });
}

#[test]
fn response_completed_after_resume_is_delivered() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let last = call_and_disconnect(&server, "ann", &session, message_wait_call(7)).await;
        let mut first = resume_stream(&server, "ann", &session, &last).await;
        // The newest stream gets the response; the previous one ends.
        let mut second = resume_stream(&server, "ann", &session, &last).await;
        assert_eq!(first.next_event().await, None);
        send_message(&server, "ann", "now").await;
        let answer = second.response_to(7).await;
        assert!(answer.to_string().contains("now"), "{answer}");
    });
}

#[test]
fn client_of_older_revision_resumes_after_its_last_event() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session_at("ann", "2025-06-18").await;
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let mut stay = json_rpc_request(
            7,
            "tools/call",
            json!({"name": "run_command", "arguments": {"command": "stay"}}),
        );
        stay["params"]["_meta"]["progressToken"] = json!("p");
        let mut reply = server
            .send(Method::POST, Some("ann"), &headers, Some(stay))
            .await;
        let progress = reply.next_event().await.unwrap();
        let message = progress.message.unwrap();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        reply.disconnect();
        let last = progress.id.unwrap();
        let mut resumed = resume_stream(&server, "ann", &session, &last).await;
        server
            .send_in_session("ann", &session, Method::DELETE, None)
            .await;
        // The progress notification is not repeated, and the stream ends with its session.
        assert_eq!(resumed.next_event().await, None);
    });
}

#[test]
fn streams_are_resumed_by_their_own_session_only() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let last = call_and_disconnect(&server, "ann", &session, message_wait_call(7)).await;
        send_message(&server, "ann", "a secret").await;
        wait_until_idle(&server).await;
        let other = server.start_session("ann").await;
        let bobs = server.start_session("bob").await;
        for (who, session) in [("ann", &other), ("bob", &bobs)] {
            let mut resumed = resume_stream(&server, who, session, &last).await;
            assert_eq!(resumed.status, StatusCode::OK);
            assert_eq!(resumed.next_event().await, None, "{who}");
        }
        let stolen = resume_stream(&server, "bob", &session, &last).await;
        assert_eq!(stolen.status, StatusCode::NOT_FOUND);
        let mut resumed = resume_stream(&server, "ann", &session, &last).await;
        resumed.response_to(7).await;
    });
}

#[test]
fn invalid_last_event_id_returns_empty_stream() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        call_and_disconnect(
            &server,
            "ann",
            &session,
            tool_call(7, "TaskList", json!({})),
        )
        .await;
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
            let mut resumed = resume_stream(&server, "ann", &session, last).await;
            assert_eq!(resumed.status, StatusCode::OK, "{last}");
            assert_eq!(resumed.next_event().await, None, "{last}");
        }
    });
}

#[test]
fn stored_responses_are_limited_in_number_and_size() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let mut lasts: Vec<String> = Vec::new();
        for id in 10..60 {
            // One after another, because the newest response is the one completed last.
            if let Some(last) = lasts.last() {
                assert!(is_replayable(&server, &session, last).await);
            }
            lasts.push(
                call_and_disconnect(
                    &server,
                    "ann",
                    &session,
                    tool_call(id, "TaskList", json!({})),
                )
                .await,
            );
        }
        wait_until_idle(&server).await;
        let mut kept = 0;
        for last in &lasts {
            kept += usize::from(is_replayable(&server, &session, last).await);
        }
        assert!((16..=32).contains(&kept), "{kept}");
        assert!(is_replayable(&server, &session, lasts.last().unwrap()).await);
        // Fewer large responses are kept, but always the newest.
        let text = "0123456789abcdef\n".repeat(1_200);
        let write = json!({"board": "global", "content": text});
        let mut reply = server
            .send_in_session(
                "ann",
                &session,
                Method::POST,
                tool_call(2, "whiteboard_write", write),
            )
            .await;
        reply.response_to(2).await;
        let mut lasts: Vec<String> = Vec::new();
        for id in 100..120 {
            if let Some(last) = lasts.last() {
                assert!(is_replayable(&server, &session, last).await);
            }
            let read = tool_call(id, "whiteboard_read", json!({"board": "global"}));
            lasts.push(call_and_disconnect(&server, "ann", &session, read).await);
        }
        wait_until_idle(&server).await;
        let mut kept = 0;
        for last in &lasts {
            kept += usize::from(is_replayable(&server, &session, last).await);
        }
        assert!((1..=10).contains(&kept), "{kept}");
        assert!(is_replayable(&server, &session, lasts.last().unwrap()).await);
    });
}

/// Returns whether the events after an event id are still kept.
async fn is_replayable(server: &TestMcpServer, session: &str, last: &str) -> bool {
    let mut resumed = resume_stream(server, "ann", session, last).await;
    resumed.next_event().await.is_some()
}

#[test]
fn stored_responses_are_dropped_after_replay_time() {
    run_test(async {
        let server =
            TestMcpServer::start_with(|options| options.replay_ttl = Duration::from_millis(50))
                .await;
        let session = server.start_session("ann").await;
        let last = call_and_disconnect(
            &server,
            "ann",
            &session,
            tool_call(7, "TaskList", json!({})),
        )
        .await;
        wait_until_idle(&server).await;
        let forgotten = async {
            while is_replayable(&server, &session, &last).await {
                tokio::task::yield_now().await;
            }
        };
        let forgotten = tokio::time::timeout(Duration::from_secs(30), forgotten).await;
        forgotten.expect("the response is never dropped");
    });
}
