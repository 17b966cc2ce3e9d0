//! MCP tests over HTTP without sessions (stateless revision 2026-07-28): caller identity, scopes, tool
//! selection, subscriptions and cancellation.

use std::sync::atomic::Ordering;

use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_core::token::{TokenIssueParams, TokenScopes};
use polis_ops::op::{self, BoardWriteParams};
use polis_testkit::run_test;
use serde_json::{Value, json};

use crate::test_mcp_server::{
    TestMcpServer, json_rpc_request, wait_until, with_stateless_metadata,
};

async fn call_tool(server: &TestMcpServer, who: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let mut reply = server.send_stateless(who, "tools/call", params).await;
    assert_eq!(reply.status, StatusCode::OK);
    reply.response_to(1).await["result"].clone()
}

async fn overwrite_board(server: &TestMcpServer, board: &str, text: &str) {
    let board: BoardName = board.parse().unwrap();
    let overwrite =
        serde_json::from_value::<BoardWriteParams>(json!({"board": board, "content": text}));
    op::write_board(&server.app.request(&AgentId::user()), &overwrite.unwrap())
        .await
        .unwrap();
}

/// Asserts that a tool result is a refusal with this code, contained in its text only.
fn assert_refusal(result: &Value, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{code}: ")), "{text}");
}

#[test]
fn request_may_choose_its_language() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let create = json!({"subject": "s"});
        call_tool(&server, "bob", "TaskCreate", create).await;
        call_tool(&server, "bob", "TaskClaim", json!({"taskId": "1"})).await;
        let params = json!({"name": "TaskClaim", "arguments": {"taskId": "1"}});
        for (accepted, expected) in [
            ("zh-CN,zh;q=0.9", "already_claimed: 任务"),
            ("*", "already_claimed: Task"),
            ("de", "already_claimed: Task"),
        ] {
            let headers = [
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "TaskClaim"),
                ("accept-language", accepted),
            ];
            let body = with_stateless_metadata(params.clone());
            let body = json_rpc_request(1, "tools/call", body);
            let sent = server.send(Method::POST, Some("ann"), &headers, Some(body));
            let result = sent.await.response_to(1).await["result"].clone();
            assert_refusal(&result, "already_claimed");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(expected), "{accepted}: {text}");
        }
    });
}

#[test]
fn caller_is_taken_only_from_token() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let created = call_tool(
            &server,
            "bob",
            "TaskCreate",
            json!({"subject": "s", "description": ""}),
        )
        .await;
        assert_eq!(created["structuredContent"]["id"], "1", "{created}");
        call_tool(&server, "bob", "TaskClaim", json!({"taskId": "1"})).await;
        let task = op::get_task(&server.app.person_request(), "1".parse().unwrap())
            .await
            .unwrap();
        assert_eq!(task.task.owner, "bob");
        // Forged in the arguments, in the parameters, in the metadata and in headers.
        let forged = json!({"board": "global", "content": "x", "agent": "ann"});
        let refused = call_tool(&server, "bob", "whiteboard_write", forged).await;
        assert_refusal(&refused, "permission_denied");
        let params = json!({
            "name": "whiteboard_write", "agent": "ann",
            "arguments": {"board": "global", "content": "x"}, "_meta": {"agent": "ann"},
        });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "whiteboard_write"),
            ("x-agent", "ann"),
            ("polis-agent", "ann"),
        ];
        let body = json_rpc_request(1, "tools/call", with_stateless_metadata(params));
        let mut reply = server
            .send(Method::POST, Some("bob"), &headers, Some(body))
            .await;
        let answer = reply.response_to(1).await;
        assert_refusal(&answer["result"], "permission_denied");
    });
}

/// Known limitation: requests of this revision carry no session, so a claim is bound to the agent of the
/// token. Two programs that claim for themselves need two tokens.
#[test]
fn claims_without_sessions_are_bound_to_the_agent_of_the_token() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let create = json!({"subject": "s", "description": ""});
        call_tool(&server, "bob", "TaskCreate", create).await;
        let claim = json!({"taskId": "1"});
        for _ in 0..2 {
            let claimed = call_tool(&server, "bob", "TaskClaim", claim.clone()).await;
            assert_eq!(claimed["structuredContent"]["owner"], "bob", "{claimed}");
        }
        let refused = call_tool(&server, "ann", "TaskClaim", claim).await;
        assert_refusal(&refused, "already_claimed");
    });
}

#[test]
fn request_without_identity_is_unauthorized() {
    run_test(async {
        let server = TestMcpServer::start().await;
        for method in [Method::POST, Method::GET, Method::DELETE, Method::PUT] {
            let body = Some(json_rpc_request(
                1,
                "tools/list",
                with_stateless_metadata(json!({})),
            ));
            let reply = server
                .send(method, None, &[("mcp-method", "tools/list")], body)
                .await;
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
            assert!(reply.read_text().await.contains("unauthorized"));
        }
        assert_eq!(server.service.session_count(), 0);
    });
}

#[test]
fn token_is_limited_to_its_scope() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let mut reply = server
            .send_stateless("ann:tasks:read", "tools/list", json!({}))
            .await;
        let listed = reply.response_to(1).await;
        let names: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(
            names.contains(&"TaskList") && !names.contains(&"TaskCreate"),
            "{names:?}"
        );
        let refused = call_tool(
            &server,
            "ann:tasks:read",
            "TaskCreate",
            json!({"subject": "x", "description": ""}),
        )
        .await;
        assert_refusal(&refused, "insufficient_scope");
        call_tool(&server, "ann:tasks:read", "TaskList", json!({})).await;
        for (uri, good) in [("polis://tasks", true), ("polis://board/global", false)] {
            let mut reply = server
                .send_stateless("ann:tasks:read", "resources/read", json!({"uri": uri}))
                .await;
            let answer = reply.response_to(1).await;
            assert_eq!(answer.get("result").is_some(), good, "{answer}");
        }
        let mut reply = server
            .send_stateless("ann:tasks:read", "resources/list", json!({}))
            .await;
        let listed = reply.response_to(1).await;
        assert!(!listed.to_string().contains("polis://board"), "{listed}");
        let mut reply = server
            .send_stateless(
                "ann:tasks:read",
                "subscriptions/listen",
                json!({"notifications": {
                "resourceSubscriptions": ["polis://board/global", "polis://tasks"]}}),
            )
            .await;
        let told = reply
            .next_notification("notifications/subscriptions/acknowledged")
            .await;
        let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*accepted, json!(["polis://tasks"]));
    });
}

#[test]
fn query_parameter_selects_tools() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        let body = json_rpc_request(1, "tools/list", with_stateless_metadata(json!({})));
        let path = "/mcp?tools=blackboard%2Cmessages";
        let mut reply = server
            .send_to(
                path,
                Method::POST,
                Some("ann"),
                &headers,
                Some(body.clone()),
            )
            .await;
        let listed = reply.response_to(1).await;
        let names = listed["result"]["tools"].to_string();
        assert!(
            names.contains("blackboard_read") && !names.contains("TaskList"),
            "{names}"
        );
        let reply = server
            .send_to(
                "/mcp?tools=none",
                Method::POST,
                Some("ann"),
                &headers,
                Some(body),
            )
            .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert!(
            reply
                .read_text()
                .await
                .contains("There is no group of tools")
        );
    });
}

#[test]
fn subscription_streams_changes_from_acknowledgement_on() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let wanted = json!({"resourceSubscriptions": ["polis://board/global"], "resourcesListChanged": true});
        let mut stream = server
            .send_stateless(
                "bob",
                "subscriptions/listen",
                json!({"notifications": wanted}),
            )
            .await;
        let told = stream
            .next_notification("notifications/subscriptions/acknowledged")
            .await;
        assert_eq!(told["params"]["notifications"], wanted);
        // No change between the acknowledgement and the start of the subscription is lost.
        overwrite_board(&server, "global", "one\n").await;
        let told = stream
            .next_notification("notifications/resources/updated")
            .await;
        assert_eq!(told["params"]["uri"], "polis://board/global");
        assert_eq!(
            told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            1
        );
        call_tool(
            &server,
            "ann",
            "TaskCreate",
            json!({"subject": "s", "description": ""}),
        )
        .await;
        stream
            .next_notification("notifications/resources/list_changed")
            .await;
        // It ends with the server.
        server.stop.cancel();
        while stream.next_message().await.is_some() {}
    });
}

#[test]
fn revoked_token_ends_its_streams() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let issue = TokenIssueParams {
            agent: "bob".parse().unwrap(),
            scopes: TokenScopes::all(),
            expires_in_ms: None,
        };
        let issued = op::issue_token(&server.app.request(&AgentId::user()), &issue)
            .await
            .unwrap();
        let id = issued.view.id;
        let wanted = json!({"resourceSubscriptions": ["polis://board/global"]});
        let ask = json!({"notifications": wanted});
        let mut stream = server
            .send_stateless(&format!("bob#{id}"), "subscriptions/listen", ask.clone())
            .await;
        stream
            .next_notification("notifications/subscriptions/acknowledged")
            .await;
        let mut other = server
            .send_stateless("bob#other", "subscriptions/listen", ask)
            .await;
        other
            .next_notification("notifications/subscriptions/acknowledged")
            .await;
        op::revoke_token(&server.app.request(&AgentId::user()), &id)
            .await
            .unwrap();
        let answer = stream.response_to(1).await;
        assert!(answer.get("result").is_some(), "{answer}");
        // Streams of another token continue until its agent is retired.
        overwrite_board(&server, "global", "one\n").await;
        other
            .next_notification("notifications/resources/updated")
            .await;
        op::retire_agent(
            &server.app.request(&AgentId::user()),
            &"bob".parse().unwrap(),
        )
        .await
        .unwrap();
        other.response_to(1).await;
    });
}

#[test]
fn client_disconnect_cancels_its_command() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let params = json!({"name": "run_command", "arguments": {"command": "stay"}, "_meta": {"progressToken": 5}});
        // Once before the first response, once in the middle of the stream.
        let mut reply = server.send_stateless("ann", "tools/call", params).await;
        let told = reply.next_notification("notifications/progress").await;
        assert_eq!(told["params"]["message"], "begun", "{told}");
        assert_eq!(server.commands.running.load(Ordering::SeqCst), 1);
        call_tool(&server, "ann", "TaskList", json!({})).await;
        reply.disconnect();
        wait_until("the command's end", || {
            server.commands.ended.load(Ordering::SeqCst) == 1
        })
        .await;
        let params = json!({"name": "run_command", "arguments": {"command": "stay"}});
        let asking = server.send_stateless("ann", "tools/call", params);
        let begun = wait_until("the command's start", || {
            server.commands.running.load(Ordering::SeqCst) == 1
        });
        tokio::select! {
            _ = asking => panic!("a response arrived"),
            () = begun => {}
        }
        wait_until("the command's end", || {
            server.commands.ended.load(Ordering::SeqCst) == 2
        })
        .await;
        assert_eq!(server.service.session_count(), 0);
    });
}

#[test]
fn streams_per_caller_are_limited() {
    run_test(async {
        let server = TestMcpServer::start().await;
        let wanted = json!({"notifications": {"resourceSubscriptions": ["polis://tasks"]}});
        let mut open = Vec::new();
        for _ in 0..32 {
            let mut stream = server
                .send_stateless("bob", "subscriptions/listen", wanted.clone())
                .await;
            stream
                .next_notification("notifications/subscriptions/acknowledged")
                .await;
            open.push(stream);
        }
        // The acknowledgement is sent before the stream starts, so the last one may not be counted yet.
        let mut refused = false;
        for _ in 0..3 {
            let mut stream = server
                .send_stateless("bob", "subscriptions/listen", wanted.clone())
                .await;
            stream
                .next_notification("notifications/subscriptions/acknowledged")
                .await;
            let next =
                tokio::time::timeout(std::time::Duration::from_secs(5), stream.next_message())
                    .await;
            if let Ok(Some(answer)) = next {
                assert_eq!(
                    answer["error"]["data"]["error"]["code"], "rate_limited",
                    "{answer}"
                );
                refused = true;
                break;
            }
            open.push(stream);
        }
        assert!(refused);
        // Other callers are not affected.
        let mut other = server
            .send_stateless("ann", "subscriptions/listen", wanted)
            .await;
        other
            .next_notification("notifications/subscriptions/acknowledged")
            .await;
        overwrite_board(&server, "global", "x").await;
    });
}
