//! Span tracker: creates spans from progress events. `chat MODEL` is a model request, `execute_tool TOOL` a
//! tool call, and around them `invoke_agent AGENT` lasts from the first model request of a member until its
//! status is no longer `working`. A run is one trace.

use std::collections::HashMap;
use std::sync::Arc;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_core::{MemberKey, digest};
use polis_ops::port::Clock;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::otlp_exporter::ExportQueueItem;
use super::otlp_span::{OtlpSpan, SpanKind, new_span_id};
use crate::progress_event::{ProgressEvent, ProgressStep};

/// Turns progress events into spans until the channel is closed or `stop` fires.
pub(super) async fn track_spans(
    mut progress: broadcast::Receiver<ProgressEvent>,
    spans: mpsc::Sender<ExportQueueItem>,
    clock: Arc<dyn Clock>,
    store: String,
    mut stop: oneshot::Receiver<()>,
) {
    let mut follower = SpanTracker {
        store,
        open_spans: HashMap::new(),
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
            Ok(step) => follower.handle_progress(&step, clock.now_millis(), &mut done),
            // The missed events may include the end of a span, so the state of all open spans is unknown.
            Err(RecvError::Lagged(missed)) => {
                dropped += missed;
                follower.open_spans.clear();
            }
            Err(RecvError::Closed) => break,
        }
        for span in done.drain(..) {
            dropped = queue_span(&spans, span, dropped);
        }
    }
    for span in follower.close_open_spans(clock.now_millis()) {
        dropped = queue_span(&spans, span, dropped);
    }
    if dropped > 0 {
        // The final drop count waits for room in the queue, which is free as soon as the exporter has taken
        // an item.
        let _ = spans.send(ExportQueueItem::Dropped(dropped)).await;
    }
}

/// Queues a span without waiting: if the queue is full, the span is dropped and counted. Returns the number
/// of dropped spans that are not reported yet.
fn queue_span(spans: &mpsc::Sender<ExportQueueItem>, span: OtlpSpan, dropped: u64) -> u64 {
    if dropped > 0 && spans.try_send(ExportQueueItem::Dropped(dropped)).is_ok() {
        return queue_span(spans, span, 0);
    }
    match spans.try_send(ExportQueueItem::Span(Box::new(span))) {
        Ok(()) => dropped,
        Err(_) => dropped + 1,
    }
}

/// The open spans of all members.
struct SpanTracker {
    store: String,
    open_spans: HashMap<MemberKey, OpenAgentSpan>,
}

/// The open `invoke_agent` span of a member.
struct OpenAgentSpan {
    trace_id: String,
    span_id: String,
    started_ms: i64,
    request_started_ms: Option<i64>,
    retries: u64,
    prompt_tokens: u64,
    response_tokens: u64,
    model: Option<String>,
}

impl SpanTracker {
    /// Handles a progress event; adds the spans that it ends to `done`.
    fn handle_progress(&mut self, progress: &ProgressEvent, now: i64, done: &mut Vec<OtlpSpan>) {
        let member = &progress.member;
        match &progress.step {
            ProgressStep::RequestStarted => {
                let store = &self.store;
                let turn = self
                    .open_spans
                    .entry(member.clone())
                    .or_insert_with(|| OpenAgentSpan {
                        trace_id: trace_id_of_run(store, member),
                        span_id: new_span_id(),
                        started_ms: now,
                        request_started_ms: None,
                        retries: 0,
                        prompt_tokens: 0,
                        response_tokens: 0,
                        model: None,
                    });
                turn.request_started_ms = Some(now);
                turn.retries = 0;
            }
            ProgressStep::RequestRetried(_) => {
                if let Some(turn) = self.open_spans.get_mut(member) {
                    turn.retries += 1;
                }
            }
            ProgressStep::ResponseReceived { calls, used, .. } => {
                if let Some(turn) = self.open_spans.get_mut(member) {
                    done.push(turn.chat_span(member, *calls, used, now));
                }
            }
            ProgressStep::ToolCallEnded { tool, end, ms } => {
                if let Some(turn) = self.open_spans.get(member) {
                    done.push(turn.tool_span(member, tool, *end, *ms, now));
                }
            }
            ProgressStep::StatusChanged(MemberStatus::Working, _) => {}
            ProgressStep::StatusChanged(status, reason) => {
                if let Some(turn) = self.open_spans.remove(member) {
                    let failed = *status == MemberStatus::Parked;
                    let reason = failed.then(|| reason.clone().unwrap_or_default());
                    done.extend(turn.finish_spans(member, now, reason));
                }
            }
            ProgressStep::TextStreamed(_)
            | ProgressStep::Warning(_)
            | ProgressStep::ToolCallStarted { .. }
            | ProgressStep::MessageToUser(..) => {}
        }
    }

    /// Closes the spans that are still open at the end.
    fn close_open_spans(&mut self, now: i64) -> Vec<OtlpSpan> {
        let open = self.open_spans.drain();
        open.flat_map(|(member, turn)| turn.finish_spans(&member, now, None))
            .collect()
    }
}

/// Returns the trace id of a run: the same in all processes that work on it.
fn trace_id_of_run(store: &str, member: &MemberKey) -> String {
    let mut digits = digest::sha256_hex_of_parts(&["trace", store, member.run.as_str()]);
    digits.truncate(32);
    digits
}

impl OpenAgentSpan {
    /// Returns the attributes that all spans of a member have.
    fn common_attributes(&self, member: &MemberKey, operation: &str) -> Vec<(&'static str, Value)> {
        vec![
            ("gen_ai.operation.name", operation.into()),
            // All endpoints use the OpenAI protocol, regardless of the vendor.
            ("gen_ai.provider.name", "openai".into()),
            ("gen_ai.agent.id", member.to_string().into()),
            ("gen_ai.agent.name", member.agent.to_string().into()),
            ("gen_ai.conversation.id", member.run.to_string().into()),
        ]
    }

    /// Returns the span of a model request.
    fn chat_span(
        &mut self,
        member: &MemberKey,
        calls: usize,
        usage: &ModelUsage,
        now: i64,
    ) -> OtlpSpan {
        self.prompt_tokens += usage.prompt;
        self.response_tokens += usage.response;
        let model = usage.model.clone().unwrap_or_default();
        let mut attributes = self.common_attributes(member, "chat");
        let reason = if calls > 0 { "tool_calls" } else { "stop" };
        attributes.extend([
            ("gen_ai.request.model", Value::from(model.as_str())),
            ("gen_ai.response.model", model.as_str().into()),
            ("gen_ai.response.finish_reasons", json!([reason])),
            ("polis.cost.micros", usage.micros.into()),
            ("polis.tries", usage.attempts.max(1).into()),
        ]);
        if !usage.estimated {
            attributes.extend([
                ("gen_ai.usage.input_tokens", Value::from(usage.prompt)),
                ("gen_ai.usage.output_tokens", usage.response.into()),
            ]);
        }
        let duration = i64::try_from(usage.ms).unwrap_or(0);
        let name = format!("chat {model}");
        self.model = Some(model);
        OtlpSpan {
            trace_id: self.trace_id.clone(),
            id: new_span_id(),
            parent_id: Some(self.span_id.clone()),
            name,
            kind: SpanKind::Client,
            started_ms: self.request_started_ms.take().unwrap_or(now - duration),
            ended_ms: now,
            attributes,
            error: None,
        }
    }

    /// Returns the span of a tool call.
    fn tool_span(
        &self,
        member: &MemberKey,
        tool: &str,
        end: CallOutcome,
        ms: u64,
        now: i64,
    ) -> OtlpSpan {
        let mut attributes = self.common_attributes(member, "execute_tool");
        attributes.extend([
            ("gen_ai.tool.name", Value::from(tool)),
            ("gen_ai.tool.type", "function".into()),
        ]);
        let error = match end {
            CallOutcome::Ok => None,
            CallOutcome::Failed => Some("failed"),
            CallOutcome::Interrupted => Some("interrupted"),
            CallOutcome::Denied => Some("denied"),
        };
        if let Some(error) = error {
            attributes.push(("error.type", error.into()));
        }
        OtlpSpan {
            trace_id: self.trace_id.clone(),
            id: new_span_id(),
            parent_id: Some(self.span_id.clone()),
            name: format!("execute_tool {tool}"),
            kind: SpanKind::Internal,
            started_ms: now - i64::try_from(ms).unwrap_or(0),
            ended_ms: now,
            attributes,
            error: error.map(str::to_owned),
        }
    }

    /// Returns the `invoke_agent` span and, if the model failed, one for the request without a response.
    fn finish_spans(
        mut self,
        member: &MemberKey,
        now: i64,
        failed: Option<String>,
    ) -> Vec<OtlpSpan> {
        let mut all = Vec::new();
        let model = self.model.clone().unwrap_or_default();
        if let (Some(started), Some(_)) = (self.request_started_ms.take(), &failed) {
            let mut attributes = self.common_attributes(member, "chat");
            attributes.push(("error.type", "model_failed".into()));
            attributes.push(("polis.tries", (self.retries + 1).into()));
            all.push(OtlpSpan {
                trace_id: self.trace_id.clone(),
                id: new_span_id(),
                parent_id: Some(self.span_id.clone()),
                name: format!("chat {model}").trim_end().to_owned(),
                kind: SpanKind::Client,
                started_ms: started,
                ended_ms: now,
                attributes,
                error: failed.clone(),
            });
        }
        let mut attributes = self.common_attributes(member, "invoke_agent");
        attributes.extend([
            ("gen_ai.usage.input_tokens", Value::from(self.prompt_tokens)),
            ("gen_ai.usage.output_tokens", self.response_tokens.into()),
        ]);
        if failed.is_some() {
            attributes.push(("error.type", "model_failed".into()));
        }
        all.push(OtlpSpan {
            trace_id: self.trace_id,
            id: self.span_id,
            parent_id: None,
            name: format!("invoke_agent {}", member.agent),
            kind: SpanKind::Internal,
            started_ms: self.started_ms,
            ended_ms: now,
            attributes,
            error: failed,
        });
        all
    }
}
