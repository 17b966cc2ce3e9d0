//! OpenAPI descriptions of the endpoints that are not tools: health checks, metrics, the document itself and
//! live events.

use serde_json::{Value, json};

use super::components::{header_ref, problem_response_ref};

/// OpenAPI description of a GET endpoint that is not a tool.
struct BuiltinOperation {
    path: &'static str,
    operation_id: &'static str,
    summary: &'static str,
    tag: &'static str,
    media_type: &'static str,
    schema: Value,
    parameters: Value,
    /// Whether some callers need no token.
    allows_anonymous: bool,
}

impl BuiltinOperation {
    fn into_path_item(self) -> (String, Value) {
        let mut responses = json!({
            "200": {
                "description": "Success.",
                "headers": { "X-Request-Id": header_ref("RequestId") },
                "content": { self.media_type: { "schema": self.schema } },
            },
        });
        if let Some(responses) = responses.as_object_mut() {
            for status in [400, 401, 403, 429, 500, 503] {
                responses.insert(status.to_string(), problem_response_ref(status));
            }
        }
        let mut operation = json!({
            "operationId": self.operation_id,
            "summary": self.summary,
            "tags": [self.tag],
            "parameters": self.parameters,
            "responses": responses,
        });
        if let (true, Some(operation)) = (self.allows_anonymous, operation.as_object_mut()) {
            let either = json!([{}, { "bearer": [] }]);
            operation.insert("security".to_owned(), either);
        }
        (self.path.to_owned(), json!({ "get": operation }))
    }
}

/// Returns the path items of all built-in operations.
pub(super) fn builtin_path_items() -> impl Iterator<Item = (String, Value)> {
    let page = |path, id, description, media_type, schema| BuiltinOperation {
        path,
        operation_id: id,
        summary: description,
        tag: "server",
        media_type,
        schema,
        parameters: json!([]),
        allows_anonymous: false,
    };
    let open = |page| BuiltinOperation {
        allows_anonymous: true,
        ..page
    };
    let status = json!({
        "type": "object",
        "required": ["status"],
        "properties": { "status": { "type": "string" } },
    });
    let pages = [
        page(
            "/v1/openapi.json",
            "get_description",
            "This OpenAPI document.",
            "application/json",
            json!({ "type": "object" }),
        ),
        open(page(
            "/healthz",
            "get_health",
            "Liveness check. Needs no token from the same machine.",
            "application/json",
            status.clone(),
        )),
        open(page(
            "/readyz",
            "get_readiness",
            "Readiness check: the store is reachable. Needs no token from the same machine.",
            "application/json",
            status,
        )),
        page(
            "/metrics",
            "get_metrics",
            "Prometheus metrics. Requires the scope server:read.",
            "application/openmetrics-text",
            json!({ "type": "string" }),
        ),
        events_operation(),
    ];
    pages.into_iter().map(BuiltinOperation::into_path_item)
}

fn events_operation() -> BuiltinOperation {
    let list = |name: &str, description: &str, pattern: &str| {
        json!({
            "name": name, "in": "query", "description": description, "required": false,
            "schema": { "type": "string", "maxLength": 1_000, "pattern": pattern },
        })
    };
    let number = |name: &str, location: &str, description: &str, minimum: u64| {
        json!({
            "name": name, "in": location, "description": description, "required": false,
            "schema": { "type": "integer", "minimum": minimum, "maximum": u64::MAX },
        })
    };
    let parameters = json!([
        number(
            "since",
            "query",
            "Sequence number to start after; default: only new events.",
            0
        ),
        number(
            "limit",
            "query",
            "Maximum number of events, after which the stream ends.",
            1
        ),
        list(
            "kind",
            "Only these event kinds, separated by commas: task.completed, or task. for all task events.",
            r"^[a-z-]+\.[a-z-]*(,[a-z-]+\.[a-z-]*)*$",
        ),
        list(
            "subject",
            "Only events of these subjects, separated by commas: task/5, or task/ for all tasks.",
            "^[a-z]+/"
        ),
        list(
            "actor",
            "Only events of these actors, separated by commas.",
            "^[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*$"
        ),
        number(
            "Last-Event-ID",
            "header",
            "Sequence number of the last received event; overrides since.",
            0
        ),
    ]);
    BuiltinOperation {
        path: "/v1/events",
        operation_id: "follow_events",
        summary: "The live event log as server-sent events. The id of an event is its sequence number, to resume from.",
        tag: "events",
        media_type: "text/event-stream",
        schema: json!({ "type": "string" }),
        parameters,
        allows_anonymous: false,
    }
}
