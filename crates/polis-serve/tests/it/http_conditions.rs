//! Conditional requests: ETags, If-Match and If-None-Match.

use http::Method;
use serde_json::{Value, json};

use crate::town::{Answer, Town};

async fn patch(town: &Town, tag: &str, subject: &str) -> Answer {
    let body = json!({"subject": subject});
    town.with_headers(
        &town.ada,
        Method::PATCH,
        "/v1/tasks/1",
        body,
        &[("if-match", tag)],
    )
    .await
}

#[tokio::test]
async fn a_change_with_an_old_etag_is_refused() {
    let town = Town::new().await;
    town.post(&town.ada, "/v1/tasks", json!({"subject": "x"}))
        .await
        .good(201);
    let first = patch(&town, "\"1\"", "y").await;
    first.good(200);
    assert_eq!(first.header("etag"), "\"2\"");
    patch(&town, "\"1\"", "z")
        .await
        .problem(412, "version_mismatch");
    patch(&town, "\"2-gzip\"", "z").await.good(200);
    patch(&town, "*", "w").await.good(200);
    for (tag, status) in [
        ("W/\"4\"", 412),
        ("\"nonsense\"", 412),
        ("\"99999999999999999999\"", 412),
        ("4", 400),
        ("\"4", 400),
        ("", 400),
        ("\"4\", \"5\"", 400),
    ] {
        let answer = patch(&town, tag, "never").await;
        assert_eq!(answer.status.as_u16(), status, "{tag}");
    }
    // Given twice, so it would be ambiguous which version counts.
    let body = json!({"subject": "never", "expectedVersion": 4});
    let headers = [("if-match", "\"4\"")];
    let twice = town.with_headers(&town.ada, Method::PATCH, "/v1/tasks/1", body, &headers);
    twice.await.problem(400, "invalid_input");
    // A route without versions must refuse a condition instead of ignoring it.
    let comment = json!({"body": "x"});
    let path = "/v1/tasks/1/comments";
    let answer = town
        .with_headers(&town.ada, Method::POST, path, comment, &headers)
        .await;
    answer.problem(400, "invalid_input");
    let task = town.get(&town.ada, "/v1/tasks/1").await;
    assert_eq!(task.good(200)["subject"], "w");
    assert_eq!(task.header("etag"), "\"4\"");
    // `expectedVersion` in the body leads to 409 Conflict, not to 412.
    let body = json!({"subject": "never", "expectedVersion": 1});
    let answer = town
        .ask(&town.ada, Method::PATCH, "/v1/tasks/1", body)
        .await;
    answer.problem(409, "version_mismatch");
}

#[tokio::test]
async fn what_the_caller_has_is_not_sent_again() {
    let town = Town::new().await;
    town.post(&town.ada, "/v1/tasks", json!({"subject": "x"}))
        .await
        .good(201);
    let ask = async |tags: &str| {
        let headers = [("if-none-match", tags)];
        town.with_headers(&town.ada, Method::GET, "/v1/tasks/1", Value::Null, &headers)
            .await
    };
    for same in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*", "\"1-gzip\""] {
        let answer = ask(same).await;
        assert_eq!(answer.status, 304, "{same}");
        assert!(answer.bytes.is_empty());
        assert_eq!(answer.header("etag"), "\"1\"");
    }
    ask("\"2\"").await.good(200);
    ask("1").await.problem(400, "invalid_input");
    // The expiry of a lease changes the response although the version is the same.
    let claim = json!({"leaseMs": 60_000});
    town.post(&town.ada, "/v1/tasks/1/claim", claim)
        .await
        .good(200);
    assert_eq!(ask("\"2\"").await.status, 304);
    town.clock.advance(61_000);
    let stale = ask("\"2\"").await;
    assert_eq!(stale.good(200)["stale"], true);
    assert_eq!(ask(stale.header("etag")).await.status, 304);
    let body = json!({"subject": "y"});
    let headers = [("if-match", stale.header("etag"))];
    let answer = town.with_headers(&town.ada, Method::PATCH, "/v1/tasks/1", body, &headers);
    answer.await.good(200);
}

#[tokio::test]
async fn board_with_text_is_not_replaced_without_if_match() {
    let town = Town::new().await;
    let board = "/v1/boards/global";
    let put = async |headers: &[(&str, &str)], content: &str| {
        let body = json!({"content": content});
        town.with_headers(&town.lead, Method::PUT, board, body, headers)
            .await
    };
    put(&[], "one\n").await.good(200);
    let refused = put(&[], "two\n").await.problem(409, "version_required");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("`GET /v1/boards/{board}`"), "{hint}");
    // `*` is not a version that was read.
    put(&[("if-match", "*")], "two\n")
        .await
        .problem(409, "version_required");
    let read = town.get(&town.lead, board).await;
    assert_eq!(read.good(200)["content"], "one\n");
    let tag = read.header("etag").to_owned();
    put(&[("if-match", &tag)], "two\n").await.good(200);
}

#[tokio::test]
async fn boards_and_files_compare_too() {
    let town = Town::new().await;
    let board = "/v1/boards/global";
    let put = async |tag: &str, content: &str| {
        let body = json!({"content": content});
        let headers = [("if-match", tag)];
        town.with_headers(&town.lead, Method::PUT, board, body, &headers)
            .await
    };
    put("\"0\"", "one\n").await.good(200);
    let refused = put("\"0\"", "two\n").await.problem(412, "version_conflict");
    assert_eq!(refused["currentVersion"], 1);
    put("\"1\"", "two\n").await.good(200);
    let file = "/v1/files?path=a.txt";
    let write = async |header: (&str, &str), content: &str| {
        let body = json!({"content": content});
        town.with_headers(&town.ada, Method::PUT, file, body, &[header])
            .await
    };
    let first = write(("if-none-match", "*"), "one").await;
    first.good(200);
    write(("if-none-match", "*"), "two")
        .await
        .problem(412, "file_exists");
    let tag = first.header("etag").to_owned();
    write(("if-match", &tag), "two").await.good(200);
    write(("if-match", &tag), "three")
        .await
        .problem(412, "hash_mismatch");
    write(("if-match", "\"short\""), "three")
        .await
        .problem(412, "hash_mismatch");
    write(("if-match", "*"), "three")
        .await
        .problem(400, "invalid_input");
    let read = town.get(&town.ada, file).await;
    assert_eq!(read.good(200)["content"], "two");
}
