//! Conditional request tests: ETags, If-Match (optimistic locking) and If-None-Match (304 Not Modified).

use http::Method;
use serde_json::{Value, json};

use crate::test_server::{HttpResponse, TestServer};

/// Changes the subject of task 1 with an `If-Match` header.
async fn patch_task_if_match(server: &TestServer, tag: &str, subject: &str) -> HttpResponse {
    let body = json!({"subject": subject});
    server
        .send_with_headers(
            &server.ada_token,
            Method::PATCH,
            "/v1/tasks/1",
            body,
            &[("if-match", tag)],
        )
        .await
}

#[tokio::test]
async fn patch_with_outdated_etag_is_refused() {
    let server = TestServer::new().await;
    server
        .post(&server.ada_token, "/v1/tasks", json!({"subject": "x"}))
        .await
        .expect_json(201);
    let first = patch_task_if_match(&server, "\"1\"", "y").await;
    first.expect_json(200);
    assert_eq!(first.header("etag"), "\"2\"");
    patch_task_if_match(&server, "\"1\"", "z")
        .await
        .expect_problem(412, "version_mismatch");
    patch_task_if_match(&server, "\"2-gzip\"", "z")
        .await
        .expect_json(200);
    patch_task_if_match(&server, "*", "w")
        .await
        .expect_json(200);
    for (tag, status) in [
        ("W/\"4\"", 412),
        ("\"nonsense\"", 412),
        ("\"99999999999999999999\"", 412),
        ("4", 400),
        ("\"4", 400),
        ("", 400),
        ("\"4\", \"5\"", 400),
    ] {
        let answer = patch_task_if_match(&server, tag, "never").await;
        assert_eq!(answer.status.as_u16(), status, "{tag}");
    }
    // If-Match and `expectedVersion` together would be ambiguous.
    let body = json!({"subject": "never", "expectedVersion": 4});
    let headers = [("if-match", "\"4\"")];
    let twice = server.send_with_headers(
        &server.ada_token,
        Method::PATCH,
        "/v1/tasks/1",
        body,
        &headers,
    );
    twice.await.expect_problem(400, "invalid_input");
    // A route without versions must refuse a condition instead of ignoring it.
    let comment = json!({"body": "x"});
    let path = "/v1/tasks/1/comments";
    let answer = server
        .send_with_headers(&server.ada_token, Method::POST, path, comment, &headers)
        .await;
    answer.expect_problem(400, "invalid_input");
    let task = server.get(&server.ada_token, "/v1/tasks/1").await;
    assert_eq!(task.expect_json(200)["subject"], "w");
    assert_eq!(task.header("etag"), "\"4\"");
    // `expectedVersion` in the body leads to 409 Conflict, not to 412.
    let body = json!({"subject": "never", "expectedVersion": 1});
    let answer = server
        .send_json(&server.ada_token, Method::PATCH, "/v1/tasks/1", body)
        .await;
    answer.expect_problem(409, "version_mismatch");
}

#[tokio::test]
async fn if_none_match_with_current_etag_returns_304() {
    let server = TestServer::new().await;
    server
        .post(&server.ada_token, "/v1/tasks", json!({"subject": "x"}))
        .await
        .expect_json(201);
    let ask = async |tags: &str| {
        let headers = [("if-none-match", tags)];
        server
            .send_with_headers(
                &server.ada_token,
                Method::GET,
                "/v1/tasks/1",
                Value::Null,
                &headers,
            )
            .await
    };
    for same in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*", "\"1-gzip\""] {
        let answer = ask(same).await;
        assert_eq!(answer.status, 304, "{same}");
        assert!(answer.bytes.is_empty());
        assert_eq!(answer.header("etag"), "\"1\"");
    }
    ask("\"2\"").await.expect_json(200);
    ask("1").await.expect_problem(400, "invalid_input");
    // The expiry of a lease changes the response although the version is the same.
    let claim = json!({"leaseMs": 60_000});
    server
        .post(&server.ada_token, "/v1/tasks/1/claim", claim)
        .await
        .expect_json(200);
    assert_eq!(ask("\"2\"").await.status, 304);
    server.clock.advance_millis(61_000);
    let stale = ask("\"2\"").await;
    assert_eq!(stale.expect_json(200)["stale"], true);
    assert_eq!(ask(stale.header("etag")).await.status, 304);
    let body = json!({"subject": "y"});
    let headers = [("if-match", stale.header("etag"))];
    let answer = server.send_with_headers(
        &server.ada_token,
        Method::PATCH,
        "/v1/tasks/1",
        body,
        &headers,
    );
    answer.await.expect_json(200);
}

#[tokio::test]
async fn board_with_text_is_not_replaced_without_if_match() {
    let server = TestServer::new().await;
    let board = "/v1/boards/global";
    let put = async |headers: &[(&str, &str)], content: &str| {
        let body = json!({"content": content});
        server
            .send_with_headers(&server.lead_token, Method::PUT, board, body, headers)
            .await
    };
    put(&[], "one\n").await.expect_json(200);
    let refused = put(&[], "two\n")
        .await
        .expect_problem(409, "version_required");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("`GET /v1/boards/{board}`"), "{hint}");
    // `*` is not a version that was read.
    put(&[("if-match", "*")], "two\n")
        .await
        .expect_problem(409, "version_required");
    let read = server.get(&server.lead_token, board).await;
    assert_eq!(read.expect_json(200)["content"], "one\n");
    let tag = read.header("etag").to_owned();
    put(&[("if-match", &tag)], "two\n").await.expect_json(200);
}

#[tokio::test]
async fn board_and_file_writes_honour_if_match() {
    let server = TestServer::new().await;
    let board = "/v1/boards/global";
    let put = async |tag: &str, content: &str| {
        let body = json!({"content": content});
        let headers = [("if-match", tag)];
        server
            .send_with_headers(&server.lead_token, Method::PUT, board, body, &headers)
            .await
    };
    put("\"0\"", "one\n").await.expect_json(200);
    let refused = put("\"0\"", "two\n")
        .await
        .expect_problem(412, "version_conflict");
    assert_eq!(refused["currentVersion"], 1);
    put("\"1\"", "two\n").await.expect_json(200);
    let file = "/v1/files?path=a.txt";
    let write = async |header: (&str, &str), content: &str| {
        let body = json!({"content": content});
        server
            .send_with_headers(&server.ada_token, Method::PUT, file, body, &[header])
            .await
    };
    let first = write(("if-none-match", "*"), "one").await;
    first.expect_json(200);
    write(("if-none-match", "*"), "two")
        .await
        .expect_problem(412, "file_exists");
    let tag = first.header("etag").to_owned();
    write(("if-match", &tag), "two").await.expect_json(200);
    write(("if-match", &tag), "three")
        .await
        .expect_problem(412, "hash_mismatch");
    write(("if-match", "\"short\""), "three")
        .await
        .expect_problem(412, "hash_mismatch");
    write(("if-match", "*"), "three")
        .await
        .expect_problem(400, "invalid_input");
    let read = server.get(&server.ada_token, file).await;
    assert_eq!(read.expect_json(200)["content"], "two");
}
