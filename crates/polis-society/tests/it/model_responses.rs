//! Tests of the model protocol: the request that is sent to a chat completions endpoint, and the response
//! formats of different servers (streams, tool calls, token usage, finish reasons).

use polis_society::model::{ApiKey, EndpointPermit, FinishReason, MAX_TOOL_CALLS, ToolCall};
use polis_testkit::scripted_model::{ReplyFault, ScriptedModel, ScriptedReply, ScriptedToolCall};
use serde_json::{Value, json};

use crate::model_test_client::{
    TestRequest, build_endpoints, endpoint_settings, request_with_replies, single_endpoint,
};

#[tokio::test]
async fn request_contains_the_conversation_and_the_settings() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let mut one = endpoint_settings("main", &server);
    one.api_key = ApiKey::new("sk-secret-key-1");
    one.temperature = Some(0.25);
    one.max_tokens = Some(900);
    one.headers = vec![("x-team".to_owned(), "polis".to_owned())];
    let answer = TestRequest::default()
        .send(&build_endpoints(vec![one]))
        .await
        .unwrap();
    assert_eq!(answer.text, "fine");
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.method_and_path, "POST /v1/chat/completions");
    assert_eq!(
        request.header_value("authorization"),
        Some("Bearer sk-secret-key-1")
    );
    assert_eq!(
        request.header_value("content-type"),
        Some("application/json")
    );
    assert_eq!(request.header_value("x-team"), Some("polis"));
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(request.header_value("host"), Some(host.as_str()));
    assert_eq!(
        *request.body_json(),
        json!({
            "model": "model-one",
            "stream": true,
            "stream_options": { "include_usage": true },
            "temperature": 0.25,
            "max_tokens": 900,
            "tools": [{ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } }],
            "messages": [
                { "role": "system", "content": "You are one." },
                { "role": "user", "content": "Go on, 请." },
            ],
        })
    );
}

#[tokio::test]
async fn calls_beyond_the_limit_are_dropped_and_counted() {
    let call = |n: usize| ScriptedToolCall::new(&format!("c{n}"), "look", &json!({ "n": n }));
    let (answer, server, _) =
        request_with_replies([ScriptedReply::tool_calls((0..200).map(call))]).await;
    let answer = answer.unwrap();
    assert_eq!(
        (answer.calls.len(), answer.dropped_calls),
        (MAX_TOOL_CALLS, 72)
    );
    for (n, call) in answer.calls.iter().enumerate() {
        assert_eq!(call.arguments, format!("{{\"n\":{n}}}"));
    }
    assert_eq!(
        (server.request_count(), answer.finish),
        (1, FinishReason::Calls)
    );
}

#[tokio::test]
async fn role_can_override_model_and_temperature() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let mut question = TestRequest::to_endpoint("main");
    let choice = question.model_choice.as_mut().unwrap();
    choice.model = Some("big \"one\"".to_owned());
    choice.temperature = Some(1.0);
    let answer = question.send(&single_endpoint(&server)).await.unwrap();
    assert_eq!(answer.attempts, 1);
    let sent = server.requests()[0].body_json().clone();
    assert_eq!(sent["model"], "big \"one\"");
    assert_eq!(sent["temperature"].as_f64(), Some(1.0));
}

#[tokio::test]
async fn streamed_text_is_reported_in_chunks_and_joined() {
    let text = "Eine längere Antwort, 一个比较长的回答 🚀, in \"pieces\".\n".repeat(5);
    let (answer, _, notes) =
        request_with_replies([ScriptedReply::text(&text).with_usage(321, 45)]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, text);
    assert_eq!(answer.usage, Some((321, 45)));
    assert_eq!(answer.finish, FinishReason::Stop);
    assert_eq!(answer.model, "model-one");
    assert!(answer.calls.is_empty());
    let message: Value = serde_json::from_str(answer.message.as_str()).unwrap();
    assert_eq!(message, json!({ "role": "assistant", "content": text }));
    assert!(notes.recorded_events().len() > 3);
    assert_eq!(notes.recorded_events().concat(), text);
}

#[tokio::test]
async fn streamed_calls_are_assembled() {
    let calls = [
        ScriptedToolCall::new("call_a", "look", &json!({ "path": "a/é.txt" })),
        ScriptedToolCall::new("call_b", "write", &json!({ "text": "\"q\"\n🚀" })),
        ScriptedToolCall::with_raw_arguments("call_c", "list", ""),
    ];
    let (answer, ..) =
        request_with_replies([ScriptedReply::text("I look.").with_tool_calls(calls)]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.finish, FinishReason::Calls);
    assert_eq!(answer.text, "I look.");
    let call = |id: &str, tool: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(
        answer.calls,
        [
            call("call_a", "look", r#"{"path":"a/é.txt"}"#),
            call("call_b", "write", r#"{"text":"\"q\"\n🚀"}"#),
            call("call_c", "list", "{}"),
        ]
    );
    let message: Value = serde_json::from_str(answer.message.as_str()).unwrap();
    assert_eq!(message["content"], "I look.");
    assert_eq!(message["tool_calls"][1]["id"], "call_b");
    assert_eq!(message["tool_calls"][1]["type"], "function");
    assert_eq!(message["tool_calls"][1]["function"]["name"], "write");
    assert_eq!(message["tool_calls"][2]["function"]["arguments"], "{}");
}

const FINISH_TOOL_CALLS: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

/// A description, the events, and the expected calls (id, tool, arguments).
type StreamCase = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str, &'static str)],
);

/// Streams as servers really send them, and the calls they mean.
#[tokio::test]
async fn stream_formats_of_servers_are_understood() {
    let table: &[StreamCase] = &[
        (
            "whole calls at once, without index and type, finish stop",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"n\":1}"}},{"id":"y","function":{"name":"a","arguments":"{\"n\":2}"}}],"function_call":null},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            &[("x", "a", r#"{"n":1}"#), ("y", "a", r#"{"n":2}"#)],
        ),
        (
            "no ids: they are made",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"b","arguments":"{}"}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[("c00007000", "a", "{}"), ("c00007001", "b", "{}")],
        ),
        (
            "the same id twice in different calls",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"same","function":{"name":"a","arguments":"{\"n\":1}"}},{"index":1,"id":"same","function":{"name":"a","arguments":"{\"n\":2}"}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[
                ("same", "a", r#"{"n":1}"#),
                ("c00007001", "a", r#"{"n":2}"#),
            ],
        ),
        (
            "the same index for all, told apart by id",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{\"n\":1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"a","arguments":"{\"n\":"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"2}"}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[("x", "a", r#"{"n":1}"#), ("y", "a", r#"{"n":2}"#)],
        ),
        (
            "id and name repeated in every piece",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"a","arguments":"{\"n\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"a","arguments":":1}"}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[("x", "a", r#"{"n":1}"#)],
        ),
        (
            "no index and no id: a name begins a call",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"n\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[("c00007000", "a", r#"{"n":1}"#), ("c00007001", "a", "{}")],
        ),
        (
            "arguments that are JSON, not a text",
            &[
                r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":{"n":[1,2]}}}]},"finish_reason":"tool_calls"}]}"#,
            ],
            &[("x", "a", r#"{"n":[1,2]}"#)],
        ),
        (
            "arguments that were made a text once too often",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"\"{\\\"n\\\":1}\""}}]},"finish_reason":"tool_calls"}]}"#,
            ],
            &[("x", "a", r#"{"n":1}"#)],
        ),
        (
            "as calls were before there were several",
            &[
                r#"{"choices":[{"delta":{"function_call":{"name":"a","arguments":"{\"n\""}}}]}"#,
                r#"{"choices":[{"delta":{"function_call":{"arguments":":1}"}},"finish_reason":"function_call"}]}"#,
                "[DONE]",
            ],
            &[("c00007000", "a", r#"{"n":1}"#)],
        ),
        (
            "an index of null, an id that is a number, and a call of nothing",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":null,"id":5,"function":{"name":"a","arguments":null}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":3,"id":"","function":{"name":"","arguments":""}}]}}]}"#,
                FINISH_TOOL_CALLS,
            ],
            &[("5", "a", "{}")],
        ),
        (
            "an event of several lines of data",
            &[
                "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\ndata: \"id\":\"x\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}",
                FINISH_TOOL_CALLS,
            ],
            &[("x", "a", "{}")],
        ),
    ];
    for (what, events, calls) in table {
        let (answer, server, _) =
            request_with_replies([ScriptedReply::raw_events(events.iter().copied())]).await;
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        let found: Vec<_> = answer
            .calls
            .iter()
            .map(|call| {
                (
                    call.id.as_str(),
                    call.tool.as_str(),
                    call.arguments.as_str(),
                )
            })
            .collect();
        assert_eq!(found, *calls, "{what}");
        assert_eq!(answer.finish, FinishReason::Calls, "{what}");
        assert_eq!(server.request_count(), 1, "{what}");
    }
}

#[tokio::test]
async fn token_usage_is_read_from_any_position() {
    let said =
        r#"{"model":"real-name","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]"#;
    let table = [
        (format!(r#"{said},"usage":{{"prompt_tokens":3,"completion_tokens":4}}}}"#), Some((3, 4))),
        (format!(r#"{said},"usage":{{"input_tokens":3,"output_tokens":4}}}}"#), Some((3, 4))),
        (format!(r#"{said},"usage":null}}"#), None),
        (format!("{said}}}"), None),
        (
            r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":4}}]}"#.to_owned(),
            Some((3, 4)),
        ),
    ];
    for (event, usage) in table {
        let (answer, ..) =
            request_with_replies([ScriptedReply::raw_events([event.as_str(), "[DONE]"])]).await;
        let answer = answer.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.usage),
            ("hi", usage),
            "{event}"
        );
    }
}

#[tokio::test]
async fn response_without_streaming_is_read() {
    let body = json!({
        "model": "m", "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
        "choices": [{ "message": { "role": "assistant", "content": [{ "type": "text", "text": "hi" }] }, "finish_reason": "stop" }],
    });
    let (answer, ..) = request_with_replies([ScriptedReply::raw_response(
        200,
        "application/json; charset=utf-8",
        body.to_string(),
    )])
    .await;
    assert_eq!(answer.unwrap().text, "hi");

    let server = ScriptedModel::start_with_replies([ScriptedReply::tool_call(
        "x",
        "look",
        &json!({ "a": 1 }),
    )]);
    let mut one = endpoint_settings("main", &server);
    one.stream = false;
    let answer = TestRequest::default()
        .send(&build_endpoints(vec![one]))
        .await
        .unwrap();
    assert_eq!(answer.calls[0].arguments, r#"{"a":1}"#);
    assert_eq!(answer.usage, Some((10, 5)));
    assert_eq!(server.requests()[0].body_json().get("stream"), None);
}

#[tokio::test]
async fn refused_filtered_and_truncated_responses_are_returned() {
    let refusal = r#"{"choices":[{"delta":{"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused_whole = r#"{"choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused_part = r#"{"choices":[{"delta":{"content":"Here. ","refusal":"Not that."},"finish_reason":"stop"}]}"#;
    for (reply, text, finish) in [
        (
            ScriptedReply::raw_events([refusal, "[DONE]"]),
            "I cannot.",
            FinishReason::Filtered,
        ),
        (
            ScriptedReply::raw_response(200, "application/json", refused_whole),
            "I cannot.",
            FinishReason::Filtered,
        ),
        (
            ScriptedReply::raw_events([refused_part, "[DONE]"]),
            "Here. Not that.",
            FinishReason::Stop,
        ),
        (
            ScriptedReply::text("Half").with_finish_reason("content_filter"),
            "Half",
            FinishReason::Filtered,
        ),
        (
            ScriptedReply::text("Half").with_finish_reason("length"),
            "Half",
            FinishReason::Length,
        ),
        (
            ScriptedReply::text("All").with_finish_reason("eos_token"),
            "All",
            FinishReason::Stop,
        ),
        (ScriptedReply::text(""), "", FinishReason::Stop),
    ] {
        let (answer, ..) = request_with_replies([reply]).await;
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), (text, finish));
        assert_eq!(answer.permit, EndpointPermit::none());
    }
    let cut = ScriptedReply::tool_calls([ScriptedToolCall::with_raw_arguments(
        "x",
        "look",
        r#"{"a": "b"#,
    )])
    .with_finish_reason("length");
    let (answer, ..) = request_with_replies([cut]).await;
    assert_eq!(answer.unwrap().finish, FinishReason::Length);
}

/// The original calls are returned, but the conversation is normalized so that any provider accepts it.
#[tokio::test]
async fn malformed_calls_are_returned_unchanged_and_stored_normalised() {
    let calls = [
        ScriptedToolCall::with_raw_arguments("x y\n", "fly away! 飞", "{\"a\": "),
        ScriptedToolCall::with_raw_arguments(&"i".repeat(99), "", "[1]"),
    ];
    let (answer, ..) = request_with_replies([ScriptedReply::tool_calls(calls)]).await;
    let answer = answer.unwrap();
    let ids: Vec<_> = answer.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c00007000", "c00007001"]);
    assert_eq!(answer.calls[0].tool, "fly away! 飞");
    assert_eq!(answer.calls[0].arguments, "{\"a\": ");
    let message: Value = serde_json::from_str(answer.message.as_str()).unwrap();
    assert_eq!(message["content"], Value::Null);
    let function = &message["tool_calls"][0]["function"];
    assert_eq!(function["name"], "fly_away___");
    assert_eq!(function["arguments"], r#"{"malformed":"{\"a\": "}"#);
    let function = &message["tool_calls"][1]["function"];
    assert_eq!(function["name"], "unknown");
    assert_eq!(function["arguments"], r#"{"malformed":"[1]"}"#);
}

#[tokio::test]
async fn provider_specific_fields_are_kept() {
    let event = r#"{"choices":[{"delta":{"reasoning_content":"Hm.","tool_calls":[{"index":0,"id":"x","extra_content":{"sig": "abc"},"function":{"name":"a","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let server = ScriptedModel::start_with_replies([ScriptedReply::raw_events([event])]);
    let message = |keep: bool| {
        let mut one = endpoint_settings("main", &server);
        one.keep_reasoning = keep;
        async move {
            let answer = TestRequest::default()
                .send(&build_endpoints(vec![one]))
                .await
                .unwrap();
            serde_json::from_str::<Value>(answer.message.as_str()).unwrap()
        }
    };
    let kept = message(true).await;
    assert_eq!(kept["reasoning_content"], "Hm.");
    assert_eq!(
        kept["tool_calls"][0]["extra_content"],
        json!({ "sig": "abc" })
    );
    assert_eq!(message(false).await.get("reasoning_content"), None);
}

#[tokio::test]
async fn connection_is_reused_for_many_requests() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let model = single_endpoint(&server);
    for _ in 0..20 {
        TestRequest::default().send(&model).await.unwrap();
    }
    assert_eq!((server.request_count(), server.connection_count()), (20, 1));
}

#[tokio::test]
async fn endpoints_of_one_server_share_its_connections() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let model = build_endpoints(vec![
        endpoint_settings("one", &server),
        endpoint_settings("two", &server),
    ]);
    for name in ["one", "two", "one", "two"] {
        TestRequest::to_endpoint(name).send(&model).await.unwrap();
    }
    assert_eq!((server.request_count(), server.connection_count()), (4, 1));
}

/// If a server closes the connection between two requests, a new one is opened without a visible failure.
#[tokio::test]
async fn closed_connection_is_reopened_without_failure() {
    let server = ScriptedModel::start_with_replies([
        ScriptedReply::text("fine").with_fault(ReplyFault::CloseAfterDoneMarker)
    ]);
    let model = single_endpoint(&server);
    for _ in 0..5 {
        let question = TestRequest::default();
        assert_eq!(question.send(&model).await.unwrap().attempts, 1);
        assert_eq!(question.observer.recorded_events(), ["fine"]);
    }
    assert_eq!(server.request_count(), 5);
}
