//! MCP session tests over HTTP: ownership, claims bound to a session, resource updates, cancellation, limits
//! and idle timeout.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use polis_testkit::run_test;
use serde_json::{Value, json};

use crate::test_mcp_server::{TestMcpServer, json_rpc_request, wait_until};

fn tool_call(id: i64, tool: &str, arguments: Value) -> Option<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    Some(json_rpc_request(id, "tools/call", params))
}

#[test]
fn session_serves_only_the_token_that_started_it() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let list = tool_call(2, "TaskList", json!({}));
        let mut reply = server
            .send_in_session("ann", &session, Method::POST, list.clone())
            .await;
        assert_eq!(
            reply.response_to(2).await["result"]["structuredContent"]["tasks"],
            json!([])
        );
        // Another agent, another token of the same agent, the same token with another scope.
        for other in ["bob", "ann#2", "ann:read"] {
            for method in [Method::POST, Method::GET, Method::DELETE] {
                let body = list.clone().filter(|_| method == Method::POST);
                let reply = server.send_in_session(other, &session, method, body).await;
                assert_eq!(reply.status, StatusCode::NOT_FOUND, "{other}");
            }
        }
        // It still exists for its owner.
        let mut reply = server
            .send_in_session("ann", &session, Method::POST, list.clone())
            .await;
        reply.response_to(2).await;
        let reply = server
            .send_in_session("ann", &session, Method::DELETE, None)
            .await;
        assert!(reply.status.is_success());
        let reply = server
            .send_in_session("ann", &session, Method::POST, list)
            .await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        wait_until("its end", || server.service.session_count() == 0).await;
    });
}

#[test]
fn update_that_claims_is_bound_to_its_session() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let (first, second) = (
            server.start_session("ann").await,
            server.start_session("ann").await,
        );
        let ask = async |session: &str, tool: &str, arguments: Value| {
            let mut reply = server
                .send_in_session("ann", session, Method::POST, tool_call(4, tool, arguments))
                .await;
            reply.response_to(4).await["result"].clone()
        };
        let is_refused = |result: &Value| {
            let text = result["content"][0]["text"].as_str().unwrap();
            result["isError"] == true && text.starts_with("held_by_other_session: ")
        };
        let create = json!({"subject": "s", "description": ""});
        let update = |id: &str, change: Value| {
            let mut arguments = change;
            arguments["taskId"] = json!(id);
            arguments
        };
        for (id, claims_with) in [
            ("1", json!({"owner": "ann", "status": "in_progress"})),
            ("2", json!({"owner": "ann"})),
        ] {
            ask(&first, "TaskCreate", create.clone()).await;
            let won = ask(&first, "TaskUpdate", update(id, claims_with)).await;
            assert_eq!(won["structuredContent"]["owner"], "ann", "{won}");
            for change in [
                json!({"owner": "ann", "status": "in_progress"}),
                json!({"owner": "ann"}),
                json!({"status": "in_progress"}),
            ] {
                let refused = ask(&second, "TaskUpdate", update(id, change.clone())).await;
                assert!(is_refused(&refused), "{change} {refused}");
                let again = ask(&first, "TaskUpdate", update(id, change.clone())).await;
                assert_ne!(again["isError"], true, "{change} {again}");
            }
            let refused = ask(&second, "TaskClaim", json!({"taskId": id})).await;
            assert!(is_refused(&refused), "{refused}");
            // Updates that do not claim remain possible.
            let noted = update(id, json!({"description": "d"}));
            let noted = ask(&second, "TaskUpdate", noted).await;
            assert_ne!(noted["isError"], true, "{noted}");
        }
        let done = update("1", json!({"status": "completed"}));
        let done = ask(&second, "TaskUpdate", done).await;
        assert_ne!(done["isError"], true, "{done}");
        // The task of a session that has ended can be taken over.
        server
            .send_in_session("ann", &first, Method::DELETE, None)
            .await;
        wait_until("its end", || server.service.session_count() == 1).await;
        let takes = update("2", json!({"owner": "ann", "status": "in_progress"}));
        let mut taken = ask(&second, "TaskUpdate", takes.clone()).await;
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_refused(&taken) {
            assert!(Instant::now() < deadline, "{taken}");
            tokio::time::sleep(Duration::from_millis(10)).await;
            taken = ask(&second, "TaskUpdate", takes.clone()).await;
        }
        assert_ne!(taken["isError"], true, "{taken}");
    });
}

/// Two programs with the same token are one agent, but a task has only one holder.
#[test]
fn claim_by_second_live_session_is_refused() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let (first, second) = (
            server.start_session("ann").await,
            server.start_session("ann").await,
        );
        let claim = tool_call(4, "TaskClaim", json!({"taskId": "1"}));
        let create = tool_call(3, "TaskCreate", json!({"subject": "s", "description": ""}));
        server
            .send_in_session("ann", &first, Method::POST, create)
            .await
            .response_to(3)
            .await;
        let claimed = async |session: &str| {
            let mut reply = server
                .send_in_session("ann", session, Method::POST, claim.clone())
                .await;
            reply.response_to(4).await["result"].clone()
        };
        let won = claimed(&first).await;
        assert_eq!(won["structuredContent"]["owner"], "ann", "{won}");
        // A retry in the same session is harmless.
        assert_ne!(claimed(&first).await["isError"], true);
        let refused = claimed(&second).await;
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("held_by_other_session: "), "{text}");
        assert!(
            text.contains("TaskClaim") && !text.contains("polis task"),
            "{text}"
        );
        // After the first session ends, another session of the same agent can take over its task.
        server
            .send_in_session("ann", &first, Method::DELETE, None)
            .await;
        let mut taken = claimed(&second).await;
        for _ in 0..200 {
            if taken["isError"] != true {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            taken = claimed(&second).await;
        }
        assert_eq!(taken["structuredContent"]["owner"], "ann", "{taken}");
        // From then on the second session holds it.
        let third = server.start_session("ann").await;
        assert_eq!(claimed(&third).await["isError"], true);
    });
}

#[test]
fn session_stream_delivers_resource_updates() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("bob").await;
        let mut stream = server
            .send_in_session("bob", &session, Method::GET, None)
            .await;
        assert_eq!(stream.status, StatusCode::OK);
        let subscribe = json_rpc_request(2, "resources/subscribe", json!({"uri": "polis://tasks"}));
        let mut reply = server
            .send_in_session("bob", &session, Method::POST, Some(subscribe))
            .await;
        assert_eq!(reply.response_to(2).await["result"], json!({}));
        let other = server.start_session("ann").await;
        let create = tool_call(3, "TaskCreate", json!({"subject": "s", "description": ""}));
        let mut reply = server
            .send_in_session("ann", &other, Method::POST, create)
            .await;
        reply.response_to(3).await;
        let told = stream
            .next_notification("notifications/resources/updated")
            .await;
        assert_eq!(told["params"]["uri"], "polis://tasks");
        // The stream ends with its session.
        server
            .send_in_session("bob", &session, Method::DELETE, None)
            .await;
        while stream.next_message().await.is_some() {}
    });
}

#[test]
fn command_ends_on_cancel_or_session_close() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let session = server.start_session("ann").await;
        let stay = tool_call(7, "run_command", json!({"command": "stay"}));
        let _reply = server
            .send_in_session("ann", &session, Method::POST, stay.clone())
            .await;
        wait_until("its start", || {
            server.commands.running.load(Ordering::SeqCst) == 1
        })
        .await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        let reply = server
            .send_in_session("ann", &session, Method::POST, Some(cancel))
            .await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        wait_until("its end", || {
            server.commands.ended.load(Ordering::SeqCst) == 1
        })
        .await;
        let _reply = server
            .send_in_session("ann", &session, Method::POST, stay)
            .await;
        wait_until("its start", || {
            server.commands.running.load(Ordering::SeqCst) == 1
        })
        .await;
        server
            .send_in_session("ann", &session, Method::DELETE, None)
            .await;
        wait_until("its end", || {
            server.commands.ended.load(Ordering::SeqCst) == 2
        })
        .await;
    });
}

#[test]
fn sessions_are_limited_and_oldest_idle_is_closed() {
    run_test(async {
        let server = TestMcpServer::start_with(|options| {
            options.max_sessions_per_token = 3;
            options.max_sessions = 5;
        })
        .await;
        let first = server.start_session("ann").await;
        let second = server.start_session("ann").await;
        let listens = server
            .send_in_session("ann", &second, Method::GET, None)
            .await;
        let bobs = server.start_session("bob").await;
        for _ in 0..20 {
            server.start_session("ann").await;
        }
        assert!(server.service.session_count() <= 5);
        let list = tool_call(2, "TaskList", json!({}));
        let gone = server
            .send_in_session("ann", &first, Method::POST, list.clone())
            .await;
        assert_eq!(
            gone.status,
            StatusCode::NOT_FOUND,
            "the oldest session was closed"
        );
        // Sessions in use stay, and so do those of other agents.
        for (who, session) in [("ann", &second), ("bob", &bobs)] {
            let mut reply = server
                .send_in_session(who, session, Method::POST, list.clone())
                .await;
            assert_eq!(reply.status, StatusCode::OK, "{who}");
            reply.response_to(2).await;
        }
        drop(listens);
        for n in 0..6 {
            server.start_session(&format!("bob#{n}")).await;
        }
        assert!(server.service.session_count() <= 5);
    });
}

#[test]
fn idle_session_ends_and_listening_session_stays() {
    run_test(async {
        let server =
            TestMcpServer::start_with(|options| options.idle_timeout = Duration::from_secs(3))
                .await;
        let idle = server.start_session("ann").await;
        let used = server.start_session("bob").await;
        let mut stream = server
            .send_in_session("bob", &used, Method::GET, None)
            .await;
        wait_until("its end", || server.service.session_count() == 1).await;
        let list = tool_call(2, "TaskList", json!({}));
        let gone = server
            .send_in_session("ann", &idle, Method::POST, list.clone())
            .await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
        let subscribe = json_rpc_request(3, "resources/subscribe", json!({"uri": "polis://tasks"}));
        server
            .send_in_session("bob", &used, Method::POST, Some(subscribe))
            .await
            .response_to(3)
            .await;
        let create = tool_call(4, "TaskCreate", json!({"subject": "s", "description": ""}));
        server
            .send_in_session("bob", &used, Method::POST, create)
            .await
            .response_to(4)
            .await;
        stream
            .next_notification("notifications/resources/updated")
            .await;
        stream.disconnect();
        wait_until("the other's end", || server.service.session_count() == 0).await;
    });
}

#[test]
fn invalid_request_is_refused_without_session() {
    run_test(async {
        let server = TestMcpServer::start().await;
        for body in [
            json!([]),
            json!(5),
            json!({}),
            json!({"jsonrpc": "2.0", "method": "x"}),
        ] {
            let reply = server
                .send(Method::POST, Some("ann"), &[], Some(body))
                .await;
            assert!(reply.status.is_client_error(), "{}", reply.status);
        }
        let reply = server.send(Method::GET, Some("ann"), &[], None).await;
        assert!(reply.status.is_client_error());
        let reply = server
            .send_in_session("ann", "no-such-session", Method::GET, None)
            .await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(server.service.session_count(), 0);
    });
}
