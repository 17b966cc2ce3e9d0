//! HTTP API response tests: every area once, pagination, problem documents, path traversal, forged callers,
//! metrics and compression.

use http::Method;
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn task_api_covers_whole_lifecycle() {
    let server = TestServer::new().await;
    let made = server
        .post(&server.lead_token, "/v1/tasks", json!({"subject": "login"}))
        .await;
    let task = made.expect_json(201);
    assert_eq!(task["id"], "1");
    assert_eq!(made.header("location"), "/v1/tasks/1");
    assert_eq!(made.header("etag"), "\"1\"");
    let claimed = server
        .post(&server.ada_token, "/v1/tasks/claim", Value::Null)
        .await;
    assert_eq!(claimed.expect_json(200)["owner"], "ada");
    server
        .post(&server.bob_token, "/v1/tasks/1/claim", json!({}))
        .await
        .expect_problem(409, "already_claimed");
    let said = json!({"body": "nearly, @bob"});
    let comment = server
        .post(&server.ada_token, "/v1/tasks/1/comments", said)
        .await
        .expect_json(201);
    assert_eq!(comment["author"], "ada");
    let comments = server
        .get(&server.bob_token, "/v1/tasks/1/comments")
        .await
        .expect_json(200);
    assert_eq!(comments["comments"].as_array().unwrap().len(), 1);
    let done = json!({"status": "completed"});
    let done = server
        .send_json(&server.ada_token, Method::PATCH, "/v1/tasks/1", done)
        .await;
    assert_eq!(done.expect_json(200)["status"], "completed");
    let history = server
        .get(&server.bob_token, "/v1/tasks/1/history")
        .await
        .expect_json(200);
    assert!(history["history"].as_array().unwrap().len() >= 4);
    for path in [
        "/v1/tasks/stats",
        "/v1/tasks/recommended",
        "/v1/stats",
        "/v1/log",
    ] {
        server.get(&server.bob_token, path).await.expect_json(200);
    }
}

#[tokio::test]
async fn refusal_hints_name_api_routes() {
    let server = TestServer::new().await;
    let missing = server.get(&server.ada_token, "/v1/tasks/99").await;
    let hint = missing.expect_problem(404, "task_not_found")["hint"].clone();
    assert_eq!(hint, "list the tasks with `GET /v1/tasks`");
    let board = "/v1/boards/mid%2Fbackend-leader";
    for (version, content) in ["one", "two"].into_iter().enumerate() {
        let write = json!({"content": content, "expectedVersion": version});
        server
            .send_json(&server.ada_token, Method::PUT, board, write)
            .await
            .expect_json(200);
    }
    let stale = json!({"content": "three", "expectedVersion": 0});
    let stale = server
        .send_json(&server.ada_token, Method::PUT, board, stale)
        .await;
    let hint = stale.expect_problem(409, "version_conflict")["hint"].clone();
    let hint = hint.as_str().unwrap();
    assert!(hint.contains("`GET /v1/boards/{board}`"), "{hint}");
    assert!(hint.ends_with("or pass merge=true"), "{hint}");
    // A hint does not name the route that was just requested.
    let page = server.get(&server.ada_token, "/v1/tasks?cursor=x").await;
    let hint = page.expect_problem(400, "invalid_task_id")["hint"].clone();
    assert!(!hint.as_str().unwrap().contains("/v1/tasks"), "{hint}");
}

#[tokio::test]
async fn board_api_takes_name_as_one_path_segment() {
    let server = TestServer::new().await;
    let board = "/v1/boards/mid%2Fbackend-leader";
    let write = json!({"content": "# Plan\n\n## Risks\n"});
    let written = server
        .send_json(&server.ada_token, Method::PUT, board, write)
        .await;
    assert_eq!(written.expect_json(200)["version"], 1);
    let section = json!({"title": "Risks", "act": "append", "content": "- time"});
    let path = format!("{board}/sections");
    server
        .post(&server.ada_token, &path, section)
        .await
        .expect_json(200);
    let read = server.get(&server.ada_token, board).await;
    assert_eq!(read.header("etag"), "\"2\"");
    assert_eq!(
        read.expect_json(200)["content"],
        "# Plan\n\n## Risks\n\n- time\n"
    );
    let part = server
        .get(&server.ada_token, &format!("{board}?section=Risks"))
        .await
        .expect_json(200);
    assert_eq!(part["content"], "- time");
    let old = server
        .get(&server.ada_token, &format!("{board}/versions/1"))
        .await
        .expect_json(200);
    assert_eq!(old["content"], "# Plan\n\n## Risks\n");
    server
        .get(&server.ada_token, &format!("{board}/diff?from=1&to=2"))
        .await
        .expect_json(200);
    server
        .get(&server.ada_token, &format!("{board}/history?limit=1"))
        .await
        .expect_json(200);
    let lock = server
        .post(
            &server.ada_token,
            &format!("{board}/lock"),
            json!({"ttlMs": 5000}),
        )
        .await;
    let token = lock.expect_json(200)["token"].as_str().unwrap().to_owned();
    let locked = server
        .post(
            &server.user_token,
            &format!("{board}/append"),
            json!({"content": "x"}),
        )
        .await;
    let problem = locked.expect_problem(423, "board_locked");
    assert_eq!(problem["holder"], "ada");
    assert_eq!(locked.header("retry-after"), "5");
    let path = format!("{board}/lock?token={token}");
    server
        .send_json(&server.ada_token, Method::DELETE, &path, Value::Null)
        .await
        .expect_json(200);
    server
        .post(
            &server.ada_token,
            &format!("{board}/restore"),
            json!({"version": 1}),
        )
        .await
        .expect_json(200);
    let boards = server
        .get(&server.ada_token, "/v1/boards")
        .await
        .expect_json(200);
    assert!(
        boards.to_string().contains("mid/backend-leader"),
        "{boards}"
    );
    // The same name with an unescaped slash is a different path.
    server
        .get(&server.ada_token, "/v1/boards/mid/backend-leader")
        .await
        .expect_problem(404, "route_not_found");
    let file = json!({"content": "on it", "mode": "overwrite"});
    let path = "/v1/blackboard/tasks%2F1%2Fstatus.md";
    server
        .send_json(&server.user_token, Method::PUT, path, file)
        .await
        .expect_json(200);
    assert_eq!(
        server.get(&server.user_token, path).await.expect_json(200)["content"],
        "on it"
    );
}

#[tokio::test]
async fn file_api_works_in_workspace_of_caller() {
    let server = TestServer::new().await;
    let content = json!({"content": "hello\n"});
    let put = server
        .send_json(
            &server.ada_token,
            Method::PUT,
            "/v1/files?path=src%2Fa.txt",
            content,
        )
        .await;
    assert_eq!(put.expect_json(200)["created"], true);
    let edit = json!({"oldText": "hello", "newText": "bye"});
    server
        .send_json(
            &server.ada_token,
            Method::PATCH,
            "/v1/files?path=src%2Fa.txt",
            edit,
        )
        .await
        .expect_json(200);
    let read = server
        .get(&server.ada_token, "/v1/files?path=src/a.txt")
        .await;
    assert_eq!(read.expect_json(200)["content"], "bye\n");
    assert_eq!(read.header("etag").len(), 66);
    let listed = server
        .get(&server.ada_token, "/v1/files/list?recursive=true")
        .await
        .expect_json(200);
    assert!(listed.to_string().contains("src/a.txt"), "{listed}");
    let info = server
        .get(&server.ada_token, "/v1/workspace")
        .await
        .expect_json(200);
    assert_eq!(info["fileCount"], 1);
    server
        .get(&server.bob_token, "/v1/files?path=src/a.txt")
        .await
        .expect_problem(404, "file_not_found");
    let dir = json!({"path": "docs"});
    server
        .post(&server.ada_token, "/v1/files/directories", dir)
        .await
        .expect_json(200);
    let moving = json!({"from": "src/a.txt", "to": "docs/a.txt"});
    server
        .post(&server.ada_token, "/v1/files/move", moving)
        .await
        .expect_json(200);
    let gone = server.send_json(
        &server.ada_token,
        Method::DELETE,
        "/v1/files?path=docs%2Fa.txt",
        Value::Null,
    );
    gone.await.expect_json(200);
    let run = server
        .post(
            &server.ada_token,
            "/v1/commands",
            json!({"command": "echo hi"}),
        )
        .await;
    assert!(run.expect_json(200)["exitCode"].is_number());
}

#[tokio::test]
async fn messages_artifacts_agents_and_webhooks_are_served() {
    let server = TestServer::new().await;
    let message = json!({"to": "bob", "payload": {"text": "look"}});
    let sent = server
        .post(&server.ada_token, "/v1/messages", message)
        .await
        .expect_json(201);
    assert_eq!(sent["messages"][0]["to"], "bob");
    // Reading does not mark messages as read, so they can still be taken.
    for _ in 0..2 {
        let read = server
            .get(&server.bob_token, "/v1/messages")
            .await
            .expect_json(200);
        assert_eq!(read["messages"][0]["from"], "ada");
    }
    let taken = server
        .post(&server.bob_token, "/v1/messages/check", json!({}))
        .await
        .expect_json(200);
    assert_eq!(taken["messages"].as_array().unwrap().len(), 1);
    let taken = server
        .post(&server.bob_token, "/v1/messages/check", Value::Null)
        .await
        .expect_json(200);
    assert_eq!(taken["messages"], json!([]));
    let spec = json!({"type": "spec", "content": {"a": 1}});
    let put = server.post(&server.ada_token, "/v1/artifacts", spec).await;
    let kept = put.expect_json(201);
    assert_eq!(
        put.header("location"),
        format!("/v1/artifacts/{}", kept["id"].as_str().unwrap())
    );
    let got = server
        .get(&server.bob_token, put.header("location"))
        .await
        .expect_json(200);
    assert_eq!(got["content"], json!({"a": 1}));
    server
        .get(&server.bob_token, "/v1/artifacts/..%2F..%2Fetc%2Fpasswd")
        .await
        .expect_problem(404, "artifact_not_found");
    let agent = json!({"id": "eve", "role": "test-leader"});
    let added = server.post(&server.user_token, "/v1/agents", agent).await;
    assert_eq!(added.expect_json(201)["id"], "eve");
    assert_eq!(
        server
            .get(&server.ada_token, added.header("location"))
            .await
            .expect_json(200)["role"],
        "test-leader"
    );
    server
        .send_json(
            &server.user_token,
            Method::DELETE,
            "/v1/agents/eve",
            Value::Null,
        )
        .await
        .expect_json(200);
    let hook = json!({"url": "https://example.org/x"});
    server
        .post(&server.ada_token, "/v1/webhooks", hook.clone())
        .await
        .expect_problem(403, "permission_denied");
    let hook = server
        .post(&server.user_token, "/v1/webhooks", hook)
        .await
        .expect_json(201);
    let list = server
        .get(&server.user_token, "/v1/webhooks")
        .await
        .expect_json(200);
    assert!(
        !list.to_string().contains(hook["secret"].as_str().unwrap()),
        "{list}"
    );
    let path = format!("/v1/webhooks/{}", hook["id"].as_str().unwrap());
    server
        .send_json(&server.user_token, Method::DELETE, &path, Value::Null)
        .await
        .expect_json(200);
}

#[tokio::test]
async fn task_list_pagination_follows_link_header() {
    let server = TestServer::new().await;
    for n in 0..5 {
        let task = json!({"subject": format!("task {n}")});
        server
            .post(&server.lead_token, "/v1/tasks", task)
            .await
            .expect_json(201);
    }
    let mut path = "/v1/tasks?status=pending&limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = server.get(&server.ada_token, &path).await;
        let tasks = page.expect_json(200);
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
async fn acting_agent_cannot_be_forged_in_request() {
    let server = TestServer::new().await;
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
        let answer = server.post(&server.ada_token, "/v1/tasks", task).await;
        if answer.status.is_success() {
            // This tool has a field of that name with another meaning.
            assert_eq!(field, "owner");
        } else {
            answer.expect_problem(400, "invalid_input");
        }
        let body = json!({"command": "true", field: "lead"});
        server
            .post(&server.ada_token, "/v1/commands", body)
            .await
            .expect_problem(400, "invalid_input");
        let message = json!({"to": "bob", "payload": "x", field: "lead"});
        if field != "from" {
            server
                .post(&server.ada_token, "/v1/messages", message)
                .await
                .expect_problem(400, "invalid_input");
        }
        let query = format!("/v1/tasks?{field}=lead");
        let answer = server.get(&server.ada_token, &query).await;
        if field != "owner" {
            answer.expect_problem(400, "invalid_input");
        }
    }
    let forged = json!({"to": "bob", "payload": "x", "from": "lead"});
    server
        .post(&server.ada_token, "/v1/messages", forged)
        .await
        .expect_problem(400, "invalid_input");
    for header in [
        "x-agent",
        "x-polis-agent",
        "x-forwarded-user",
        "polis-agent",
    ] {
        let task = json!({"subject": "x"});
        let answer = server
            .send_with_headers(
                &server.ada_token,
                Method::POST,
                "/v1/tasks",
                task,
                &[(header, "lead")],
            )
            .await
            .expect_json(201);
        let path = format!("/v1/tasks/{}/history", answer["id"].as_str().unwrap());
        let history = server.get(&server.ada_token, &path).await.expect_json(200);
        assert_eq!(history["history"][0]["actor"], "ada", "{history}");
    }
}

#[tokio::test]
async fn invalid_requests_return_problem_documents() {
    let server = TestServer::new().await;
    server
        .get(&server.ada_token, "/v1/nothing")
        .await
        .expect_problem(404, "route_not_found");
    server
        .get(&server.ada_token, "/")
        .await
        .expect_problem(404, "route_not_found");
    server
        .get(&server.ada_token, "/v1/tasks/")
        .await
        .expect_problem(404, "route_not_found");
    let wrong = server
        .send_json(&server.ada_token, Method::PUT, "/v1/tasks", json!({}))
        .await;
    wrong.expect_problem(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, POST, HEAD");
    let wrong = server
        .send_json(&server.ada_token, Method::POST, "/healthz", Value::Null)
        .await;
    wrong.expect_problem(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, HEAD");
    server
        .send_json(&server.ada_token, Method::TRACE, "/v1/tasks", Value::Null)
        .await
        .expect_problem(405, "method_not_allowed");
    for bad in [
        json!([]),
        json!("x"),
        json!(1),
        json!({"subject": 1}),
        json!({}),
        json!({"subject": "x", "nope": 1}),
    ] {
        server
            .post(&server.ada_token, "/v1/tasks", bad)
            .await
            .expect_problem(400, "invalid_input");
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
            .header("authorization", format!("Bearer {}", server.ada_token))
            .header("content-type", "application/json")
            .body(axum::body::Body::from(text.to_owned()))
            .unwrap();
        server
            .send(request)
            .await
            .expect_problem(400, "invalid_input");
    }
    let deep = format!(
        "{{\"subject\":\"x\",\"metadata\":{}1{}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let request = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", server.ada_token))
        .header("content-type", "application/json")
        .body(axum::body::Body::from(deep))
        .unwrap();
    server
        .send(request)
        .await
        .expect_problem(400, "invalid_input");
    let request = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", server.ada_token))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(axum::body::Body::from("subject=x"))
        .unwrap();
    server
        .send(request)
        .await
        .expect_problem(415, "unsupported_media_type");
    // Routes without a body refuse one.
    server
        .send_json(
            &server.ada_token,
            Method::GET,
            "/v1/tasks",
            json!({"limit": 1}),
        )
        .await
        .expect_problem(413, "request_too_large");
    server
        .get(&server.ada_token, "/v1/tasks?limit=x")
        .await
        .expect_problem(400, "invalid_input");
    server
        .get(&server.ada_token, "/v1/tasks?limit=1&limit=2")
        .await
        .expect_problem(400, "invalid_input");
    server
        .get(&server.ada_token, "/v1/tasks/x")
        .await
        .expect_problem(400, "invalid_task_id");
    server
        .get(&server.ada_token, "/v1/tasks/999")
        .await
        .expect_problem(404, "task_not_found");
    assert_eq!(server.count_tasks().await, 0);
}

#[tokio::test]
async fn path_traversal_is_refused() {
    let server = TestServer::new().await;
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
        let answer = server.get(&server.ada_token, path).await;
        let status = answer.status.as_u16();
        assert!((400..500).contains(&status), "{path}: {status} {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            "application/problem+json",
            "{path}"
        );
    }
    // Encoded twice, it is just a name with percent signs.
    let put = server
        .send_json(
            &server.ada_token,
            Method::PUT,
            "/v1/files?path=%252e%252e%252fx",
            json!({"content": "x"}),
        )
        .await;
    put.expect_json(200);
    let listed = server
        .get(&server.ada_token, "/v1/files/list")
        .await
        .expect_json(200);
    assert_eq!(listed["files"][0]["name"], "%2e%2e%2fx");
    let long = format!("/v1/tasks/{}", "9".repeat(5_000));
    server
        .get(&server.ada_token, &long)
        .await
        .expect_problem(400, "invalid_task_id");
    let long = format!("/v1/boards/{}", "a".repeat(20_000));
    server
        .get(&server.ada_token, &long)
        .await
        .expect_problem(400, "invalid_board");
}

#[tokio::test]
async fn openapi_document_and_metrics_are_served() {
    let server = TestServer::new().await;
    let description = server
        .get(&server.ada_token, "/v1/openapi.json")
        .await
        .expect_json(200);
    assert_eq!(description["openapi"], "3.1.0");
    server
        .get(&server.ada_token, "/v1/tasks")
        .await
        .expect_json(200);
    server
        .get(&server.ada_token, "/v1/tasks/7")
        .await
        .expect_problem(404, "task_not_found");
    let page = server.get(&server.user_token, "/metrics").await;
    assert_eq!(page.status, 200);
    let text = String::from_utf8(page.bytes).unwrap();
    assert!(
        text.contains("polis_operations_total{tool=\"TaskList\",code=\"ok\"} 1"),
        "{text}"
    );
    assert!(text.contains("polis_operations_total{tool=\"TaskGet\",code=\"task_not_found\"} 1"));
    let narrow = server.issue_token("ada", "tasks", None).await;
    server
        .get(&narrow, "/metrics")
        .await
        .expect_problem(403, "insufficient_scope");
    server
        .get(&narrow, "/v1/openapi.json")
        .await
        .expect_json(200);
}

#[tokio::test]
async fn long_responses_are_compressed_if_client_accepts_gzip() {
    let server = TestServer::new().await;
    let text = "a line of a board\n".repeat(2_000);
    let write = json!({"content": text});
    server
        .send_json(&server.lead_token, Method::PUT, "/v1/boards/global", write)
        .await
        .expect_json(200);
    let gzip = [("accept-encoding", "br, gzip")];
    let packed = server
        .send_with_headers(
            &server.lead_token,
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
    let plain = server.get(&server.lead_token, "/v1/boards/global").await;
    assert_eq!(plain.header("content-encoding"), "");
    assert_eq!(plain.bytes, unpacked);
    let short = server
        .send_with_headers(
            &server.lead_token,
            Method::GET,
            "/v1/tasks",
            Value::Null,
            &gzip,
        )
        .await;
    assert_eq!(short.header("content-encoding"), "");
}

#[tokio::test]
async fn run_is_named_run_id_and_task_id_is_still_accepted() {
    let server = TestServer::new().await;
    let token = server.issue_token("user", "all", None).await;
    for (field, run) in [("runId", "shop"), ("taskId", "blog")] {
        let mut start = json!({"requirement": "a shop"});
        start[field] = json!(run);
        let started = server.post(&token, "/v1/society/runs", start).await;
        assert_eq!(
            started.header("location"),
            format!("/v1/society/runs/{run}")
        );
        let started = started.expect_json(201);
        assert_eq!(
            (&started["runId"], &started["taskId"]),
            (&json!(run), &json!(run))
        );
        let shown = server.get(&token, &format!("/v1/society/runs/{run}")).await;
        assert_eq!(shown.expect_json(200)["runId"], run);
        let approvals = format!("/v1/society/approvals?{field}={run}");
        server.get(&token, &approvals).await.expect_json(200);
    }
    // Results contain both names, so requests may: `runId` takes precedence, wherever it is.
    let both = json!({"requirement": "a shop", "runId": "news", "taskId": "other"});
    let started = server.post(&token, "/v1/society/runs", both).await;
    assert_eq!(started.expect_json(201)["runId"], "news");
    let query = "/v1/society/approvals?taskId=other&runId=news";
    server.get(&token, query).await.expect_json(200);
    let pause = json!({"taskId": "news"});
    let paused = server
        .post(&token, "/v1/society/runs/news/pause", pause)
        .await;
    paused.expect_json(200);
    let twice = "/v1/society/approvals?taskId=shop&taskId=blog";
    server
        .get(&token, twice)
        .await
        .expect_problem(400, "invalid_input");
    // On routes of tasks the name keeps its meaning.
    server
        .get(&token, "/v1/tasks?runId=1")
        .await
        .expect_problem(400, "invalid_input");
}
