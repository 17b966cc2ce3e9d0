//! Driver session of a member: loads it from the store and performs the effects of its state machine one after another
//! (mailbox reads, budget draws, model requests, tool calls, commits) until it sleeps or has to be reloaded.

use std::sync::Arc;
use std::time::Instant;

use polis_core::society::Kept;
use polis_core::society::approval::{self, Approval};
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallEnd;
use polis_core::task::TaskSummary;
use polis_core::token::Area;
use polis_ops::op::Follow;
use polis_ops::tool::{self, IgnoredArguments, Tool};
use polis_ops::{OpError, Polis};

use super::joined::Joined;
use super::place::{self, Bounds, Place};
use super::watch::Onlookers;
use super::{End, Seat, Shared, damaged, is_store};
use crate::compact::Plan;
use crate::machine::{
    Asked, Draft, Effect, Event, Found, Machine, Outcome, Person, params, refused,
};
use crate::message;
use crate::model::{Ask, Call, Held, Watch};
use crate::progress::{Step, glance};
use crate::prompt;

/// Context limit for a model that does not report one, in tokens.
const SOME_CONTEXT: u64 = 128_000;

/// A member in memory.
#[derive(Debug)]
pub(super) struct Life<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) seat: &'a Seat,
    /// The operations, in the context of this member.
    pub(super) ground: Polis,
    pub(super) place: Place,
    pub(super) bounds: Bounds,
    pub(super) machine: Machine,
    /// Its open tasks; loaded when they are needed.
    pub(super) tasks: Option<Vec<TaskSummary>>,
    /// Cost of the last response, in millionths.
    pub(super) last_micros: u64,
    /// The permit of the endpoint, held until the response is committed.
    pub(super) held: Held,
    /// The revision at which the member was loaded.
    found: u64,
}

impl<'a> Life<'a> {
    /// Loads a member from the store; returns `None` if it has nothing to do.
    pub(super) async fn begin(
        shared: &'a Arc<Shared>,
        seat: &'a Seat,
    ) -> Result<Option<Self>, OpError> {
        let (polis, key) = (&shared.polis, &seat.key);
        seat.has_news();
        let Some(state) = place::state(polis, key).await? else {
            return Ok(None);
        };
        if !place::may_act(state.value.status) {
            return Ok(None);
        }
        if state.value.status == MemberStatus::Idle {
            let query = place::mailbox(key, polis.clock.now_millis());
            if polis.store.mailbox(&query).await?.is_empty() {
                return Ok(None);
            }
        }
        let Some(place) = place::place(polis, key).await? else {
            return Ok(None);
        };
        let ground = polis.within(key.run.clone());
        let entry = ground.entry(&key.agent).await?;
        let ground = ground.knowing(key.agent.clone(), entry);
        let limits = state.value.account.limits;
        let bounds = place::bounds(polis, key, &place.member, &limits).await?;
        let turns = place::turns(polis, key, &state.value).await?;
        let role = place.role.as_ref();
        let mut approve = polis.settings.society.approve.clone();
        approve.extend(place.run.approve.iter().cloned());
        approve.extend(
            role.iter()
                .flat_map(|role| role.approve.iter().flatten())
                .cloned(),
        );
        let tools = role.and_then(|role| role.tools.as_deref());
        let limit = shared
            .model
            .context_limit(role.and_then(|role| role.model.as_ref()));
        let person = Person {
            key: key.clone(),
            tools: shared.toolbox(tools, approve, !key.agent.is_root()),
            limit: if limit == 0 { SOME_CONTEXT } else { limit },
            words: shared.words,
            worker: shared.worker.clone(),
        };
        let told = prompt::Place {
            member: &place.member,
            role,
            run: &place.run,
        };
        let head = prompt::head(told, shared.words);
        let found = Found {
            state: state.value,
            revision: state.revision,
            turns,
        };
        Ok(Some(Self {
            found: found.revision,
            shared,
            seat,
            ground,
            bounds,
            machine: Machine::load(person, &head, found),
            place,
            tasks: None,
            last_micros: 0,
            held: Held::nothing(),
        }))
    }

    /// Returns whether anything was committed for the member in this session.
    pub(super) fn wrote(&self) -> bool {
        self.machine.revision() != self.found
    }

    /// Runs the member until it sleeps, or has to be reloaded. Only store failures are errors.
    pub(super) async fn live(&mut self) -> Result<End, OpError> {
        let mut effect = self.machine.go();
        loop {
            let thinks = matches!(effect, Effect::LookForMail | Effect::Ask | Effect::Sum(_));
            if self.seat.stop.is_cancelled() || (thinks && self.seat.pause.is_cancelled()) {
                return Ok(End::Stopped);
            }
            let event = match effect {
                Effect::Sleep | Effect::Gone => return Ok(End::Sleeps),
                Effect::Reload => return Ok(End::Again),
                Effect::LookForMail => {
                    let query = place::mailbox(&self.seat.key, self.ground.clock.now_millis());
                    let letters = self.ground.store.mailbox(&query).await?;
                    if !letters.is_empty() {
                        self.tasks = None;
                    }
                    Some(Event::Mail(letters))
                }
                Effect::Fund(cost) => self.fund(cost).await?,
                Effect::Ask => self.ask(None).await?,
                Effect::Sum(plan) => self.ask(Some(plan)).await?,
                Effect::Call { at, join } => self.call(at, join.map(|draft| *draft)).await?,
                Effect::Commit(draft) => self.commit(*draft).await?,
                Effect::LookForDecision { turn, call } => {
                    let name = approval::record_name(&self.seat.key, turn, call);
                    let found = self.ground.store.record(&name).await?;
                    let found = found.as_ref().map(Kept::<Approval>::read).transpose();
                    let found = found.map_err(|_| damaged(&name.id))?;
                    Some(Event::Decided(
                        match found.map(|kept| kept.value.decision) {
                            None => Asked::Not,
                            Some(None) => Asked::Open,
                            Some(Some(decision)) => Asked::Decided(decision),
                        },
                    ))
                }
            };
            let Some(event) = event else {
                return Ok(match self.seat.pause.is_cancelled() {
                    true => End::Stopped,
                    false => End::Again,
                });
            };
            effect = self.machine.on(event);
        }
    }

    /// Returns the status message for the end of the prompt.
    async fn tail(&mut self) -> Result<String, OpError> {
        if self.tasks.is_none() {
            self.tasks = Some(place::open_tasks(&self.ground, &self.seat.key.agent).await?);
        }
        let base = self.machine.base();
        let moment = prompt::Moment {
            now: &self.ground.now(),
            children: &base.children,
            tasks: self.tasks.as_deref().unwrap_or_default(),
            account: &base.account,
        };
        Ok(prompt::tail(moment, self.shared.words))
    }

    /// Requests a response from the model, or a summary if there is a compaction plan.
    async fn ask(&mut self, plan: Option<Plan>) -> Result<Option<Event>, OpError> {
        let shared = Arc::clone(self.shared);
        let (number, heard) = (self.machine.state().answers, self.machine.heard());
        let tools = self.machine.tools();
        let messages = match &plan {
            None => {
                let tail = self.tail().await?;
                self.machine.context.prompt(&tail)
            }
            Some(Plan::Ask {
                messages: Some(own),
                ..
            }) => own,
            Some(_) => {
                let question = message::user(shared.words.summarise());
                self.machine.context.prompt(question.text())
            }
        };
        shared.tell(&self.seat.key, || Step::Thinking);
        let watch = (shared.progress.receiver_count() > 0).then(|| {
            Arc::new(Onlookers {
                member: self.seat.key.clone(),
                progress: shared.progress.clone(),
            }) as Arc<dyn Watch>
        });
        let ask = Ask {
            member: &self.seat.key,
            number,
            heard,
            role: &self.place.member.role,
            choice: self
                .place
                .role
                .as_ref()
                .and_then(|role| role.model.as_ref()),
            messages,
            tools: tools.text(),
            cancel: self.seat.pause.clone(),
            watch,
        };
        // Release the permit of an earlier response first: otherwise the member could wait for a permit that it holds
        // itself.
        self.held = Held::nothing();
        let answered = tokio::select! {
            biased;
            answered = shared.model.complete(ask) => answered,
            () = self.seat.pause.cancelled() => return Ok(None),
        };
        Ok(Some(match answered {
            Err(error) => Event::Failed(error),
            Ok(answer) => {
                self.held = answer.held.clone();
                self.last_micros = answer.micros;
                let (prompt, out) = answer.usage.unwrap_or_default();
                shared.tell(&self.seat.key, || Step::Answered {
                    text: answer.text.clone(),
                    calls: answer.calls.len(),
                    used: polis_core::society::turn::Used {
                        prompt,
                        answer: out,
                        estimated: answer.usage.is_none(),
                        micros: answer.micros,
                        ms: answer.ms,
                        tries: answer.tries,
                        model: Some(answer.model.clone()),
                    },
                });
                Event::Answered(Box::new(answer))
            }
        }))
    }

    /// Executes a tool call, and reports its beginning and its end as progress.
    async fn call(&mut self, at: usize, join: Option<Draft>) -> Result<Option<Event>, OpError> {
        let Some(call) = self.machine.call_at(at).cloned() else {
            return Ok(None);
        };
        self.shared.tell(&self.seat.key, || Step::Calling {
            tool: call.tool.clone(),
            about: glance(&call.arguments),
        });
        let begun = Instant::now();
        let event = self.carry_out(&call, join).await?;
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(event.map(|mut event| {
            let end = match &mut event {
                Event::Done(outcome) | Event::Joined(outcome, ..) => {
                    outcome.ms = ms;
                    outcome.end
                }
                _ => return event,
            };
            self.shared.tell(&self.seat.key, || Step::Called {
                tool: call.tool.clone(),
                end,
                ms,
            });
            event
        }))
    }

    async fn carry_out(
        &mut self,
        call: &Call,
        join: Option<Draft>,
    ) -> Result<Option<Event>, OpError> {
        let found = Tool::find(&call.tool).and_then(|tool| {
            let mut params = params(&call.arguments)?;
            let ignored = tool.take_unknown(&mut params)?;
            Ok((tool, params, ignored))
        });
        let (tool, params, ignored) = match found {
            Ok(found) => found,
            Err(refusal) => return Ok(Some(Event::Done(refused(refusal)))),
        };
        if tool.area == Area::Tasks {
            self.tasks = None;
        }
        let stop = self.seat.stop.clone();
        let ask = tool::Ask {
            by: &self.seat.key.agent,
            params,
            follow: Follow {
                watcher: None,
                stop: Some(Box::pin(stop.cancelled_owned())),
            },
            brief: true,
        };
        let Some(draft) = join else {
            // Dropping the future of a call kills its command.
            let done = tokio::select! {
                biased;
                done = tool.call(&self.ground, ask) => done,
                () = self.seat.stop.cancelled() => return Ok(None),
            };
            if self.seat.stop.is_cancelled() && tool.outside {
                return Ok(None);
            }
            return match done {
                Err(error) if is_store(&error) && !tool.outside => Err(error),
                done => Ok(Some(Event::Done(outcome(done, &ignored)))),
            };
        };
        let revision = draft.revision;
        let key = self.seat.key.clone();
        let joined = Arc::new(Joined::new(key, call.id.clone(), draft, ignored.note()));
        let ground = self
            .ground
            .alongside(Arc::clone(&joined) as Arc<dyn polis_ops::Alongside>);
        let done = tool.call(&ground, ask).await;
        if let Some((outcome, state)) = joined.committed() {
            self.held = Held::nothing();
            self.tell_user(call, &outcome);
            return Ok(Some(Event::Joined(outcome, Box::new(state), revision + 1)));
        }
        match done {
            Err(_) if joined.is_lost() => self.moved().await,
            Err(error) if is_store(&error) => Err(error),
            done => Ok(Some(Event::Done(outcome(done, &ignored)))),
        }
    }

    /// Returns the event for a member state that another writer changed.
    pub(super) async fn moved(&self) -> Result<Option<Event>, OpError> {
        let state = place::state(&self.shared.polis, &self.seat.key).await?;
        Ok(state.map(|kept| Event::Moved(Box::new(kept.value), kept.revision)))
    }
}

/// Returns the result of a call that was not committed together with the turn.
fn outcome(done: Result<tool::Answer, OpError>, ignored: &IgnoredArguments) -> Outcome {
    match done {
        Ok(mut answer) => {
            ignored.add_to(&mut answer);
            Outcome {
                text: answer.text,
                end: CallEnd::Ok,
                ms: 0,
            }
        }
        Err(error) => {
            let mut refused = tool::Answer::refused(&error, true);
            ignored.add_to(&mut refused);
            Outcome::failed(refused.text)
        }
    }
}
