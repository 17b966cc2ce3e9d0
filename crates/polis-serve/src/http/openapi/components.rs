//! Shared components of the OpenAPI document: security scheme, headers, problem schema and error responses.

use serde_json::{Map, Value, json};

use crate::http::problem;

/// Status code, component name and meaning of each problem response.
const PROBLEM_RESPONSES: [(u16, &str, &str); 14] = [
    (400, "BadRequest", "The request is invalid."),
    (401, "Unauthorized", "The token is missing or not valid."),
    (
        403,
        "Forbidden",
        "The caller lacks the permission, or its token the scope.",
    ),
    (404, "NotFound", "The resource does not exist."),
    (408, "RequestTimeout", "The request did not arrive in time."),
    (
        409,
        "Conflict",
        "The resource is not in the required state.",
    ),
    (
        412,
        "PreconditionFailed",
        "The resource does not have the expected version or hash.",
    ),
    (
        413,
        "TooLarge",
        "The request, or the resource it would create, exceeds the size limit.",
    ),
    (415, "UnsupportedMediaType", "The request body is not JSON."),
    (
        422,
        "Unprocessable",
        "The idempotency key was used for another request, or a command timed out.",
    ),
    (423, "Locked", "The resource is locked by another caller."),
    (429, "TooManyRequests", "Too many requests."),
    (500, "Failed", "Internal error."),
    (
        503,
        "Unavailable",
        "The store is unavailable, or the server is overloaded.",
    ),
];

/// Returns a reference to a shared header.
pub(super) fn header_ref(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// Returns a reference to a shared response.
pub(super) fn response_ref(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// Returns a reference to the problem response of a status code.
pub(super) fn problem_response_ref(status: u16) -> Value {
    let found = PROBLEM_RESPONSES
        .iter()
        .find(|(candidate, ..)| *candidate == status);
    response_ref(found.map_or("Failed", |(_, name, _)| name))
}

/// Returns all shared components.
pub(super) fn shared_components() -> Value {
    json!({
        "securitySchemes": {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "Token of an agent or of the person (`user`).",
            },
        },
        "schemas": { "Problem": problem_schema() },
        "headers": shared_headers(),
        "responses": shared_responses(),
    })
}

fn problem_schema() -> Value {
    json!({
        "description": "Error (RFC 9457), with the same error codes as on all other surfaces. Some codes add fields.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": { "type": "string", "description": "The error code as a URN." },
            "title": { "type": "string", "description": "Meaning of the error code." },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": { "type": "string", "description": "What went wrong in this request." },
            "code": { "type": "string", "description": "Error code for programs; docs/reference/errors.md lists all of them." },
            "hint": { "type": "string", "description": "What to do next." },
        },
        "example": {
            "type": format!("{}task_not_found", problem::PROBLEM_TYPE_PREFIX),
            "title": "No such task.",
            "status": 404,
            "detail": "Task #7 not found.",
            "code": "task_not_found",
            "hint": "list the tasks with `GET /v1/tasks`",
        },
    })
}

fn shared_headers() -> Value {
    let text =
        |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    json!({
        "RequestId": text("Id of the request in the server log: the client's X-Request-Id, or a generated one."),
        "ETag": text("Version or hash of the resource, for conditional requests with If-Match."),
        "Link": text("URL of the next page, with rel=\"next\"; absent on the last page."),
        "Location": text("URL of the created resource."),
        "Replayed": {
            "description": "Present and true if this is the stored response of an earlier request with the same idempotency key.",
            "schema": { "type": "string", "enum": ["true"] },
        },
        "RetryAfter": {
            "description": "Seconds to wait before a retry.",
            "schema": { "type": "integer", "minimum": 1 },
        },
        "Challenge": text("Authentication scheme."),
    })
}

fn shared_responses() -> Value {
    let mut all = Map::new();
    for (status, name, description) in PROBLEM_RESPONSES {
        let mut headers = json!({ "X-Request-Id": header_ref("RequestId") });
        let more = match status {
            401 => Some(("WWW-Authenticate", "Challenge")),
            423 | 429 | 503 => Some(("Retry-After", "RetryAfter")),
            _ => None,
        };
        if let (Some(headers), Some((name, shared))) = (headers.as_object_mut(), more) {
            headers.insert(name.to_owned(), header_ref(shared));
        }
        let answer = json!({
            "description": description,
            "headers": headers,
            "content": { problem::PROBLEM_MEDIA_TYPE: { "schema": { "$ref": "#/components/schemas/Problem" } } },
        });
        all.insert(name.to_owned(), answer);
    }
    let not_modified = json!({
        "description": "The client's cached response is still current.",
        "headers": { "ETag": header_ref("ETag"), "X-Request-Id": header_ref("RequestId") },
    });
    all.insert("NotModified".to_owned(), not_modified);
    Value::Object(all)
}
