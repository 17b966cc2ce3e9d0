//! Tests of trace export, as a collector receives it: over HTTP, in OTLP/JSON.

use std::sync::Arc;
use std::time::Duration;

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use polis_society::progress::{Progress, Step};
use polis_society::telemetry::{Telemetry, TelemetrySettings};
use polis_testkit::FixedClock;
use polis_testkit::model_server::{ModelServer, Reply, Request};
use serde_json::Value;
use tokio::sync::broadcast;

const LONG: Duration = Duration::from_secs(20);

fn collector(reply: Reply) -> (ModelServer, TelemetrySettings) {
    let server = ModelServer::saying([reply]);
    let mut settings = TelemetrySettings::of(&format!("http://127.0.0.1:{}", server.port()));
    settings.headers = vec![("authorization".to_owned(), "Bearer secret".to_owned())];
    (server, settings)
}

fn taken() -> Reply {
    Reply::raw(200, "application/json", "{}")
}

fn start(settings: &TelemetrySettings) -> (broadcast::Sender<Progress>, Telemetry) {
    let (sender, receiver) = broadcast::channel(1024);
    let telemetry = Telemetry::start(settings, receiver, Arc::new(FixedClock::default()));
    (sender, telemetry.unwrap())
}

fn tell(sender: &broadcast::Sender<Progress>, member: &str, step: Step) {
    let member: MemberKey = member.parse().unwrap();
    sender.send(Progress { member, step }).unwrap();
}

fn answered(calls: usize) -> Step {
    Step::Answered {
        text: "a secret plan".to_owned(),
        calls,
        used: Used {
            prompt: 100,
            answer: 20,
            micros: 7,
            ms: 30,
            tries: 2,
            model: Some("big".to_owned()),
            ..Used::default()
        },
    }
}

/// Sends one turn of a member: it requests a response, calls a tool, requests another response and becomes idle.
fn one_turn(sender: &broadcast::Sender<Progress>, member: &str) {
    tell(sender, member, Step::Thinking);
    tell(sender, member, Step::Words("a secret".to_owned()));
    tell(sender, member, answered(1));
    let called = Step::Called {
        tool: "run_command".to_owned(),
        end: CallEnd::Failed,
        ms: 12,
    };
    tell(sender, member, called);
    tell(sender, member, Step::Thinking);
    tell(sender, member, answered(0));
    tell(sender, member, Step::Stands(MemberStatus::Idle, None));
}

/// Returns all received spans.
fn spans(requests: &[Arc<Request>]) -> Vec<Value> {
    let of = |request: &Arc<Request>| {
        let resource = &request.json()["resourceSpans"][0];
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

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == key);
    found.map_or(&Value::Null, |one| &one["value"])
}

#[tokio::test]
async fn a_turn_is_a_span_with_its_answers_and_calls_in_it() {
    let (server, settings) = collector(taken());
    let (sender, telemetry) = start(&settings);
    one_turn(&sender, "run-1/ann");
    tell(&sender, "run-1/bob", Step::Thinking);
    let why = Some("The model's endpoint main answered 401.".to_owned());
    tell(
        &sender,
        "run-1/bob",
        Step::Stands(MemberStatus::Parked, why),
    );
    one_turn(&sender, "run-2/ann");
    drop(sender);
    assert_eq!(telemetry.stop(LONG).await, Some(0));
    let requests = server.requests();
    assert_eq!(requests[0].line, "POST /v1/traces");
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    assert_eq!(requests[0].header("authorization"), Some("Bearer secret"));
    assert!(
        !requests[0].body.contains("secret"),
        "what is said stays here"
    );
    let spans = spans(&requests);
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
        assert_eq!(attribute(chat, key)["stringValue"], value);
    }
    assert_eq!(
        attribute(chat, "gen_ai.usage.input_tokens")["intValue"],
        "100"
    );
    assert_eq!(
        attribute(chat, "gen_ai.usage.output_tokens")["intValue"],
        "20"
    );
    let reasons = &attribute(chat, "gen_ai.response.finish_reasons")["arrayValue"]["values"];
    assert_eq!(reasons[0]["stringValue"], "tool_calls");
    assert_eq!(chat["kind"], 3);
    assert_eq!(
        attribute(call, "gen_ai.tool.name")["stringValue"],
        "run_command"
    );
    assert_eq!(attribute(call, "error.type")["stringValue"], "failed");
    assert_eq!(call["status"]["code"], 2);
    assert_eq!(
        attribute(agent, "gen_ai.usage.input_tokens")["intValue"],
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
        "The model's endpoint main answered 401."
    );
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    let took = nanos(call, "endTimeUnixNano") - nanos(call, "startTimeUnixNano");
    assert_eq!(took, 12_000_000);
}

/// Spans are sent while the society runs, not only at its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_are_sent_many_at_a_time() {
    let (server, settings) = collector(taken());
    let (sender, telemetry) = start(&settings);
    for _ in 0..150 {
        one_turn(&sender, "run-1/ann");
        // The follower must keep up; it is the only subscriber.
        while sender.len() > 500 {
            tokio::task::yield_now().await;
        }
    }
    tokio::task::block_in_place(|| server.wait_for_requests(1));
    assert_eq!(telemetry.stop(LONG).await, Some(0));
    let requests = server.requests();
    assert_eq!(spans(&requests).len(), 600);
    assert!(requests.len() <= 3, "{}", requests.len());
    assert_eq!(server.connections(), 1);
    drop(sender);
}

/// A collector that refuses, fails or is unreachable: nothing is blocked, and lost spans are counted.
#[tokio::test]
async fn a_collector_that_is_away_costs_only_its_spans() {
    for (reply, tries) in [
        (Reply::status(400), 1),
        (Reply::status(503), 2),
        (Reply::reset(), 2),
    ] {
        let (server, settings) = collector(reply);
        let (sender, telemetry) = start(&settings);
        one_turn(&sender, "run-1/ann");
        drop(sender);
        assert_eq!(telemetry.stop(LONG).await, Some(4));
        assert_eq!(server.count(), tries);
    }
    let (server, settings) = collector(taken());
    drop(server);
    let (sender, telemetry) = start(&settings);
    one_turn(&sender, "run-1/ann");
    drop(sender);
    assert_eq!(telemetry.stop(LONG).await, Some(4));
}

#[tokio::test]
async fn a_collector_that_never_answers_is_not_waited_for() {
    let (_server, settings) = collector(Reply::never());
    let (sender, telemetry) = start(&settings);
    one_turn(&sender, "run-1/ann");
    drop(sender);
    assert_eq!(telemetry.stop(Duration::from_millis(50)).await, None);
}

/// A subscriber that falls behind loses spans, and reports it.
#[tokio::test]
async fn what_was_missed_is_counted() {
    let (server, settings) = collector(taken());
    let (sender, receiver) = broadcast::channel(8);
    let clock = Arc::new(FixedClock::default());
    // All events are sent before it reads any.
    for _ in 0..4 {
        one_turn(&sender, "run-1/ann");
    }
    let telemetry = Telemetry::start(&settings, receiver, clock).unwrap();
    drop(sender);
    let dropped = telemetry.stop(LONG).await.unwrap();
    assert!(dropped >= 16, "{dropped}");
    assert!(!spans(&server.requests()).is_empty());
}

#[test]
fn a_collector_without_an_address_is_refused() {
    for endpoint in ["", "nonsense", "ftp://user:secret@h/"] {
        let mut settings = TelemetrySettings::of("http://h");
        settings.endpoint = endpoint.to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _guard = runtime.enter();
        let (_sender, receiver) = broadcast::channel(8);
        let started = Telemetry::start(&settings, receiver, Arc::new(FixedClock::default()));
        let refusal = started.unwrap_err();
        assert!(!refusal.to_string().contains("secret"));
    }
}
