//! Responses of the HTTP API: every area once, pagination, errors, and the acting agent.

use http::Method;
use serde_json::{Value, json};

use crate::town::Town;

#[tokio::test]
async fn a_task_from_its_creation_to_its_end() {
    let town = Town::new().await;
    let made = town
        .post(&town.lead, "/v1/tasks", json!({"subject": "login"}))
        .await;
    let task = made.good(201);
    assert_eq!(task["id"], "1");
    assert_eq!(made.header("location"), "/v1/tasks/1");
    assert_eq!(made.header("etag"), "\"1\"");
    let claimed = town.post(&town.ada, "/v1/tasks/claim", Value::Null).await;
    assert_eq!(claimed.good(200)["owner"], "ada");
    town.post(&town.bob, "/v1/tasks/1/claim", json!({}))
        .await
        .problem(409, "already_claimed");
    let said = json!({"body": "nearly, @bob"});
    let comment = town
        .post(&town.ada, "/v1/tasks/1/comments", said)
        .await
        .good(201);
    assert_eq!(comment["author"], "ada");
    let comments = town.get(&town.bob, "/v1/tasks/1/comments").await.good(200);
    assert_eq!(comments["comments"].as_array().unwrap().len(), 1);
    let done = json!({"status": "completed"});
    let done = town
        .ask(&town.ada, Method::PATCH, "/v1/tasks/1", done)
        .await;
    assert_eq!(done.good(200)["status"], "completed");
    let history = town.get(&town.bob, "/v1/tasks/1/history").await.good(200);
    assert!(history["history"].as_array().unwrap().len() >= 4);
    for path in [
        "/v1/tasks/stats",
        "/v1/tasks/recommended",
        "/v1/stats",
        "/v1/log",
    ] {
        town.get(&town.bob, path).await.good(200);
    }
}

#[tokio::test]
async fn next_steps_name_addresses_of_the_api() {
    let town = Town::new().await;
    let missing = town.get(&town.ada, "/v1/tasks/99").await;
    let hint = missing.problem(404, "task_not_found")["hint"].clone();
    assert_eq!(hint, "see the tasks there are with `GET /v1/tasks`");
    let board = "/v1/boards/mid%2Fbackend-leader";
    for (version, content) in ["one", "two"].into_iter().enumerate() {
        let write = json!({"content": content, "expectedVersion": version});
        town.ask(&town.ada, Method::PUT, board, write)
            .await
            .good(200);
    }
    let stale = json!({"content": "three", "expectedVersion": 0});
    let stale = town.ask(&town.ada, Method::PUT, board, stale).await;
    let hint = stale.problem(409, "version_conflict")["hint"].clone();
    let hint = hint.as_str().unwrap();
    assert!(hint.contains("`GET /v1/boards/{board}`"), "{hint}");
    assert!(hint.ends_with("or pass merge=true"), "{hint}");
    // A hint does not name the route that was just requested.
    let page = town.get(&town.ada, "/v1/tasks?cursor=x").await;
    let hint = page.problem(400, "invalid_task_id")["hint"].clone();
    assert!(!hint.as_str().unwrap().contains("/v1/tasks"), "{hint}");
}

#[tokio::test]
async fn boards_by_their_names_in_one_segment() {
    let town = Town::new().await;
    let board = "/v1/boards/mid%2Fbackend-leader";
    let write = json!({"content": "# Plan\n\n## Risks\n"});
    let written = town.ask(&town.ada, Method::PUT, board, write).await;
    assert_eq!(written.good(200)["version"], 1);
    let section = json!({"title": "Risks", "act": "append", "content": "- time"});
    let path = format!("{board}/sections");
    town.post(&town.ada, &path, section).await.good(200);
    let read = town.get(&town.ada, board).await;
    assert_eq!(read.header("etag"), "\"2\"");
    assert_eq!(read.good(200)["content"], "# Plan\n\n## Risks\n\n- time\n");
    let part = town
        .get(&town.ada, &format!("{board}?section=Risks"))
        .await
        .good(200);
    assert_eq!(part["content"], "- time");
    let old = town
        .get(&town.ada, &format!("{board}/versions/1"))
        .await
        .good(200);
    assert_eq!(old["content"], "# Plan\n\n## Risks\n");
    town.get(&town.ada, &format!("{board}/diff?from=1&to=2"))
        .await
        .good(200);
    town.get(&town.ada, &format!("{board}/history?limit=1"))
        .await
        .good(200);
    let lock = town
        .post(&town.ada, &format!("{board}/lock"), json!({"ttlMs": 5000}))
        .await;
    let token = lock.good(200)["token"].as_str().unwrap().to_owned();
    let locked = town
        .post(
            &town.user,
            &format!("{board}/append"),
            json!({"content": "x"}),
        )
        .await;
    let problem = locked.problem(423, "board_locked");
    assert_eq!(problem["holder"], "ada");
    assert_eq!(locked.header("retry-after"), "5");
    let path = format!("{board}/lock?token={token}");
    town.ask(&town.ada, Method::DELETE, &path, Value::Null)
        .await
        .good(200);
    town.post(
        &town.ada,
        &format!("{board}/restore"),
        json!({"version": 1}),
    )
    .await
    .good(200);
    let boards = town.get(&town.ada, "/v1/boards").await.good(200);
    assert!(
        boards.to_string().contains("mid/backend-leader"),
        "{boards}"
    );
    // The same name with an unescaped slash is a different path.
    town.get(&town.ada, "/v1/boards/mid/backend-leader")
        .await
        .problem(404, "route_not_found");
    let file = json!({"content": "on it", "mode": "overwrite"});
    let path = "/v1/blackboard/tasks%2F1%2Fstatus.md";
    town.ask(&town.user, Method::PUT, path, file)
        .await
        .good(200);
    assert_eq!(
        town.get(&town.user, path).await.good(200)["content"],
        "on it"
    );
}

#[tokio::test]
async fn files_of_the_callers_own_workspace() {
    let town = Town::new().await;
    let content = json!({"content": "hello\n"});
    let put = town
        .ask(
            &town.ada,
            Method::PUT,
            "/v1/files?path=src%2Fa.txt",
            content,
        )
        .await;
    assert_eq!(put.good(200)["created"], true);
    let edit = json!({"oldText": "hello", "newText": "bye"});
    town.ask(&town.ada, Method::PATCH, "/v1/files?path=src%2Fa.txt", edit)
        .await
        .good(200);
    let read = town.get(&town.ada, "/v1/files?path=src/a.txt").await;
    assert_eq!(read.good(200)["content"], "bye\n");
    assert_eq!(read.header("etag").len(), 66);
    let listed = town
        .get(&town.ada, "/v1/files/list?recursive=true")
        .await
        .good(200);
    assert!(listed.to_string().contains("src/a.txt"), "{listed}");
    let info = town.get(&town.ada, "/v1/workspace").await.good(200);
    assert_eq!(info["fileCount"], 1);
    town.get(&town.bob, "/v1/files?path=src/a.txt")
        .await
        .problem(404, "file_not_found");
    let dir = json!({"path": "docs"});
    town.post(&town.ada, "/v1/files/directories", dir)
        .await
        .good(200);
    let moving = json!({"from": "src/a.txt", "to": "docs/a.txt"});
    town.post(&town.ada, "/v1/files/move", moving)
        .await
        .good(200);
    let gone = town.ask(
        &town.ada,
        Method::DELETE,
        "/v1/files?path=docs%2Fa.txt",
        Value::Null,
    );
    gone.await.good(200);
    let run = town
        .post(&town.ada, "/v1/commands", json!({"command": "echo hi"}))
        .await;
    assert!(run.good(200)["exitCode"].is_number());
}

#[tokio::test]
async fn what_agents_send_each_other() {
    let town = Town::new().await;
    let message = json!({"to": "bob", "payload": {"text": "look"}});
    let sent = town
        .post(&town.ada, "/v1/messages", message)
        .await
        .good(201);
    assert_eq!(sent["messages"][0]["to"], "bob");
    // Reading does not mark messages as read, so they can still be taken.
    for _ in 0..2 {
        let read = town.get(&town.bob, "/v1/messages").await.good(200);
        assert_eq!(read["messages"][0]["from"], "ada");
    }
    let taken = town
        .post(&town.bob, "/v1/messages/check", json!({}))
        .await
        .good(200);
    assert_eq!(taken["messages"].as_array().unwrap().len(), 1);
    let taken = town
        .post(&town.bob, "/v1/messages/check", Value::Null)
        .await
        .good(200);
    assert_eq!(taken["messages"], json!([]));
    let spec = json!({"type": "spec", "content": {"a": 1}});
    let put = town.post(&town.ada, "/v1/artifacts", spec).await;
    let kept = put.good(201);
    assert_eq!(
        put.header("location"),
        format!("/v1/artifacts/{}", kept["id"].as_str().unwrap())
    );
    let got = town.get(&town.bob, put.header("location")).await.good(200);
    assert_eq!(got["content"], json!({"a": 1}));
    town.get(&town.bob, "/v1/artifacts/..%2F..%2Fetc%2Fpasswd")
        .await
        .problem(404, "artifact_not_found");
    let agent = json!({"id": "eve", "role": "test-leader"});
    let added = town.post(&town.user, "/v1/agents", agent).await;
    assert_eq!(added.good(201)["id"], "eve");
    assert_eq!(
        town.get(&town.ada, added.header("location"))
            .await
            .good(200)["role"],
        "test-leader"
    );
    town.ask(&town.user, Method::DELETE, "/v1/agents/eve", Value::Null)
        .await
        .good(200);
    let hook = json!({"url": "https://example.org/x"});
    town.post(&town.ada, "/v1/webhooks", hook.clone())
        .await
        .problem(403, "permission_denied");
    let hook = town.post(&town.user, "/v1/webhooks", hook).await.good(201);
    let list = town.get(&town.user, "/v1/webhooks").await.good(200);
    assert!(
        !list.to_string().contains(hook["secret"].as_str().unwrap()),
        "{list}"
    );
    let path = format!("/v1/webhooks/{}", hook["id"].as_str().unwrap());
    town.ask(&town.user, Method::DELETE, &path, Value::Null)
        .await
        .good(200);
}

#[tokio::test]
async fn pages_lead_to_the_next_one() {
    let town = Town::new().await;
    for n in 0..5 {
        let task = json!({"subject": format!("task {n}")});
        town.post(&town.lead, "/v1/tasks", task).await.good(201);
    }
    let mut path = "/v1/tasks?status=pending&limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = town.get(&town.ada, &path).await;
        let tasks = page.good(200);
        seen.extend(
            tasks["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| t["id"].clone()),
        );
        let link = page.header("link");
        if link.is_empty() {
            assert!(tasks["next"].is_null());
            break;
        }
        let next = link
            .strip_prefix('<')
            .unwrap()
            .strip_suffix(">; rel=\"next\"")
            .unwrap();
        assert!(next.contains("status=pending"), "{next}");
        path = next.to_owned();
    }
    assert_eq!(seen, ["1", "2", "3", "4", "5"].map(Value::from));
}

#[tokio::test]
async fn nothing_in_a_request_says_who_acts() {
    let town = Town::new().await;
    for field in [
        "agent",
        "by",
        "from",
        "as",
        "caller",
        "owner",
        "author",
        "createdBy",
    ] {
        let task = json!({"subject": "x", field: "lead"});
        let answer = town.post(&town.ada, "/v1/tasks", task).await;
        if answer.status.is_success() {
            // This tool has a field of that name with another meaning.
            assert_eq!(field, "owner");
        } else {
            answer.problem(400, "invalid_input");
        }
        let body = json!({"command": "true", field: "lead"});
        town.post(&town.ada, "/v1/commands", body)
            .await
            .problem(400, "invalid_input");
        let message = json!({"to": "bob", "payload": "x", field: "lead"});
        if field != "from" {
            town.post(&town.ada, "/v1/messages", message)
                .await
                .problem(400, "invalid_input");
        }
        let query = format!("/v1/tasks?{field}=lead");
        let answer = town.get(&town.ada, &query).await;
        if field != "owner" {
            answer.problem(400, "invalid_input");
        }
    }
    let forged = json!({"to": "bob", "payload": "x", "from": "lead"});
    town.post(&town.ada, "/v1/messages", forged)
        .await
        .problem(400, "invalid_input");
    for header in [
        "x-agent",
        "x-polis-agent",
        "x-forwarded-user",
        "polis-agent",
    ] {
        let task = json!({"subject": "x"});
        let answer = town
            .with_headers(
                &town.ada,
                Method::POST,
                "/v1/tasks",
                task,
                &[(header, "lead")],
            )
            .await
            .good(201);
        let path = format!("/v1/tasks/{}/history", answer["id"].as_str().unwrap());
        let history = town.get(&town.ada, &path).await.good(200);
        assert_eq!(history["history"][0]["actor"], "ada", "{history}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_a_problem() {
    let town = Town::new().await;
    town.get(&town.ada, "/v1/nothing")
        .await
        .problem(404, "route_not_found");
    town.get(&town.ada, "/")
        .await
        .problem(404, "route_not_found");
    town.get(&town.ada, "/v1/tasks/")
        .await
        .problem(404, "route_not_found");
    let wrong = town
        .ask(&town.ada, Method::PUT, "/v1/tasks", json!({}))
        .await;
    wrong.problem(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, POST, HEAD");
    let wrong = town
        .ask(&town.ada, Method::POST, "/healthz", Value::Null)
        .await;
    wrong.problem(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, HEAD");
    town.ask(&town.ada, Method::TRACE, "/v1/tasks", Value::Null)
        .await
        .problem(405, "method_not_allowed");
    for bad in [
        json!([]),
        json!("x"),
        json!(1),
        json!({"subject": 1}),
        json!({}),
        json!({"subject": "x", "nope": 1}),
    ] {
        town.post(&town.ada, "/v1/tasks", bad)
            .await
            .problem(400, "invalid_input");
    }
    for text in [
        "",
        "{",
        "{\"subject\":\"x\"",
        "nul",
        "\u{feff}{}",
        "{\"subject\":\"\\ud800\"}",
        "{'a':1}",
    ] {
        let request = http::Request::post("/v1/tasks")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", town.ada))
            .header("content-type", "application/json")
            .body(axum::body::Body::from(text.to_owned()))
            .unwrap();
        town.send(request).await.problem(400, "invalid_input");
    }
    let deep = format!(
        "{{\"subject\":\"x\",\"metadata\":{}1{}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let request = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", town.ada))
        .header("content-type", "application/json")
        .body(axum::body::Body::from(deep))
        .unwrap();
    town.send(request).await.problem(400, "invalid_input");
    let request = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", town.ada))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(axum::body::Body::from("subject=x"))
        .unwrap();
    town.send(request)
        .await
        .problem(415, "unsupported_media_type");
    // Routes without a body refuse one.
    town.ask(&town.ada, Method::GET, "/v1/tasks", json!({"limit": 1}))
        .await
        .problem(413, "request_too_large");
    town.get(&town.ada, "/v1/tasks?limit=x")
        .await
        .problem(400, "invalid_input");
    town.get(&town.ada, "/v1/tasks?limit=1&limit=2")
        .await
        .problem(400, "invalid_input");
    town.get(&town.ada, "/v1/tasks/x")
        .await
        .problem(400, "invalid_task_id");
    town.get(&town.ada, "/v1/tasks/999")
        .await
        .problem(404, "task_not_found");
    assert_eq!(town.tasks().await, 0);
}

#[tokio::test]
async fn tricks_with_paths_lead_nowhere() {
    let town = Town::new().await;
    for path in [
        "/v1/files?path=..%2F..%2Fetc%2Fpasswd",
        "/v1/files?path=../../etc/passwd",
        "/v1/files?path=%2Fetc%2Fpasswd",
        "/v1/files?path=/etc/passwd",
        "/v1/files?path=a%00b",
        "/v1/files?path=a%2F..%2F..%2Fb",
        "/v1/files?path=%c0%ae%c0%ae%2fetc",
        "/v1/blackboard/..%2F..%2Fpolis.db",
        "/v1/blackboard/%2Fetc%2Fpasswd",
        "/v1/blackboard/a%00b",
        "/v1/boards/..%2F..%2Fx",
        "/v1/boards/bottom%2F..%2Flead",
        "/v1/boards/%00",
        "/v1/boards/%c0%af",
        "/v1/tasks/..%2F1",
        "/v1/tasks/%00",
        "/v1/tasks/1%00",
        "/v1/artifacts/%2e%2e%2f",
        "/v1/tasks/..",
        "/v1/../v1/tasks",
        "/v1/./tasks",
        "//v1/tasks",
        "/v1//tasks",
        "/v1/files/..%2f..%2fhealthz",
        "/%76%31/tasks",
    ] {
        let answer = town.get(&town.ada, path).await;
        let status = answer.status.as_u16();
        assert!((400..500).contains(&status), "{path}: {status} {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            "application/problem+json",
            "{path}"
        );
    }
    // Encoded twice, it is just a name with percent signs.
    let put = town
        .ask(
            &town.ada,
            Method::PUT,
            "/v1/files?path=%252e%252e%252fx",
            json!({"content": "x"}),
        )
        .await;
    put.good(200);
    let listed = town.get(&town.ada, "/v1/files/list").await.good(200);
    assert_eq!(listed["files"][0]["name"], "%2e%2e%2fx");
    let long = format!("/v1/tasks/{}", "9".repeat(5_000));
    town.get(&town.ada, &long)
        .await
        .problem(400, "invalid_task_id");
    let long = format!("/v1/boards/{}", "a".repeat(20_000));
    town.get(&town.ada, &long)
        .await
        .problem(400, "invalid_board");
}

#[tokio::test]
async fn the_description_and_the_figures_are_served() {
    let town = Town::new().await;
    let description = town.get(&town.ada, "/v1/openapi.json").await.good(200);
    assert_eq!(description["openapi"], "3.1.0");
    town.get(&town.ada, "/v1/tasks").await.good(200);
    town.get(&town.ada, "/v1/tasks/7")
        .await
        .problem(404, "task_not_found");
    let page = town.get(&town.user, "/metrics").await;
    assert_eq!(page.status, 200);
    let text = String::from_utf8(page.bytes).unwrap();
    assert!(
        text.contains("polis_operations_total{tool=\"TaskList\",code=\"ok\"} 1"),
        "{text}"
    );
    assert!(text.contains("polis_operations_total{tool=\"TaskGet\",code=\"task_not_found\"} 1"));
    let narrow = town.token("ada", "tasks", None).await;
    town.get(&narrow, "/metrics")
        .await
        .problem(403, "insufficient_scope");
    town.get(&narrow, "/v1/openapi.json").await.good(200);
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_take_it() {
    let town = Town::new().await;
    let text = "a line of a board\n".repeat(2_000);
    let write = json!({"content": text});
    town.ask(&town.lead, Method::PUT, "/v1/boards/global", write)
        .await
        .good(200);
    let gzip = [("accept-encoding", "br, gzip")];
    let packed = town
        .with_headers(
            &town.lead,
            Method::GET,
            "/v1/boards/global",
            Value::Null,
            &gzip,
        )
        .await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("etag"), "\"1-gzip\"");
    assert!(packed.bytes.len() < text.len() / 10);
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::GzDecoder::new(&packed.bytes[..]),
        &mut unpacked,
    )
    .unwrap();
    let plain = town.get(&town.lead, "/v1/boards/global").await;
    assert_eq!(plain.header("content-encoding"), "");
    assert_eq!(plain.bytes, unpacked);
    let short = town
        .with_headers(&town.lead, Method::GET, "/v1/tasks", Value::Null, &gzip)
        .await;
    assert_eq!(short.header("content-encoding"), "");
}
