//! Event streams whose reader loses its access, or sees only a part of the log.

use std::time::Duration;

use polis_core::AgentId;
use polis_core::token::{Scopes, TokenIssue};
use polis_ops::op;
use polis_serve::events::SseSettings;
use polis_testkit::run;
use polis_testkit::test_store::agent;

use crate::events_ground::{Options, Server, until};

fn quick() -> Options {
    Options {
        sse: SseSettings {
            heartbeat: Duration::from_millis(20),
            ..SseSettings::default()
        },
        ..Options::default()
    }
}

/// Registers an agent and issues a token for it. Returns the token's id.
async fn token(server: &Server, name: &str, expires_in_ms: Option<i64>) -> String {
    let person = AgentId::user();
    let add = polis_core::agent::AgentAdd {
        id: agent(name),
        role: "backend-leader".to_owned(),
        name: None,
        layer: None,
        supervisor: None,
        workspace_path: None,
    };
    op::add_agent(&server.polis, &person, &add).await.unwrap();
    let issue = TokenIssue {
        agent: agent(name),
        scopes: Scopes::all(),
        expires_in_ms,
    };
    let issued = op::issue_token(&server.polis, &person, &issue).await;
    issued.unwrap().view.id
}

#[test]
fn a_revoked_token_ends_its_stream_and_no_other() {
    run(async {
        // Without heartbeats: the revocation is seen in the log itself.
        let server = Server::start(Options::default()).await;
        let (ours, other) = (
            token(&server, "alice", None).await,
            token(&server, "bob", None).await,
        );
        let mut alice = server.read_as(&format!("alice {ours}"), "", None).await;
        let mut bob = server.read_as(&format!("bob {other}"), "", None).await;
        let before = server.tell(1).await;
        assert_eq!(alice.places(1).await, [before]);
        let person = AgentId::user();
        op::revoke_token(&server.polis, &person, &ours)
            .await
            .unwrap();
        let after = server.tell(1).await;
        let closing = alice.event().await.unwrap();
        assert_eq!(closing.event.as_deref(), Some("closing"));
        assert_eq!(
            closing.json(),
            serde_json::json!({"reason": "access", "place": before})
        );
        assert_eq!(alice.event().await, None);
        let seen = bob.places(2).await;
        assert_eq!((seen[0], *seen.last().unwrap()), (before, after));
        until(|| server.hub.readers() == 1).await;
    });
}

#[test]
fn an_expired_token_ends_its_stream() {
    run(async {
        let server = Server::start(quick()).await;
        let id = token(&server, "alice", Some(60_000)).await;
        let mut alice = server.read_as(&format!("alice {id}"), "", None).await;
        for _ in 0..3 {
            assert_eq!(alice.block().await.unwrap().event, None);
        }
        server.clock.advance(60_000);
        let closing = alice.event().await.unwrap();
        assert_eq!(closing.json()["reason"], "access");
        assert_eq!(alice.event().await, None);
    });
}

#[test]
fn a_retired_agent_s_stream_ends() {
    run(async {
        let server = Server::start(Options::default()).await;
        let id = token(&server, "alice", None).await;
        let mut alice = server.read_as(&format!("alice {id}"), "", None).await;
        let person = AgentId::user();
        op::retire_agent(&server.polis, &person, &agent("alice"))
            .await
            .unwrap();
        assert_eq!(alice.event().await.unwrap().json()["reason"], "access");
        assert_eq!(alice.event().await, None);
    });
}

#[test]
fn what_others_do_in_their_workspaces_is_not_told() {
    run(async {
        let server = Server::start(Options::default()).await;
        let alice = token(&server, "alice", None).await;
        let bob = token(&server, "bob", None).await;
        let mut alice = server.read_as(&format!("alice {alice}"), "", None).await;
        let mut bob = server.read_as(&format!("bob {bob}"), "", None).await;
        let person = server.polis.caller(&AgentId::user()).await.unwrap();
        let data = serde_json::json!({ "command": "secret" });
        let subject = polis_core::Subject::Workspace(agent("alice"));
        let ran = polis_core::NewEvent::of("command.run", subject, &data);
        let changes = polis_core::Changeset::by(&person, server.polis.now()).event(ran);
        server.polis.store.commit(changes).await.unwrap();
        let after = server.tell(1).await;
        assert_eq!(alice.places(2).await, [after - 1, after]);
        assert_eq!(bob.places(1).await, [after], "bob works elsewhere");
    });
}

#[test]
fn a_token_that_ends_by_itself_ends_its_stream() {
    run(async {
        // Without heartbeats: the stream knows when its token expires.
        let server = Server::start(Options::default()).await;
        let brief = token(&server, "alice", Some(1)).await;
        let mut alice = server.read_as(&format!("alice {brief}"), "", None).await;
        let closing = alice.event().await.unwrap();
        assert_eq!(closing.event.as_deref(), Some("closing"));
        assert_eq!(closing.json()["reason"], "access");
        assert_eq!(alice.event().await, None);
    });
}
