//! A span and its OTLP/JSON encoding.

use serde::Serialize;
use serde_json::{Value, json};

/// A timed operation.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Milliseconds since 1970.
    pub(super) began: i64,
    pub(super) ended: i64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// The error message, if it failed.
    pub(super) error: Option<String>,
}

/// The span kind of OpenTelemetry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Internal = 1,
    Client = 3,
}

/// Returns a new span id: eight random bytes.
pub(super) fn new_id() -> String {
    // All zeros is the invalid span id.
    format!("{:016x}", fastrand::u64(1..))
}

/// A span in OTLP/JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<&'a str>,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Value>,
    status: Value,
}

/// Returns the request body for these spans.
pub(super) fn body(service: &str, spans: &[Span]) -> Vec<u8> {
    let sent: Vec<Sent<'_>> = spans.iter().map(Span::sent).collect();
    let resource = [
        attribute("service.name", &service.into()),
        attribute("service.version", &env!("CARGO_PKG_VERSION").into()),
        attribute("telemetry.sdk.language", &"rust".into()),
    ];
    let scope = json!({ "name": "polis", "version": env!("CARGO_PKG_VERSION") });
    let all = json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": sent }],
        }],
    });
    all.to_string().into_bytes()
}

impl Span {
    fn sent(&self) -> Sent<'_> {
        let nanos = |millis: i64| format!("{millis}000000");
        let status = match &self.error {
            None => json!({}),
            Some(message) => json!({ "code": 2, "message": message }),
        };
        Sent {
            trace_id: &self.trace,
            span_id: &self.id,
            parent_span_id: self.parent.as_deref(),
            name: &self.name,
            kind: self.kind as u8,
            start_time_unix_nano: nanos(self.began),
            end_time_unix_nano: nanos(self.ended.max(self.began)),
            attributes: self
                .attributes
                .iter()
                .map(|(key, value)| attribute(key, value))
                .collect(),
            status,
        }
    }
}

/// Returns an attribute in OTLP/JSON, in which integers are strings.
fn attribute(key: &str, value: &Value) -> Value {
    json!({ "key": key, "value": wrapped(value) })
}

fn wrapped(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => json!({ "boolValue": yes }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Array(all) => {
            let all: Vec<Value> = all.iter().map(wrapped).collect();
            json!({ "arrayValue": { "values": all } })
        }
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}
