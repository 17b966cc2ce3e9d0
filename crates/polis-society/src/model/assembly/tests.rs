//! Property tests of the assembly: responses split into chunks at any point, truncated, and corrupted.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(events: &[String]) -> Result<Draft, Flaw> {
    let mut assembly = Assembly::default();
    for event in events {
        assembly.data(event.as_bytes(), None)?;
    }
    assembly.end(1, false)
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(size.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Returns the events of a response whose calls are interleaved.
fn events(text: &str, calls: &[(String, Value)], size: usize) -> Vec<String> {
    let mut deltas: Vec<Value> = pieces(text, size)
        .into_iter()
        .map(|piece| json!({ "content": piece }))
        .collect();
    let mut queues: Vec<Vec<Value>> = calls.iter().enumerate().map(|(index, (tool, arguments))| {
        let mut all = vec![json!({ "index": index, "id": format!("id-{index}"), "function": { "name": tool, "arguments": "" } })];
        let parts = pieces(&arguments.to_string(), size);
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

fn call() -> impl Strategy<Value = (String, Value)> {
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
    let sound = sound_arguments(r#"{"a":1e999}"#);
    let read: Map<String, Value> = serde_json::from_str(&sound).unwrap();
    assert_eq!(read["malformed"], r#"{"a":1e999}"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn pieces_make_the_answer_again(
        text in ".{0,40}",
        calls in prop::collection::vec(call(), 0..5),
        size in 1_usize..9,
    ) {
        let draft = read(&events(&text, &calls, size)).unwrap();
        prop_assert_eq!(&draft.text, &text);
        let found: Vec<(String, Value)> = draft.calls.iter()
            .map(|call| (call.tool.clone(), serde_json::from_str(&call.arguments).unwrap()))
            .collect();
        prop_assert_eq!(&found, &calls);
        let message: Value = serde_json::from_str(draft.message.text()).unwrap();
        prop_assert_eq!(message["tool_calls"].as_array().map_or(0, Vec::len), calls.len());
    }

    /// A response that is truncated anywhere is never accepted.
    #[test]
    fn an_answer_that_is_not_whole_is_none(
        text in ".{1,40}",
        calls in prop::collection::vec(call(), 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut events = events(&text, &calls, 3);
        events.truncate(cut.index(events.len()));
        events.push("[DONE]".to_owned());
        prop_assert!(read(&events).is_err());
    }

    /// No input makes it panic, and every response it returns is valid.
    #[test]
    fn anything_may_come(
        calls in prop::collection::vec(call(), 0..3),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<char>()), 0..6),
    ) {
        let mut events = events("text", &calls, 4);
        for (event, place, letter) in noise {
            let at = event.index(events.len());
            let mut letters: Vec<char> = events[at].chars().collect();
            let place = place.index(letters.len());
            letters[place] = letter;
            events[at] = letters.into_iter().collect();
        }
        if let Ok(draft) = read(&events) {
            let message: Value = serde_json::from_str(draft.message.text()).unwrap();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                prop_assert!(serde_json::from_str::<Map<_, _>>(arguments).is_ok());
            }
        }
    }
}
