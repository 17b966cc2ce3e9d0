//! Generates the reference page of the events and the JSON Schema of their payloads from the kinds of events.

use std::fmt::Write as _;

use polis_core::visibility::visibility_rule;
use polis_core::{EventArea, EventKind};
use polis_ops::tool::join_description_lines;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Name of the file with the schemas.
pub(super) const SCHEMA_FILE: &str = "event-data.schema.json";

/// Returns the reference page of the events, by area.
pub(super) fn events_page() -> String {
    let mut page = format!(
        "# Events\n\nThe kinds of events in the log, with the fields of `data`. A field marked with `?` may be absent. \
         [{SCHEMA_FILE}]({SCHEMA_FILE}) has a JSON Schema for each kind, and [events](../spec/events.md) specifies how \
         to follow the log.\n\nThe person sees all events; the last \
         column states which callers see them too. Events of a kind that a server does not know are visible only to \
         the person. A run is named by `runId`; `taskId`, its other name, has the same value.\n"
    );
    let mut generator = SchemaGenerator::default();
    for area in EventArea::ALL {
        let _ = write!(
            page,
            "\n## {}\n\n| kind | meaning | data | visible to |\n| --- | --- | --- | --- |\n",
            area.as_str()
        );
        for kind in EventKind::ALL.iter().filter(|kind| kind.area() == *area) {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                kind.as_str(),
                kind.description(),
                field_names(kind.payload_schema(&mut generator).as_value(), &generator),
                visibility_rule(*kind).description()
            );
        }
    }
    page
}

/// Returns the names of the fields of a payload. A payload type that contains a shared type flattened is a reference to
/// its definition.
fn field_names(schema: &Value, generator: &SchemaGenerator) -> String {
    let reference = schema["$ref"].as_str();
    let definition = reference.and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(definition) = definition.and_then(|name| generator.definitions().get(name)) {
        return field_names(definition, generator);
    }
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|field| field == name));
    let fields = schema["properties"].as_object();
    let names: Vec<String> = fields
        .into_iter()
        .flat_map(Map::keys)
        .map(|name| format!("`{name}`{}", if is_required(name) { "" } else { "?" }))
        .collect();
    names.join(", ")
}

/// Returns the schema of an event whose `data` has the shape of its kind, with one definition for each kind.
pub(super) fn event_data_schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut kinds = Map::new();
    let mut choices = Vec::new();
    let names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    for kind in EventKind::ALL {
        let mut payload = kind.payload_schema(&mut generator);
        join_description_lines(&mut payload);
        payload.insert("description".to_owned(), kind.description().into());
        kinds.insert(kind.as_str().to_owned(), payload.into());
        choices.push(json!({
            "properties": {
                "kind": { "const": kind.as_str() },
                "data": { "$ref": format!("#/$defs/{}", kind.as_str()) },
            },
        }));
    }
    choices.push(json!({
        "description": "An event of a kind that this version does not know.",
        "properties": { "kind": { "not": { "enum": names } } },
    }));
    for (name, mut definition) in generator.take_definitions(true) {
        if let Ok(schema) = <&mut Schema>::try_from(&mut definition) {
            join_description_lines(schema);
        }
        kinds.insert(name, definition);
    }
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events by kind",
        "description": "An event. The last choice is for kinds that newer versions add: readers must accept them.",
        "type": "object",
        "properties": { "kind": { "type": "string" }, "data": {} },
        "required": ["kind", "data"],
        "oneOf": choices,
        "$defs": Value::Object(kinds),
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
