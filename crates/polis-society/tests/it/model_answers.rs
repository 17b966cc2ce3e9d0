//! Tests of the request that is sent to an endpoint, and of the response formats of different servers.

use polis_society::model::{Call, Finish, Held, Key, MAX_CALLS};
use polis_testkit::model_server::{Break, ModelServer, Reply, ToolCall};
use serde_json::{Value, json};

use crate::model_ask::{Question, asked, endpoint, endpoints, settings};

#[tokio::test]
async fn the_request_is_the_conversation_and_what_the_settings_say() {
    let server = ModelServer::saying([Reply::text("fine")]);
    let mut one = settings("main", &server);
    one.key = Key::new("sk-secret-key-1");
    one.temperature = Some(0.25);
    one.max_tokens = Some(900);
    one.headers = vec![("x-team".to_owned(), "polis".to_owned())];
    let answer = Question::default()
        .ask(&endpoints(vec![one]))
        .await
        .unwrap();
    assert_eq!(answer.text, "fine");
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /v1/chat/completions");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-secret-key-1")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-team"), Some("polis"));
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(request.header("host"), Some(host.as_str()));
    assert_eq!(
        *request.json(),
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
async fn calls_beyond_the_limit_are_counted_and_the_others_are_whole() {
    let call = |n: usize| ToolCall::new(&format!("c{n}"), "look", &json!({ "n": n }));
    let (answer, server, _) = asked([Reply::calls((0..200).map(call))]).await;
    let answer = answer.unwrap();
    assert_eq!((answer.calls.len(), answer.dropped_calls), (MAX_CALLS, 72));
    for (n, call) in answer.calls.iter().enumerate() {
        assert_eq!(call.arguments, format!("{{\"n\":{n}}}"));
    }
    assert_eq!((server.count(), answer.finish), (1, Finish::Calls));
}

#[tokio::test]
async fn a_role_may_ask_for_another_model_and_temperature() {
    let server = ModelServer::saying([Reply::text("fine")]);
    let mut question = Question::at("main");
    let choice = question.choice.as_mut().unwrap();
    choice.model = Some("big \"one\"".to_owned());
    choice.temperature = Some(1.0);
    let answer = question.ask(&endpoint(&server)).await.unwrap();
    assert_eq!(answer.tries, 1);
    let sent = server.requests()[0].json().clone();
    assert_eq!(sent["model"], "big \"one\"");
    assert_eq!(sent["temperature"].as_f64(), Some(1.0));
}

#[tokio::test]
async fn text_comes_in_pieces_and_is_whole_in_the_end() {
    let text = "Eine längere Antwort, 一个比较长的回答 🚀, in \"pieces\".\n".repeat(5);
    let (answer, _, notes) = asked([Reply::text(&text).using(321, 45)]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, text);
    assert_eq!(answer.usage, Some((321, 45)));
    assert_eq!(answer.finish, Finish::Stop);
    assert_eq!(answer.model, "model-one");
    assert!(answer.calls.is_empty());
    let message: Value = serde_json::from_str(answer.message.text()).unwrap();
    assert_eq!(message, json!({ "role": "assistant", "content": text }));
    assert!(notes.all().len() > 3);
    assert_eq!(notes.all().concat(), text);
}

#[tokio::test]
async fn several_calls_are_put_together() {
    let calls = [
        ToolCall::new("call_a", "look", &json!({ "path": "a/é.txt" })),
        ToolCall::new("call_b", "write", &json!({ "text": "\"q\"\n🚀" })),
        ToolCall::raw("call_c", "list", ""),
    ];
    let (answer, ..) = asked([Reply::text("I look.").and_calls(calls)]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.finish, Finish::Calls);
    assert_eq!(answer.text, "I look.");
    let call = |id: &str, tool: &str, arguments: &str| Call {
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
    let message: Value = serde_json::from_str(answer.message.text()).unwrap();
    assert_eq!(message["content"], "I look.");
    assert_eq!(message["tool_calls"][1]["id"], "call_b");
    assert_eq!(message["tool_calls"][1]["type"], "function");
    assert_eq!(message["tool_calls"][1]["function"]["name"], "write");
    assert_eq!(message["tool_calls"][2]["function"]["arguments"], "{}");
}

const DONE: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

/// A description, the events, and the expected calls (id, tool, arguments).
type Spoken = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str, &'static str)],
);

/// Streams as servers really send them, and the calls they mean.
#[tokio::test]
async fn servers_are_read_as_they_are_meant() {
    let table: &[Spoken] = &[
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
                DONE,
            ],
            &[("c00007000", "a", "{}"), ("c00007001", "b", "{}")],
        ),
        (
            "the same id twice in different calls",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"same","function":{"name":"a","arguments":"{\"n\":1}"}},{"index":1,"id":"same","function":{"name":"a","arguments":"{\"n\":2}"}}]}}]}"#,
                DONE,
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
                DONE,
            ],
            &[("x", "a", r#"{"n":1}"#), ("y", "a", r#"{"n":2}"#)],
        ),
        (
            "id and name repeated in every piece",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"a","arguments":"{\"n\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"a","arguments":":1}"}}]}}]}"#,
                DONE,
            ],
            &[("x", "a", r#"{"n":1}"#)],
        ),
        (
            "no index and no id: a name begins a call",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"n\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}]}"#,
                DONE,
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
                DONE,
            ],
            &[("5", "a", "{}")],
        ),
        (
            "an event of several lines of data",
            &[
                "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\ndata: \"id\":\"x\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}",
                DONE,
            ],
            &[("x", "a", "{}")],
        ),
    ];
    for (what, events, calls) in table {
        let (answer, server, _) = asked([Reply::events(events.iter().copied())]).await;
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
        assert_eq!(answer.finish, Finish::Calls, "{what}");
        assert_eq!(server.count(), 1, "{what}");
    }
}

#[tokio::test]
async fn usage_is_found_wherever_it_is() {
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
        let (answer, ..) = asked([Reply::events([event.as_str(), "[DONE]"])]).await;
        let answer = answer.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.usage),
            ("hi", usage),
            "{event}"
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let body = json!({
        "model": "m", "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
        "choices": [{ "message": { "role": "assistant", "content": [{ "type": "text", "text": "hi" }] }, "finish_reason": "stop" }],
    });
    let (answer, ..) = asked([Reply::raw(
        200,
        "application/json; charset=utf-8",
        body.to_string(),
    )])
    .await;
    assert_eq!(answer.unwrap().text, "hi");

    let server = ModelServer::saying([Reply::call("x", "look", &json!({ "a": 1 }))]);
    let mut one = settings("main", &server);
    one.stream = false;
    let answer = Question::default()
        .ask(&endpoints(vec![one]))
        .await
        .unwrap();
    assert_eq!(answer.calls[0].arguments, r#"{"a":1}"#);
    assert_eq!(answer.usage, Some((10, 5)));
    assert_eq!(server.requests()[0].json().get("stream"), None);
}

#[tokio::test]
async fn refusals_filters_and_cut_answers_are_answers() {
    let refusal = r#"{"choices":[{"delta":{"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused_whole = r#"{"choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused_part = r#"{"choices":[{"delta":{"content":"Here. ","refusal":"Not that."},"finish_reason":"stop"}]}"#;
    for (reply, text, finish) in [
        (
            Reply::events([refusal, "[DONE]"]),
            "I cannot.",
            Finish::Filtered,
        ),
        (
            Reply::raw(200, "application/json", refused_whole),
            "I cannot.",
            Finish::Filtered,
        ),
        (
            Reply::events([refused_part, "[DONE]"]),
            "Here. Not that.",
            Finish::Stop,
        ),
        (
            Reply::text("Half").ending("content_filter"),
            "Half",
            Finish::Filtered,
        ),
        (Reply::text("Half").ending("length"), "Half", Finish::Length),
        (Reply::text("All").ending("eos_token"), "All", Finish::Stop),
        (Reply::text(""), "", Finish::Stop),
    ] {
        let (answer, ..) = asked([reply]).await;
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), (text, finish));
        assert_eq!(answer.held, Held::nothing());
    }
    let cut = Reply::calls([ToolCall::raw("x", "look", r#"{"a": "b"#)]).ending("length");
    let (answer, ..) = asked([cut]).await;
    assert_eq!(answer.unwrap().finish, Finish::Length);
}

/// The original calls are returned, but the conversation is normalised so that any provider accepts it.
#[tokio::test]
async fn malformed_calls_are_given_out_as_they_are_and_kept_sound() {
    let calls = [
        ToolCall::raw("x y\n", "fly away! 飞", "{\"a\": "),
        ToolCall::raw(&"i".repeat(99), "", "[1]"),
    ];
    let (answer, ..) = asked([Reply::calls(calls)]).await;
    let answer = answer.unwrap();
    let ids: Vec<_> = answer.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c00007000", "c00007001"]);
    assert_eq!(answer.calls[0].tool, "fly away! 飞");
    assert_eq!(answer.calls[0].arguments, "{\"a\": ");
    let message: Value = serde_json::from_str(answer.message.text()).unwrap();
    assert_eq!(message["content"], Value::Null);
    let function = &message["tool_calls"][0]["function"];
    assert_eq!(function["name"], "fly_away___");
    assert_eq!(function["arguments"], r#"{"malformed":"{\"a\": "}"#);
    let function = &message["tool_calls"][1]["function"];
    assert_eq!(function["name"], "unknown");
    assert_eq!(function["arguments"], r#"{"malformed":"[1]"}"#);
}

#[tokio::test]
async fn what_a_provider_wants_back_is_kept() {
    let event = r#"{"choices":[{"delta":{"reasoning_content":"Hm.","tool_calls":[{"index":0,"id":"x","extra_content":{"sig": "abc"},"function":{"name":"a","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let server = ModelServer::saying([Reply::events([event])]);
    let message = |keep: bool| {
        let mut one = settings("main", &server);
        one.keep_reasoning = keep;
        async move {
            let answer = Question::default()
                .ask(&endpoints(vec![one]))
                .await
                .unwrap();
            serde_json::from_str::<Value>(answer.message.text()).unwrap()
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
async fn one_connection_serves_many_requests() {
    let server = ModelServer::saying([Reply::text("fine")]);
    let model = endpoint(&server);
    for _ in 0..20 {
        Question::default().ask(&model).await.unwrap();
    }
    assert_eq!((server.count(), server.connections()), (20, 1));
}

/// If a server closes the connection between two requests, a new one is opened without a visible failure.
#[tokio::test]
async fn a_connection_that_was_closed_is_no_failure() {
    let server = ModelServer::saying([Reply::text("fine").breaking(Break::AfterMark)]);
    let model = endpoint(&server);
    for _ in 0..5 {
        let question = Question::default();
        assert_eq!(question.ask(&model).await.unwrap().tries, 1);
        assert_eq!(question.notes.all(), ["fine"]);
    }
    assert_eq!(server.count(), 5);
}
