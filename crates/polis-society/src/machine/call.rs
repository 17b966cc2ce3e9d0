//! Execution of the tool calls of a response, one after another: detects repetition, asks for approval, draws budget,
//! and records a result for each call, also for those that are not executed.

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Entry, Used};
use polis_core::{Code, Refusal};
use polis_ops::OpError;
use polis_ops::tool;
use serde_json::{Map, Value};

use super::repeat::Verdict;
use super::{Asked, Cost, Effect, Machine, Outcome, Phase, did};
use crate::message;
use crate::toolbox::{self, Kind, Own};

/// Returns the result for a call that is refused.
pub(crate) fn refused(refusal: Refusal) -> Outcome {
    Outcome::failed(tool::Answer::refused(&OpError::from(refusal), true).text)
}

impl Machine {
    /// Starts the next call, or continues after the last one.
    pub(super) fn call(&mut self) -> Effect {
        while let Some(call) = self.calls.get(self.at) {
            match self.repeats.judge(call) {
                Verdict::Fine => {}
                Verdict::Warn(text) => {
                    self.settle(&Outcome::failed(text));
                    continue;
                }
                Verdict::Stop(text) => return self.stop_repeating(text),
            }
            let Some(row) = self.person.tools.find(&call.tool) else {
                let name = call.tool.clone();
                self.settle(&refused(toolbox::not_found(&name)));
                continue;
            };
            let (kind, approve, command) = (row.kind, row.approve, row.command);
            if self.crashed && self.state.doing.as_deref() == Some(call.id.as_str()) {
                if !matches!(kind, Kind::Look | Kind::Outside { again: true }) {
                    self.crashed = false;
                    self.settle(&interrupted());
                    continue;
                }
                // It was paid for and approved before the crash, and repeating it does no harm.
                (self.allowed, self.funded) = (true, true);
            }
            self.crashed = false;
            let params = match params(&call.arguments) {
                Ok(params) => params,
                Err(refusal) => {
                    self.settle(&refused(refusal));
                    continue;
                }
            };
            if approve && !self.allowed {
                return self.ask_for_approval();
            }
            if command && !self.funded {
                self.phase = Phase::Funding(Cost::Command);
                return Effect::Fund(Cost::Command);
            }
            match kind {
                Kind::Own(own) => {
                    let outcome = self.own(own, &params);
                    self.settle(&outcome);
                }
                Kind::Look => return self.carry_out(false),
                Kind::Inside => return self.carry_out(true),
                Kind::Mail if self.entries.is_empty() => return self.carry_out(true),
                Kind::Mail => return self.commit(),
                Kind::Outside { .. } if self.base.doing.as_deref() == Some(call.id.as_str()) => {
                    return self.carry_out(false);
                }
                Kind::Outside { .. } => {
                    // Record the call before it starts, so that a crash is detected.
                    self.state.doing = Some(call.id.clone());
                    self.state.tool = Some(call.tool.clone());
                    return self.commit();
                }
            }
        }
        self.over();
        self.go()
    }

    /// Finishes the response after all its calls.
    fn over(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let carried_out = self.calls.len();
        self.calls.clear();
        self.at = 0;
        self.owed = true;
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let m = message::user(&self.person.words.calls_dropped(carried_out, dropped));
            self.push(&Entry::Told { m });
        }
        if let Some(Some(text)) = self.compress.take_if(|wanted| wanted.is_some()) {
            let m = message::user(&self.person.words.summary(&text));
            let used = Used::default();
            self.push(&Entry::Summed { m, used });
            self.context.cut(self.said);
            self.state.since = self.said;
        }
    }

    fn carry_out(&mut self, joined: bool) -> Effect {
        if joined {
            // Whatever its status was, it is working now.
            self.state.status = MemberStatus::Working;
        }
        self.phase = Phase::Calling { joined };
        Effect::Call {
            at: self.at,
            join: joined.then(|| Box::new(self.draft(true))),
        }
    }

    /// Records the result of the current call.
    pub(super) fn settle(&mut self, outcome: &Outcome) {
        if let Some(call) = self.calls.get(self.at) {
            let entry = did(&call.id, outcome);
            let kind = self.person.tools.find(&call.tool).map(|row| row.kind);
            self.repeats.note(call, kind, &outcome.text, outcome.end);
            self.push(&entry);
        }
        self.next_call();
    }

    /// Advances to the next call.
    pub(super) fn next_call(&mut self) {
        self.at += 1;
        self.state.doing = None;
        self.state.tool = None;
        self.allowed = false;
        self.funded = false;
    }

    /// Fails all calls of a response that was cut off or filtered: they may be incomplete as well.
    pub(super) fn void_calls(&mut self) {
        if !std::mem::take(&mut self.void) || self.calls.is_empty() {
            return;
        }
        let text = self.person.words.cut_off();
        // No call is executed, so a note that only the first calls were executed would be wrong.
        self.dropped = 0;
        while self.at < self.calls.len() {
            self.settle(&Outcome::failed(text));
        }
        self.over();
    }

    fn stop_repeating(&mut self, text: String) -> Effect {
        let name = self.calls.get(self.at).map(|call| call.tool.clone());
        let name = name.unwrap_or_default();
        self.settle(&Outcome::failed(text));
        self.hold(
            MemberStatus::Paused,
            &format!("{name} was called with the same arguments again and again"),
        );
        let text = self.person.words.repeating(&self.person.key.agent, &name);
        self.parent_notice = Some(text);
        if self.at >= self.calls.len() {
            self.over();
        }
        self.commit()
    }

    fn ask_for_approval(&mut self) -> Effect {
        // Approvals exist only for committed responses.
        if self.said < self.base.next_turn {
            self.phase = Phase::Deciding;
            return Effect::LookForDecision {
                turn: self.said,
                call: self.at,
            };
        }
        self.commit_asking()
    }

    fn commit_asking(&mut self) -> Effect {
        self.state.status = MemberStatus::Asking;
        self.asks = Some((self.said, self.at));
        self.commit()
    }

    /// Handles the decision about the current call.
    pub(super) fn decided(&mut self, asked: Asked) -> Effect {
        match asked {
            Asked::Open if self.base.status == MemberStatus::Asking && self.entries.is_empty() => {
                Effect::Sleep
            }
            Asked::Open => {
                self.state.status = MemberStatus::Asking;
                self.commit()
            }
            Asked::Not => self.commit_asking(),
            Asked::Decided(decision) if decision.allowed => {
                self.allowed = true;
                self.state.status = MemberStatus::Working;
                self.call()
            }
            Asked::Decided(decision) => {
                self.state.status = MemberStatus::Working;
                let note = decision.note.unwrap_or_default();
                let refusal = Refusal::new(
                    Code::CallDenied,
                    format!("A person did not allow this call. {note}").trim_end(),
                    "do without it, or ask the person with send_message",
                );
                let outcome = Outcome {
                    end: CallEnd::Denied,
                    ..refused(refusal)
                };
                self.settle(&outcome);
                self.call()
            }
        }
    }

    fn own(&mut self, own: Own, params: &Map<String, Value>) -> Outcome {
        let text = match own {
            Own::Compress => {
                let summary = params.get("summary").and_then(Value::as_str);
                let summary = summary.map(str::trim).filter(|text| !text.is_empty());
                self.compress = Some(summary.map(str::to_owned));
                "{\"ok\":true}".to_owned()
            }
            Own::Status => {
                let tokens = self.context.tokens();
                let limit = self.person.limit;
                let percent = tokens.saturating_mul(100) / limit.max(1);
                serde_json::json!({
                    "usedTokens": tokens, "maxTokens": limit, "usagePercent": percent,
                    "entries": self.context.marks().len(),
                })
                .to_string()
            }
        };
        Outcome {
            text,
            end: CallEnd::Ok,
            ms: 0,
        }
    }
}

/// Parses the arguments of a call as a JSON object.
pub(crate) fn params(arguments: &str) -> Result<Map<String, Value>, Refusal> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(arguments).map_err(|error| {
        Refusal::new(
            Code::InvalidInput,
            format!("The arguments are not a JSON object: {error}."),
            "call it again with arguments that are one JSON object",
        )
    })
}

fn interrupted() -> Outcome {
    let refusal = Refusal::new(
        Code::CallInterrupted,
        "The process ended while this call was carried out; how far it came is not known. It was not done again.",
        "look at the state of things, and call it again if it has to be done",
    );
    Outcome {
        end: CallEnd::Interrupted,
        ..refused(refusal)
    }
}
