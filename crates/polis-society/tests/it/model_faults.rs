//! Tests of model failures: which errors are retried, how often, and what is reported.

use std::time::{Duration, Instant};

use polis_society::model::{Key, ModelFault};
use polis_testkit::model_server::{Break, ModelServer, Reply, ToolCall};
use serde_json::json;

use crate::model_ask::{Question, asked, endpoint, endpoints, patience, settings};

fn good() -> Reply {
    Reply::text("fine").and_calls([ToolCall::new("x", "look", &json!({ "path": "a" }))])
}

/// Each fault twice, then a valid response: the request is repeated as a whole, and nothing of the invalid responses is
/// left.
#[tokio::test]
async fn what_may_pass_is_tried_again_whole() {
    let half = good();
    let table = [
        ("408", Reply::status(408)),
        ("409", Reply::error(409, "conflict", "Try again.")),
        ("500", Reply::error(500, "server_error", "Oops.")),
        (
            "502",
            Reply::raw(502, "text/html", "<html>Bad gateway</html>"),
        ),
        ("503", Reply::status(503)),
        ("504", Reply::status(504)),
        ("529", Reply::status(529)),
        ("reset before", Reply::reset()),
        ("reset half-way", half.clone().breaking(Break::Half)),
        ("cut half-way", half.clone().breaking(Break::Cut)),
        (
            "mark without a reason",
            half.clone().breaking(Break::NoReason),
        ),
        ("no choices", Reply::no_choices()),
        (
            "announced calls, and nothing",
            Reply::text("").ending("tool_calls"),
        ),
        (
            "announced calls, and nothing, in one piece",
            Reply::raw(
                200,
                "application/json",
                r#"{"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]}"#,
            ),
        ),
        ("garbage", Reply::garbage()),
        ("nothing", Reply::events(Vec::<String>::new())),
        ("only a mark", Reply::events(["[DONE]"])),
        (
            "garbage in one piece",
            Reply::raw(200, "application/json", "{\"choices\": ["),
        ),
        (
            "no choices in one piece",
            Reply::raw(200, "application/json", "{\"choices\": []}"),
        ),
        (
            "no reason in one piece",
            Reply::raw(
                200,
                "application/json",
                r#"{"choices":[{"message":{"content":"x"}}]}"#,
            ),
        ),
        (
            "a page",
            Reply::raw(200, "text/html", "<html>Welcome to the hotel</html>"),
        ),
        (
            "reset half-way in one piece",
            Reply::raw(200, "application/json", "{\"choices\": []}").breaking(Break::Half),
        ),
        (
            "an error within",
            Reply::events([r#"{"error":{"message":"Overloaded.","code":500}}"#]),
        ),
        ("a reason that is an error", half.ending("error")),
    ];
    for (what, fault) in table {
        let (answer, server, notes) = asked([fault.clone(), fault, good()]).await;
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(answer.tries, 3, "{what}");
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
            .all()
            .iter()
            .filter(|note| note.starts_with("AGAIN The model's endpoint main "))
            .count();
        assert_eq!(again, 2, "{what}: {:?}", notes.all());
        assert_eq!(notes.all().last().unwrap(), "fine", "{what}");
    }
}

/// The rule for the end of a response: its finish reason, and then the end marker or the end of the body.
#[tokio::test]
async fn an_answer_with_its_reason_needs_no_mark() {
    for broken in [Break::NoMark, Break::AfterMark] {
        let (answer, server, _) = asked([good().breaking(broken)]).await;
        assert_eq!(answer.unwrap().calls.len(), 1);
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn what_does_not_pass_ends_after_some_tries() {
    for fault in [
        Reply::status(500),
        Reply::reset(),
        Reply::no_choices(),
        Reply::text("").ending("tool_calls"),
        good().breaking(Break::Cut),
    ] {
        let (answer, server, _) = asked([fault]).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelFault::Permanent);
        assert!(error.message.contains("It was tried 3 times"), "{error}");
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test]
async fn nobody_there_is_tried_again_too() {
    let port = polis_testkit::lasting_port();
    let server = ModelServer::saying([good()]);
    let mut one = settings("main", &server);
    one.base_url = format!("http://127.0.0.1:{port}/v1");
    let question = Question::default();
    let error = question.ask(&endpoints(vec![one])).await.unwrap_err();
    assert_eq!(error.kind, ModelFault::Permanent);
    assert!(error.message.contains("cannot be reached"), "{error}");
    assert!(!error.message.contains("127.0.0.1"), "{error}");
    assert_eq!(question.notes.all().len(), 2);
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again_and_says_why() {
    for (reply, said) in [
        (
            Reply::error(400, "bad", "The field x is wrong."),
            "answered 400: The field x is wrong.",
        ),
        (
            Reply::error(
                401,
                "invalid_api_key",
                "Incorrect API key provided: sk-secret-key-1.",
            ),
            "answered 401: Incorrect API key provided: [key].",
        ),
        (
            Reply::error(403, "no", "Not for you."),
            "answered 403: Not for you.",
        ),
        (
            Reply::error(404, "model_not_found", "No model model-one."),
            "answered 404: No model model-one.",
        ),
        (
            Reply::raw(
                422,
                "application/json",
                r#"{"detail":[{"msg":"Field required"},{"msg":"Too small"}]}"#,
            ),
            "answered 422: Field required; Too small",
        ),
        (
            Reply::raw(
                400,
                "application/json",
                r#"[{"error":{"code":400,"message":"Bad schema."}}]"#,
            ),
            "answered 400: Bad schema.",
        ),
        (
            Reply::raw(400, "application/json", r#"{"error":"model is required"}"#),
            "answered 400: model is required",
        ),
        (
            Reply::raw(404, "text/plain", "404 page not found"),
            "answered 404: 404 page not found",
        ),
        (
            Reply::raw(403, "text/html", "<html><body>Forbidden</body></html>"),
            "answered 403.",
        ),
        (
            Reply::error(429, "insufficient_quota", "You have no money."),
            "answered 429: You have no money.",
        ),
        (Reply::raw(301, "text/plain", ""), "answered 301."),
    ] {
        let server = ModelServer::saying([reply]);
        let mut one = settings("main", &server);
        one.key = Key::new("sk-secret-key-1");
        let question = Question::default();
        let error = question.ask(&endpoints(vec![one])).await.unwrap_err();
        assert_eq!(error.kind, ModelFault::Permanent, "{said}");
        assert_eq!(error.message, format!("The model's endpoint main {said}"));
        assert_eq!(server.count(), 1, "{said}");
        assert!(question.notes.all().is_empty(), "{said}");
    }
}

/// Error messages of providers for a prompt that is too long, shortened.
#[tokio::test]
async fn a_prompt_that_is_too_long_is_known_as_such() {
    for reply in [
        Reply::error(
            400,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        ),
        Reply::raw(
            400,
            "application/json",
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages.","type":"BadRequestError","param":null,"code":400}"#,
        ),
        Reply::raw(
            400,
            "application/json",
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
        ),
        Reply::raw(
            500,
            "application/json",
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
        ),
        Reply::raw(
            400,
            "application/json",
            r#"{"error":"the input length exceeds the context length"}"#,
        ),
        Reply::raw(
            400,
            "application/json",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        Reply::error(
            400,
            "400",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        Reply::error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        Reply::error(
            400,
            "x",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        ),
        Reply::error(
            400,
            "x",
            "Please reduce the length of the messages or completion.",
        ),
        Reply::error(
            422,
            "x",
            "Requested token count exceeds the model's maximum context length of 32768 tokens.",
        ),
        Reply::error(413, "request_too_large", "Request exceeds the maximum size"),
        Reply::error(
            429,
            "rate_limit_exceeded",
            "Request too large for model on tokens per min (TPM): Limit 30000, Requested 31000.",
        ),
        Reply::events([
            r#"{"error":{"message":"maximum context length is 10 tokens","code":"context_length_exceeded"}}"#,
        ]),
    ] {
        let (answer, server, _) = asked([reply.clone()]).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelFault::TooLong, "{reply:?}");
        assert!(
            error
                .message
                .starts_with("The model's endpoint main answered 4")
                || error.message.contains("answered 500"),
            "{error}"
        );
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn a_field_that_an_endpoint_does_not_know_is_left_out_from_then_on() {
    let server = ModelServer::start(|request| {
        let sent = request.json();
        if sent.get("stream_options").is_some() {
            return Reply::error(400, "x", "Unrecognized request argument: stream_options");
        }
        if sent.get("max_tokens").is_some() {
            return Reply::error(
                400,
                "unsupported_parameter",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            );
        }
        if sent.get("temperature").is_some() {
            return Reply::error(
                400,
                "unsupported_value",
                "Unsupported value: 'temperature' does not support 0.2 with this model.",
            );
        }
        Reply::text("fine")
    });
    let mut one = settings("main", &server);
    (one.temperature, one.max_tokens) = (Some(0.2), Some(50));
    let model = endpoints(vec![one]);
    assert_eq!(Question::default().ask(&model).await.unwrap().tries, 4);
    assert_eq!(Question::default().ask(&model).await.unwrap().tries, 1);
    let last = server.requests().pop().unwrap();
    assert_eq!(last.json()["max_completion_tokens"], 50);
}

#[tokio::test]
async fn a_limit_is_waited_for_as_long_as_it_says() {
    for (limit, least) in [
        (Reply::limited("0.15"), 150),
        (
            Reply::error(429, "x", "Slow.").header("retry-after-ms", "120"),
            120,
        ),
        (
            Reply::error(503, "x", "Busy.").header("retry-after", "0.1"),
            100,
        ),
        (
            Reply::error(429, "x", "Slow.")
                .header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
                .header("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
            1000,
        ),
    ] {
        let began = Instant::now();
        let (answer, server, notes) = asked([limit, good()]).await;
        assert_eq!(answer.unwrap().tries, 2);
        assert!(began.elapsed() >= Duration::from_millis(least), "{least}");
        let requests = server.requests();
        assert!(requests[1].at - requests[0].at >= Duration::from_millis(least));
        assert!(notes.all()[0].starts_with("AGAIN The model's endpoint main answered "));
    }
}

/// Rate limits do not use up the attempts.
#[tokio::test]
async fn limits_are_not_failures() {
    let mut replies = vec![Reply::limited("0.01"); 5];
    replies.push(good());
    let (answer, ..) = asked(replies).await;
    assert_eq!(answer.unwrap().tries, 6);
}

#[tokio::test]
async fn who_is_to_come_back_in_an_hour_is_told_at_once() {
    let (answer, server, _) = asked([Reply::limited("3600")]).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelFault::Permanent);
    assert!(
        error
            .message
            .ends_with("It is to be asked again in 3600 s."),
        "{error}"
    );
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn an_endpoint_that_hangs_is_left() {
    for (reply, times, said) in [
        (
            Reply::never(),
            (300, 5000, 10_000),
            "no answer began in time",
        ),
        (
            good().breaking(Break::Stall),
            (5000, 30, 10_000),
            "the answer stopped half-way",
        ),
        (
            // Each chunk comes in time, but all of them together take twice as long as allowed.
            good().slowly(Duration::from_millis(500)),
            (5000, 5000, 2000),
            "the answer stopped half-way",
        ),
    ] {
        let server = ModelServer::saying([reply]);
        let (first, between, whole) = times;
        let mut patience = patience();
        patience.first = Duration::from_millis(first);
        patience.between = Duration::from_millis(between);
        patience.whole = Duration::from_millis(whole);
        let model = polis_society::model::Endpoints::new(polis_society::model::EndpointsSettings {
            endpoints: vec![settings("main", &server)],
            patience,
            ..Default::default()
        })
        .unwrap();
        let error = Question::default().ask(&model).await.unwrap_err();
        assert!(error.message.contains(said), "{error}");
        server.wait_for_hang_ups(3);
        assert_eq!(server.count(), 3);
    }
}

/// Slow is not broken: the timeout applies between two chunks, however long the whole response takes.
#[tokio::test]
async fn a_slow_stream_is_waited_for() {
    let (answer, server, _) = asked([good().slowly(Duration::from_millis(5))]).await;
    assert_eq!(answer.unwrap().calls.len(), 1);
    assert_eq!(server.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cancels_hangs_up() {
    for reply in [
        Reply::never(),
        good().breaking(Break::Stall),
        Reply::limited("15"),
        Reply::text("slow").slowly(Duration::from_secs(5)),
    ] {
        let server = ModelServer::saying([reply]);
        let model = endpoint(&server);
        let question = Question::default();
        let cancel = question.cancel.clone();
        let asking = tokio::spawn(async move { question.ask(&model).await.unwrap_err() });
        tokio::task::block_in_place(|| server.wait_for_requests(1));
        cancel.cancel();
        assert_eq!(asking.await.unwrap().kind, ModelFault::Cancelled);
        // The model was dropped with the task; its idle connections are closed too.
        tokio::task::block_in_place(|| server.wait_until_alone());
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn who_has_cancelled_already_asks_nothing() {
    let server = ModelServer::saying([good()]);
    let question = Question::default();
    question.cancel.cancel();
    let error = question.ask(&endpoint(&server)).await.unwrap_err();
    assert_eq!(error.kind, ModelFault::Cancelled);
    assert_eq!(server.connections(), 0);
}
