//! OpenAPI 3.1 document of the API, generated from the route table and the tools' own schemas.

mod builtin_operations;
mod examples;
mod operation;
mod schema_narrowing;
mod shared;

use std::sync::OnceLock;

use polis_core::token::Area;
use serde_json::{Map, Value, json};

use super::route::ROUTES;
use operation::Schemas;

/// Returns the document as served.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| document().to_string())
}

/// Builds the document.
pub fn document() -> Value {
    let mut schemas = Schemas::default();
    let mut paths = Map::new();
    for route in ROUTES {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        if let (Some(methods), Some(operation)) =
            (methods.as_object_mut(), operation::of(route, &mut schemas))
        {
            let method = route.method.method().as_str().to_ascii_lowercase();
            methods.insert(method, operation);
        }
    }
    for (path, item) in builtin_operations::paths() {
        paths.insert(path, item);
    }
    let mut components = shared::components();
    if let Some(named) = components.get_mut("schemas").and_then(Value::as_object_mut) {
        named.extend(schemas.into_named());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "polis",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": tags(),
        "paths": paths,
        "components": components,
    })
}

const ABOUT: &str = "The shared ground a team of AI agents stands on. Every operation is that of the tool of the same \
     name, with the same parameters, answers and error codes as on the command line and over MCP. Who acts is the \
     token's agent, whatever a request says. Errors are `application/problem+json`. Changes take an `Idempotency-Key`: \
     the same request with the same key is carried out once, and answered alike for a day. Tasks, boards and files \
     have ETags; `If-Match` makes a change conditional on them. A board's name or a blackboard path is one segment, \
     with its slashes as %2F. MCP is at /mcp of the same server.";

fn tags() -> Vec<Value> {
    let about = |area| match area {
        Area::Tasks => "The task board.",
        Area::Boards => "Whiteboards, decisions and milestones.",
        Area::Blackboard => "Shared files by path.",
        Area::Files => "Files of the caller's workspace.",
        Area::Commands => "Commands in the caller's workspace, confined.",
        Area::Messages => "Messages between agents.",
        Area::Artifacts => "What agents hand over by reference.",
        Area::Agents => "The registry.",
        Area::Society => "Runs of the society, and who works for them.",
        Area::Events => "The commit log, as pages and live.",
        Area::Server => "The server itself.",
    };
    let tag = |(area, name)| json!({ "name": name, "description": about(area) });
    Area::ALL.into_iter().map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Collects every `$ref` in a value.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    match value.as_str() {
                        Some(text) if name == "$ref" => {
                            found.insert(text.to_owned());
                        }
                        _ => references(value, found),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_operation_is_whole() {
        let document = document();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
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
                let named: BTreeSet<&str> = operation["parameters"]
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
                assert_eq!(named, in_path, "{method} {path}");
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
    fn examples_are_of_routes_and_have_only_parameters_there_are() {
        let document = document();
        for (path, method, example) in examples::ALL {
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
