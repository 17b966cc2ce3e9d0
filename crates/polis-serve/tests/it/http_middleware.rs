//! Tests of the middleware around the router: request ids, panics of handlers, and the CORS headers.

use std::sync::Arc;

use axum::body::Body;
use axum::routing::get;
use http::{Method, Request, Response};
use polis_serve::http::{HttpApp, ServerOptions};
use serde_json::Value;

use crate::test_server::{HttpResponse, LOCAL_PEER, TestServer, build_request};

#[tokio::test]
async fn valid_request_id_of_client_is_returned_and_others_are_replaced() {
    let server = TestServer::new().await;
    let mut seen = Vec::new();
    for (sent, is_kept) in [
        (vec!["my-own_1.x"], true),
        (vec!["two words"], false),
        (vec!["<script>"], false),
        (vec![""], false),
        (vec!["a", "b"], false),
        (vec![], false),
    ] {
        let headers: Vec<_> = sent.iter().map(|id| ("x-request-id", *id)).collect();
        for path in ["/v1/tasks", "/v1/no-such-path", "/healthz"] {
            let answer = server
                .send_with_headers(&server.ada_token, Method::GET, path, Value::Null, &headers)
                .await;
            let ids = answer.headers.get_all("x-request-id");
            assert_eq!(ids.iter().count(), 1, "{sent:?}");
            let id = answer.header("x-request-id").to_owned();
            assert_eq!(sent.first() == Some(&id.as_str()), is_kept, "{sent:?} {id}");
            if !is_kept {
                assert!((8..=64).contains(&id.len()), "{id}");
                assert!(!seen.contains(&id), "{id}");
                seen.push(id);
            }
        }
    }
}

#[tokio::test]
async fn panic_of_handler_is_sent_as_problem_and_server_continues() {
    async fn panic_always() -> Response<Body> {
        panic!("the handler's secret")
    }
    let server = TestServer::new().await;
    let http_app =
        HttpApp::with_routes(server.app.clone(), ServerOptions::default(), |router, _| {
            router.route("/v1/panic", get(panic_always))
        });
    let http_app = Arc::new(http_app.unwrap());
    let send = async |path: &str| {
        let request = build_request(&server.ada_token, Method::GET, path, Value::Null);
        HttpResponse::from_response(http_app.handle(&LOCAL_PEER, request).await).await
    };
    for _ in 0..3 {
        let failed = send("/v1/panic").await;
        failed.expect_problem(500, "internal");
        assert!(!String::from_utf8_lossy(&failed.bytes).contains("secret"));
        assert!(failed.headers.get("x-request-id").is_some());
    }
    send("/v1/tasks").await.expect_json(200);
}

/// Returns the comma-separated values of a header, sorted and in lower case.
fn listed_values(answer: &HttpResponse, name: &str) -> Vec<String> {
    let values = answer.header(name).split(',');
    let mut values: Vec<String> = values.map(|one| one.trim().to_lowercase()).collect();
    values.sort();
    values
}

#[tokio::test]
async fn allowed_origin_gets_complete_cors_headers() {
    let listed = "https://board.example.org";
    let options = ServerOptions {
        origins: vec![listed.to_owned()],
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options).await;
    let send = async |method: Method, token: &str, preflight: bool| {
        let mut request: Request<Body> = build_request(token, method, "/v1/tasks", Value::Null);
        let headers = request.headers_mut();
        headers.insert("origin", listed.parse().unwrap());
        if preflight {
            headers.insert("access-control-request-method", "POST".parse().unwrap());
        }
        server.send(request).await
    };
    let preflight = send(Method::OPTIONS, "", true).await;
    assert_eq!((preflight.status.as_u16(), preflight.bytes.len()), (204, 0));
    assert_eq!(preflight.header("access-control-allow-origin"), listed);
    assert_eq!(preflight.header("access-control-max-age"), "600");
    assert_eq!(listed_values(&preflight, "vary"), ["origin"]);
    assert_eq!(
        listed_values(&preflight, "access-control-allow-methods"),
        ["delete", "get", "head", "patch", "post", "put"]
    );
    assert_eq!(
        listed_values(&preflight, "access-control-allow-headers"),
        [
            "authorization",
            "content-type",
            "idempotency-key",
            "if-match",
            "if-none-match",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-protocol-version",
            "mcp-session-id",
            "x-request-id"
        ]
    );
    let read = send(Method::GET, &server.ada_token, false).await;
    read.expect_json(200);
    assert_eq!(read.header("access-control-allow-origin"), listed);
    assert_eq!(
        listed_values(&read, "access-control-expose-headers"),
        [
            "etag",
            "idempotency-replayed",
            "link",
            "location",
            "mcp-session-id",
            "retry-after",
            "x-request-id"
        ]
    );
    let vary = read.headers.get_all("vary").iter();
    assert!(
        vary.into_iter()
            .any(|value| value.to_str().unwrap().eq_ignore_ascii_case("origin"))
    );
    // OPTIONS without a requested method is not a preflight request, only an unsupported method.
    let options = send(Method::OPTIONS, &server.ada_token, false).await;
    options.expect_problem(405, "method_not_allowed");
    let unauthorized = send(Method::OPTIONS, "", false).await;
    unauthorized.expect_problem(401, "unauthorized");
}
