//! Tests with a store that an earlier version of polis wrote: this version reads all its events, shows them, and
//! continues its run.
//!
//! `tests/fixtures/write_store.py` wrote the fixtures with the real program, before event payloads were typed. They
//! are never written again: a change of the stored format adds fixtures of the version before it.

use std::collections::BTreeSet;

use polis_core::{Event, EventKind};
use polis_testkit::json_schema_validator::find_violation;
use polis_testkit::scripted_model::{ModelHttpRequest, ScriptedModel, ScriptedReply};
use polis_view::UiLanguage;
use polis_view::event_sentence::format_event;
use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};
use crate::society::{command_with_model, message_user_reply};

const SQLITE_STORE: &str = include_str!("../../fixtures/store-2026-11.sqlite.sql");
const POSTGRES_STORE: &str = include_str!("../../fixtures/store-2026-11.postgres.sql");

/// Kinds of events that only the embedded store writes, because only it has board files.
const FILE_KINDS: [EventKind; 2] = [
    EventKind::BoardEditedExternally,
    EventKind::BoardFileRestored,
];

/// Kinds of events that were added after the fixtures were written.
const LATER_KINDS: [EventKind; 0] = [];

on_both_stores!(
    events_of_earlier_version_are_read_typed,
    run_of_earlier_version_continues_to_its_end,
);

fn read_typed_log(project: &TestProject) -> Vec<Event> {
    let log = project.run_json("user", &["log"]);
    assert_eq!(log.exit_code, Some(0), "{log:?}");
    let lines = log.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Asserts that the payload of an event is known, and that it has every field of the stored data.
fn assert_typed(event: &Event) {
    let payload = event.payload();
    let payload = payload.unwrap_or_else(|| panic!("unknown payload: {event:?}"));
    let [stored, typed]: [Value; 2] =
        [event.data.as_str(), &payload.to_json()].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(typed, stored, "{event:?}");
}

fn events_of_earlier_version_are_read_typed(project: &TestProject) {
    project.restore_store(SQLITE_STORE, POSTGRES_STORE);
    let events = read_typed_log(project);
    events.iter().for_each(assert_typed);
    let found: BTreeSet<EventKind> = events.iter().filter_map(Event::known_kind).collect();
    let expected: BTreeSet<EventKind> = EventKind::ALL
        .iter()
        .copied()
        .filter(|kind| !LATER_KINDS.contains(kind))
        .filter(|kind| project.is_embedded() || !FILE_KINDS.contains(kind))
        .collect();
    assert_eq!(found, expected);
    for event in &events {
        assert_matches_published_schema(&serde_json::to_value(event).unwrap());
    }
    assert_matches_published_schema(&json!({ "kind": "task.teleported", "data": { "to": 7 } }));
    for event in &events {
        let sentence = format_event(event, UiLanguage::En).text();
        assert!(!sentence.contains("triggered an event"), "{sentence}");
    }
    let shown = project.run_text("user", &["log"]);
    assert_eq!(shown.lines().count(), events.len());
    // An agent sees what it may see, and nothing else.
    let seen = project.run_json("dev", &["log"]);
    assert!(seen.stdout.contains("\"task.claimed\""), "{seen:?}");
    assert!(!seen.stdout.contains("\"webhook.added\""), "{seen:?}");
    assert!(!seen.stdout.contains("\"society.hired\""), "{seen:?}");
}

/// Asserts that an event matches the schema in the reference.
fn assert_matches_published_schema(event: &Value) {
    const SCHEMA: &str = include_str!("../../../../../docs/reference/event-data.schema.json");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(find_violation(&schema, event), None, "{event}");
    let mut damaged = event.clone();
    if event["kind"] == "task.claimed" {
        damaged["data"] = json!({ "version": "two" });
        assert!(find_violation(&schema, &damaged).is_some());
    }
}

/// The script of the run that the earlier version began: its worker waits for the approval of a call.
fn continuing_model() -> ScriptedModel {
    ScriptedModel::start(|request| {
        if request.system_message().contains("WORKER-ROLE") {
            worker_reply(request)
        } else if request.body.contains("I painted the door") && !request.body.contains("r9") {
            message_user_reply("r9", "The door is painted.")
        } else {
            ScriptedReply::text("I wait.")
        }
    })
}

fn worker_reply(request: &ModelHttpRequest) -> ScriptedReply {
    match request.assistant_message_count() {
        1 => {
            let report = json!({ "to": "root", "payload": "I painted the door" });
            ScriptedReply::tool_call("w1", "send_message", &report)
        }
        _ => ScriptedReply::text("Done."),
    }
}

fn run_of_earlier_version_continues_to_its_end(project: &TestProject) {
    project.restore_store(SQLITE_STORE, POSTGRES_STORE);
    let before = read_typed_log(project).len();
    let runs = project.run_ok("user", &["society", "ps"]);
    let runs = runs["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["status"] == "active").unwrap();
    assert_eq!(run["requirement"], "Paint the door");
    let run_id = run["runId"].as_str().unwrap();
    project.run_ok("user", &["society", "approve"]);
    let model = continuing_model();
    let resume = command_with_model(project, &model, &["run", "--resume", run_id])
        .output()
        .unwrap();
    let resumed = CommandOutput::from_output(resume);
    assert_eq!(resumed.exit_code, Some(0), "{resumed:?}");
    let last: Value = serde_json::from_str(resumed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["how"], "done", "{last}");
    assert_eq!(last["said"]["text"], "The door is painted.");
    let painted = project.list_task_subjects();
    let painted = painted.iter().filter(|name| *name == "painted by a run");
    assert_eq!(painted.count(), 2, "one task of each run");
    let events = read_typed_log(project);
    assert!(events.len() > before);
    events.iter().for_each(assert_typed);
}
