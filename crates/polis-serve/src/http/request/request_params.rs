//! Request parameters: collects the parameters of a tool from path, query and JSON body.
//!
//! Text in path and query is converted to the type in the tool's input schema, and refused if it is not of
//! that type; values in the body are left to the tool. Unknown parameters are refused, and repeated ones,
//! except arrays in the query. `taskId` is an alias of `runId` where a route has no `taskId`.

use std::fmt;

use polis_core::Refusal;
use polis_core::society::run_id_json::{RUN_ID, TASK_ID};
use polis_ops::tool::describe_json_error;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::url_encoding;
use crate::refusal_tables::HttpRefusal;

/// Type to which the text of a parameter is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParamType {
    Text,
    Integer,
    Number,
    Boolean,
}

/// A parameter in the path or query.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UrlParam {
    name: String,
    param_type: ParamType,
    /// Whether it may be repeated (an array).
    is_array: bool,
}

/// The parameters of one route, by location.
#[derive(Debug, Clone)]
pub(crate) struct RouteParams {
    /// Parameters in the path.
    path: Vec<UrlParam>,
    /// Parameters in the query.
    query: Vec<UrlParam>,
    /// Names of the parameters in the JSON body.
    body: Vec<String>,
}

impl RouteParams {
    /// Divides the parameters of a tool's input schema by their location in a route.
    pub(crate) fn from_schema(
        schema: &Map<String, Value>,
        path: &[&str],
        query: QueryParamSet<'_>,
    ) -> Self {
        let mut inputs = Self {
            path: Vec::new(),
            query: Vec::new(),
            body: Vec::new(),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let (shape, is_array) = schema_param_type(property);
            let param = UrlParam {
                name: name.clone(),
                param_type: shape,
                is_array,
            };
            if path.contains(&name.as_str()) {
                inputs.path.push(param);
            } else if query.contains(name) {
                inputs.query.push(param);
            } else {
                inputs.body.push(name.clone());
            }
        }
        inputs
    }

    /// Returns whether there are body parameters.
    pub(crate) fn has_body_params(&self) -> bool {
        !self.body.is_empty()
    }

    /// Adds a path parameter. Fails with `InvalidInput` if the text does not have the parameter's type.
    pub(crate) fn add_path_param(
        &self,
        params: &mut Map<String, Value>,
        name: &str,
        text: &str,
    ) -> Result<(), Refusal> {
        let param = self.path.iter().find(|param| param.name == name);
        let shape = param.map_or(ParamType::Text, |param| param.param_type);
        params.insert(name.to_owned(), parse_param_value(name, text, shape)?);
        Ok(())
    }

    /// Adds the query parameters. Fails with `InvalidInput` if one is unknown, repeated or not of its type.
    pub(crate) fn add_query_params(
        &self,
        params: &mut Map<String, Value>,
        query: &str,
    ) -> Result<(), Refusal> {
        let pairs: Vec<(String, String)> =
            url_encoding::parse_query_pairs(query).collect::<Result<_, _>>()?;
        let names_run = params.contains_key(RUN_ID) || pairs.iter().any(|(name, _)| name == RUN_ID);
        for (name, text) in pairs {
            if names_run && self.is_run_alias(&name) {
                continue;
            }
            let name = self.canonical_name(name);
            let Some(param) = self.query.iter().find(|param| param.name == name) else {
                return Err(self.unknown_param(&name));
            };
            let value = parse_param_value(&name, &text, param.param_type)?;
            let existing = params.get_mut(&name);
            match (param.is_array, existing) {
                (true, Some(Value::Array(list))) => list.push(value),
                (true, _) => {
                    params.insert(name, Value::Array(vec![value]));
                }
                (false, None) => {
                    params.insert(name, value);
                }
                (false, Some(_)) => {
                    return Err(HttpRefusal::QueryRepeated {
                        name: quote_name(&name),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }

    /// Adds the body parameters from a JSON object. Fails with `InvalidInput` if the bytes are not one, or a
    /// parameter is unknown or repeated.
    pub(crate) fn add_body_params(
        &self,
        params: &mut Map<String, Value>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let JsonObjectFields(fields) =
            serde_json::from_slice(bytes).map_err(|error| HttpRefusal::BodyNotAnObject {
                error: describe_json_error(&error.to_string()),
            })?;
        let names_run =
            params.contains_key(RUN_ID) || fields.iter().any(|(name, _)| name == RUN_ID);
        for (name, value) in fields {
            if names_run && self.is_run_alias(&name) {
                continue;
            }
            let name = self.canonical_name(name);
            // A body cannot override path or query parameters.
            if !self.body.contains(&name) {
                return Err(self.unknown_param(&name));
            }
            if params.insert(name.clone(), value).is_some() {
                return Err(HttpRefusal::BodyRepeated {
                    name: quote_name(&name),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Returns the name under which a parameter is known: an alias of `runId` as `runId`.
    fn canonical_name(&self, name: String) -> String {
        if self.is_run_alias(&name) {
            RUN_ID.to_owned()
        } else {
            name
        }
    }

    /// Returns whether a parameter is `taskId`, as founding requirement 001 calls a run, on a route that has no
    /// parameter of that name. It is ignored beside `runId`, because results contain both.
    fn is_run_alias(&self, name: &str) -> bool {
        let is_known = |candidate: &str| {
            let in_url = self.path.iter().chain(&self.query);
            in_url
                .map(|param| &param.name)
                .chain(&self.body)
                .any(|known| known == candidate)
        };
        name == TASK_ID && !is_known(TASK_ID) && is_known(RUN_ID)
    }

    fn unknown_param(&self, name: &str) -> Refusal {
        let name = quote_name(name);
        let query: Vec<String> = self.query.iter().map(|param| param.name.clone()).collect();
        let body: Vec<String> = self.body.to_vec();
        match (query.is_empty(), body.is_empty()) {
            (true, true) => HttpRefusal::NoParameters { name },
            (false, true) => HttpRefusal::UnknownQueryParameter { name, query },
            (true, false) => HttpRefusal::UnknownBodyParameter { name, body },
            (false, false) => HttpRefusal::UnknownParameter { name, query, body },
        }
        .into()
    }
}

/// A JSON object with duplicate keys preserved: JSON parsers differ in which of two values wins.
struct JsonObjectFields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for JsonObjectFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonObjectVisitor;
        impl<'de> Visitor<'de> for JsonObjectVisitor {
            type Value = JsonObjectFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<JsonObjectFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(JsonObjectFields(fields))
            }
        }
        deserializer.deserialize_map(JsonObjectVisitor)
    }
}

/// Which parameters are in the query.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QueryParamSet<'a> {
    /// All parameters that are not in the path.
    All,
    /// Only the parameters with these names.
    Only(&'a [&'a str]),
}

impl QueryParamSet<'_> {
    fn contains(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// Returns the type of a schema's values in text form, and whether it is an array.
fn schema_param_type(schema: &Value) -> (ParamType, bool) {
    if has_schema_type(schema, "array") {
        let items = schema.get("items").unwrap_or(&Value::Null);
        return (schema_param_type(items).0, true);
    }
    let shape = if has_schema_type(schema, "string") {
        ParamType::Text
    } else if has_schema_type(schema, "integer") {
        ParamType::Integer
    } else if has_schema_type(schema, "number") {
        ParamType::Number
    } else if has_schema_type(schema, "boolean") {
        ParamType::Boolean
    } else {
        let kinds = ["anyOf", "oneOf"]
            .iter()
            .find_map(|k| schema.get(k)?.as_array());
        let real = kinds.and_then(|kinds| kinds.iter().find(|kind| !has_schema_type(kind, "null")));
        return real.map_or((ParamType::Text, false), schema_param_type);
    };
    (shape, false)
}

/// Returns whether a schema's type is, or includes, this type.
fn has_schema_type(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn parse_param_value(name: &str, text: &str, shape: ParamType) -> Result<Value, Refusal> {
    let wrong = |expected: &str| -> Refusal {
        HttpRefusal::WrongParameterType {
            name: quote_name(name),
            expected: expected.to_owned(),
        }
        .into()
    };
    match shape {
        ParamType::Text => Ok(Value::String(text.to_owned())),
        ParamType::Boolean => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong("boolean")),
        },
        ParamType::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let positive = text.parse::<u64>().map(Value::from);
            let any = positive.or_else(|_| text.parse::<i64>().map(Value::from));
            any.ok()
                .filter(|_| all_digits)
                .ok_or_else(|| wrong("integer"))
        }
        ParamType::Number => {
            let number = serde_json::from_str::<serde_json::Number>(text);
            number.map(Value::Number).map_err(|_| wrong("number"))
        }
    }
}

fn quote_name(name: &str) -> String {
    polis_core::id::quote_untrusted(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_core::RefusalCode;
    use serde_json::json;

    fn task_route_params() -> RouteParams {
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
        RouteParams::from_schema(
            schema.as_object().unwrap(),
            &["taskId", "version"],
            QueryParamSet::Only(&query),
        )
    }

    fn parse_query(query: &str) -> Result<Value, Refusal> {
        let mut params = Map::new();
        task_route_params()
            .add_query_params(&mut params, query)
            .map(|()| Value::Object(params))
    }

    #[test]
    fn query_text_is_parsed_by_schema_type() {
        assert_eq!(
            parse_query("limit=5&ready=true&globs=a&globs=b%20c&role=7").unwrap(),
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
                parse_query(bad).unwrap_err().code,
                RefusalCode::INVALID_INPUT,
                "{bad}"
            );
        }
        let mut params = Map::new();
        task_route_params()
            .add_path_param(&mut params, "version", "3")
            .unwrap();
        task_route_params()
            .add_path_param(&mut params, "taskId", "3")
            .unwrap();
        assert_eq!(Value::Object(params), json!({"version": 3, "taskId": "3"}));
    }

    #[test]
    fn body_with_url_or_unknown_params_is_refused() {
        let body = |text: &str| {
            let mut params = Map::new();
            params.insert("taskId".to_owned(), json!("1"));
            task_route_params()
                .add_body_params(&mut params, text.as_bytes())
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
            assert_eq!(
                body(bad).unwrap_err().code,
                RefusalCode::INVALID_INPUT,
                "{bad}"
            );
        }
    }
}
