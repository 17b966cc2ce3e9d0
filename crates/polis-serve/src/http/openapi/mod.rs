//! OpenAPI 3.1 document of the API, generated from the route table and the tools' own schemas.

mod builtin_operations;
mod components;
mod examples;
mod operation;
mod schema_constraints;

use std::sync::OnceLock;

use polis_core::token::OperationArea;
use serde_json::{Map, Value, json};

use super::route::ROUTES;
use operation::ResponseSchemas;

/// Returns the OpenAPI document as JSON text; it is generated once.
pub fn openapi_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| build_openapi_document().to_string())
}

/// Builds the OpenAPI document.
pub fn build_openapi_document() -> Value {
    let mut schemas = ResponseSchemas::default();
    let mut paths = Map::new();
    for route in ROUTES {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        if let (Some(methods), Some(operation)) = (
            methods.as_object_mut(),
            operation::build_operation(route, &mut schemas),
        ) {
            let method = route.method.to_http_method().as_str().to_ascii_lowercase();
            methods.insert(method, operation);
        }
    }
    for (path, item) in builtin_operations::builtin_path_items() {
        paths.insert(path, item);
    }
    let mut components = components::shared_components();
    if let Some(registered) = components.get_mut("schemas").and_then(Value::as_object_mut) {
        registered.extend(schemas.into_components());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "polis",
            "version": env!("CARGO_PKG_VERSION"),
            "description": API_DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": area_tags(),
        "paths": paths,
        "components": components,
    })
}

const API_DESCRIPTION: &str = "Shared tasks, boards, messages, files and commands for a team of AI agents. Each operation calls the tool \
     of the same name, with the same parameters, results and error codes as on the command line and over MCP. The \
     acting agent is the agent of the token. Errors are `application/problem+json`. Write operations accept an \
     `Idempotency-Key`: a retry with the same key within a day returns the stored response instead of repeating the \
     change. Tasks, boards and files have ETags; `If-Match` makes a change conditional. A board name or a blackboard \
     path is one path segment, with its slashes encoded as %2F. A run is named by `runId`; \
     `taskId` is accepted as an alias, and responses contain both. MCP is served at /mcp.";

fn area_tags() -> Vec<Value> {
    let description = |area| match area {
        OperationArea::Tasks => "The task board.",
        OperationArea::Boards => "Whiteboards, decisions and milestones.",
        OperationArea::Blackboard => "Shared Markdown files by path.",
        OperationArea::Files => "Files in the caller's workspace.",
        OperationArea::Commands => "Commands in the caller's workspace, run in a sandbox.",
        OperationArea::Messages => "Messages between agents.",
        OperationArea::Artifacts => "Files and JSON values that agents pass on by id.",
        OperationArea::Agents => "The agent registry.",
        OperationArea::Society => "Runs of the society and their members.",
        OperationArea::Events => "The event log: paginated and live.",
        OperationArea::Server => "The server itself.",
    };
    let tag = |(area, name)| json!({ "name": name, "description": description(area) });
    OperationArea::ALL.into_iter().map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Collects every `$ref` in a value.
    fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    match value.as_str() {
                        Some(text) if name == "$ref" => {
                            found.insert(text.to_owned());
                        }
                        _ => collect_references(value, found),
                    }
                }
            }
            Value::Array(list) => list
                .iter()
                .for_each(|value| collect_references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn openapi_references_resolve_and_operations_are_complete() {
        let document = build_openapi_document();
        let mut found = BTreeSet::new();
        collect_references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let mut ids = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id.to_owned()), "{id}");
                assert!(operation["summary"].as_str().is_some(), "{path}");
                let declared: BTreeSet<&str> = operation["parameters"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|p| p["in"] == "path")
                    .map(|p| p["name"].as_str().unwrap())
                    .collect();
                let in_path: BTreeSet<&str> = path
                    .split('/')
                    .filter_map(|s| s.strip_prefix('{')?.strip_suffix('}'))
                    .collect();
                assert_eq!(declared, in_path, "{method} {path}");
                let answers = operation["responses"].as_object().unwrap();
                assert!(
                    answers.keys().any(|status| status.starts_with('2')),
                    "{path}"
                );
            }
        }
        assert!(ids.len() > 50);
    }

    #[test]
    fn request_examples_match_their_schemas() {
        let document = build_openapi_document();
        for (path, method, example) in examples::REQUEST_EXAMPLES {
            let operation = &document["paths"][*path][*method];
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let example: Value = serde_json::from_str(example).unwrap();
            for name in example.as_object().unwrap().keys() {
                assert!(schema["properties"].get(name).is_some(), "{path} {name}");
            }
            let required = schema["required"].as_array();
            for name in required.into_iter().flatten() {
                assert!(
                    example.get(name.as_str().unwrap()).is_some(),
                    "{path} {name}"
                );
            }
        }
    }
}
