//! Spans and their OTLP/JSON encoding, as the OpenTelemetry collector expects it.

use serde::Serialize;
use serde_json::{Value, json};

/// A span: a timed operation of a trace.
#[derive(Debug, Clone)]
pub(super) struct OtlpSpan {
    pub(super) trace_id: String,
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Start time in milliseconds since 1970.
    pub(super) started_ms: i64,
    pub(super) ended_ms: i64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// The error message, if it failed.
    pub(super) error: Option<String>,
}

/// The span kind of OpenTelemetry.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpanKind {
    Internal = 1,
    Client = 3,
}

/// Returns a new span id: eight random bytes.
pub(super) fn new_span_id() -> String {
    // All zeros is the invalid span id.
    format!("{:016x}", fastrand::u64(1..))
}

/// A span in OTLP/JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpSpanJson<'a> {
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
pub(super) fn encode_spans(service: &str, spans: &[OtlpSpan]) -> Vec<u8> {
    let encoded: Vec<OtlpSpanJson<'_>> = spans.iter().map(OtlpSpan::to_json).collect();
    let resource = [
        encode_attribute("service.name", &service.into()),
        encode_attribute("service.version", &env!("CARGO_PKG_VERSION").into()),
        encode_attribute("telemetry.sdk.language", &"rust".into()),
    ];
    let scope = json!({ "name": "polis", "version": env!("CARGO_PKG_VERSION") });
    let all = json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": encoded }],
        }],
    });
    all.to_string().into_bytes()
}

impl OtlpSpan {
    /// Returns the JSON form of the span.
    fn to_json(&self) -> OtlpSpanJson<'_> {
        let nanos = |millis: i64| format!("{millis}000000");
        let status = match &self.error {
            None => json!({}),
            Some(message) => json!({ "code": 2, "message": message }),
        };
        OtlpSpanJson {
            trace_id: &self.trace_id,
            span_id: &self.id,
            parent_span_id: self.parent_id.as_deref(),
            name: &self.name,
            kind: self.kind as u8,
            start_time_unix_nano: nanos(self.started_ms),
            end_time_unix_nano: nanos(self.ended_ms.max(self.started_ms)),
            attributes: self
                .attributes
                .iter()
                .map(|(key, value)| encode_attribute(key, value))
                .collect(),
            status,
        }
    }
}

/// Returns an attribute in OTLP/JSON, in which integers are strings.
fn encode_attribute(key: &str, value: &Value) -> Value {
    json!({ "key": key, "value": encode_value(value) })
}

/// Returns a value in the typed form of OTLP/JSON.
fn encode_value(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => json!({ "boolValue": yes }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Array(all) => {
            let all: Vec<Value> = all.iter().map(encode_value).collect();
            json!({ "arrayValue": { "values": all } })
        }
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}
