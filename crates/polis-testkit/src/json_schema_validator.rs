//! Validator for the subset of JSON Schema that our schemas use; it panics on what it does not know.

use polis_core::Timestamp;
use serde_json::{Map, Value};

/// Returns why an instance does not match a schema, or `None` if it does. References are resolved in the schema.
pub fn find_violation(schema: &Value, instance: &Value) -> Option<String> {
    check_schema(schema, schema, instance)
}

fn check_schema(root: &Value, schema: &Value, instance: &Value) -> Option<String> {
    let schema = match schema {
        Value::Bool(true) => return None,
        Value::Bool(false) => return Some("nothing is allowed here".to_owned()),
        Value::Object(schema) => schema,
        other => panic!("no schema: {other}"),
    };
    schema
        .iter()
        .find_map(|(keyword, wanted)| check_keyword(root, schema, keyword, wanted, instance))
}

/// Returns whether an instance matches a schema.
pub fn is_valid(schema: &Value, instance: &Value) -> bool {
    find_violation(schema, instance).is_none()
}

fn check_keyword(
    root: &Value,
    schema: &Map<String, Value>,
    keyword: &str,
    wanted: &Value,
    instance: &Value,
) -> Option<String> {
    let matches = |schema: &Value| check_schema(root, schema, instance).is_none();
    let unless = |matches: bool| (!matches).then(|| format!("{keyword} {wanted}: {instance}"));
    match keyword {
        "$schema" | "$defs" | "title" | "description" | "default" => None,
        "$ref" => {
            let pointer = wanted.as_str().unwrap().trim_start_matches('#');
            let target = root.pointer(pointer).expect("a definition in the schema");
            check_schema(root, target, instance)
        }
        "not" => unless(!matches(wanted)),
        "type" => match wanted {
            Value::Array(types) => unless(types.iter().any(|t| has_type(instance, t))),
            one => unless(has_type(instance, one)),
        },
        "const" => unless(instance == wanted),
        "enum" => unless(wanted.as_array().unwrap().contains(instance)),
        "anyOf" => {
            let choices = wanted.as_array().unwrap();
            unless(choices.iter().any(matches))
        }
        "oneOf" => {
            let choices = wanted.as_array().unwrap();
            let matching = choices.iter().filter(|choice| matches(choice));
            unless(matching.count() == 1)
        }
        "minimum" | "maximum" => {
            let (Some(number), Some(bound)) = (instance.as_f64(), wanted.as_f64()) else {
                return None;
            };
            unless(if keyword == "minimum" {
                number >= bound
            } else if let Some(exact) = instance.as_u64() {
                exact <= wanted.as_u64().unwrap()
            } else {
                // The bounds are one less than a power of two, which a double rounds to that power.
                number < bound.max(4_294_967_296.0)
            })
        }
        "pattern" => {
            assert_eq!(wanted, "^[1-9][0-9]{0,17}$", "a pattern this checker knows");
            let text = instance.as_str()?;
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            unless(digits && !text.starts_with('0'))
        }
        "format" => match wanted.as_str().unwrap() {
            "date-time" => unless(Timestamp::parse(instance.as_str()?).is_some()),
            "uint" | "uint32" | "uint64" | "int32" | "int64" | "double" => None,
            other => panic!("a format this checker does not know: {other}"),
        },
        "required" => {
            let members = instance.as_object()?;
            let names = wanted.as_array().unwrap();
            unless(
                names
                    .iter()
                    .all(|name| members.contains_key(name.as_str().unwrap())),
            )
        }
        "properties" => {
            let members = instance.as_object()?;
            let known = wanted.as_object().unwrap();
            known.iter().find_map(|(name, schema)| {
                let found = check_schema(root, schema, members.get(name)?)?;
                Some(format!("{name}: {found}"))
            })
        }
        "additionalProperties" => {
            let members = instance.as_object()?;
            let known = schema.get("properties").and_then(Value::as_object);
            let known = |name: &String| known.is_some_and(|known| known.contains_key(name));
            members
                .iter()
                .filter(|(name, _)| !known(name))
                .find_map(|(name, value)| {
                    Some(format!("{name}: {}", check_schema(root, wanted, value)?))
                })
        }
        "items" => instance
            .as_array()?
            .iter()
            .find_map(|one| check_schema(root, wanted, one)),
        other => panic!("a keyword this checker does not know: {other}"),
    }
}

fn has_type(instance: &Value, wanted: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "null" => instance.is_null(),
        "boolean" => instance.is_boolean(),
        "string" => instance.is_string(),
        "array" => instance.is_array(),
        "object" => instance.is_object(),
        "number" => instance.is_number(),
        "integer" => instance
            .as_f64()
            .is_some_and(|number| number.fract() == 0.0),
        other => panic!("no type: {other}"),
    }
}
