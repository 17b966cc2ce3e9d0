//! Tests of recordings: responses recorded from any model are replayed without a network, in the recorded
//! order of messages, also after the recording process was killed.

use std::sync::Arc;
use std::time::Duration;

use polis_core::MemberKey;
use polis_i18n::{Surface, UiLanguage, render_reason};
use polis_society::model::{
    ApiKey, FinishReason, LanguageModel, ModelError, ModelErrorKind, ModelRequest, ModelResponse,
    RecordingModel, ReplayModel,
};
use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply, ScriptedToolCall};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::model_test_client::{
    RecordingObserver, TestRequest, build_endpoints, endpoint_settings,
};

/// A member that talks to a model, with its conversation.
struct MemberConversation {
    member: MemberKey,
    messages: Vec<String>,
    response_index: u64,
    received_message_count: u64,
}

impl MemberConversation {
    fn new(member: &str) -> Self {
        Self {
            member: member.parse().unwrap(),
            messages: Vec::new(),
            response_index: 0,
            received_message_count: 0,
        }
    }

    fn receive_messages(&mut self, count: u64) -> &mut Self {
        self.received_message_count += count;
        self.messages
            .push(format!(r#"{{"role":"user","content":"heard {count}"}}"#));
        self
    }

    async fn request_response(
        &mut self,
        model: &dyn LanguageModel,
    ) -> Result<ModelResponse, ModelError> {
        let answer = self.request_and_discard(model).await?;
        self.messages.push(answer.message.as_str().to_owned());
        self.response_index += 1;
        Ok(answer)
    }

    /// Makes a request, and discards the response.
    async fn request_and_discard(
        &self,
        model: &dyn LanguageModel,
    ) -> Result<ModelResponse, ModelError> {
        model
            .complete(ModelRequest {
                member: &self.member,
                response_index: self.response_index,
                received_message_count: self.received_message_count,
                role: "程序员",
                model_choice: None,
                messages: &self.messages.join(","),
                tools: "",
                lang: UiLanguage::En,
                cancel: CancellationToken::new(),
                observer: None,
            })
            .await
    }
}

#[tokio::test]
async fn recording_is_replayed_without_a_network() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let server = ScriptedModel::start_with_replies([
        ScriptedReply::text("I look.").with_tool_calls([ScriptedToolCall::new(
            "c-1",
            "look",
            &json!({ "path": "é" }),
        )]),
        ScriptedReply::tool_calls([ScriptedToolCall::with_raw_arguments(
            "c-2", "no such", "{\"half",
        )])
        .with_usage(50, 6),
        ScriptedReply::text("Done.").with_finish_reason("length"),
    ]);
    let mut one = endpoint_settings("main", &server);
    one.api_key = ApiKey::new("sk-very-secret-1");
    one.prompt_price = 1.0;
    one.context_limit = 7777;
    let recorder = RecordingModel::new(Arc::new(build_endpoints(vec![one])), &file).unwrap();
    let mut talk = MemberConversation::new("run-1/worker");
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(
            talk.receive_messages(1)
                .request_response(&recorder)
                .await
                .unwrap(),
        );
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains("secret"), "{text}");
    drop(server);

    let replay = ReplayModel::new(&text).unwrap();
    assert_eq!(replay.context_limit(None), 7777);
    // Another run of the same requirement has a different name.
    let mut talk = MemberConversation::new("run-2/worker");
    for recorded in &said {
        let played = talk
            .receive_messages(1)
            .request_response(&replay)
            .await
            .unwrap();
        assert_eq!(played.text, recorded.text);
        assert_eq!(played.calls, recorded.calls);
        assert_eq!(played.finish, recorded.finish);
        assert_eq!(played.usage, recorded.usage);
        assert_eq!(played.cost_micros, recorded.cost_micros);
        assert_eq!(played.model, recorded.model);
    }
    assert_eq!(said[1].cost_micros, 50);
    let error = talk
        .receive_messages(1)
        .request_response(&replay)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Permanent);
    assert_eq!(
        error.message,
        "The recording has 3 responses for worker, but response 4 was requested."
    );
    let error = MemberConversation::new("run-2/other")
        .request_response(&replay)
        .await
        .unwrap_err();
    assert_eq!(error.message, "The recording has no responses for other.");
}

/// A crash loses a response after it was recorded, and truncates another one.
#[tokio::test]
async fn recording_continues_after_a_crash() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let server =
        ScriptedModel::start(|request| ScriptedReply::text(format!("said {}", request.index)));
    let model = || Arc::new(build_endpoints(vec![endpoint_settings("main", &server)]));
    let mut talk = MemberConversation::new("run-1/worker");
    let recorder = RecordingModel::new(model(), &file).unwrap();
    talk.receive_messages(1)
        .request_response(&recorder)
        .await
        .unwrap();
    talk.receive_messages(1)
        .request_and_discard(&recorder)
        .await
        .unwrap();
    drop(recorder);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"agent\":\"work");
    std::fs::write(&file, &text).unwrap();
    assert!(
        ReplayModel::new(&text).is_ok(),
        "a truncated last line is skipped"
    );

    let recorder = RecordingModel::new(model(), &file).unwrap();
    talk.request_response(&recorder).await.unwrap();
    talk.receive_messages(1)
        .request_response(&recorder)
        .await
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 5);
    let mut talk = MemberConversation::new("run-9/worker");
    let mut said = Vec::new();
    for _ in 0..3 {
        // A new process each time.
        let replay = ReplayModel::new(&text).unwrap();
        said.push(
            talk.receive_messages(1)
                .request_response(&replay)
                .await
                .unwrap()
                .text,
        );
    }
    assert_eq!(said, ["said 0", "said 2", "said 3"]);
}

fn handwritten_recording(lines: &[serde_json::Value]) -> ReplayModel {
    let mut text = json!({ "recording": 1, "about": "by hand", "loose": true }).to_string();
    for line in lines {
        text.push('\n');
        text.push_str(&line.to_string());
    }
    text.push('\n');
    ReplayModel::new(&text).unwrap()
}

/// Messages arrive sooner or later than in the recording.
#[tokio::test]
async fn replayed_responses_wait_for_their_messages() {
    let look = json!([{ "tool": "look", "arguments": { "a": 1 } }]);
    let replay = handwritten_recording(&[
        json!({ "agent": "boss", "heard": 1, "text": "", "calls": look }),
        json!({ "agent": "boss", "heard": 1, "text": "I wait for three." }),
        json!({ "agent": "boss", "heard": 2, "text": "One." }),
        json!({ "agent": "boss", "heard": 3, "text": "Two." }),
        json!({ "agent": "boss", "heard": 4, "text": "All three.", "calls": look }),
        json!({ "agent": "boss", "heard": 4, "text": "Done." }),
    ]);
    assert_eq!(replay.description(), Some("by hand"));
    let first = async |talk: &mut MemberConversation| {
        let answer = talk
            .receive_messages(1)
            .request_response(&replay)
            .await
            .unwrap();
        assert_eq!(answer.calls[0].arguments, r#"{"a":1}"#);
        assert_eq!(answer.finish, FinishReason::Calls);
        assert_eq!(
            talk.request_response(&replay).await.unwrap().text,
            "I wait for three."
        );
    };
    // One by one.
    let mut talk = MemberConversation::new("r/boss");
    first(&mut talk).await;
    for said in ["One.", "Two.", "All three."] {
        assert_eq!(
            talk.receive_messages(1)
                .request_response(&replay)
                .await
                .unwrap()
                .text,
            said
        );
    }
    assert_eq!(talk.request_response(&replay).await.unwrap().text, "Done.");
    let rest = talk
        .receive_messages(1)
        .request_response(&replay)
        .await
        .unwrap();
    assert_eq!(
        (rest.text.as_str(), rest.calls.len()),
        ("(end of the recording)", 0)
    );
    // All at once.
    let mut talk = MemberConversation::new("r/boss");
    first(&mut talk).await;
    assert_eq!(
        talk.receive_messages(3)
            .request_response(&replay)
            .await
            .unwrap()
            .text,
        "All three."
    );
    assert_eq!(talk.request_response(&replay).await.unwrap().text, "Done.");
    // The response to a message is due before the message arrives.
    let mut talk = MemberConversation::new("r/boss");
    first(&mut talk).await;
    assert_eq!(
        talk.receive_messages(2)
            .request_response(&replay)
            .await
            .unwrap()
            .text,
        "Two."
    );
    assert_eq!(
        talk.request_response(&replay).await.unwrap().text,
        "(waiting for more messages)"
    );
    assert_eq!(
        talk.request_response(&replay).await.unwrap().text,
        "(waiting for more messages)"
    );
    assert_eq!(
        talk.receive_messages(1)
            .request_response(&replay)
            .await
            .unwrap()
            .text,
        "All three."
    );
}

#[tokio::test(start_paused = true)]
async fn paced_replay_takes_the_given_time_and_can_be_cancelled() {
    let lines = [json!({ "agent": "worker", "text": "一二三 four five", "ms": 60_000 })];
    let replay = handwritten_recording(&lines).with_recorded_delays(Duration::from_secs(2));
    let began = tokio::time::Instant::now();
    let question = TestRequest {
        response_index: 0,
        ..TestRequest::default()
    };
    let answer = question.send(&replay).await.unwrap();
    assert_eq!(answer.duration_ms, 60_000);
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(1900) && took < Duration::from_millis(2100),
        "{took:?}"
    );
    assert_eq!(
        question.observer.recorded_events().concat(),
        "一二三 four five"
    );
    assert!(question.observer.recorded_events().len() > 5);
    let question = TestRequest {
        response_index: 0,
        observer: Arc::<RecordingObserver>::default(),
        ..TestRequest::default()
    };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        question.cancel.cancel();
    };
    let (answer, ()) = tokio::join!(question.send(&replay), stop);
    assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Cancelled);
}

#[test]
fn invalid_recording_is_refused() {
    for (text, said) in [
        ("", "Line 1 of the recording is missing."),
        (
            "hello\n",
            "Line 1 of the recording is not a recording header.",
        ),
        (
            "{\"recording\":2}\n",
            "Line 1 of the recording is not a recording header.",
        ),
        (
            "{\"recording\":1}\n{}\n",
            "Line 2 of the recording is not a recorded response.",
        ),
        (
            "{\"recording\":1}\n{\"half\n{\"agent\":\"a\"}\n",
            "Line 2 of the recording is not a recorded response.",
        ),
    ] {
        let refusal = ReplayModel::new(text).unwrap_err();
        assert_eq!(
            render_reason(&refusal.reason, Surface::Cli, UiLanguage::En).message,
            said
        );
    }
}
