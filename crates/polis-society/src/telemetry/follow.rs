//! Creates spans from progress events: `chat MODEL` for a model request, `execute_tool TOOL` for a tool call, and
//! around them `invoke_agent AGENT`, from the first model request of a member until it is idle.

use std::collections::HashMap;
use std::sync::Arc;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use polis_core::{MemberKey, digest};
use polis_ops::port::Clock;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::export::Waiting;
use super::span::{Kind, Span, new_id};
use crate::progress::{Progress, Step};

/// Turns progress events into spans until the channel is closed or `stop` fires.
pub(super) async fn follow(
    mut progress: broadcast::Receiver<Progress>,
    spans: mpsc::Sender<Waiting>,
    clock: Arc<dyn Clock>,
    store: String,
    mut stop: oneshot::Receiver<()>,
) {
    let mut follower = Follower {
        store,
        turns: HashMap::new(),
    };
    let mut dropped: u64 = 0;
    let mut done = Vec::new();
    loop {
        let step = tokio::select! {
            biased;
            step = progress.recv() => step,
            _ = &mut stop => break,
        };
        match step {
            Ok(step) => follower.step(&step, clock.now_millis(), &mut done),
            // The missed events may include the end of a span, so the state of all open spans is unknown.
            Err(RecvError::Lagged(missed)) => {
                dropped += missed;
                follower.turns.clear();
            }
            Err(RecvError::Closed) => break,
        }
        for span in done.drain(..) {
            dropped = hand_over(&spans, span, dropped);
        }
    }
    for span in follower.rest(clock.now_millis()) {
        dropped = hand_over(&spans, span, dropped);
    }
    if dropped > 0 {
        // The final drop count waits for room in the queue, which is free as soon as the exporter has taken an item.
        let _ = spans.send(Waiting::Dropped(dropped)).await;
    }
}

/// Queues a span without waiting: if the queue is full, the span is dropped and counted. Returns the number of dropped
/// spans that are not reported yet.
fn hand_over(spans: &mpsc::Sender<Waiting>, span: Span, dropped: u64) -> u64 {
    if dropped > 0 && spans.try_send(Waiting::Dropped(dropped)).is_ok() {
        return hand_over(spans, span, 0);
    }
    match spans.try_send(Waiting::Span(Box::new(span))) {
        Ok(()) => dropped,
        Err(_) => dropped + 1,
    }
}

struct Follower {
    store: String,
    turns: HashMap<MemberKey, Turn>,
}

/// The open `invoke_agent` span of a member.
struct Turn {
    trace: String,
    id: String,
    began: i64,
    thinking: Option<i64>,
    waits: u64,
    prompt: u64,
    answer: u64,
    model: Option<String>,
}

impl Follower {
    fn step(&mut self, progress: &Progress, now: i64, done: &mut Vec<Span>) {
        let member = &progress.member;
        match &progress.step {
            Step::Thinking => {
                let store = &self.store;
                let turn = self.turns.entry(member.clone()).or_insert_with(|| Turn {
                    trace: trace_of(store, member),
                    id: new_id(),
                    began: now,
                    thinking: None,
                    waits: 0,
                    prompt: 0,
                    answer: 0,
                    model: None,
                });
                turn.thinking = Some(now);
                turn.waits = 0;
            }
            Step::Waiting(_) => {
                if let Some(turn) = self.turns.get_mut(member) {
                    turn.waits += 1;
                }
            }
            Step::Answered { calls, used, .. } => {
                if let Some(turn) = self.turns.get_mut(member) {
                    done.push(turn.chat(member, *calls, used, now));
                }
            }
            Step::Called { tool, end, ms } => {
                if let Some(turn) = self.turns.get(member) {
                    done.push(turn.call(member, tool, *end, *ms, now));
                }
            }
            Step::Stands(MemberStatus::Working, _) => {}
            Step::Stands(status, why) => {
                if let Some(turn) = self.turns.remove(member) {
                    let failed = *status == MemberStatus::Parked;
                    let why = failed.then(|| why.clone().unwrap_or_default());
                    done.extend(turn.end(member, now, why));
                }
            }
            Step::Words(_) | Step::Warning(_) | Step::Calling { .. } | Step::ToUser(..) => {}
        }
    }

    /// Closes the spans that are still open at the end.
    fn rest(&mut self, now: i64) -> Vec<Span> {
        let open = self.turns.drain();
        open.flat_map(|(member, turn)| turn.end(&member, now, None))
            .collect()
    }
}

/// Returns the trace id of a run: the same in all processes that work on it.
fn trace_of(store: &str, member: &MemberKey) -> String {
    let mut digits = digest::of_parts(&["trace", store, member.run.as_str()]);
    digits.truncate(32);
    digits
}

impl Turn {
    fn attributes(&self, member: &MemberKey, operation: &str) -> Vec<(&'static str, Value)> {
        vec![
            ("gen_ai.operation.name", operation.into()),
            // All endpoints use the OpenAI protocol, regardless of the vendor.
            ("gen_ai.provider.name", "openai".into()),
            ("gen_ai.agent.id", member.to_string().into()),
            ("gen_ai.agent.name", member.agent.to_string().into()),
            ("gen_ai.conversation.id", member.run.to_string().into()),
        ]
    }

    fn chat(&mut self, member: &MemberKey, calls: usize, used: &Used, now: i64) -> Span {
        self.prompt += used.prompt;
        self.answer += used.answer;
        let model = used.model.clone().unwrap_or_default();
        let mut attributes = self.attributes(member, "chat");
        let reason = if calls > 0 { "tool_calls" } else { "stop" };
        attributes.extend([
            ("gen_ai.request.model", Value::from(model.as_str())),
            ("gen_ai.response.model", model.as_str().into()),
            ("gen_ai.response.finish_reasons", json!([reason])),
            ("polis.cost.micros", used.micros.into()),
            ("polis.tries", used.tries.max(1).into()),
        ]);
        if !used.estimated {
            attributes.extend([
                ("gen_ai.usage.input_tokens", Value::from(used.prompt)),
                ("gen_ai.usage.output_tokens", used.answer.into()),
            ]);
        }
        let took = i64::try_from(used.ms).unwrap_or(0);
        let name = format!("chat {model}");
        self.model = Some(model);
        Span {
            trace: self.trace.clone(),
            id: new_id(),
            parent: Some(self.id.clone()),
            name,
            kind: Kind::Client,
            began: self.thinking.take().unwrap_or(now - took),
            ended: now,
            attributes,
            error: None,
        }
    }

    fn call(&self, member: &MemberKey, tool: &str, end: CallEnd, ms: u64, now: i64) -> Span {
        let mut attributes = self.attributes(member, "execute_tool");
        attributes.extend([
            ("gen_ai.tool.name", Value::from(tool)),
            ("gen_ai.tool.type", "function".into()),
        ]);
        let error = match end {
            CallEnd::Ok => None,
            CallEnd::Failed => Some("failed"),
            CallEnd::Interrupted => Some("interrupted"),
            CallEnd::Denied => Some("denied"),
        };
        if let Some(error) = error {
            attributes.push(("error.type", error.into()));
        }
        Span {
            trace: self.trace.clone(),
            id: new_id(),
            parent: Some(self.id.clone()),
            name: format!("execute_tool {tool}"),
            kind: Kind::Internal,
            began: now - i64::try_from(ms).unwrap_or(0),
            ended: now,
            attributes,
            error: error.map(str::to_owned),
        }
    }

    /// Returns the span around the whole turn and, if the model failed, one for the request without a response.
    fn end(mut self, member: &MemberKey, now: i64, failed: Option<String>) -> Vec<Span> {
        let mut all = Vec::new();
        let model = self.model.clone().unwrap_or_default();
        if let (Some(began), Some(_)) = (self.thinking.take(), &failed) {
            let mut attributes = self.attributes(member, "chat");
            attributes.push(("error.type", "model_failed".into()));
            attributes.push(("polis.tries", (self.waits + 1).into()));
            all.push(Span {
                trace: self.trace.clone(),
                id: new_id(),
                parent: Some(self.id.clone()),
                name: format!("chat {model}").trim_end().to_owned(),
                kind: Kind::Client,
                began,
                ended: now,
                attributes,
                error: failed.clone(),
            });
        }
        let mut attributes = self.attributes(member, "invoke_agent");
        attributes.extend([
            ("gen_ai.usage.input_tokens", Value::from(self.prompt)),
            ("gen_ai.usage.output_tokens", self.answer.into()),
        ]);
        if failed.is_some() {
            attributes.push(("error.type", "model_failed".into()));
        }
        all.push(Span {
            trace: self.trace,
            id: self.id,
            parent: None,
            name: format!("invoke_agent {}", member.agent),
            kind: Kind::Internal,
            began: self.began,
            ended: now,
            attributes,
            error: failed,
        });
        all
    }
}
