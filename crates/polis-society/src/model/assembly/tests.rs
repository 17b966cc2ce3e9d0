//! Property tests of the assembly: responses split into chunks at any point, truncated, and corrupted.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn assemble_events(events: &[String]) -> Result<AssembledResponse, InvalidResponseError> {
    let mut assembly = ResponseAssembler::default();
    for event in events {
        assembly.push_event_data(event.as_bytes(), None)?;
    }
    assembly.finish_response(1, false)
}

fn split_text(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(size.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Returns the events of a response whose calls are interleaved.
fn response_events(text: &str, calls: &[(String, Value)], size: usize) -> Vec<String> {
    let mut deltas: Vec<Value> = split_text(text, size)
        .into_iter()
        .map(|piece| json!({ "content": piece }))
        .collect();
    let mut queues: Vec<Vec<Value>> = calls.iter().enumerate().map(|(index, (tool, arguments))| {
        let mut all = vec![json!({ "index": index, "id": format!("id-{index}"), "function": { "name": tool, "arguments": "" } })];
        let parts = split_text(&arguments.to_string(), size);
        all.extend(parts.into_iter().map(|part| json!({ "index": index, "function": { "arguments": part } })));
        all.reverse();
        all
    }).collect();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let together: Vec<Value> = queues.iter_mut().filter_map(Vec::pop).collect();
        deltas.push(json!({ "tool_calls": together }));
    }
    let mut all: Vec<String> = deltas
        .into_iter()
        .map(|delta| {
            json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
                .to_string()
        })
        .collect();
    all.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }).to_string());
    all
}

fn any_call() -> impl Strategy<Value = (String, Value)> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from)
    ];
    (
        "[a-z_]{1,12}",
        prop::collection::btree_map("[a-z\"é]{1,4}", value, 0..4),
    )
        .prop_map(|(tool, fields)| (tool, json!(fields)))
}

#[test]
fn arguments_with_a_number_out_of_range_are_wrapped() {
    let sanitised = sanitise_arguments(r#"{"a":1e999}"#);
    let read: Map<String, Value> = serde_json::from_str(&sanitised).unwrap();
    assert_eq!(read["malformed"], r#"{"a":1e999}"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn chunks_assemble_to_the_original_response(
        text in ".{0,40}",
        calls in prop::collection::vec(any_call(), 0..5),
        size in 1_usize..9,
    ) {
        let draft = assemble_events(&response_events(&text, &calls, size)).unwrap();
        prop_assert_eq!(&draft.text, &text);
        let found: Vec<(String, Value)> = draft.calls.iter()
            .map(|call| (call.tool.clone(), serde_json::from_str(&call.arguments).unwrap()))
            .collect();
        prop_assert_eq!(&found, &calls);
        let message: Value = serde_json::from_str(draft.message.as_str()).unwrap();
        prop_assert_eq!(message["tool_calls"].as_array().map_or(0, Vec::len), calls.len());
    }

    /// A response that is truncated anywhere is never accepted.
    #[test]
    fn truncated_response_is_rejected(
        text in ".{1,40}",
        calls in prop::collection::vec(any_call(), 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut events = response_events(&text, &calls, 3);
        events.truncate(cut.index(events.len()));
        events.push("[DONE]".to_owned());
        prop_assert!(assemble_events(&events).is_err());
    }

    /// No input makes it panic, and every response it returns is valid.
    #[test]
    fn corrupted_input_never_panics(
        calls in prop::collection::vec(any_call(), 0..3),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<char>()), 0..6),
    ) {
        let mut events = response_events("text", &calls, 4);
        for (event, position, character) in noise {
            let at = event.index(events.len());
            let mut characters: Vec<char> = events[at].chars().collect();
            let position = position.index(characters.len());
            characters[position] = character;
            events[at] = characters.into_iter().collect();
        }
        if let Ok(draft) = assemble_events(&events) {
            let message: Value = serde_json::from_str(draft.message.as_str()).unwrap();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                prop_assert!(serde_json::from_str::<Map<_, _>>(arguments).is_ok());
            }
        }
    }
}
