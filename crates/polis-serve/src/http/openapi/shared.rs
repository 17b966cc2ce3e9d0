//! Shared components of the OpenAPI document: security scheme, headers, problem schema and error responses.

use serde_json::{Map, Value, json};

use crate::http::problem;

/// Status code, component name and meaning of each problem response.
const PROBLEMS: [(u16, &str, &str); 14] = [
    (400, "BadRequest", "The request itself is wrong."),
    (401, "Unauthorized", "No token, or not one that counts."),
    (
        403,
        "Forbidden",
        "The caller may not, or its token is not good for this.",
    ),
    (404, "NotFound", "It is not there."),
    (408, "RequestTimeout", "The request did not arrive in time."),
    (409, "Conflict", "It is not in the state the request needs."),
    (
        412,
        "PreconditionFailed",
        "It is not at the version or hash that was expected.",
    ),
    (
        413,
        "TooLarge",
        "The request, or what it would make, is larger than is allowed.",
    ),
    (415, "UnsupportedMediaType", "The body is not sent as JSON."),
    (
        422,
        "Unprocessable",
        "The key was used for another request, or a command's time was up.",
    ),
    (423, "Locked", "Somebody else holds it."),
    (429, "TooManyRequests", "Too many requests."),
    (500, "Failed", "Something inside failed."),
    (
        503,
        "Unavailable",
        "The store cannot be reached, or there is too much to do.",
    ),
];

/// Returns a reference to a shared header.
pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// Returns a reference to a shared response.
pub(super) fn response(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// Returns a reference to the problem response of a status code.
pub(super) fn problem(status: u16) -> Value {
    let found = PROBLEMS.iter().find(|(known, ..)| *known == status);
    response(found.map_or("Failed", |(_, name, _)| name))
}

/// Returns all shared components.
pub(super) fn components() -> Value {
    json!({
        "securitySchemes": {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of an agent, or of the person: `polis agent token issue AGENT`.",
            },
        },
        "schemas": { "Problem": problem_schema() },
        "headers": headers(),
        "responses": responses(),
    })
}

fn problem_schema() -> Value {
    json!({
        "description": "An error (RFC 9457), with the code that every surface has; more fields by code.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": { "type": "string", "description": "The code as a URN." },
            "title": { "type": "string", "description": "What the code means." },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": { "type": "string", "description": "What is wrong." },
            "code": { "type": "string", "description": "For programs; docs/reference/errors.md lists every one." },
            "hint": { "type": "string", "description": "What to do next." },
        },
        "example": {
            "type": format!("{}task_not_found", problem::TYPE),
            "title": "No such task.",
            "status": 404,
            "detail": "Task 7 does not exist.",
            "code": "task_not_found",
            "hint": "list the tasks there are",
        },
    })
}

fn headers() -> Value {
    let text = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    json!({
        "RequestId": text("The request's name in the log: that of X-Request-Id, or a new one."),
        "ETag": text("The version or hash; a change can be made conditional on it with If-Match."),
        "Link": text("Where the next page is, with rel=\"next\"; absent on the last page."),
        "Location": text("Where the new thing is."),
        "Replayed": {
            "description": "There, and true, if this is the answer to an earlier request with the same key.",
            "schema": { "type": "string", "enum": ["true"] },
        },
        "RetryAfter": {
            "description": "After how many seconds to try again.",
            "schema": { "type": "integer", "minimum": 1 },
        },
        "Challenge": text("How to say who one is."),
    })
}

fn responses() -> Value {
    let mut all = Map::new();
    for (status, name, about) in PROBLEMS {
        let mut headers = json!({ "X-Request-Id": header("RequestId") });
        let more = match status {
            401 => Some(("WWW-Authenticate", "Challenge")),
            423 | 429 | 503 => Some(("Retry-After", "RetryAfter")),
            _ => None,
        };
        if let (Some(headers), Some((name, shared))) = (headers.as_object_mut(), more) {
            headers.insert(name.to_owned(), header(shared));
        }
        let answer = json!({
            "description": about,
            "headers": headers,
            "content": { problem::MEDIA_TYPE: { "schema": { "$ref": "#/components/schemas/Problem" } } },
        });
        all.insert(name.to_owned(), answer);
    }
    let not_modified = json!({
        "description": "It is as the caller has it.",
        "headers": { "ETag": header("ETag"), "X-Request-Id": header("RequestId") },
    });
    all.insert("NotModified".to_owned(), not_modified);
    Value::Object(all)
}
