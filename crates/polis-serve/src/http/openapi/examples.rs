//! Example request bodies of the OpenAPI document.

use serde_json::Value;

use crate::http::route::ApiRoute;

/// Path, method and body of each example.
pub(super) const REQUEST_EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "/v1/tasks",
        "post",
        r#"{"subject":"Add a login page","description":"With tests.","requiredRole":"backend-leader"}"#,
    ),
    ("/v1/tasks/claim", "post", r#"{"leaseMs":600000}"#),
    ("/v1/tasks/{taskId}", "patch", r#"{"status":"completed"}"#),
    (
        "/v1/tasks/{taskId}/comments",
        "post",
        r#"{"body":"Done but for the tests, @lead."}"#,
    ),
    (
        "/v1/boards/{board}",
        "put",
        "{\"content\":\"# Plan\\n\\nShip it.\\n\"}",
    ),
    (
        "/v1/boards/{board}/append",
        "post",
        r#"{"content":"The build is green again."}"#,
    ),
    (
        "/v1/boards/{board}/sections",
        "post",
        r#"{"title":"Risks","act":"append","content":"- The deadline."}"#,
    ),
    ("/v1/boards/{board}/lock", "post", r#"{"ttlMs":5000}"#),
    ("/v1/boards/{board}/restore", "post", r#"{"version":3}"#),
    (
        "/v1/boards/{board}/decisions",
        "post",
        r#"{"act":{"propose":{"content":"We use PostgreSQL."}}}"#,
    ),
    (
        "/v1/boards/{board}/milestones",
        "post",
        r#"{"title":"Beta","add":"Everything but the documentation."}"#,
    ),
    (
        "/v1/blackboard/{path}",
        "put",
        r#"{"content":"in progress","mode":"overwrite"}"#,
    ),
    ("/v1/files", "put", "{\"content\":\"hello\\n\"}"),
    (
        "/v1/files",
        "patch",
        r#"{"oldText":"hello","newText":"good morning"}"#,
    ),
    ("/v1/files/move", "post", r#"{"from":"a.txt","to":"b.txt"}"#),
    ("/v1/files/directories", "post", r#"{"path":"src/login"}"#),
    (
        "/v1/commands",
        "post",
        r#"{"command":"cargo test","timeoutMs":60000}"#,
    ),
    (
        "/v1/messages",
        "post",
        r#"{"to":"lead","payload":"The login page is ready for review."}"#,
    ),
    ("/v1/messages/check", "post", r#"{"limit":20}"#),
    (
        "/v1/artifacts",
        "post",
        r##"{"type":"spec","content":"# Login\n..."}"##,
    ),
    (
        "/v1/agents",
        "post",
        r#"{"id":"ada","role":"backend-leader"}"#,
    ),
    (
        "/v1/webhooks",
        "post",
        r#"{"url":"https://example.org/polis","kinds":["task.completed"]}"#,
    ),
];

/// Returns the example body of a route.
pub(super) fn request_example(route: &ApiRoute) -> Option<Value> {
    let method = route.method.to_http_method().as_str().to_ascii_lowercase();
    let (.., text) = REQUEST_EXAMPLES
        .iter()
        .find(|(path, verb, _)| *path == route.path && *verb == method)?;
    serde_json::from_str(text).ok()
}
