//! OpenAPI operations that are not tools: health checks, metrics, the document itself and live events.

use serde_json::{Value, json};

use super::shared::{header, problem};

/// A read-only endpoint.
struct Page {
    path: &'static str,
    id: &'static str,
    about: &'static str,
    tag: &'static str,
    media_type: &'static str,
    schema: Value,
    parameters: Value,
    /// Whether some callers need no token.
    open: bool,
}

impl Page {
    fn item(self) -> (String, Value) {
        let mut responses = json!({
            "200": {
                "description": "Done.",
                "headers": { "X-Request-Id": header("RequestId") },
                "content": { self.media_type: { "schema": self.schema } },
            },
        });
        if let Some(responses) = responses.as_object_mut() {
            for status in [400, 401, 403, 429, 500, 503] {
                responses.insert(status.to_string(), problem(status));
            }
        }
        let mut operation = json!({
            "operationId": self.id,
            "summary": self.about,
            "tags": [self.tag],
            "parameters": self.parameters,
            "responses": responses,
        });
        if let (true, Some(operation)) = (self.open, operation.as_object_mut()) {
            let either = json!([{}, { "bearer": [] }]);
            operation.insert("security".to_owned(), either);
        }
        (self.path.to_owned(), json!({ "get": operation }))
    }
}

/// Returns all of them.
pub(super) fn paths() -> impl Iterator<Item = (String, Value)> {
    let page = |path, id, about, media_type, schema| Page {
        path,
        id,
        about,
        tag: "server",
        media_type,
        schema,
        parameters: json!([]),
        open: false,
    };
    let open = |page| Page { open: true, ..page };
    let status = json!({
        "type": "object",
        "required": ["status"],
        "properties": { "status": { "type": "string" } },
    });
    let pages = [
        page(
            "/v1/openapi.json",
            "get_description",
            "This description.",
            "application/json",
            json!({ "type": "object" }),
        ),
        open(page(
            "/healthz",
            "get_health",
            "Whether the server answers. From the same machine no token is needed.",
            "application/json",
            status.clone(),
        )),
        open(page(
            "/readyz",
            "get_readiness",
            "Whether the server can do its work. From the same machine no token is needed.",
            "application/json",
            status,
        )),
        page(
            "/metrics",
            "get_metrics",
            "Figures for Prometheus; the token has to be good for server:read.",
            "application/openmetrics-text",
            json!({ "type": "string" }),
        ),
        events(),
    ];
    pages.into_iter().map(Page::item)
}

fn events() -> Page {
    let list = |name: &str, about: &str, pattern: &str| {
        json!({
            "name": name, "in": "query", "description": about, "required": false,
            "schema": { "type": "string", "maxLength": 1_000, "pattern": pattern },
        })
    };
    let number = |name: &str, place: &str, about: &str, least: u64| {
        json!({
            "name": name, "in": place, "description": about, "required": false,
            "schema": { "type": "integer", "minimum": least, "maximum": u64::MAX },
        })
    };
    let parameters = json!([
        number(
            "since",
            "query",
            "Begin after this place in the log; with what comes from now on if left out.",
            0
        ),
        number("limit", "query", "End after so many events.", 1),
        list(
            "kind",
            "Only these kinds, separated by commas: task.completed, or task. for all of tasks.",
            r"^[a-z-]+\.[a-z-]*(,[a-z-]+\.[a-z-]*)*$",
        ),
        list(
            "subject",
            "Only what happens to these, separated by commas: task/5, or task/ for all of tasks.",
            "^[a-z]+/"
        ),
        list(
            "actor",
            "Only what these did, separated by commas.",
            "^[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*$"
        ),
        number(
            "Last-Event-ID",
            "header",
            "The last event that was seen; counts more than since.",
            0
        ),
    ]);
    Page {
        path: "/v1/events",
        id: "follow_events",
        about: "The commit log as server-sent events, live: each event's id is its place, to resume from.",
        tag: "events",
        media_type: "text/event-stream",
        schema: json!({ "type": "string" }),
        parameters,
        open: false,
    }
}
