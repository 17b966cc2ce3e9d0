//! MCP sessions over HTTP: ownership, limits, claims and lifetime.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use polis_testkit::run;
use serde_json::{Value, json};

use crate::mcp_house::{House, eventually, request};

fn call(id: i64, tool: &str, arguments: Value) -> Option<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    Some(request(id, "tools/call", params))
}

#[test]
fn a_session_serves_who_began_it_and_is_not_there_for_others() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let list = call(2, "TaskList", json!({}));
        let mut reply = house
            .in_session("ann", &session, Method::POST, list.clone())
            .await;
        assert_eq!(
            reply.answer(2).await["result"]["structuredContent"]["tasks"],
            json!([])
        );
        // Another agent, another token of the same agent, the same token with another scope.
        for other in ["bob", "ann#2", "ann:read"] {
            for method in [Method::POST, Method::GET, Method::DELETE] {
                let body = list.clone().filter(|_| method == Method::POST);
                let reply = house.in_session(other, &session, method, body).await;
                assert_eq!(reply.status, StatusCode::NOT_FOUND, "{other}");
            }
        }
        // It still exists for its owner.
        let mut reply = house
            .in_session("ann", &session, Method::POST, list.clone())
            .await;
        reply.answer(2).await;
        let reply = house
            .in_session("ann", &session, Method::DELETE, None)
            .await;
        assert!(reply.status.is_success());
        let reply = house.in_session("ann", &session, Method::POST, list).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        eventually("its end", || house.service.sessions() == 0).await;
    });
}

#[test]
fn update_that_claims_is_bound_to_its_session() {
    run(async {
        let house = House::open().await;
        let (first, second) = (house.begin("ann").await, house.begin("ann").await);
        let ask = async |session: &str, tool: &str, arguments: Value| {
            let mut reply = house
                .in_session("ann", session, Method::POST, call(4, tool, arguments))
                .await;
            reply.answer(4).await["result"].clone()
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
        house.in_session("ann", &first, Method::DELETE, None).await;
        eventually("its end", || house.service.sessions() == 1).await;
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
fn claim_by_second_live_session_of_an_agent_is_refused() {
    run(async {
        let house = House::open().await;
        let (first, second) = (house.begin("ann").await, house.begin("ann").await);
        let claim = call(4, "TaskClaim", json!({"taskId": "1"}));
        let create = call(3, "TaskCreate", json!({"subject": "s", "description": ""}));
        house
            .in_session("ann", &first, Method::POST, create)
            .await
            .answer(3)
            .await;
        let claimed = async |session: &str| {
            let mut reply = house
                .in_session("ann", session, Method::POST, claim.clone())
                .await;
            reply.answer(4).await["result"].clone()
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
        house.in_session("ann", &first, Method::DELETE, None).await;
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
        let third = house.begin("ann").await;
        assert_eq!(claimed(&third).await["isError"], true);
    });
}

#[test]
fn a_session_hears_of_changes_over_its_stream() {
    run(async {
        let house = House::open().await;
        let session = house.begin("bob").await;
        let mut stream = house.in_session("bob", &session, Method::GET, None).await;
        assert_eq!(stream.status, StatusCode::OK);
        let subscribe = request(2, "resources/subscribe", json!({"uri": "polis://tasks"}));
        let mut reply = house
            .in_session("bob", &session, Method::POST, Some(subscribe))
            .await;
        assert_eq!(reply.answer(2).await["result"], json!({}));
        let other = house.begin("ann").await;
        let create = call(3, "TaskCreate", json!({"subject": "s", "description": ""}));
        let mut reply = house.in_session("ann", &other, Method::POST, create).await;
        reply.answer(3).await;
        let told = stream.notification("notifications/resources/updated").await;
        assert_eq!(told["params"]["uri"], "polis://tasks");
        // The stream ends with its session.
        house
            .in_session("bob", &session, Method::DELETE, None)
            .await;
        while stream.message().await.is_some() {}
    });
}

#[test]
fn a_cancelled_command_ends_and_so_does_one_whose_session_is_closed() {
    run(async {
        let house = House::open().await;
        let session = house.begin("ann").await;
        let stay = call(7, "run_command", json!({"command": "stay"}));
        let _reply = house
            .in_session("ann", &session, Method::POST, stay.clone())
            .await;
        eventually("its start", || {
            house.commands.running.load(Ordering::SeqCst) == 1
        })
        .await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        let reply = house
            .in_session("ann", &session, Method::POST, Some(cancel))
            .await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        eventually("its end", || {
            house.commands.ended.load(Ordering::SeqCst) == 1
        })
        .await;
        let _reply = house.in_session("ann", &session, Method::POST, stay).await;
        eventually("its start", || {
            house.commands.running.load(Ordering::SeqCst) == 1
        })
        .await;
        house
            .in_session("ann", &session, Method::DELETE, None)
            .await;
        eventually("its end", || {
            house.commands.ended.load(Ordering::SeqCst) == 2
        })
        .await;
    });
}

#[test]
fn nobody_has_more_sessions_than_there_may_be() {
    run(async {
        let house = House::open_with(|options| {
            options.max_sessions_each = 3;
            options.max_sessions = 5;
        })
        .await;
        let first = house.begin("ann").await;
        let second = house.begin("ann").await;
        let listens = house.in_session("ann", &second, Method::GET, None).await;
        let bobs = house.begin("bob").await;
        for _ in 0..20 {
            house.begin("ann").await;
        }
        assert!(house.service.sessions() <= 5);
        let list = call(2, "TaskList", json!({}));
        let gone = house
            .in_session("ann", &first, Method::POST, list.clone())
            .await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "the oldest had to go");
        // Sessions in use stay, and so do those of other agents.
        for (who, session) in [("ann", &second), ("bob", &bobs)] {
            let mut reply = house
                .in_session(who, session, Method::POST, list.clone())
                .await;
            assert_eq!(reply.status, StatusCode::OK, "{who}");
            reply.answer(2).await;
        }
        drop(listens);
        for n in 0..6 {
            house.begin(&format!("bob#{n}")).await;
        }
        assert!(house.service.sessions() <= 5);
    });
}

#[test]
fn a_session_nobody_uses_ends_and_one_that_listens_stays() {
    run(async {
        let house = House::open_with(|options| options.idle = Duration::from_secs(3)).await;
        let idle = house.begin("ann").await;
        let used = house.begin("bob").await;
        let mut stream = house.in_session("bob", &used, Method::GET, None).await;
        eventually("its end", || house.service.sessions() == 1).await;
        let list = call(2, "TaskList", json!({}));
        let gone = house
            .in_session("ann", &idle, Method::POST, list.clone())
            .await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
        let subscribe = request(3, "resources/subscribe", json!({"uri": "polis://tasks"}));
        house
            .in_session("bob", &used, Method::POST, Some(subscribe))
            .await
            .answer(3)
            .await;
        let create = call(4, "TaskCreate", json!({"subject": "s", "description": ""}));
        house
            .in_session("bob", &used, Method::POST, create)
            .await
            .answer(4)
            .await;
        stream.notification("notifications/resources/updated").await;
        stream.hang_up();
        eventually("the other's end", || house.service.sessions() == 0).await;
    });
}

#[test]
fn what_is_no_request_is_refused_and_nothing_is_begun() {
    run(async {
        let house = House::open().await;
        for body in [
            json!([]),
            json!(5),
            json!({}),
            json!({"jsonrpc": "2.0", "method": "x"}),
        ] {
            let reply = house.send(Method::POST, Some("ann"), &[], Some(body)).await;
            assert!(reply.status.is_client_error(), "{}", reply.status);
        }
        let reply = house.send(Method::GET, Some("ann"), &[], None).await;
        assert!(reply.status.is_client_error());
        let reply = house
            .in_session("ann", "no-such-session", Method::GET, None)
            .await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(house.service.sessions(), 0);
    });
}
