//! JSON schemas of tools: complete ones derived from the types, and reduced ones for a model's context.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Returns the schema of parameters.
pub(super) fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    generate_schema::<T>(schema_settings().for_deserialize())
}

/// Returns the schema of a result.
pub(super) fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    generate_schema::<T>(schema_settings().for_serialize())
}

fn schema_settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    })
}

fn generate_schema<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    join_description_lines(&mut schema);
    let mut schema = schema.to_value();
    add_integer_bounds(&mut schema);
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Joins the lines of every description of a schema: descriptions are doc comments, which are wrapped at the
/// width of the source. Paragraphs stay separate.
pub fn join_description_lines(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let paragraphs = description.split("\n\n").map(join_words);
        *description = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
    transform_subschemas(&mut join_description_lines, schema);
}

/// Returns the words of a text on one line.
fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds a numeric `maximum` to integers: few readers know their `format`.
fn add_integer_bounds(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(add_integer_bounds),
        Value::Object(all) => {
            let maximum = match all.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint64" | "uint") => Some(u64::MAX),
                _ => None,
            };
            if let Some(maximum) = maximum {
                all.insert("maximum".to_owned(), maximum.into());
            }
            all.values_mut().for_each(add_integer_bounds);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reduces a schema of parameters to what a model needs. It accepts everything that the complete schema
/// accepts and describes each parameter, but omits patterns, bounds and the rejection of unknown fields. The values
/// that a model should use are added by [`ToolSchemaSettings`](super::ToolSchemaSettings).
pub(super) fn compact_input_schema(full_schema: &Map<String, Value>) -> Value {
    let mut small = Map::new();
    small.insert("type".to_owned(), "object".into());
    if let Some(properties) = object_member(full_schema, "properties").filter(|all| !all.is_empty())
    {
        let properties = properties
            .iter()
            .map(|(name, schema)| (name.clone(), compact_parameter(schema)));
        small.insert("properties".to_owned(), Value::Object(properties.collect()));
    }
    copy_member(full_schema, &mut small, "required");
    Value::Object(small)
}

/// Returns a parameter's reduced schema with its description on one line.
fn compact_parameter(schema: &Value) -> Value {
    let mut small = compact_schema(schema);
    let description = schema.get("description").and_then(Value::as_str);
    if let (Some(small), Some(description)) = (small.as_object_mut(), description) {
        small.insert("description".to_owned(), join_words(description).into());
    }
    small
}

/// Reduces a schema of a result to its required members.
pub(super) fn compact_output_schema(full_schema: &Map<String, Value>) -> Value {
    let mut small = Map::new();
    small.insert("type".to_owned(), "object".into());
    copy_member(full_schema, &mut small, "required");
    Value::Object(small)
}

fn object_member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    object.get(name).and_then(Value::as_object)
}

fn copy_member(from: &Map<String, Value>, to: &mut Map<String, Value>, name: &str) {
    if let Some(value) = from.get(name) {
        to.insert(name.to_owned(), value.clone());
    }
}

/// Returns the type that a schema allows in addition to null.
fn non_null_type(schema: &Map<String, Value>) -> Option<Value> {
    match schema.get("type")? {
        Value::Array(types) => {
            let mut types: Vec<&Value> = types.iter().filter(|t| *t != "null").collect();
            match (types.pop(), types.is_empty()) {
                (Some(one), true) => Some(one.clone()),
                _ => schema.get("type").cloned(),
            }
        }
        one => Some(one.clone()),
    }
}

/// Removes from a schema what a model does not need, including null.
fn compact_schema(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else {
        return Value::Object(Map::new());
    };
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(several).and_then(Value::as_array) {
            return compact_choice(choices);
        }
    }
    let mut small = Map::new();
    if let Some(named) = non_null_type(schema) {
        small.insert("type".to_owned(), named);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values = values.iter().filter(|value| !value.is_null());
        return enum_of_names(values.cloned().collect());
    }
    if let Some(items) = schema.get("items") {
        small.insert("items".to_owned(), compact_schema(items));
    }
    Value::Object(small)
}

/// Reduces a choice of schemas: to the only one that is not null, to an enum if all are constants, or to
/// `anyOf`.
fn compact_choice(choices: &[Value]) -> Value {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|t| t == "null");
    let left: Vec<&Value> = choices.iter().filter(|schema| !is_null(schema)).collect();
    if let [one] = left.as_slice() {
        return compact_schema(one);
    }
    let constants: Option<Vec<Value>> = left.iter().map(|c| c.get("const").cloned()).collect();
    if let Some(values) = constants {
        return enum_of_names(values);
    }
    let any: Vec<Value> = left.into_iter().map(compact_schema).collect();
    json!({ "anyOf": any })
}

/// Returns an enum of names. A long list is not worth its size: the error for an invalid value lists all of
/// them.
fn enum_of_names(values: Vec<Value>) -> Value {
    const MAX_ENUM_VALUES: usize = 8;
    if values.len() > MAX_ENUM_VALUES {
        return json!({ "type": "string" });
    }
    json!({ "type": "string", "enum": values })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type with a
    /// wrapped description.
    ///
    /// And a second paragraph.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct WrappedParams {
        /// A number with a
        /// wrapped description.
        number: Option<u32>,
    }

    #[test]
    fn descriptions_are_not_wrapped() {
        let schema = input_schema::<WrappedParams>();
        assert_eq!(
            schema["description"],
            "A type with a wrapped description.\n\nAnd a second paragraph."
        );
        assert_eq!(
            schema["properties"]["number"]["description"],
            "A number with a wrapped description."
        );
    }
}
