//! Idempotency keys: retries with the same key.

use http::Method;
use serde_json::{Value, json};

use crate::town::{Answer, Town};

async fn keyed(town: &Town, token: &str, path: &str, body: Value, key: &str) -> Answer {
    town.with_headers(token, Method::POST, path, body, &[("idempotency-key", key)])
        .await
}

#[tokio::test]
async fn the_same_request_is_done_once_and_answered_alike() {
    let town = Town::new().await;
    let task = json!({"subject": "once"});
    let first = keyed(&town, &town.ada, "/v1/tasks", task.clone(), "k1").await;
    let second = keyed(&town, &town.ada, "/v1/tasks", task.clone(), "k1").await;
    assert_eq!(first.good(201), second.good(201));
    assert_eq!(first.header("idempotency-replayed"), "");
    assert_eq!(second.header("idempotency-replayed"), "true");
    for header in ["location", "etag"] {
        assert_eq!(first.header(header), second.header(header));
    }
    assert_eq!(town.tasks().await, 1);
    // The same key with another body, another path and another agent.
    let other = json!({"subject": "other"});
    let reused = keyed(&town, &town.ada, "/v1/tasks", other, "k1").await;
    reused.problem(422, "idempotency_key_reused");
    let reused = keyed(&town, &town.ada, "/v1/tasks/claim", json!({}), "k1").await;
    reused.problem(422, "idempotency_key_reused");
    let bobs = keyed(&town, &town.bob, "/v1/tasks", task, "k1").await;
    assert_eq!(bobs.good(201)["id"], "2");
    // A refusal changed nothing, so it is not stored and the retry is decided again.
    let claim = keyed(&town, &town.ada, "/v1/tasks/9/claim", json!({}), "k2").await;
    claim.problem(404, "task_not_found");
    let claim = keyed(&town, &town.ada, "/v1/tasks/9/claim", json!({}), "k2").await;
    claim.problem(404, "task_not_found");
}

#[tokio::test]
async fn keys_are_visible_ascii() {
    let town = Town::new().await;
    let task = json!({"subject": "x"});
    let long = "k".repeat(256);
    for bad in ["", " ", "a b", "é", &long] {
        let answer = keyed(&town, &town.ada, "/v1/tasks", task.clone(), bad).await;
        answer.problem(400, "invalid_input");
    }
    let headers = [("idempotency-key", "a"), ("idempotency-key", "b")];
    let twice = town.with_headers(&town.ada, Method::POST, "/v1/tasks", task.clone(), &headers);
    twice.await.problem(400, "invalid_input");
    keyed(&town, &town.ada, "/v1/tasks", task, &"k".repeat(255))
        .await
        .good(201);
    assert_eq!(town.tasks().await, 1);
}

#[tokio::test]
async fn twins_at_the_same_moment_are_one() {
    let town = Town::new().await;
    let ask = || {
        keyed(
            &town,
            &town.ada,
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
    for answer in futures_join(all).await {
        ids.insert(answer.good(201)["id"].as_str().unwrap().to_owned());
        fresh += usize::from(answer.header("idempotency-replayed").is_empty());
    }
    assert_eq!((ids.len(), fresh), (1, 1));
    assert_eq!(town.tasks().await, 1);
}

#[tokio::test]
async fn a_deed_outside_of_the_store_is_not_repeated() {
    let town = Town::new().await;
    let body = json!({"path": "a/b"});
    let first = keyed(&town, &town.ada, "/v1/files/directories", body.clone(), "d").await;
    let second = keyed(&town, &town.ada, "/v1/files/directories", body, "d").await;
    assert_eq!(first.good(200), second.good(200));
    assert_eq!(second.header("idempotency-replayed"), "true");
    // The refusal is stored as well: it is unknown what a second attempt would find.
    let body = json!({"from": "nothing", "to": "x"});
    let first = keyed(&town, &town.ada, "/v1/files/move", body.clone(), "m").await;
    let second = keyed(&town, &town.ada, "/v1/files/move", body, "m").await;
    let (one, two) = (
        first.problem(404, "file_not_found"),
        second.problem(404, "file_not_found"),
    );
    assert_eq!(one, two);
    assert_eq!(second.header("idempotency-replayed"), "true");
}

/// Polls all futures concurrently.
async fn futures_join<F: Future + Unpin>(mut all: Vec<F>) -> Vec<F::Output> {
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
