//! Tests of trace export (OpenTelemetry): the spans that a collector receives over HTTP as OTLP/JSON,
//! batching, and collectors that fail or do not respond.

use std::sync::Arc;
use std::time::Duration;

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_society::progress_event::{ProgressEvent, ProgressStep};
use polis_society::telemetry::{TelemetryExport, TelemetrySettings};
use polis_testkit::FixedClock;
use polis_testkit::scripted_model::{ModelHttpRequest, ScriptedModel, ScriptedReply};
use serde_json::Value;
use tokio::sync::broadcast;

const STOP_TIMEOUT: Duration = Duration::from_secs(20);

fn start_collector(reply: ScriptedReply) -> (ScriptedModel, TelemetrySettings) {
    let server = ScriptedModel::start_with_replies([reply]);
    let mut settings =
        TelemetrySettings::from_base_url(&format!("http://127.0.0.1:{}", server.port()));
    settings.headers = vec![("authorization".to_owned(), "Bearer secret".to_owned())];
    (server, settings)
}

fn accepted_reply() -> ScriptedReply {
    ScriptedReply::raw_response(200, "application/json", "{}")
}

fn start_telemetry(
    settings: &TelemetrySettings,
) -> (broadcast::Sender<ProgressEvent>, TelemetryExport) {
    let (sender, receiver) = broadcast::channel(1024);
    let telemetry = TelemetryExport::start(settings, receiver, Arc::new(FixedClock::default()));
    (sender, telemetry.unwrap())
}

fn send_progress(sender: &broadcast::Sender<ProgressEvent>, member: &str, step: ProgressStep) {
    let member: MemberKey = member.parse().unwrap();
    sender.send(ProgressEvent { member, step }).unwrap();
}

fn response_step(calls: usize) -> ProgressStep {
    ProgressStep::ResponseReceived {
        text: "a secret plan".to_owned(),
        calls,
        used: ModelUsage {
            prompt: 100,
            response: 20,
            micros: 7,
            ms: 30,
            attempts: 2,
            model: Some("big".to_owned()),
            ..ModelUsage::default()
        },
    }
}

/// Sends the progress of one turn: a member requests a response, calls a tool, requests another response and
/// becomes idle.
fn send_turn(sender: &broadcast::Sender<ProgressEvent>, member: &str) {
    send_progress(sender, member, ProgressStep::RequestStarted);
    send_progress(
        sender,
        member,
        ProgressStep::TextStreamed("a secret".to_owned()),
    );
    send_progress(sender, member, response_step(1));
    let called = ProgressStep::ToolCallEnded {
        tool: "run_command".to_owned(),
        end: CallOutcome::Failed,
        ms: 12,
    };
    send_progress(sender, member, called);
    send_progress(sender, member, ProgressStep::RequestStarted);
    send_progress(sender, member, response_step(0));
    send_progress(
        sender,
        member,
        ProgressStep::StatusChanged(MemberStatus::Idle, None),
    );
}

/// Returns all received spans.
fn received_spans(requests: &[Arc<ModelHttpRequest>]) -> Vec<Value> {
    let of = |request: &Arc<ModelHttpRequest>| {
        let resource = &request.body_json()["resourceSpans"][0];
        let name = &resource["resource"]["attributes"][0];
        assert_eq!(name["key"], "service.name");
        assert_eq!(name["value"]["stringValue"], "polis");
        resource["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
            .clone()
    };
    requests.iter().flat_map(of).collect()
}

fn span_attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == key);
    found.map_or(&Value::Null, |one| &one["value"])
}

#[tokio::test]
async fn turn_is_exported_as_span_with_responses_and_calls() {
    let (server, settings) = start_collector(accepted_reply());
    let (sender, telemetry) = start_telemetry(&settings);
    send_turn(&sender, "run-1/ann");
    send_progress(&sender, "run-1/bob", ProgressStep::RequestStarted);
    let why = Some("Model endpoint main returned status 401.".to_owned());
    send_progress(
        &sender,
        "run-1/bob",
        ProgressStep::StatusChanged(MemberStatus::Parked, why),
    );
    send_turn(&sender, "run-2/ann");
    drop(sender);
    assert_eq!(telemetry.stop(STOP_TIMEOUT).await, Some(0));
    let requests = server.requests();
    assert_eq!(requests[0].method_and_path, "POST /v1/traces");
    assert_eq!(
        requests[0].header_value("content-type"),
        Some("application/json")
    );
    assert_eq!(
        requests[0].header_value("authorization"),
        Some("Bearer secret")
    );
    assert!(
        !requests[0].body.contains("secret"),
        "conversation text must not be exported"
    );
    let spans = received_spans(&requests);
    let names: Vec<_> = spans
        .iter()
        .map(|span| span["name"].as_str().unwrap())
        .collect();
    let turn = [
        "chat big",
        "execute_tool run_command",
        "chat big",
        "invoke_agent ann",
    ];
    assert_eq!(
        names,
        [&turn[..], &["chat", "invoke_agent bob"], &turn[..]].concat()
    );
    let (chat, call, agent) = (&spans[0], &spans[1], &spans[3]);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.request.model", "big"),
        ("gen_ai.agent.name", "ann"),
        ("gen_ai.agent.id", "run-1/ann"),
        ("gen_ai.conversation.id", "run-1"),
    ] {
        assert_eq!(span_attribute(chat, key)["stringValue"], value);
    }
    assert_eq!(
        span_attribute(chat, "gen_ai.usage.input_tokens")["intValue"],
        "100"
    );
    assert_eq!(
        span_attribute(chat, "gen_ai.usage.output_tokens")["intValue"],
        "20"
    );
    let reasons = &span_attribute(chat, "gen_ai.response.finish_reasons")["arrayValue"]["values"];
    assert_eq!(reasons[0]["stringValue"], "tool_calls");
    assert_eq!(chat["kind"], 3);
    assert_eq!(
        span_attribute(call, "gen_ai.tool.name")["stringValue"],
        "run_command"
    );
    assert_eq!(span_attribute(call, "error.type")["stringValue"], "failed");
    assert_eq!(call["status"]["code"], 2);
    assert_eq!(
        span_attribute(agent, "gen_ai.usage.input_tokens")["intValue"],
        "200"
    );
    assert_eq!(agent.get("parentSpanId"), None);
    for part in &spans[..3] {
        assert_eq!(part["parentSpanId"], agent["spanId"]);
        assert_eq!(part["traceId"], agent["traceId"]);
    }
    assert_eq!(agent["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(agent["spanId"].as_str().unwrap().len(), 16);
    assert_eq!(spans[5]["traceId"], agent["traceId"], "one trace for a run");
    assert_ne!(spans[9]["traceId"], agent["traceId"]);
    assert_eq!(
        spans[4]["status"]["message"],
        "Model endpoint main returned status 401."
    );
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    let took = nanos(call, "endTimeUnixNano") - nanos(call, "startTimeUnixNano");
    assert_eq!(took, 12_000_000);
}

/// Spans are sent while the society runs, not only at its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_are_exported_in_batches() {
    let (server, settings) = start_collector(accepted_reply());
    let (sender, telemetry) = start_telemetry(&settings);
    for _ in 0..150 {
        send_turn(&sender, "run-1/ann");
        // The follower must keep up; it is the only subscriber.
        while sender.len() > 500 {
            tokio::task::yield_now().await;
        }
    }
    tokio::task::block_in_place(|| server.wait_for_requests(1));
    assert_eq!(telemetry.stop(STOP_TIMEOUT).await, Some(0));
    let requests = server.requests();
    assert_eq!(received_spans(&requests).len(), 600);
    assert!(requests.len() <= 3, "{}", requests.len());
    assert_eq!(server.connection_count(), 1);
    drop(sender);
}

/// A collector that refuses, fails or is unreachable: nothing is blocked, and lost spans are counted.
#[tokio::test]
async fn unavailable_collector_loses_only_its_spans() {
    for (reply, tries) in [
        (ScriptedReply::empty_error(400), 1),
        (ScriptedReply::empty_error(503), 2),
        (ScriptedReply::connection_reset(), 2),
    ] {
        let (server, settings) = start_collector(reply);
        let (sender, telemetry) = start_telemetry(&settings);
        send_turn(&sender, "run-1/ann");
        drop(sender);
        assert_eq!(telemetry.stop(STOP_TIMEOUT).await, Some(4));
        assert_eq!(server.request_count(), tries);
    }
    let (server, settings) = start_collector(accepted_reply());
    drop(server);
    let (sender, telemetry) = start_telemetry(&settings);
    send_turn(&sender, "run-1/ann");
    drop(sender);
    assert_eq!(telemetry.stop(STOP_TIMEOUT).await, Some(4));
}

#[tokio::test]
async fn redirect_of_a_collector_is_not_followed() {
    let (elsewhere, target) = start_collector(accepted_reply());
    let redirect = ScriptedReply::raw_response(307, "text/plain", "")
        .with_header("location", &target.endpoint);
    let (server, settings) = start_collector(redirect);
    let (sender, telemetry) = start_telemetry(&settings);
    send_turn(&sender, "run-1/ann");
    drop(sender);
    assert_eq!(telemetry.stop(STOP_TIMEOUT).await, Some(4));
    assert_eq!(
        (server.request_count(), elsewhere.connection_count()),
        (1, 0)
    );
}

#[tokio::test]
async fn stop_does_not_wait_for_a_silent_collector() {
    let (_server, settings) = start_collector(ScriptedReply::no_reply());
    let (sender, telemetry) = start_telemetry(&settings);
    send_turn(&sender, "run-1/ann");
    drop(sender);
    assert_eq!(telemetry.stop(Duration::from_millis(50)).await, None);
}

/// A subscriber that falls behind loses spans, and reports it.
#[tokio::test]
async fn dropped_spans_are_counted() {
    let (server, settings) = start_collector(accepted_reply());
    let (sender, receiver) = broadcast::channel(8);
    let clock = Arc::new(FixedClock::default());
    // All events are sent before it reads any.
    for _ in 0..4 {
        send_turn(&sender, "run-1/ann");
    }
    let telemetry = TelemetryExport::start(&settings, receiver, clock).unwrap();
    drop(sender);
    let dropped = telemetry.stop(STOP_TIMEOUT).await.unwrap();
    assert!(dropped >= 16, "{dropped}");
    assert!(!received_spans(&server.requests()).is_empty());
}

#[test]
fn invalid_collector_url_is_refused() {
    for endpoint in ["", "nonsense", "ftp://user:secret@h/"] {
        let mut settings = TelemetrySettings::from_base_url("http://h");
        settings.endpoint = endpoint.to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _guard = runtime.enter();
        let (_sender, receiver) = broadcast::channel(8);
        let started = TelemetryExport::start(&settings, receiver, Arc::new(FixedClock::default()));
        let refusal = started.unwrap_err();
        assert!(!refusal.to_string().contains("secret"));
    }
}
