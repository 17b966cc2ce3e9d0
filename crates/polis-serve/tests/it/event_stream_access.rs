//! Event stream access tests: a stream ends when its token is revoked or expires or its agent is retired, and
//! omits events that the reader may not see.

use std::time::Duration;

use polis_core::AgentId;
use polis_core::token::{TokenIssueParams, TokenScopes};
use polis_ops::op;
use polis_serve::events::SseSettings;
use polis_testkit::run_test;
use polis_testkit::store_factory::parse_agent_id;

use crate::test_event_server::{TestEventServer, TestEventServerOptions, wait_until};

/// Options with a heartbeat of 20 ms.
fn options_with_short_heartbeat() -> TestEventServerOptions {
    TestEventServerOptions {
        sse: SseSettings {
            heartbeat_interval: Duration::from_millis(20),
            ..SseSettings::default()
        },
        ..TestEventServerOptions::default()
    }
}

/// Registers an agent and issues a token for it. Returns the token's id.
async fn register_agent_with_token(
    server: &TestEventServer,
    name: &str,
    expires_in_ms: Option<i64>,
) -> String {
    let person = AgentId::user();
    let add = polis_core::agent::AgentAddParams {
        id: parse_agent_id(name),
        role: "backend-leader".to_owned(),
        name: None,
        layer: None,
        supervisor: None,
        workspace_path: None,
    };
    op::add_agent(&server.app.request(&person), &add)
        .await
        .unwrap();
    let issue = TokenIssueParams {
        agent: parse_agent_id(name),
        scopes: TokenScopes::all(),
        expires_in_ms,
    };
    let issued = op::issue_token(&server.app.request(&person), &issue).await;
    issued.unwrap().view.id
}

#[test]
fn revoked_token_ends_only_its_own_stream() {
    run_test(async {
        // Without heartbeats: the revocation is seen in the log itself.
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        let (ours, other) = (
            register_agent_with_token(&server, "alice", None).await,
            register_agent_with_token(&server, "bob", None).await,
        );
        let mut alice = server.follow_as(&format!("alice {ours}"), "", None).await;
        let mut bob = server.follow_as(&format!("bob {other}"), "", None).await;
        let before = server.log_events(1).await;
        assert_eq!(alice.next_sequences(1).await, [before]);
        let person = AgentId::user();
        op::revoke_token(&server.app.request(&person), &ours)
            .await
            .unwrap();
        let after = server.log_events(1).await;
        let closing = alice.next_event().await.unwrap();
        assert_eq!(closing.event.as_deref(), Some("closing"));
        assert_eq!(
            closing.json(),
            serde_json::json!({"reason": "access", "place": before})
        );
        assert_eq!(alice.next_event().await, None);
        let seen = bob.next_sequences(2).await;
        assert_eq!((seen[0], *seen.last().unwrap()), (before, after));
        wait_until(|| server.hub.readers() == 1).await;
    });
}

#[test]
fn token_expiry_is_noticed_at_heartbeat() {
    run_test(async {
        let server = TestEventServer::start(options_with_short_heartbeat()).await;
        let id = register_agent_with_token(&server, "alice", Some(60_000)).await;
        let mut alice = server.follow_as(&format!("alice {id}"), "", None).await;
        for _ in 0..3 {
            assert_eq!(alice.next_block().await.unwrap().event, None);
        }
        server.clock.advance_millis(60_000);
        let closing = alice.next_event().await.unwrap();
        assert_eq!(closing.json()["reason"], "access");
        assert_eq!(alice.next_event().await, None);
    });
}

#[test]
fn agent_retirement_ends_its_stream() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        let id = register_agent_with_token(&server, "alice", None).await;
        let mut alice = server.follow_as(&format!("alice {id}"), "", None).await;
        let person = AgentId::user();
        op::retire_agent(&server.app.request(&person), &parse_agent_id("alice"))
            .await
            .unwrap();
        assert_eq!(alice.next_event().await.unwrap().json()["reason"], "access");
        assert_eq!(alice.next_event().await, None);
    });
}

#[test]
fn workspace_events_of_other_agents_are_not_streamed() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        let alice = register_agent_with_token(&server, "alice", None).await;
        let bob = register_agent_with_token(&server, "bob", None).await;
        let mut alice = server.follow_as(&format!("alice {alice}"), "", None).await;
        let mut bob = server.follow_as(&format!("bob {bob}"), "", None).await;
        let person = server.app.person_request().resolve_caller().await.unwrap();
        let refused = polis_core::event::CommandRefusedEvent {
            command: "secret".to_owned(),
            code: "command_blocked".to_owned(),
            reason: "test".to_owned(),
        };
        let subject = polis_core::EventSubject::Workspace(parse_agent_id("alice"));
        let payload = polis_core::EventPayload::CommandRefused(refused);
        let ran = polis_core::NewEvent::new(subject, payload);
        let changes = polis_core::Changeset::new(&person, server.app.now()).with_event(ran);
        server.app.store.commit(changes).await.unwrap();
        let after = server.log_events(1).await;
        assert_eq!(alice.next_sequences(2).await, [after - 1, after]);
        assert_eq!(
            bob.next_sequences(1).await,
            [after],
            "bob has another workspace"
        );
    });
}

#[test]
fn token_expiry_ends_stream_without_heartbeat() {
    run_test(async {
        // Without heartbeats: the stream knows when its token expires.
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        let brief = register_agent_with_token(&server, "alice", Some(1)).await;
        let mut alice = server.follow_as(&format!("alice {brief}"), "", None).await;
        let closing = alice.next_event().await.unwrap();
        assert_eq!(closing.event.as_deref(), Some("closing"));
        assert_eq!(closing.json()["reason"], "access");
        assert_eq!(alice.next_event().await, None);
    });
}
