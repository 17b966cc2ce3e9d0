//! Request admission: tokens, scopes, Host, Origin (CORS) and rate limits.

use http::Method;
use polis_core::AgentId;
use polis_ops::op;
use polis_serve::http::Options;
use serde_json::{Value, json};

use crate::town::{Answer, HERE, Town, elsewhere, request};

#[tokio::test]
async fn without_a_token_that_counts_nobody_gets_in() {
    let town = Town::new().await;
    let short = town.token("ada", "all", Some(1_000)).await;
    let revoked = town.token("ada", "all", None).await;
    let id = revoked.split('_').nth(1).unwrap().to_owned();
    town.get(&revoked, "/v1/tasks").await.good(200);
    op::revoke_token(&town.polis, &AgentId::user(), &id)
        .await
        .unwrap();
    town.get(&short, "/v1/tasks").await.good(200);
    town.clock.advance(1_000);
    let other_secret = format!("{}{}", &town.ada[..town.ada.len() - 1], "x");
    let swapped = format!("polis_{}_{}", id, town.bob.rsplit('_').next().unwrap());
    for token in [
        "",
        "x",
        "polis_",
        &short,
        &revoked,
        &other_secret,
        &swapped,
        &"x".repeat(60_000),
    ] {
        for path in [
            "/v1/tasks",
            "/v1/openapi.json",
            "/metrics",
            "/mcp",
            "/v1/events",
            "/nowhere",
        ] {
            let answer = town.get(token, path).await;
            answer.problem(401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    for header in [
        "Basic dXNlcjo=",
        "Bearer",
        &format!("Token {}", town.ada),
        &town.ada,
        "bearer  ",
    ] {
        let mut ask = request("", Method::GET, "/v1/tasks", Value::Null);
        ask.headers_mut()
            .insert("authorization", header.parse().unwrap());
        let refused = town.send(ask).await;
        assert_eq!(refused.status, 401, "{header}");
    }
    let mut twice = request(&town.ada, Method::GET, "/v1/tasks", Value::Null);
    twice.headers_mut().append(
        "authorization",
        format!("Bearer {}", town.bob).parse().unwrap(),
    );
    town.send(twice).await.problem(401, "unauthorized");
    let mut lower = request("", Method::GET, "/v1/tasks", Value::Null);
    lower.headers_mut().insert(
        "authorization",
        format!("bearer {}", town.ada).parse().unwrap(),
    );
    town.send(lower).await.good(200);
}

#[tokio::test]
async fn a_retired_agents_token_is_worth_nothing() {
    let town = Town::new().await;
    town.get(&town.bob, "/v1/tasks").await.good(200);
    town.ask(&town.user, Method::DELETE, "/v1/agents/bob", Value::Null)
        .await
        .good(200);
    town.get(&town.bob, "/v1/tasks")
        .await
        .problem(401, "unauthorized");
}

#[tokio::test]
async fn health_needs_no_token_from_this_machine_only() {
    let town = Town::new().await;
    for path in ["/healthz", "/readyz"] {
        town.get("", path).await.good(200);
        let mut ask = request("", Method::GET, path, Value::Null);
        ask.headers_mut()
            .insert("host", "192.0.2.1:7707".parse().unwrap());
        let far = Answer::of(town.app.answer(&elsewhere(), ask).await).await;
        far.problem(401, "unauthorized");
        let mut ask = request(&town.ada, Method::GET, path, Value::Null);
        ask.headers_mut()
            .insert("host", "192.0.2.1:7707".parse().unwrap());
        Answer::of(town.app.answer(&elsewhere(), ask).await)
            .await
            .good(200);
        // A wrong token is refused even where none is needed.
        town.get("wrong", path).await.problem(401, "unauthorized");
        town.post("", path, json!({}))
            .await
            .problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_token_is_good_for_its_scopes_only() {
    let town = Town::new().await;
    town.post(&town.lead, "/v1/tasks", json!({"subject": "x"}))
        .await
        .good(201);
    let tasks = town.token("ada", "tasks", None).await;
    let look = town.token("ada", "tasks:read,boards", None).await;
    let read = town.token("ada", "read", None).await;
    let table: [(&str, Method, &str, Value, [bool; 3]); 10] = [
        (
            "tasks",
            Method::GET,
            "/v1/tasks",
            Value::Null,
            [true, true, true],
        ),
        (
            "create",
            Method::POST,
            "/v1/tasks",
            json!({"subject": "y"}),
            [true, false, false],
        ),
        (
            "claim",
            Method::POST,
            "/v1/tasks/1/claim",
            json!({}),
            [true, false, false],
        ),
        (
            "board",
            Method::GET,
            "/v1/boards/global",
            Value::Null,
            [false, true, true],
        ),
        (
            "append",
            Method::POST,
            "/v1/boards/mid%2Fbackend-leader/append",
            json!({"content": "x"}),
            [false, true, false],
        ),
        (
            "file",
            Method::PUT,
            "/v1/files?path=x",
            json!({"content": "x"}),
            [false, false, false],
        ),
        (
            "run",
            Method::POST,
            "/v1/commands",
            json!({"command": "true"}),
            [false, false, false],
        ),
        (
            "take",
            Method::POST,
            "/v1/messages/check",
            json!({}),
            [false, false, false],
        ),
        (
            "mail",
            Method::GET,
            "/v1/messages",
            Value::Null,
            [false, false, true],
        ),
        (
            "figures",
            Method::GET,
            "/metrics",
            Value::Null,
            [false, false, true],
        ),
    ];
    for (what, method, path, body, good) in table {
        for (token, good) in [&tasks, &look, &read].into_iter().zip(good) {
            let answer = town.ask(token, method.clone(), path, body.clone()).await;
            if good {
                assert!(answer.status.is_success(), "{what} {answer:?}");
            } else {
                answer.problem(403, "insufficient_scope");
            }
        }
    }
    // A scope is not a permission: a token cannot do more than its agent.
    let all = town.token("ada", "all", None).await;
    town.get(&all, "/v1/webhooks")
        .await
        .problem(403, "permission_denied");
}

async fn from(
    town: &Town,
    token: &str,
    method: Method,
    host: &str,
    origin: Option<&str>,
) -> Answer {
    let mut ask = request(token, method.clone(), "/v1/tasks", Value::Null);
    ask.headers_mut().insert("host", host.parse().unwrap());
    if let Some(origin) = origin {
        ask.headers_mut().insert("origin", origin.parse().unwrap());
    }
    if method == Method::OPTIONS {
        ask.headers_mut()
            .insert("access-control-request-method", "POST".parse().unwrap());
    }
    town.send(ask).await
}

#[tokio::test]
async fn a_name_that_is_not_ours_is_refused_whatever_the_token() {
    let town = Town::new().await;
    for host in [
        "evil.example",
        "evil.example:7707",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "[::2]",
        "0.0.0.0",
    ] {
        let refused = from(&town, &town.ada, Method::GET, host, None).await;
        refused.problem(403, "origin_forbidden");
        // Not even the health check is answered.
        let mut ask = request("", Method::GET, "/healthz", Value::Null);
        ask.headers_mut().insert("host", host.parse().unwrap());
        town.send(ask).await.problem(403, "origin_forbidden");
    }
    for host in ["localhost:7707", "127.0.0.1", "[::1]:7707"] {
        from(&town, &town.ada, Method::GET, host, None)
            .await
            .good(200);
    }
    let mut none = request(&town.ada, Method::GET, "/v1/tasks", Value::Null);
    none.headers_mut().remove("host");
    town.send(none).await.problem(400, "invalid_input");
    let mut two = request(&town.ada, Method::GET, "/v1/tasks", Value::Null);
    two.headers_mut()
        .append("host", "localhost".parse().unwrap());
    town.send(two).await.problem(400, "invalid_input");
    // An absolute-form request target takes precedence over Host.
    let absolute = request(
        &town.ada,
        Method::GET,
        "http://evil.example/v1/tasks",
        Value::Null,
    );
    town.send(absolute).await.problem(403, "origin_forbidden");
}

#[tokio::test]
async fn pages_from_elsewhere_get_nothing_by_default() {
    let town = Town::new().await;
    let host = "127.0.0.1:7707";
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:7707",
        "http://127.0.0.1:8080",
        "https://127.0.0.1:7707",
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let refused = from(&town, &town.ada, method, host, Some(origin)).await;
            refused.problem(403, "origin_forbidden");
            for (name, _) in &refused.headers {
                assert!(
                    !name.as_str().starts_with("access-control"),
                    "{origin} {name}"
                );
            }
        }
    }
    let same = from(
        &town,
        &town.ada,
        Method::GET,
        host,
        Some("http://127.0.0.1:7707"),
    )
    .await;
    same.good(200);
    assert_eq!(same.header("access-control-allow-origin"), "");
    // OPTIONS without an Origin is not a preflight request, only an unsupported method.
    let asked = from(&town, &town.ada, Method::OPTIONS, host, None).await;
    asked.problem(405, "method_not_allowed");
}

#[tokio::test]
async fn a_listed_origin_gets_what_browsers_need() {
    let options = Options {
        origins: vec!["https://board.example.org".to_owned()],
        hosts: vec!["polis.example.org".to_owned()],
        ..Options::default()
    };
    let town = Town::with(options).await;
    let listed = "https://board.example.org";
    let origin = Some(listed);
    let asked = from(&town, "", Method::OPTIONS, "polis.example.org", origin).await;
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), listed);
    assert!(
        asked
            .header("access-control-allow-headers")
            .contains("Idempotency-Key")
    );
    assert!(
        asked
            .header("access-control-allow-methods")
            .contains("PATCH")
    );
    assert_eq!(asked.header("access-control-allow-credentials"), "");
    let read = from(&town, &town.ada, Method::GET, "polis.example.org", origin).await;
    read.good(200);
    assert_eq!(read.header("access-control-allow-origin"), listed);
    // The page can read why it was refused, but is not admitted without a token.
    let refused = from(&town, "", Method::GET, "polis.example.org", origin).await;
    refused.problem(401, "unauthorized");
    assert_eq!(refused.header("access-control-allow-origin"), listed);
    let other = from(
        &town,
        &town.ada,
        Method::GET,
        "polis.example.org",
        Some("https://evil.example"),
    )
    .await;
    other.problem(403, "origin_forbidden");
}

#[tokio::test]
async fn a_token_that_asks_too_often_waits_and_others_do_not() {
    let options = Options {
        rate: 1,
        burst: 3,
        ..Options::default()
    };
    let town = Town::with(options).await;
    for _ in 0..3 {
        town.get(&town.ada, "/v1/tasks").await.good(200);
    }
    let refused = town.get(&town.ada, "/v1/tasks").await;
    refused.problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    town.get(&town.bob, "/v1/tasks").await.good(200);
}

#[tokio::test]
async fn wrong_tokens_from_an_address_are_not_looked_at_for_ever() {
    let options = Options {
        failures: 5,
        ..Options::default()
    };
    let town = Town::with(options).await;
    town.get(&town.ada, "/v1/tasks").await.good(200);
    let fresh = town.token("bob", "all", None).await;
    let wrong = format!("polis_{}_{}", "0".repeat(12), "0".repeat(64));
    for _ in 0..5 {
        town.get(&wrong, "/v1/tasks")
            .await
            .problem(401, "unauthorized");
        // Text that does not have the form of a token is not counted.
        town.get("no token", "/v1/tasks")
            .await
            .problem(401, "unauthorized");
    }
    let refused = town.get(&wrong, "/v1/tasks").await;
    refused.problem(429, "rate_limited");
    assert!(!refused.header("retry-after").is_empty());
    // No unknown token is checked from this address, so guessing is impossible.
    town.get(&fresh, "/v1/tasks")
        .await
        .problem(429, "rate_limited");
    // Recently valid tokens still work, and so does every other address.
    town.get(&town.ada, "/v1/tasks").await.good(200);
    let mut ask = request(&fresh, Method::GET, "/v1/tasks", Value::Null);
    ask.headers_mut()
        .insert("host", "192.0.2.1".parse().unwrap());
    Answer::of(town.app.answer(&elsewhere(), ask).await)
        .await
        .good(200);
    town.get(&fresh, "/v1/tasks").await.good(200);
}

#[tokio::test]
async fn more_requests_than_there_is_room_for_are_told_so() {
    let options = Options {
        max_requests: 1,
        ..Options::default()
    };
    let town = Town::with(options).await;
    // A request that never sends its body occupies the only slot.
    let (_hold, body) = tokio::sync::oneshot::channel::<()>();
    let stuck = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", town.ada))
        .header("content-type", "application/json")
        .body(axum::body::Body::new(Late(body)))
        .unwrap();
    let app = std::sync::Arc::clone(&town.app);
    let first = tokio::spawn(async move { app.answer(&HERE, stuck).await.status() });
    while town.app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    let refused = town.get(&town.ada, "/v1/tasks").await;
    refused.problem(503, "store_busy");
    assert_eq!(refused.header("retry-after"), "1");
    drop(_hold);
    assert_eq!(first.await.unwrap(), 400);
    town.get(&town.ada, "/v1/tasks").await.good(200);
}

/// A body that breaks off when its sender is dropped.
struct Late(tokio::sync::oneshot::Receiver<()>);

impl http_body::Body for Late {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, Self::Error>>> {
        let gone = std::pin::Pin::new(&mut self.0).poll(cx);
        gone.map(|_| Some(Err(std::io::Error::other("gone"))))
    }
}
