//! Collects the parameters of a tool from path, query and JSON body of a request.
//!
//! Path and query are text. The type of each parameter is read from the tool's own input schema, once at
//! server start. Unknown and repeated parameters are refused; everything else is validated by the tool.

use std::fmt;

use polis_core::{Code, Refusal};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::path_encoding;

/// Type to which the text of a parameter is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Integer,
    Number,
    Switch,
}

/// A parameter in the path or query.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    shape: Shape,
    /// Whether it may be repeated (an array).
    many: bool,
}

/// The parameters of one route, by location.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    /// Path parameters.
    path: Vec<Named>,
    /// Query parameters.
    query: Vec<Named>,
    /// Body parameters.
    body: Vec<String>,
}

impl Inputs {
    /// Divides the parameters of a tool's input schema by their location in a route.
    pub(crate) fn of(schema: &Map<String, Value>, path: &[&str], query: Query<'_>) -> Self {
        let mut inputs = Self {
            path: Vec::new(),
            query: Vec::new(),
            body: Vec::new(),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let (shape, many) = shape(property);
            let named = Named {
                name: name.clone(),
                shape,
                many,
            };
            if path.contains(&name.as_str()) {
                inputs.path.push(named);
            } else if query.has(name) {
                inputs.query.push(named);
            } else {
                inputs.body.push(name.clone());
            }
        }
        inputs
    }

    /// Returns whether there are body parameters.
    pub(crate) fn take_a_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// Adds a path parameter.
    pub(crate) fn path(
        &self,
        params: &mut Map<String, Value>,
        name: &str,
        text: &str,
    ) -> Result<(), Refusal> {
        let named = self.path.iter().find(|named| named.name == name);
        let shape = named.map_or(Shape::Text, |named| named.shape);
        params.insert(name.to_owned(), value(name, text, shape)?);
        Ok(())
    }

    /// Adds the query parameters.
    pub(crate) fn query(
        &self,
        params: &mut Map<String, Value>,
        query: &str,
    ) -> Result<(), Refusal> {
        for pair in path_encoding::pairs(query) {
            let (name, text) = pair?;
            let Some(named) = self.query.iter().find(|named| named.name == name) else {
                return Err(self.unknown(&name));
            };
            let value = value(&name, &text, named.shape)?;
            let there = params.get_mut(&name);
            match (named.many, there) {
                (true, Some(Value::Array(list))) => list.push(value),
                (true, _) => {
                    params.insert(name, Value::Array(vec![value]));
                }
                (false, None) => {
                    params.insert(name, value);
                }
                (false, Some(_)) => {
                    return Err(invalid(
                        format!("The query has {} more than once.", quoted(&name)),
                        "give it once",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Adds the body parameters from a JSON object.
    pub(crate) fn body(
        &self,
        params: &mut Map<String, Value>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let Fields(given) = serde_json::from_slice(bytes).map_err(|error| {
            invalid(
                format!("The body is not a JSON object: {error}."),
                "send one JSON object in UTF-8, with the parameters as its fields",
            )
        })?;
        for (name, value) in given {
            // A body cannot override path or query parameters.
            if !self.body.contains(&name) {
                return Err(self.unknown(&name));
            }
            if params.insert(name.clone(), value).is_some() {
                return Err(invalid(
                    format!("The body has {} more than once.", quoted(&name)),
                    "give it once",
                ));
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> Refusal {
        let place = |names: &mut dyn Iterator<Item = &str>, place: &str| {
            let names: Vec<&str> = names.collect();
            (!names.is_empty()).then(|| format!("in the {place}: {}", names.join(", ")))
        };
        let query = place(&mut self.query.iter().map(|n| n.name.as_str()), "query");
        let body = place(&mut self.body.iter().map(String::as_str), "body");
        let known: Vec<String> = query.into_iter().chain(body).collect();
        let hint = if known.is_empty() {
            "leave it out; there are no parameters here".to_owned()
        } else {
            format!("what there is, {}", known.join("; "))
        };
        Refusal::new(
            Code::InvalidInput,
            format!("There is no parameter {} in this place.", quoted(name)),
            hint,
        )
    }
}

/// A JSON object with duplicate keys preserved: JSON parsers differ in which of two values wins.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Take)
    }
}

/// Which parameters are in the query.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Query<'a> {
    /// All that are not in the path.
    All,
    /// Only these.
    Only(&'a [&'a str]),
}

impl Query<'_> {
    fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// Returns the type of a schema's values in text form, and whether it is an array.
fn shape(schema: &Value) -> (Shape, bool) {
    if is(schema, "array") {
        let items = schema.get("items").unwrap_or(&Value::Null);
        return (shape(items).0, true);
    }
    let shape = if is(schema, "string") {
        Shape::Text
    } else if is(schema, "integer") {
        Shape::Integer
    } else if is(schema, "number") {
        Shape::Number
    } else if is(schema, "boolean") {
        Shape::Switch
    } else {
        let kinds = ["anyOf", "oneOf"]
            .iter()
            .find_map(|k| schema.get(k)?.as_array());
        let real = kinds.and_then(|kinds| kinds.iter().find(|kind| !is(kind, "null")));
        return real.map_or((Shape::Text, false), shape);
    };
    (shape, false)
}

/// Returns whether a schema's type is, or includes, this type.
fn is(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn value(name: &str, text: &str, shape: Shape) -> Result<Value, Refusal> {
    let wrong = |what: &str| {
        invalid(
            format!("{} is not {what}.", quoted(name)),
            "look at the parameter's schema in /v1/openapi.json",
        )
    };
    match shape {
        Shape::Text => Ok(Value::String(text.to_owned())),
        Shape::Switch => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
        Shape::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let positive = text.parse::<u64>().map(Value::from);
            let any = positive.or_else(|_| text.parse::<i64>().map(Value::from));
            any.ok()
                .filter(|_| plain)
                .ok_or_else(|| wrong("a whole number"))
        }
        Shape::Number => {
            let number = serde_json::from_str::<serde_json::Number>(text);
            number.map(Value::Number).map_err(|_| wrong("a number"))
        }
    }
}

fn quoted(name: &str) -> String {
    polis_core::id::quoted(name)
}

fn invalid(message: String, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs() -> Inputs {
        let schema = json!({
            "type": "object",
            "properties": {
                "taskId": {"type": "string"},
                "version": {"type": "integer"},
                "limit": {"type": ["integer", "null"]},
                "ready": {"type": "boolean"},
                "globs": {"type": "array", "items": {"type": "string"}},
                "role": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "content": {"type": "string"},
            }
        });
        let query = ["limit", "ready", "globs", "role"];
        Inputs::of(
            schema.as_object().unwrap(),
            &["taskId", "version"],
            Query::Only(&query),
        )
    }

    fn from_query(query: &str) -> Result<Value, Refusal> {
        let mut params = Map::new();
        inputs()
            .query(&mut params, query)
            .map(|()| Value::Object(params))
    }

    #[test]
    fn text_becomes_what_the_schema_says() {
        assert_eq!(
            from_query("limit=5&ready=true&globs=a&globs=b%20c&role=7").unwrap(),
            json!({"limit": 5, "ready": true, "globs": ["a", "b c"], "role": "7"})
        );
        for bad in [
            "limit=x",
            "limit=",
            "limit=+5",
            "limit=5.0",
            "limit=99999999999999999999",
            "ready=1",
            "ready",
            "role=a&role=b",
            "as=lead",
            "content=x",
            "taskId=1",
        ] {
            assert_eq!(
                from_query(bad).unwrap_err().code,
                Code::InvalidInput,
                "{bad}"
            );
        }
        let mut params = Map::new();
        inputs().path(&mut params, "version", "3").unwrap();
        inputs().path(&mut params, "taskId", "3").unwrap();
        assert_eq!(Value::Object(params), json!({"version": 3, "taskId": "3"}));
    }

    #[test]
    fn a_body_says_nothing_about_what_stands_in_the_address() {
        let body = |text: &str| {
            let mut params = Map::new();
            params.insert("taskId".to_owned(), json!("1"));
            inputs()
                .body(&mut params, text.as_bytes())
                .map(|()| Value::Object(params))
        };
        assert_eq!(
            body(r#"{"content":"x"}"#).unwrap(),
            json!({"taskId": "1", "content": "x"})
        );
        for bad in [
            r#"{"taskId":"2"}"#,
            r#"{"agent":"lead"}"#,
            r#"{"limit":1}"#,
            r#"{"content":"a","content":"b"}"#,
            "[]",
            "",
            "nul",
            "{\"content\":\"\\ud800\"}",
            "{\"content\":\"\u{ff}\"} x",
        ] {
            assert_eq!(body(bad).unwrap_err().code, Code::InvalidInput, "{bad}");
        }
    }
}
