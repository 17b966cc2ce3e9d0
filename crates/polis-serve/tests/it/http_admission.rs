//! Request admission tests: bearer tokens, scopes, Host and Origin checks (CORS), rate limits, throttling of
//! failed tokens, and the limit of concurrent requests.

use http::Method;
use polis_core::AgentId;
use polis_ops::op;
use polis_serve::http::ServerOptions;
use serde_json::{Value, json};

use crate::test_server::{HttpResponse, LOCAL_PEER, TestServer, build_request, remote_peer};

#[tokio::test]
async fn request_without_valid_token_is_unauthorized() {
    let server = TestServer::new().await;
    let short = server.issue_token("ada", "all", Some(1_000)).await;
    let revoked = server.issue_token("ada", "all", None).await;
    let id = revoked.split('_').nth(1).unwrap().to_owned();
    server.get(&revoked, "/v1/tasks").await.expect_json(200);
    op::revoke_token(&server.app.request(&AgentId::user()), &id)
        .await
        .unwrap();
    server.get(&short, "/v1/tasks").await.expect_json(200);
    server.clock.advance_millis(1_000);
    let other_secret = format!("{}{}", &server.ada_token[..server.ada_token.len() - 1], "x");
    let swapped = format!(
        "polis_{}_{}",
        id,
        server.bob_token.rsplit('_').next().unwrap()
    );
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
            let answer = server.get(token, path).await;
            answer.expect_problem(401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    for header in [
        "Basic dXNlcjo=",
        "Bearer",
        &format!("Token {}", server.ada_token),
        &server.ada_token,
        "bearer  ",
    ] {
        let mut ask = build_request("", Method::GET, "/v1/tasks", Value::Null);
        ask.headers_mut()
            .insert("authorization", header.parse().unwrap());
        let refused = server.send(ask).await;
        assert_eq!(refused.status, 401, "{header}");
    }
    let mut twice = build_request(&server.ada_token, Method::GET, "/v1/tasks", Value::Null);
    twice.headers_mut().append(
        "authorization",
        format!("Bearer {}", server.bob_token).parse().unwrap(),
    );
    server.send(twice).await.expect_problem(401, "unauthorized");
    let mut lower = build_request("", Method::GET, "/v1/tasks", Value::Null);
    lower.headers_mut().insert(
        "authorization",
        format!("bearer {}", server.ada_token).parse().unwrap(),
    );
    server.send(lower).await.expect_json(200);
}

#[tokio::test]
async fn token_of_retired_agent_is_unauthorized() {
    let server = TestServer::new().await;
    server
        .get(&server.bob_token, "/v1/tasks")
        .await
        .expect_json(200);
    server
        .send_json(
            &server.user_token,
            Method::DELETE,
            "/v1/agents/bob",
            Value::Null,
        )
        .await
        .expect_json(200);
    server
        .get(&server.bob_token, "/v1/tasks")
        .await
        .expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn health_check_needs_no_token_from_localhost_only() {
    let server = TestServer::new().await;
    for path in ["/healthz", "/readyz"] {
        server.get("", path).await.expect_json(200);
        let mut ask = build_request("", Method::GET, path, Value::Null);
        ask.headers_mut()
            .insert("host", "192.0.2.1:7707".parse().unwrap());
        let far =
            HttpResponse::from_response(server.http_app.handle(&remote_peer(), ask).await).await;
        far.expect_problem(401, "unauthorized");
        let mut ask = build_request(&server.ada_token, Method::GET, path, Value::Null);
        ask.headers_mut()
            .insert("host", "192.0.2.1:7707".parse().unwrap());
        HttpResponse::from_response(server.http_app.handle(&remote_peer(), ask).await)
            .await
            .expect_json(200);
        // A wrong token is refused even where none is needed.
        server
            .get("wrong", path)
            .await
            .expect_problem(401, "unauthorized");
        server
            .post("", path, json!({}))
            .await
            .expect_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn token_is_limited_to_its_scopes() {
    let server = TestServer::new().await;
    server
        .post(&server.lead_token, "/v1/tasks", json!({"subject": "x"}))
        .await
        .expect_json(201);
    let tasks = server.issue_token("ada", "tasks", None).await;
    let look = server.issue_token("ada", "tasks:read,boards", None).await;
    let read = server.issue_token("ada", "read", None).await;
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
            let answer = server
                .send_json(token, method.clone(), path, body.clone())
                .await;
            if good {
                assert!(answer.status.is_success(), "{what} {answer:?}");
            } else {
                answer.expect_problem(403, "insufficient_scope");
            }
        }
    }
    // A scope is not a permission: a token cannot do more than its agent.
    let all = server.issue_token("ada", "all", None).await;
    server
        .get(&all, "/v1/webhooks")
        .await
        .expect_problem(403, "permission_denied");
}

/// Sends a request with these Host and Origin headers.
async fn send_from_origin(
    server: &TestServer,
    token: &str,
    method: Method,
    host: &str,
    origin: Option<&str>,
) -> HttpResponse {
    let mut ask = build_request(token, method.clone(), "/v1/tasks", Value::Null);
    ask.headers_mut().insert("host", host.parse().unwrap());
    if let Some(origin) = origin {
        ask.headers_mut().insert("origin", origin.parse().unwrap());
    }
    if method == Method::OPTIONS {
        ask.headers_mut()
            .insert("access-control-request-method", "POST".parse().unwrap());
    }
    server.send(ask).await
}

#[tokio::test]
async fn foreign_host_header_is_refused() {
    let server = TestServer::new().await;
    for host in [
        "evil.example",
        "evil.example:7707",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "[::2]",
        "0.0.0.0",
    ] {
        let refused = send_from_origin(&server, &server.ada_token, Method::GET, host, None).await;
        refused.expect_problem(403, "origin_forbidden");
        // Not even the health check is answered.
        let mut ask = build_request("", Method::GET, "/healthz", Value::Null);
        ask.headers_mut().insert("host", host.parse().unwrap());
        server
            .send(ask)
            .await
            .expect_problem(403, "origin_forbidden");
    }
    for host in ["localhost:7707", "127.0.0.1", "[::1]:7707"] {
        send_from_origin(&server, &server.ada_token, Method::GET, host, None)
            .await
            .expect_json(200);
    }
    let mut none = build_request(&server.ada_token, Method::GET, "/v1/tasks", Value::Null);
    none.headers_mut().remove("host");
    server.send(none).await.expect_problem(400, "invalid_input");
    let mut two = build_request(&server.ada_token, Method::GET, "/v1/tasks", Value::Null);
    two.headers_mut()
        .append("host", "localhost".parse().unwrap());
    server.send(two).await.expect_problem(400, "invalid_input");
    // An absolute-form request target takes precedence over Host.
    let absolute = build_request(
        &server.ada_token,
        Method::GET,
        "http://evil.example/v1/tasks",
        Value::Null,
    );
    server
        .send(absolute)
        .await
        .expect_problem(403, "origin_forbidden");
}

#[tokio::test]
async fn cross_origin_requests_are_refused_by_default() {
    let server = TestServer::new().await;
    let host = "127.0.0.1:7707";
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:7707",
        "http://127.0.0.1:8080",
        "https://127.0.0.1:7707",
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let refused =
                send_from_origin(&server, &server.ada_token, method, host, Some(origin)).await;
            refused.expect_problem(403, "origin_forbidden");
            for (name, _) in &refused.headers {
                assert!(
                    !name.as_str().starts_with("access-control"),
                    "{origin} {name}"
                );
            }
        }
    }
    let same = send_from_origin(
        &server,
        &server.ada_token,
        Method::GET,
        host,
        Some("http://127.0.0.1:7707"),
    )
    .await;
    same.expect_json(200);
    assert_eq!(same.header("access-control-allow-origin"), "");
    // OPTIONS without an Origin is not a preflight request, only an unsupported method.
    let asked = send_from_origin(&server, &server.ada_token, Method::OPTIONS, host, None).await;
    asked.expect_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn allowed_origin_gets_cors_headers() {
    let options = ServerOptions {
        origins: vec!["https://board.example.org".to_owned()],
        hosts: vec!["polis.example.org".to_owned()],
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options).await;
    let listed = "https://board.example.org";
    let origin = Some(listed);
    let asked = send_from_origin(&server, "", Method::OPTIONS, "polis.example.org", origin).await;
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), listed);
    assert!(
        asked
            .header("access-control-allow-headers")
            .contains("idempotency-key")
    );
    assert!(
        asked
            .header("access-control-allow-methods")
            .contains("PATCH")
    );
    assert_eq!(asked.header("access-control-allow-credentials"), "");
    let read = send_from_origin(
        &server,
        &server.ada_token,
        Method::GET,
        "polis.example.org",
        origin,
    )
    .await;
    read.expect_json(200);
    assert_eq!(read.header("access-control-allow-origin"), listed);
    // The page can read why it was refused, but is not admitted without a token.
    let refused = send_from_origin(&server, "", Method::GET, "polis.example.org", origin).await;
    refused.expect_problem(401, "unauthorized");
    assert_eq!(refused.header("access-control-allow-origin"), listed);
    let other = send_from_origin(
        &server,
        &server.ada_token,
        Method::GET,
        "polis.example.org",
        Some("https://evil.example"),
    )
    .await;
    other.expect_problem(403, "origin_forbidden");
}

#[tokio::test]
async fn rate_limit_applies_per_token() {
    let options = ServerOptions {
        requests_per_second: 1,
        burst: 3,
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options).await;
    for _ in 0..3 {
        server
            .get(&server.ada_token, "/v1/tasks")
            .await
            .expect_json(200);
    }
    let refused = server.get(&server.ada_token, "/v1/tasks").await;
    refused.expect_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    server
        .get(&server.bob_token, "/v1/tasks")
        .await
        .expect_json(200);
}

#[tokio::test]
async fn failed_tokens_are_throttled_per_address() {
    let options = ServerOptions {
        auth_failures_per_minute: 5,
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options).await;
    server
        .get(&server.ada_token, "/v1/tasks")
        .await
        .expect_json(200);
    let fresh = server.issue_token("bob", "all", None).await;
    let wrong = format!("polis_{}_{}", "0".repeat(12), "0".repeat(64));
    for _ in 0..5 {
        server
            .get(&wrong, "/v1/tasks")
            .await
            .expect_problem(401, "unauthorized");
        // Text that does not have the form of a token is not counted.
        server
            .get("no token", "/v1/tasks")
            .await
            .expect_problem(401, "unauthorized");
    }
    let refused = server.get(&wrong, "/v1/tasks").await;
    refused.expect_problem(429, "rate_limited");
    assert!(!refused.header("retry-after").is_empty());
    // No unknown token is checked from this address, so guessing is impossible.
    server
        .get(&fresh, "/v1/tasks")
        .await
        .expect_problem(429, "rate_limited");
    // Recently valid tokens still work, and so does every other address.
    server
        .get(&server.ada_token, "/v1/tasks")
        .await
        .expect_json(200);
    let mut ask = build_request(&fresh, Method::GET, "/v1/tasks", Value::Null);
    ask.headers_mut()
        .insert("host", "192.0.2.1".parse().unwrap());
    HttpResponse::from_response(server.http_app.handle(&remote_peer(), ask).await)
        .await
        .expect_json(200);
    server.get(&fresh, "/v1/tasks").await.expect_json(200);
}

#[tokio::test]
async fn requests_beyond_limit_get_503_with_retry_after() {
    let options = ServerOptions {
        max_requests: 1,
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options).await;
    // A request that never sends its body occupies the only slot.
    let (_hold, body) = tokio::sync::oneshot::channel::<()>();
    let stuck = http::Request::post("/v1/tasks")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", server.ada_token))
        .header("content-type", "application/json")
        .body(axum::body::Body::new(StalledBody(body)))
        .unwrap();
    let http_app = std::sync::Arc::clone(&server.http_app);
    let first = tokio::spawn(async move { http_app.handle(&LOCAL_PEER, stuck).await.status() });
    while server.http_app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    let refused = server.get(&server.ada_token, "/v1/tasks").await;
    refused.expect_problem(503, "store_busy");
    assert_eq!(refused.header("retry-after"), "1");
    drop(_hold);
    assert_eq!(first.await.unwrap(), 400);
    server
        .get(&server.ada_token, "/v1/tasks")
        .await
        .expect_json(200);
}

/// A body that breaks off when its sender is dropped.
struct StalledBody(tokio::sync::oneshot::Receiver<()>);

impl http_body::Body for StalledBody {
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
