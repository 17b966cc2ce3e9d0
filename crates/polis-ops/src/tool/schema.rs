//! JSON schemas of tools: complete ones derived from the types, and reduced ones for a model's context.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Returns the schema of parameters.
pub(super) fn input<T: JsonSchema>() -> Map<String, Value> {
    of::<T>(settings().for_deserialize())
}

/// Returns the schema of a result.
pub(super) fn output<T: JsonSchema>() -> Map<String, Value> {
    of::<T>(settings().for_serialize())
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    })
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    say_bounds(&mut schema);
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Adds a numeric `maximum` to integers: few readers know their `format`.
fn say_bounds(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(say_bounds),
        Value::Object(all) => {
            let most = match all.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint64" | "uint") => Some(u64::MAX),
                _ => None,
            };
            if let Some(most) = most {
                all.insert("maximum".to_owned(), most.into());
            }
            all.values_mut().for_each(say_bounds);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reduces a schema of parameters to what a model needs. It accepts everything that the complete schema accepts and
/// describes each parameter, but omits patterns, bounds and the rejection of unknown fields.
pub(super) fn small_input(whole: &Map<String, Value>) -> Value {
    let mut small = Map::new();
    small.insert("type".to_owned(), "object".into());
    if let Some(properties) = object(whole, "properties").filter(|all| !all.is_empty()) {
        let properties = properties
            .iter()
            .map(|(name, schema)| (name.clone(), described(schema)));
        small.insert("properties".to_owned(), Value::Object(properties.collect()));
    }
    copy(whole, &mut small, "required");
    Value::Object(small)
}

/// Returns a parameter's reduced schema with its description on one line.
fn described(schema: &Value) -> Value {
    let mut small = plain(schema);
    let about = schema.get("description").and_then(Value::as_str);
    if let (Some(small), Some(about)) = (small.as_object_mut(), about) {
        let words: Vec<&str> = about.split_whitespace().collect();
        small.insert("description".to_owned(), words.join(" ").into());
    }
    small
}

/// Reduces a schema of a result to its required members.
pub(super) fn small_output(whole: &Map<String, Value>) -> Value {
    let mut small = Map::new();
    small.insert("type".to_owned(), "object".into());
    copy(whole, &mut small, "required");
    Value::Object(small)
}

fn object<'a>(of: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    of.get(name).and_then(Value::as_object)
}

fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, name: &str) {
    if let Some(value) = from.get(name) {
        to.insert(name.to_owned(), value.clone());
    }
}

/// Returns the type that a schema allows in addition to null.
fn type_of(schema: &Map<String, Value>) -> Option<Value> {
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
fn plain(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else {
        return Value::Object(Map::new());
    };
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(several).and_then(Value::as_array) {
            return choice(choices);
        }
    }
    let mut small = Map::new();
    if let Some(named) = type_of(schema) {
        small.insert("type".to_owned(), named);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values = values.iter().filter(|value| !value.is_null());
        return names(values.cloned().collect());
    }
    if let Some(items) = schema.get("items") {
        small.insert("items".to_owned(), plain(items));
    }
    Value::Object(small)
}

/// Reduces a choice of schemas: to the only one that is not null, to an enum if all are constants, or to `anyOf`.
fn choice(choices: &[Value]) -> Value {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|t| t == "null");
    let left: Vec<&Value> = choices.iter().filter(|schema| !is_null(schema)).collect();
    if let [one] = left.as_slice() {
        return plain(one);
    }
    let constants: Option<Vec<Value>> = left.iter().map(|c| c.get("const").cloned()).collect();
    if let Some(values) = constants {
        return names(values);
    }
    let any: Vec<Value> = left.into_iter().map(plain).collect();
    json!({ "anyOf": any })
}

/// Returns an enum of names. A long list is not worth its size: the error for an invalid value lists all of them.
fn names(values: Vec<Value>) -> Value {
    const MOST: usize = 8;
    if values.len() > MOST {
        return json!({ "type": "string" });
    }
    json!({ "type": "string", "enum": values })
}
