//! MCP over HTTP without sessions (the stateless revision).

use std::sync::atomic::Ordering;

use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_core::token::{Scopes, TokenIssue};
use polis_ops::op::{self, BoardOverwrite};
use polis_testkit::run;
use serde_json::{Value, json};

use crate::mcp_house::{House, eventually, request, stateless};

async fn call(house: &House, who: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let mut reply = house.ask(who, "tools/call", params).await;
    assert_eq!(reply.status, StatusCode::OK);
    reply.answer(1).await["result"].clone()
}

async fn write(house: &House, board: &str, text: &str) {
    let board: BoardName = board.parse().unwrap();
    let overwrite =
        serde_json::from_value::<BoardOverwrite>(json!({"board": board, "content": text}));
    op::write_board(&house.polis, &AgentId::user(), &overwrite.unwrap())
        .await
        .unwrap();
}

/// Asserts that a tool result is a refusal with this code, contained in its text only.
fn refused_with(result: &Value, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{code}: ")), "{text}");
}

#[test]
fn the_caller_is_who_the_token_says_and_nobody_else() {
    run(async {
        let house = House::open().await;
        let created = call(
            &house,
            "bob",
            "TaskCreate",
            json!({"subject": "s", "description": ""}),
        )
        .await;
        assert_eq!(created["structuredContent"]["id"], "1", "{created}");
        call(&house, "bob", "TaskClaim", json!({"taskId": "1"})).await;
        let task = op::get_task(&house.polis, "1".parse().unwrap())
            .await
            .unwrap();
        assert_eq!(task.task.owner, "bob");
        // Forged in the arguments, in the parameters, in the metadata and in headers.
        let forged = json!({"board": "global", "content": "x", "agent": "ann"});
        let refused = call(&house, "bob", "whiteboard_write", forged).await;
        refused_with(&refused, "permission_denied");
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
        let body = request(1, "tools/call", stateless(params));
        let mut reply = house
            .send(Method::POST, Some("bob"), &headers, Some(body))
            .await;
        let answer = reply.answer(1).await;
        refused_with(&answer["result"], "permission_denied");
    });
}

/// Known limitation: requests of this revision carry no session, so a claim is bound to the agent of the
/// token. Two programs that claim for themselves need two tokens.
#[test]
fn claims_without_sessions_are_bound_to_the_agent_of_the_token() {
    run(async {
        let house = House::open().await;
        let create = json!({"subject": "s", "description": ""});
        call(&house, "bob", "TaskCreate", create).await;
        let claim = json!({"taskId": "1"});
        for _ in 0..2 {
            let claimed = call(&house, "bob", "TaskClaim", claim.clone()).await;
            assert_eq!(claimed["structuredContent"]["owner"], "bob", "{claimed}");
        }
        let refused = call(&house, "ann", "TaskClaim", claim).await;
        refused_with(&refused, "already_claimed");
    });
}

#[test]
fn without_an_identity_there_is_no_way_in() {
    run(async {
        let house = House::open().await;
        for method in [Method::POST, Method::GET, Method::DELETE, Method::PUT] {
            let body = Some(request(1, "tools/list", stateless(json!({}))));
            let reply = house
                .send(method, None, &[("mcp-method", "tools/list")], body)
                .await;
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
            assert!(reply.text().await.contains("unauthorized"));
        }
        assert_eq!(house.service.sessions(), 0);
    });
}

#[test]
fn a_token_is_good_for_its_scope() {
    run(async {
        let house = House::open().await;
        let mut reply = house.ask("ann:tasks:read", "tools/list", json!({})).await;
        let listed = reply.answer(1).await;
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
        let refused = call(
            &house,
            "ann:tasks:read",
            "TaskCreate",
            json!({"subject": "x", "description": ""}),
        )
        .await;
        refused_with(&refused, "insufficient_scope");
        call(&house, "ann:tasks:read", "TaskList", json!({})).await;
        for (uri, good) in [("polis://tasks", true), ("polis://board/global", false)] {
            let mut reply = house
                .ask("ann:tasks:read", "resources/read", json!({"uri": uri}))
                .await;
            let answer = reply.answer(1).await;
            assert_eq!(answer.get("result").is_some(), good, "{answer}");
        }
        let mut reply = house
            .ask("ann:tasks:read", "resources/list", json!({}))
            .await;
        let listed = reply.answer(1).await;
        assert!(!listed.to_string().contains("polis://board"), "{listed}");
        let mut reply = house
            .ask(
                "ann:tasks:read",
                "subscriptions/listen",
                json!({"notifications": {
                "resourceSubscriptions": ["polis://board/global", "polis://tasks"]}}),
            )
            .await;
        let told = reply
            .notification("notifications/subscriptions/acknowledged")
            .await;
        let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*accepted, json!(["polis://tasks"]));
    });
}

#[test]
fn the_address_chooses_tools() {
    run(async {
        let house = House::open().await;
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        let body = request(1, "tools/list", stateless(json!({})));
        let path = "/mcp?tools=blackboard%2Cmessages";
        let mut reply = house
            .send_to(
                path,
                Method::POST,
                Some("ann"),
                &headers,
                Some(body.clone()),
            )
            .await;
        let listed = reply.answer(1).await;
        let names = listed["result"]["tools"].to_string();
        assert!(
            names.contains("blackboard_read") && !names.contains("TaskList"),
            "{names}"
        );
        let reply = house
            .send_to(
                "/mcp?tools=none",
                Method::POST,
                Some("ann"),
                &headers,
                Some(body),
            )
            .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert!(reply.text().await.contains("There is no group of tools"));
    });
}

#[test]
fn changes_come_over_a_stream_from_its_first_moment() {
    run(async {
        let house = House::open().await;
        let wanted = json!({"resourceSubscriptions": ["polis://board/global"], "resourcesListChanged": true});
        let mut stream = house
            .ask(
                "bob",
                "subscriptions/listen",
                json!({"notifications": wanted}),
            )
            .await;
        let told = stream
            .notification("notifications/subscriptions/acknowledged")
            .await;
        assert_eq!(told["params"]["notifications"], wanted);
        // No change between the acknowledgement and the start of the subscription is lost.
        write(&house, "global", "one\n").await;
        let told = stream.notification("notifications/resources/updated").await;
        assert_eq!(told["params"]["uri"], "polis://board/global");
        assert_eq!(
            told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            1
        );
        call(
            &house,
            "ann",
            "TaskCreate",
            json!({"subject": "s", "description": ""}),
        )
        .await;
        stream
            .notification("notifications/resources/list_changed")
            .await;
        // It ends with the server.
        house.stop.cancel();
        while stream.message().await.is_some() {}
    });
}

#[test]
fn a_revoked_token_ends_its_streams() {
    run(async {
        let house = House::open().await;
        let issue = TokenIssue {
            agent: "bob".parse().unwrap(),
            scopes: Scopes::all(),
            expires_in_ms: None,
        };
        let issued = op::issue_token(&house.polis, &AgentId::user(), &issue)
            .await
            .unwrap();
        let id = issued.view.id;
        let wanted = json!({"resourceSubscriptions": ["polis://board/global"]});
        let ask = json!({"notifications": wanted});
        let mut stream = house
            .ask(&format!("bob#{id}"), "subscriptions/listen", ask.clone())
            .await;
        stream
            .notification("notifications/subscriptions/acknowledged")
            .await;
        let mut other = house.ask("bob#other", "subscriptions/listen", ask).await;
        other
            .notification("notifications/subscriptions/acknowledged")
            .await;
        op::revoke_token(&house.polis, &AgentId::user(), &id)
            .await
            .unwrap();
        let answer = stream.answer(1).await;
        assert!(answer.get("result").is_some(), "{answer}");
        // Streams of another token continue until its agent is retired.
        write(&house, "global", "one\n").await;
        other.notification("notifications/resources/updated").await;
        op::retire_agent(&house.polis, &AgentId::user(), &"bob".parse().unwrap())
            .await
            .unwrap();
        other.answer(1).await;
    });
}

#[test]
fn a_client_that_hangs_up_ends_its_command() {
    run(async {
        let house = House::open().await;
        let params = json!({"name": "run_command", "arguments": {"command": "stay"}, "_meta": {"progressToken": 5}});
        // Once before the first response, once in the middle of the stream.
        let mut reply = house.ask("ann", "tools/call", params).await;
        let told = reply.notification("notifications/progress").await;
        assert_eq!(told["params"]["message"], "begun", "{told}");
        assert_eq!(house.commands.running.load(Ordering::SeqCst), 1);
        call(&house, "ann", "TaskList", json!({})).await;
        reply.hang_up();
        eventually("the command's end", || {
            house.commands.ended.load(Ordering::SeqCst) == 1
        })
        .await;
        let params = json!({"name": "run_command", "arguments": {"command": "stay"}});
        let asking = house.ask("ann", "tools/call", params);
        let begun = eventually("the command's start", || {
            house.commands.running.load(Ordering::SeqCst) == 1
        });
        tokio::select! {
            _ = asking => panic!("something came back"),
            () = begun => {}
        }
        eventually("the command's end", || {
            house.commands.ended.load(Ordering::SeqCst) == 2
        })
        .await;
        assert_eq!(house.service.sessions(), 0);
    });
}

#[test]
fn there_is_a_bound_to_streams() {
    run(async {
        let house = House::open().await;
        let wanted = json!({"notifications": {"resourceSubscriptions": ["polis://tasks"]}});
        let mut open = Vec::new();
        for _ in 0..32 {
            let mut stream = house
                .ask("bob", "subscriptions/listen", wanted.clone())
                .await;
            stream
                .notification("notifications/subscriptions/acknowledged")
                .await;
            open.push(stream);
        }
        // The acknowledgement is sent before the stream starts, so the last one may not be counted yet.
        let mut refused = false;
        for _ in 0..3 {
            let mut stream = house
                .ask("bob", "subscriptions/listen", wanted.clone())
                .await;
            stream
                .notification("notifications/subscriptions/acknowledged")
                .await;
            let next =
                tokio::time::timeout(std::time::Duration::from_secs(5), stream.message()).await;
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
        let mut other = house.ask("ann", "subscriptions/listen", wanted).await;
        other
            .notification("notifications/subscriptions/acknowledged")
            .await;
        write(&house, "global", "x").await;
    });
}
