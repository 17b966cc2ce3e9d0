//! Tests of failing model endpoints: which errors are retried, how often and with which backoff, timeouts,
//! rate limits (`Retry-After`), cancellation, and the reported error.

use std::time::{Duration, Instant};

use polis_society::model::{ApiKey, ModelErrorKind};
use polis_testkit::scripted_model::{ReplyFault, ScriptedModel, ScriptedReply, ScriptedToolCall};
use serde_json::json;

use crate::model_test_client::{
    TestRequest, build_endpoints, endpoint_settings, request_with_replies, short_timeouts,
    single_endpoint,
};

fn valid_reply() -> ScriptedReply {
    ScriptedReply::text("fine").with_tool_calls([ScriptedToolCall::new(
        "x",
        "look",
        &json!({ "path": "a" }),
    )])
}

/// Each fault twice, then a valid response: the request is repeated as a whole, and nothing of the invalid
/// responses is left.
#[tokio::test]
async fn transient_failure_is_retried_with_the_whole_request() {
    let half = valid_reply();
    let table = [
        ("408", ScriptedReply::empty_error(408)),
        (
            "409",
            ScriptedReply::error_response(409, "conflict", "Try again."),
        ),
        (
            "500",
            ScriptedReply::error_response(500, "server_error", "Oops."),
        ),
        (
            "502",
            ScriptedReply::raw_response(502, "text/html", "<html>Bad gateway</html>"),
        ),
        ("503", ScriptedReply::empty_error(503)),
        ("504", ScriptedReply::empty_error(504)),
        ("529", ScriptedReply::empty_error(529)),
        ("reset before", ScriptedReply::connection_reset()),
        (
            "reset half-way",
            half.clone().with_fault(ReplyFault::ResetHalfway),
        ),
        (
            "cut half-way",
            half.clone().with_fault(ReplyFault::TruncatedBody),
        ),
        (
            "mark without a reason",
            half.clone().with_fault(ReplyFault::MissingFinishReason),
        ),
        ("no choices", ScriptedReply::without_choices()),
        (
            "announced calls, and nothing",
            ScriptedReply::text("").with_finish_reason("tool_calls"),
        ),
        (
            "announced calls, and nothing, in one piece",
            ScriptedReply::raw_response(
                200,
                "application/json",
                r#"{"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]}"#,
            ),
        ),
        ("garbage", ScriptedReply::invalid_json()),
        ("nothing", ScriptedReply::raw_events(Vec::<String>::new())),
        ("only a mark", ScriptedReply::raw_events(["[DONE]"])),
        (
            "garbage in one piece",
            ScriptedReply::raw_response(200, "application/json", "{\"choices\": ["),
        ),
        (
            "no choices in one piece",
            ScriptedReply::raw_response(200, "application/json", "{\"choices\": []}"),
        ),
        (
            "no reason in one piece",
            ScriptedReply::raw_response(
                200,
                "application/json",
                r#"{"choices":[{"message":{"content":"x"}}]}"#,
            ),
        ),
        (
            "a page",
            ScriptedReply::raw_response(200, "text/html", "<html>Welcome to the hotel</html>"),
        ),
        (
            "reset half-way in one piece",
            ScriptedReply::raw_response(200, "application/json", "{\"choices\": []}")
                .with_fault(ReplyFault::ResetHalfway),
        ),
        (
            "an error within",
            ScriptedReply::raw_events([r#"{"error":{"message":"Overloaded.","code":500}}"#]),
        ),
        (
            "a reason that is an error",
            half.with_finish_reason("error"),
        ),
    ];
    for (what, fault) in table {
        let (answer, server, notes) =
            request_with_replies([fault.clone(), fault, valid_reply()]).await;
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(answer.attempts, 3, "{what}");
        assert_eq!(answer.text, "fine", "{what}");
        assert_eq!(answer.calls.len(), 1, "{what}");
        assert_eq!(answer.calls[0].arguments, r#"{"path":"a"}"#, "{what}");
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "{what}");
        assert!(
            requests.iter().all(|one| one.body == requests[0].body),
            "{what}"
        );
        let again = notes
            .recorded_events()
            .iter()
            .filter(|note| note.starts_with("AGAIN Model endpoint main "))
            .count();
        assert_eq!(again, 2, "{what}: {:?}", notes.recorded_events());
        assert_eq!(notes.recorded_events().last().unwrap(), "fine", "{what}");
    }
}

/// The rule for the end of a response: its finish reason, and then the end marker or the end of the body.
#[tokio::test]
async fn response_with_finish_reason_needs_no_done_marker() {
    for broken in [
        ReplyFault::MissingDoneMarker,
        ReplyFault::CloseAfterDoneMarker,
    ] {
        let (answer, server, _) = request_with_replies([valid_reply().with_fault(broken)]).await;
        assert_eq!(answer.unwrap().calls.len(), 1);
        assert_eq!(server.request_count(), 1);
    }
}

#[tokio::test]
async fn persistent_failure_is_reported_after_max_attempts() {
    for fault in [
        ScriptedReply::empty_error(500),
        ScriptedReply::connection_reset(),
        ScriptedReply::without_choices(),
        ScriptedReply::text("").with_finish_reason("tool_calls"),
        valid_reply().with_fault(ReplyFault::TruncatedBody),
    ] {
        let (answer, server, _) = request_with_replies([fault]).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Permanent);
        assert!(error.message.contains("It was tried 3 times"), "{error}");
        assert_eq!(server.request_count(), 3);
    }
}

#[tokio::test]
async fn unreachable_endpoint_is_retried() {
    let port = polis_testkit::pick_non_ephemeral_port();
    let server = ScriptedModel::start_with_replies([valid_reply()]);
    let mut one = endpoint_settings("main", &server);
    one.base_url = format!("http://127.0.0.1:{port}/v1");
    let question = TestRequest::default();
    let error = question
        .send(&build_endpoints(vec![one]))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Permanent);
    assert!(error.message.contains("cannot be reached"), "{error}");
    assert!(!error.message.contains("127.0.0.1"), "{error}");
    assert_eq!(question.observer.recorded_events().len(), 2);
}

#[tokio::test]
async fn permanent_error_is_not_retried_and_keeps_its_message() {
    for (reply, said) in [
        (
            ScriptedReply::error_response(400, "bad", "The field x is wrong."),
            "returned status 400: The field x is wrong.",
        ),
        (
            ScriptedReply::error_response(
                401,
                "invalid_api_key",
                "Incorrect API key provided: sk-secret-key-1.",
            ),
            "returned status 401: Incorrect API key provided: [key].",
        ),
        (
            ScriptedReply::error_response(403, "no", "Not for you."),
            "returned status 403: Not for you.",
        ),
        (
            ScriptedReply::error_response(404, "model_not_found", "No model model-one."),
            "returned status 404: No model model-one.",
        ),
        (
            ScriptedReply::raw_response(
                422,
                "application/json",
                r#"{"detail":[{"msg":"Field required"},{"msg":"Too small"}]}"#,
            ),
            "returned status 422: Field required; Too small",
        ),
        (
            ScriptedReply::raw_response(
                400,
                "application/json",
                r#"[{"error":{"code":400,"message":"Bad schema."}}]"#,
            ),
            "returned status 400: Bad schema.",
        ),
        (
            ScriptedReply::raw_response(
                400,
                "application/json",
                r#"{"error":"model is required"}"#,
            ),
            "returned status 400: model is required",
        ),
        (
            ScriptedReply::raw_response(404, "text/plain", "404 page not found"),
            "returned status 404: 404 page not found",
        ),
        (
            ScriptedReply::raw_response(403, "text/html", "<html><body>Forbidden</body></html>"),
            "returned status 403.",
        ),
        (
            ScriptedReply::error_response(429, "insufficient_quota", "You have no money."),
            "returned status 429: You have no money.",
        ),
        (
            ScriptedReply::raw_response(301, "text/plain", ""),
            "returned status 301.",
        ),
    ] {
        let server = ScriptedModel::start_with_replies([reply]);
        let mut one = endpoint_settings("main", &server);
        one.api_key = ApiKey::new("sk-secret-key-1");
        let question = TestRequest::default();
        let error = question
            .send(&build_endpoints(vec![one]))
            .await
            .unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Permanent, "{said}");
        assert_eq!(error.message, format!("Model endpoint main {said}"));
        assert_eq!(server.request_count(), 1, "{said}");
        assert!(question.observer.recorded_events().is_empty(), "{said}");
    }
}

/// Error messages of providers for a prompt that is too long, shortened.
#[tokio::test]
async fn prompt_too_long_error_is_recognised_for_all_providers() {
    for reply in [
        ScriptedReply::error_response(
            400,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        ),
        ScriptedReply::raw_response(
            400,
            "application/json",
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages.","type":"BadRequestError","param":null,"code":400}"#,
        ),
        ScriptedReply::raw_response(
            400,
            "application/json",
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
        ),
        ScriptedReply::raw_response(
            500,
            "application/json",
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
        ),
        ScriptedReply::raw_response(
            400,
            "application/json",
            r#"{"error":"the input length exceeds the context length"}"#,
        ),
        ScriptedReply::raw_response(
            400,
            "application/json",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        ScriptedReply::error_response(
            400,
            "400",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        ScriptedReply::error_response(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        ScriptedReply::error_response(
            400,
            "x",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        ),
        ScriptedReply::error_response(
            400,
            "x",
            "Please reduce the length of the messages or completion.",
        ),
        ScriptedReply::error_response(
            422,
            "x",
            "Requested token count exceeds the model's maximum context length of 32768 tokens.",
        ),
        ScriptedReply::error_response(413, "request_too_large", "Request exceeds the maximum size"),
        ScriptedReply::error_response(
            429,
            "rate_limit_exceeded",
            "Request too large for model on tokens per min (TPM): Limit 30000, Requested 31000.",
        ),
        ScriptedReply::raw_events([
            r#"{"error":{"message":"maximum context length is 10 tokens","code":"context_length_exceeded"}}"#,
        ]),
    ] {
        let (answer, server, _) = request_with_replies([reply.clone()]).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TooLong, "{reply:?}");
        assert!(
            error
                .message
                .starts_with("Model endpoint main returned status 4")
                || error.message.contains("returned status 500"),
            "{error}"
        );
        assert_eq!(server.request_count(), 1);
    }
}

#[tokio::test]
async fn unsupported_request_field_is_omitted_from_then_on() {
    let server = ScriptedModel::start(|request| {
        let sent = request.body_json();
        if sent.get("stream_options").is_some() {
            return ScriptedReply::error_response(
                400,
                "x",
                "Unrecognized request argument: stream_options",
            );
        }
        if sent.get("max_tokens").is_some() {
            return ScriptedReply::error_response(
                400,
                "unsupported_parameter",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            );
        }
        if sent.get("temperature").is_some() {
            return ScriptedReply::error_response(
                400,
                "unsupported_value",
                "Unsupported value: 'temperature' does not support 0.2 with this model.",
            );
        }
        ScriptedReply::text("fine")
    });
    let mut one = endpoint_settings("main", &server);
    (one.temperature, one.max_tokens) = (Some(0.2), Some(50));
    let model = build_endpoints(vec![one]);
    assert_eq!(
        TestRequest::default().send(&model).await.unwrap().attempts,
        4
    );
    assert_eq!(
        TestRequest::default().send(&model).await.unwrap().attempts,
        1
    );
    let last = server.requests().pop().unwrap();
    assert_eq!(last.body_json()["max_completion_tokens"], 50);
}

#[tokio::test]
async fn rate_limit_retry_after_is_honoured() {
    for (limit, least) in [
        (ScriptedReply::rate_limited("0.15"), 150),
        (
            ScriptedReply::error_response(429, "x", "Slow.").with_header("retry-after-ms", "120"),
            120,
        ),
        (
            ScriptedReply::error_response(503, "x", "Busy.").with_header("retry-after", "0.1"),
            100,
        ),
        (
            ScriptedReply::error_response(429, "x", "Slow.")
                .with_header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
                .with_header("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
            1000,
        ),
    ] {
        let began = Instant::now();
        let (answer, server, notes) = request_with_replies([limit, valid_reply()]).await;
        assert_eq!(answer.unwrap().attempts, 2);
        assert!(began.elapsed() >= Duration::from_millis(least), "{least}");
        let requests = server.requests();
        assert!(requests[1].received_at - requests[0].received_at >= Duration::from_millis(least));
        assert!(
            notes.recorded_events()[0].starts_with("AGAIN Model endpoint main returned status ")
        );
    }
}

/// Rate limits do not use up the attempts.
#[tokio::test]
async fn rate_limits_do_not_use_up_attempts() {
    let mut replies = vec![ScriptedReply::rate_limited("0.01"); 5];
    replies.push(valid_reply());
    let (answer, ..) = request_with_replies(replies).await;
    assert_eq!(answer.unwrap().attempts, 6);
}

#[tokio::test]
async fn retry_after_beyond_total_timeout_fails_at_once() {
    let (answer, server, _) = request_with_replies([ScriptedReply::rate_limited("3600")]).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Permanent);
    assert!(
        error.message.ends_with("It asks to retry after 3600 s."),
        "{error}"
    );
    assert_eq!(server.request_count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_endpoint_times_out() {
    for (reply, times, said) in [
        (
            ScriptedReply::no_reply(),
            (300, 5000, 10_000),
            "the response did not begin in time",
        ),
        (
            valid_reply().with_fault(ReplyFault::StallHalfway),
            (5000, 30, 10_000),
            "the response stalled",
        ),
        (
            // Each chunk comes in time, but all of them together take twice as long as allowed.
            valid_reply().with_chunk_delay(Duration::from_millis(500)),
            (5000, 5000, 2000),
            "the response stalled",
        ),
    ] {
        let server = ScriptedModel::start_with_replies([reply]);
        let (first, between, whole) = times;
        let mut patience = short_timeouts();
        patience.first_byte_timeout = Duration::from_millis(first);
        patience.chunk_timeout = Duration::from_millis(between);
        patience.response_timeout = Duration::from_millis(whole);
        let model = polis_society::model::ModelEndpoints::new(
            polis_society::model::ModelEndpointsSettings {
                endpoints: vec![endpoint_settings("main", &server)],
                retry_policy: patience,
                ..Default::default()
            },
        )
        .unwrap();
        let error = TestRequest::default().send(&model).await.unwrap_err();
        assert!(error.message.contains(said), "{error}");
        tokio::task::block_in_place(|| server.wait_for_disconnects(3));
        assert_eq!(server.request_count(), 3);
    }
}

/// Slow is not broken: the timeout applies between two chunks, however long the whole response takes.
#[tokio::test]
async fn slow_stream_within_chunk_timeout_succeeds() {
    let (answer, server, _) =
        request_with_replies([valid_reply().with_chunk_delay(Duration::from_millis(5))]).await;
    assert_eq!(answer.unwrap().calls.len(), 1);
    assert_eq!(server.request_count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_request_closes_the_connection() {
    for reply in [
        ScriptedReply::no_reply(),
        valid_reply().with_fault(ReplyFault::StallHalfway),
        ScriptedReply::rate_limited("15"),
        ScriptedReply::text("slow").with_chunk_delay(Duration::from_secs(5)),
    ] {
        let server = ScriptedModel::start_with_replies([reply]);
        let model = single_endpoint(&server);
        let question = TestRequest::default();
        let cancel = question.cancel.clone();
        let asking = tokio::spawn(async move { question.send(&model).await.unwrap_err() });
        tokio::task::block_in_place(|| server.wait_for_requests(1));
        cancel.cancel();
        assert_eq!(asking.await.unwrap().kind, ModelErrorKind::Cancelled);
        // The model was dropped with the task; its idle connections are closed too.
        tokio::task::block_in_place(|| server.wait_until_no_connections());
        assert_eq!(server.request_count(), 1);
    }
}

#[tokio::test]
async fn request_cancelled_beforehand_opens_no_connection() {
    let server = ScriptedModel::start_with_replies([valid_reply()]);
    let question = TestRequest::default();
    question.cancel.cancel();
    let error = question.send(&single_endpoint(&server)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    assert_eq!(server.connection_count(), 0);
}

/// The key and the conversation are meant for the configured host only.
#[tokio::test]
async fn redirect_of_a_model_call_is_not_followed() {
    for status in [301, 302, 307, 308] {
        let elsewhere = ScriptedModel::start_with_replies([valid_reply()]);
        let location = format!("http://127.0.0.1:{}/v1/chat/completions", elsewhere.port());
        let redirect = ScriptedReply::raw_response(status, "text/plain", "")
            .with_header("location", &location);
        let server = ScriptedModel::start_with_replies([redirect]);
        let mut one = endpoint_settings("main", &server);
        one.api_key = ApiKey::new("sk-secret-key-1");
        let error = TestRequest::default()
            .send(&build_endpoints(vec![one]))
            .await
            .unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Permanent);
        assert_eq!(
            error.message,
            format!("Model endpoint main returned status {status}.")
        );
        assert_eq!(
            (server.request_count(), elsewhere.connection_count()),
            (1, 0)
        );
    }
}
