//! Recording tests: made from any model, and replayed without one, also by a process that was killed in between.

use std::sync::Arc;
use std::time::Duration;

use polis_core::MemberKey;
use polis_society::model::{
    Answer, Ask, Finish, Key, Model, ModelError, ModelFault, Recorder, Replay,
};
use polis_testkit::model_server::{ModelServer, Reply, ToolCall};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::model_ask::{Notes, Question, endpoints, settings};

/// A member that talks to a model, with its conversation.
struct Talk {
    member: MemberKey,
    messages: Vec<String>,
    number: u64,
    heard: u64,
}

impl Talk {
    fn of(member: &str) -> Self {
        Self {
            member: member.parse().unwrap(),
            messages: Vec::new(),
            number: 0,
            heard: 0,
        }
    }

    fn hear(&mut self, count: u64) -> &mut Self {
        self.heard += count;
        self.messages
            .push(format!(r#"{{"role":"user","content":"heard {count}"}}"#));
        self
    }

    async fn ask(&mut self, model: &dyn Model) -> Result<Answer, ModelError> {
        let answer = self.ask_in_vain(model).await?;
        self.messages.push(answer.message.text().to_owned());
        self.number += 1;
        Ok(answer)
    }

    /// Makes a request, and discards the response.
    async fn ask_in_vain(&self, model: &dyn Model) -> Result<Answer, ModelError> {
        model
            .complete(Ask {
                member: &self.member,
                number: self.number,
                heard: self.heard,
                role: "程序员",
                choice: None,
                messages: &self.messages.join(","),
                tools: "",
                cancel: CancellationToken::new(),
                watch: None,
            })
            .await
    }
}

#[tokio::test]
async fn what_was_recorded_is_played_without_a_network() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let server = ModelServer::saying([
        Reply::text("I look.").and_calls([ToolCall::new("c-1", "look", &json!({ "path": "é" }))]),
        Reply::calls([ToolCall::raw("c-2", "no such", "{\"half")]).using(50, 6),
        Reply::text("Done.").ending("length"),
    ]);
    let mut one = settings("main", &server);
    one.key = Key::new("sk-very-secret-1");
    one.price_in = 1.0;
    one.context = 7777;
    let recorder = Recorder::new(Arc::new(endpoints(vec![one])), &file).unwrap();
    let mut talk = Talk::of("run-1/worker");
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(talk.hear(1).ask(&recorder).await.unwrap());
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains("secret"), "{text}");
    drop(server);

    let replay = Replay::new(&text).unwrap();
    assert_eq!(replay.context_limit(None), 7777);
    // Another run of the same requirement has a different name.
    let mut talk = Talk::of("run-2/worker");
    for recorded in &said {
        let played = talk.hear(1).ask(&replay).await.unwrap();
        assert_eq!(played.text, recorded.text);
        assert_eq!(played.calls, recorded.calls);
        assert_eq!(played.finish, recorded.finish);
        assert_eq!(played.usage, recorded.usage);
        assert_eq!(played.micros, recorded.micros);
        assert_eq!(played.model, recorded.model);
    }
    assert_eq!(said[1].micros, 50);
    let error = talk.hear(1).ask(&replay).await.unwrap_err();
    assert_eq!(error.kind, ModelFault::Permanent);
    assert_eq!(
        error.message,
        "The recording has 3 answers of worker, and number 4 is asked for."
    );
    let error = Talk::of("run-2/other").ask(&replay).await.unwrap_err();
    assert_eq!(error.message, "The recording has no answers of other.");
}

/// A crash loses a response after it was recorded, and truncates another one.
#[tokio::test]
async fn a_recording_goes_on_after_a_crash() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let server = ModelServer::start(|request| Reply::text(format!("said {}", request.number)));
    let model = || Arc::new(endpoints(vec![settings("main", &server)]));
    let mut talk = Talk::of("run-1/worker");
    let recorder = Recorder::new(model(), &file).unwrap();
    talk.hear(1).ask(&recorder).await.unwrap();
    talk.hear(1).ask_in_vain(&recorder).await.unwrap();
    drop(recorder);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"agent\":\"work");
    std::fs::write(&file, &text).unwrap();
    assert!(
        Replay::new(&text).is_ok(),
        "a line that is cut off is left out"
    );

    let recorder = Recorder::new(model(), &file).unwrap();
    talk.ask(&recorder).await.unwrap();
    talk.hear(1).ask(&recorder).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 5);
    let mut talk = Talk::of("run-9/worker");
    let mut said = Vec::new();
    for _ in 0..3 {
        // A new process each time.
        let replay = Replay::new(&text).unwrap();
        said.push(talk.hear(1).ask(&replay).await.unwrap().text);
    }
    assert_eq!(said, ["said 0", "said 2", "said 3"]);
}

fn by_hand(lines: &[serde_json::Value]) -> Replay {
    let mut text = json!({ "recording": 1, "about": "by hand", "loose": true }).to_string();
    for line in lines {
        text.push('\n');
        text.push_str(&line.to_string());
    }
    text.push('\n');
    Replay::new(&text).unwrap()
}

/// Messages arrive sooner or later than in the recording.
#[tokio::test]
async fn answers_wait_for_the_messages_they_are_about() {
    let look = json!([{ "tool": "look", "arguments": { "a": 1 } }]);
    let replay = by_hand(&[
        json!({ "agent": "boss", "heard": 1, "text": "", "calls": look }),
        json!({ "agent": "boss", "heard": 1, "text": "I wait for three." }),
        json!({ "agent": "boss", "heard": 2, "text": "One." }),
        json!({ "agent": "boss", "heard": 3, "text": "Two." }),
        json!({ "agent": "boss", "heard": 4, "text": "All three.", "calls": look }),
        json!({ "agent": "boss", "heard": 4, "text": "Done." }),
    ]);
    assert_eq!(replay.about(), Some("by hand"));
    let first = async |talk: &mut Talk| {
        let answer = talk.hear(1).ask(&replay).await.unwrap();
        assert_eq!(answer.calls[0].arguments, r#"{"a":1}"#);
        assert_eq!(answer.finish, Finish::Calls);
        assert_eq!(talk.ask(&replay).await.unwrap().text, "I wait for three.");
    };
    // One by one.
    let mut talk = Talk::of("r/boss");
    first(&mut talk).await;
    for said in ["One.", "Two.", "All three."] {
        assert_eq!(talk.hear(1).ask(&replay).await.unwrap().text, said);
    }
    assert_eq!(talk.ask(&replay).await.unwrap().text, "Done.");
    let rest = talk.hear(1).ask(&replay).await.unwrap();
    assert_eq!(
        (rest.text.as_str(), rest.calls.len()),
        ("(nothing more is recorded)", 0)
    );
    // All at once.
    let mut talk = Talk::of("r/boss");
    first(&mut talk).await;
    assert_eq!(talk.hear(3).ask(&replay).await.unwrap().text, "All three.");
    assert_eq!(talk.ask(&replay).await.unwrap().text, "Done.");
    // The response to a message is due before the message arrives.
    let mut talk = Talk::of("r/boss");
    first(&mut talk).await;
    assert_eq!(talk.hear(2).ask(&replay).await.unwrap().text, "Two.");
    assert_eq!(
        talk.ask(&replay).await.unwrap().text,
        "(waiting for the rest)"
    );
    assert_eq!(
        talk.ask(&replay).await.unwrap().text,
        "(waiting for the rest)"
    );
    assert_eq!(talk.hear(1).ask(&replay).await.unwrap().text, "All three.");
}

#[tokio::test(start_paused = true)]
async fn a_paced_recording_takes_its_time_and_can_be_stopped() {
    let lines = [json!({ "agent": "worker", "text": "一二三 four five", "ms": 60_000 })];
    let replay = by_hand(&lines).paced(Duration::from_secs(2));
    let began = tokio::time::Instant::now();
    let question = Question {
        number: 0,
        ..Question::default()
    };
    let answer = question.ask(&replay).await.unwrap();
    assert_eq!(answer.ms, 60_000);
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(1900) && took < Duration::from_millis(2100),
        "{took:?}"
    );
    assert_eq!(question.notes.all().concat(), "一二三 four five");
    assert!(question.notes.all().len() > 5);
    let question = Question {
        number: 0,
        notes: Arc::<Notes>::default(),
        ..Question::default()
    };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        question.cancel.cancel();
    };
    let (answer, ()) = tokio::join!(question.ask(&replay), stop);
    assert_eq!(answer.unwrap_err().kind, ModelFault::Cancelled);
}

#[test]
fn what_is_not_a_recording_is_refused() {
    for (text, said) in [
        ("", "Line 1 of the recording is missing."),
        ("hello\n", "Line 1 of the recording does not begin one."),
        (
            "{\"recording\":2}\n",
            "Line 1 of the recording does not begin one.",
        ),
        (
            "{\"recording\":1}\n{}\n",
            "Line 2 of the recording is not an answer.",
        ),
        (
            "{\"recording\":1}\n{\"half\n{\"agent\":\"a\"}\n",
            "Line 2 of the recording is not an answer.",
        ),
    ] {
        let refusal = Replay::new(text).unwrap_err();
        assert_eq!(refusal.message, said);
    }
}
