//! Idempotency key tests: a retry with the same `Idempotency-Key` returns the stored response instead of
//! repeating the request.

use http::Method;
use serde_json::{Value, json};

use crate::test_server::{HttpResponse, TestServer};

async fn post_with_key(
    server: &TestServer,
    token: &str,
    path: &str,
    body: Value,
    key: &str,
) -> HttpResponse {
    server
        .send_with_headers(token, Method::POST, path, body, &[("idempotency-key", key)])
        .await
}

#[tokio::test]
async fn retry_with_same_key_returns_stored_response() {
    let server = TestServer::new().await;
    let task = json!({"subject": "once"});
    let first = post_with_key(&server, &server.ada_token, "/v1/tasks", task.clone(), "k1").await;
    let second = post_with_key(&server, &server.ada_token, "/v1/tasks", task.clone(), "k1").await;
    assert_eq!(first.expect_json(201), second.expect_json(201));
    assert_eq!(first.header("idempotency-replayed"), "");
    assert_eq!(second.header("idempotency-replayed"), "true");
    for header in ["location", "etag"] {
        assert_eq!(first.header(header), second.header(header));
    }
    assert_eq!(server.count_tasks().await, 1);
    // The same key with another body, another path and another agent.
    let other = json!({"subject": "other"});
    let reused = post_with_key(&server, &server.ada_token, "/v1/tasks", other, "k1").await;
    reused.expect_problem(422, "idempotency_key_reused");
    let reused = post_with_key(
        &server,
        &server.ada_token,
        "/v1/tasks/claim",
        json!({}),
        "k1",
    )
    .await;
    reused.expect_problem(422, "idempotency_key_reused");
    let bobs = post_with_key(&server, &server.bob_token, "/v1/tasks", task, "k1").await;
    assert_eq!(bobs.expect_json(201)["id"], "2");
    // A refusal changed nothing, so it is not stored and the retry is decided again.
    let claim = post_with_key(
        &server,
        &server.ada_token,
        "/v1/tasks/9/claim",
        json!({}),
        "k2",
    )
    .await;
    claim.expect_problem(404, "task_not_found");
    let claim = post_with_key(
        &server,
        &server.ada_token,
        "/v1/tasks/9/claim",
        json!({}),
        "k2",
    )
    .await;
    claim.expect_problem(404, "task_not_found");
}

#[tokio::test]
async fn invalid_idempotency_key_is_refused() {
    let server = TestServer::new().await;
    let task = json!({"subject": "x"});
    let long = "k".repeat(256);
    for bad in ["", " ", "a b", "é", &long] {
        let answer =
            post_with_key(&server, &server.ada_token, "/v1/tasks", task.clone(), bad).await;
        answer.expect_problem(400, "invalid_input");
    }
    let headers = [("idempotency-key", "a"), ("idempotency-key", "b")];
    let twice = server.send_with_headers(
        &server.ada_token,
        Method::POST,
        "/v1/tasks",
        task.clone(),
        &headers,
    );
    twice.await.expect_problem(400, "invalid_input");
    post_with_key(
        &server,
        &server.ada_token,
        "/v1/tasks",
        task,
        &"k".repeat(255),
    )
    .await
    .expect_json(201);
    assert_eq!(server.count_tasks().await, 1);
}

#[tokio::test]
async fn concurrent_requests_with_same_key_run_once() {
    let server = TestServer::new().await;
    let ask = || {
        post_with_key(
            &server,
            &server.ada_token,
            "/v1/tasks",
            json!({"subject": "x"}),
            "twin",
        )
    };
    let mut all = Vec::new();
    for _ in 0..16 {
        all.push(Box::pin(ask()));
    }
    let mut ids = std::collections::BTreeSet::new();
    let mut fresh = 0;
    for answer in join_all(all).await {
        ids.insert(answer.expect_json(201)["id"].as_str().unwrap().to_owned());
        fresh += usize::from(answer.header("idempotency-replayed").is_empty());
    }
    assert_eq!((ids.len(), fresh), (1, 1));
    assert_eq!(server.count_tasks().await, 1);
}

#[tokio::test]
async fn file_operation_with_same_key_is_not_repeated() {
    let server = TestServer::new().await;
    let body = json!({"path": "a/b"});
    let first = post_with_key(
        &server,
        &server.ada_token,
        "/v1/files/directories",
        body.clone(),
        "d",
    )
    .await;
    let second = post_with_key(
        &server,
        &server.ada_token,
        "/v1/files/directories",
        body,
        "d",
    )
    .await;
    assert_eq!(first.expect_json(200), second.expect_json(200));
    assert_eq!(second.header("idempotency-replayed"), "true");
    // The refusal is stored as well: it is unknown what a second attempt would find.
    let body = json!({"from": "nothing", "to": "x"});
    let first = post_with_key(
        &server,
        &server.ada_token,
        "/v1/files/move",
        body.clone(),
        "m",
    )
    .await;
    let second = post_with_key(&server, &server.ada_token, "/v1/files/move", body, "m").await;
    let (one, two) = (
        first.expect_problem(404, "file_not_found"),
        second.expect_problem(404, "file_not_found"),
    );
    assert_eq!(one, two);
    assert_eq!(second.header("idempotency-replayed"), "true");
}

/// Polls all futures concurrently.
async fn join_all<F: Future + Unpin>(mut all: Vec<F>) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        let mut waiting = false;
        for (one, done) in all.iter_mut().zip(&mut done) {
            if done.is_none() {
                match std::pin::Pin::new(one).poll(cx) {
                    std::task::Poll::Ready(answer) => *done = Some(answer),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    done.into_iter().map(Option::unwrap).collect()
}
