//! A member's run loop: loads the member from the store and performs the effects of its state machine
//! one by one (mailbox reads, budget draws, model requests, tool calls, commits) until the member sleeps, is
//! stopped or has to be reloaded.

use std::sync::Arc;
use std::time::Instant;

use polis_core::RegisteredAgent;
use polis_core::number::saturating_cast;
use polis_core::society::VersionedRecord;
use polis_core::society::call_approval::{self, CallApproval};
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallOutcome;
use polis_core::task::TaskSummary;
use polis_core::token::OperationArea;
use polis_i18n::UiLanguage;
use polis_ops::op::CommandObservers;
use polis_ops::tool::{self, IgnoredArguments, Tool};
use polis_ops::{OpError, Request};

use super::member_loading::{self, EffectiveLimits, LoadedMember};
use super::progress_observer::ProgressObserver;
use super::turn_commit_hook::TurnCommitHook;
use super::{ActiveMember, SessionEnd, SocietyState, damaged_record_error, is_store_failure};
use crate::chat_message;
use crate::compaction::SummaryRequest;
use crate::machine::{
    ApprovalState, CallResult, CommitDraft, MachineEffect, MachineEvent, MemberConfig,
    MemberMachine, PersistedMember, parse_arguments, refused_result,
};
use crate::model::{EndpointPermit, ModelRequest, ResponseObserver, ToolCall};
use crate::progress_event::{ProgressStep, summarise_arguments};
use crate::prompt;

/// Context limit for a model that does not report one, in tokens.
const DEFAULT_CONTEXT_LIMIT: u64 = 128_000;

/// The run loop of a member in memory, from loading it until it sleeps or has to be reloaded.
#[derive(Debug)]
pub(super) struct MemberRunLoop<'a> {
    pub(super) shared: &'a Arc<SocietyState>,
    pub(super) active: &'a ActiveMember,
    /// Its registry entry, as the last call left it; `None` until a call needs it, and after it was written.
    registry_entry: Option<Option<RegisteredAgent>>,
    pub(super) loaded: LoadedMember,
    pub(super) limits: EffectiveLimits,
    pub(super) machine: MemberMachine,
    /// Its open tasks; loaded when they are needed.
    pub(super) open_tasks: Option<Vec<TaskSummary>>,
    /// Cost of the last response, in millionths.
    pub(super) last_micros: u64,
    /// The permit of the endpoint, held until the response is committed.
    pub(super) permit: EndpointPermit,
    /// The revision at which the member was loaded.
    loaded_revision: u64,
}

impl<'a> MemberRunLoop<'a> {
    /// Returns the language of tools, results and refusals: that of the runtime's messages.
    pub(super) fn lang(&self) -> UiLanguage {
        self.shared.runtime_messages.0
    }

    /// Returns a request of this member that starts now.
    fn request(&self) -> Request {
        let (app, key) = (&self.shared.app, &self.active.key);
        let request = app.request(&key.agent).in_run(key.run.clone());
        match &self.registry_entry {
            Some(entry) => request.with_registry_entry(entry.clone()),
            None => request,
        }
    }

    /// Loads a member from the store; returns `None` if it has nothing to do.
    pub(super) async fn load_run_loop(
        shared: &'a Arc<SocietyState>,
        active: &'a ActiveMember,
    ) -> Result<Option<Self>, OpError> {
        let (app, key) = (&shared.app, &active.key);
        active.take_changed();
        let Some(state) = member_loading::load_state(app, key).await? else {
            return Ok(None);
        };
        if !member_loading::may_act(state.value.status) {
            return Ok(None);
        }
        if state.value.status == MemberStatus::Idle {
            let query = member_loading::unread_messages_query(key, app.clock.now_millis());
            if app.store.mailbox(&query).await?.is_empty() {
                return Ok(None);
            }
        }
        let Some(loaded) = member_loading::load_member(app, key).await? else {
            return Ok(None);
        };
        let limits = state.value.account.limits;
        let bounds = member_loading::load_limits(app, key, &loaded.member, &limits).await?;
        let turns = member_loading::load_turns(app, key, &state.value).await?;
        let role = loaded.role.as_ref();
        let mut approve = app.settings.society.approval_tools.clone();
        approve.extend(loaded.run.approve.iter().cloned());
        approve.extend(
            role.iter()
                .flat_map(|role| role.approve.iter().flatten())
                .cloned(),
        );
        let tools = role.and_then(|role| role.tools.as_deref());
        let limit = shared
            .model
            .context_limit(role.and_then(|role| role.model.as_ref()));
        let config = MemberConfig {
            key: key.clone(),
            toolbox: shared.cached_toolbox(
                &loaded.member.role,
                tools,
                approve,
                !key.agent.is_root(),
            ),
            context_limit: if limit == 0 {
                DEFAULT_CONTEXT_LIMIT
            } else {
                limit
            },
            runtime_messages: shared.runtime_messages,
            worker_name: shared.worker_name.clone(),
        };
        let input = prompt::SystemMessageInput {
            member: &loaded.member,
            role,
            run: &loaded.run,
        };
        let head = prompt::render_system_message(input, shared.runtime_messages.0);
        let found = PersistedMember {
            state: state.value,
            revision: state.revision,
            turns,
        };
        Ok(Some(Self {
            loaded_revision: found.revision,
            shared,
            active,
            limits: bounds,
            machine: MemberMachine::restore(config, &head, found),
            registry_entry: None,
            loaded,
            open_tasks: None,
            last_micros: 0,
            permit: EndpointPermit::none(),
        }))
    }

    /// Returns whether anything was committed for the member in this run of the loop.
    pub(super) fn has_committed(&self) -> bool {
        self.machine.revision() != self.loaded_revision
    }

    /// Runs the member until it sleeps, or has to be reloaded. Only store failures are errors.
    pub(super) async fn run_until_idle(&mut self) -> Result<SessionEnd, OpError> {
        let mut effect = self.machine.next_effect();
        loop {
            let requests_model = matches!(
                effect,
                MachineEffect::ReadMailbox
                    | MachineEffect::RequestResponse
                    | MachineEffect::RequestSummary(_)
            );
            if self.active.stop.is_cancelled()
                || (requests_model && self.active.pause.is_cancelled())
            {
                return Ok(SessionEnd::Stopped);
            }
            let event = match effect {
                MachineEffect::Sleep | MachineEffect::Dismissed => return Ok(SessionEnd::Idle),
                MachineEffect::Reload => return Ok(SessionEnd::Reload),
                MachineEffect::ReadMailbox => {
                    let query = member_loading::unread_messages_query(
                        &self.active.key,
                        self.shared.app.clock.now_millis(),
                    );
                    let messages = self.shared.app.store.mailbox(&query).await?;
                    if !messages.is_empty() {
                        self.open_tasks = None;
                    }
                    Some(MachineEvent::MailboxRead(messages))
                }
                MachineEffect::DrawBudget(cost) => self.ensure_budget(cost).await?,
                MachineEffect::RequestResponse => self.request_response(None).await?,
                MachineEffect::RequestSummary(summary) => {
                    self.request_response(Some(summary)).await?
                }
                MachineEffect::ExecuteCall {
                    index: at,
                    joined_draft: join,
                } => self.execute_call(at, join.map(|draft| *draft)).await?,
                MachineEffect::Commit(draft) => self.commit_draft(*draft).await?,
                MachineEffect::ReadApproval { turn, call } => {
                    let name = call_approval::approval_record_name(&self.active.key, turn, call);
                    let found = self.shared.app.store.record(&name).await?;
                    let found = found
                        .as_ref()
                        .map(VersionedRecord::<CallApproval>::from_stored)
                        .transpose();
                    let found = found.map_err(|_| damaged_record_error(&name.id))?;
                    Some(MachineEvent::ApprovalRead(
                        match found.map(|stored| stored.value.decision) {
                            None => ApprovalState::NotRequested,
                            Some(None) => ApprovalState::Pending,
                            Some(Some(decision)) => ApprovalState::Decided(decision),
                        },
                    ))
                }
            };
            let Some(event) = event else {
                return Ok(if self.active.pause.is_cancelled() {
                    SessionEnd::Stopped
                } else {
                    SessionEnd::Reload
                });
            };
            effect = self.machine.handle_event(event);
        }
    }

    /// Returns the status message for the end of the prompt.
    async fn render_status(&mut self) -> Result<String, OpError> {
        if self.open_tasks.is_none() {
            self.open_tasks = Some(
                member_loading::load_open_tasks(&self.shared.app, &self.active.key.agent).await?,
            );
        }
        let base = self.machine.stored_state();
        let input = prompt::StatusMessageInput {
            now: &self.shared.app.now(),
            children: &base.children,
            tasks: self.open_tasks.as_deref().unwrap_or_default(),
            account: &base.account,
        };
        Ok(prompt::render_status_message(input, self.lang()))
    }

    /// Requests a response from the model, or a summary. Returns `None` if the member is paused or stopped
    /// meanwhile.
    async fn request_response(
        &mut self,
        summary: Option<SummaryRequest>,
    ) -> Result<Option<MachineEvent>, OpError> {
        let shared = Arc::clone(self.shared);
        let (number, received_count) = (
            self.machine.state().response_count,
            self.machine.received_message_count(),
        );
        let tools = self.machine.toolbox();
        let messages = match &summary {
            None => {
                let tail = self.render_status().await?;
                self.machine.context.render_prompt(&tail)
            }
            Some(SummaryRequest {
                messages: Some(own),
                ..
            }) => own,
            Some(SummaryRequest { messages: None, .. }) => {
                let question =
                    chat_message::user_message(shared.runtime_messages.summary_request());
                self.machine.context.render_prompt(question.as_str())
            }
        };
        shared.publish_progress(&self.active.key, || ProgressStep::RequestStarted);
        let observer = (shared.progress.receiver_count() > 0).then(|| {
            Arc::new(ProgressObserver {
                member: self.active.key.clone(),
                progress: shared.progress.clone(),
            }) as Arc<dyn ResponseObserver>
        });
        let request = ModelRequest {
            member: &self.active.key,
            response_index: number,
            received_message_count: received_count,
            role: &self.loaded.member.role,
            model_choice: self
                .loaded
                .role
                .as_ref()
                .and_then(|role| role.model.as_ref()),
            messages,
            tools: tools.definitions_json(),
            lang: shared.runtime_messages.0,
            cancel: self.active.pause.clone(),
            observer,
        };
        // Release the permit of an earlier response first: otherwise the member could wait for a permit that
        // it holds itself.
        self.permit = EndpointPermit::none();
        let response = tokio::select! {
            biased;
            response = shared.model.complete(request) => response,
            () = self.active.pause.cancelled() => return Ok(None),
        };
        Ok(Some(match response {
            Err(error) => MachineEvent::RequestFailed(error),
            Ok(answer) => {
                self.permit = answer.permit.clone();
                self.last_micros = answer.cost_micros;
                let (prompt, response_tokens) = answer.usage.unwrap_or_default();
                shared.publish_progress(&self.active.key, || ProgressStep::ResponseReceived {
                    text: answer.text.clone(),
                    calls: answer.calls.len(),
                    used: polis_core::society::turn::ModelUsage {
                        prompt,
                        response: response_tokens,
                        estimated: answer.usage.is_none(),
                        micros: answer.cost_micros,
                        ms: answer.duration_ms,
                        attempts: answer.attempts,
                        model: Some(answer.model.clone()),
                    },
                });
                MachineEvent::ResponseReceived(Box::new(answer))
            }
        }))
    }

    /// Executes a tool call, and reports its beginning and its end as progress. Returns `None` if it was
    /// stopped or the member has to be reloaded.
    async fn execute_call(
        &mut self,
        at: usize,
        join: Option<CommitDraft>,
    ) -> Result<Option<MachineEvent>, OpError> {
        let Some(call) = self.machine.call_at(at).cloned() else {
            return Ok(None);
        };
        self.shared
            .publish_progress(&self.active.key, || ProgressStep::ToolCallStarted {
                tool: call.tool.clone(),
                about: summarise_arguments(&call.arguments),
            });
        let started = Instant::now();
        let event = self.call_tool(&call, join).await?;
        let ms = saturating_cast::<u64>(started.elapsed().as_millis());
        Ok(event.map(|mut event| {
            let end = match &mut event {
                MachineEvent::CallFinished(outcome) | MachineEvent::CallCommitted(outcome, ..) => {
                    outcome.duration_ms = ms;
                    outcome.end
                }
                _ => return event,
            };
            self.shared
                .publish_progress(&self.active.key, || ProgressStep::ToolCallEnded {
                    tool: call.tool.clone(),
                    end,
                    ms,
                });
            event
        }))
    }

    /// Calls the tool. With a draft, the turn joins the commit of the operation, and the result is read from
    /// the commit hook.
    async fn call_tool(
        &mut self,
        call: &ToolCall,
        join: Option<CommitDraft>,
    ) -> Result<Option<MachineEvent>, OpError> {
        let found = Tool::find(&call.tool).and_then(|tool| {
            let mut params = parse_arguments(&call.arguments)?;
            let ignored = tool.remove_unknown_arguments(&mut params)?;
            Ok((tool, params, ignored))
        });
        let (tool, params, ignored) = match found {
            Ok(found) => found,
            Err(refusal) => {
                return Ok(Some(MachineEvent::CallFinished(refused_result(
                    refusal,
                    self.lang(),
                ))));
            }
        };
        if tool.area == OperationArea::Tasks {
            self.open_tasks = None;
        }
        let stop = self.active.stop.clone();
        let request = self.request();
        let call_request = tool::ToolRequest {
            params,
            observers: CommandObservers {
                watcher: None,
                cancel: Some(Box::pin(stop.cancelled_owned())),
            },
            for_model: true,
            lang: self.lang(),
        };
        let Some(draft) = join else {
            // Dropping the future of a call kills its command.
            let done = tokio::select! {
                biased;
                done = tool.call(&request, call_request) => done,
                () = self.active.stop.cancelled() => return Ok(None),
            };
            if self.active.stop.is_cancelled() && tool.acts_outside_store {
                return Ok(None);
            }
            return match done {
                Err(error) if is_store_failure(&error) && !tool.acts_outside_store => Err(error),
                done => Ok(Some(MachineEvent::CallFinished(to_call_result(
                    done,
                    self.lang(),
                    &ignored,
                )))),
            };
        };
        let revision = draft.revision;
        let key = self.active.key.clone();
        let joined = Arc::new(TurnCommitHook::new(
            key,
            call.id.clone(),
            draft,
            ignored.ignored_note(self.lang()),
            self.lang(),
        ));
        let hooked =
            request.with_commit_hook(Arc::clone(&joined) as Arc<dyn polis_ops::CommitHook>);
        let done = tool.call(&hooked, call_request).await;
        self.registry_entry = hooked.loaded_registry_entry();
        if let Some((outcome, state)) = joined.take_committed() {
            self.permit = EndpointPermit::none();
            self.publish_message_to_user(call, &outcome);
            return Ok(Some(MachineEvent::CallCommitted(
                outcome,
                Box::new(state),
                revision + 1,
            )));
        }
        match done {
            Err(_) if joined.has_conflict() => self.load_changed_state().await,
            Err(error) if is_store_failure(&error) => Err(error),
            done => Ok(Some(MachineEvent::CallFinished(to_call_result(
                done,
                self.lang(),
                &ignored,
            )))),
        }
    }

    /// Returns the event for a member state that another writer changed.
    pub(super) async fn load_changed_state(&self) -> Result<Option<MachineEvent>, OpError> {
        let state = member_loading::load_state(&self.shared.app, &self.active.key).await?;
        Ok(state.map(|stored| MachineEvent::StateChanged(Box::new(stored.value), stored.revision)))
    }
}

/// Returns the result of a call that was not committed together with the turn.
fn to_call_result(
    done: Result<tool::ToolOutput, OpError>,
    lang: UiLanguage,
    ignored: &IgnoredArguments,
) -> CallResult {
    match done {
        Ok(mut answer) => {
            ignored.add_note_to(&mut answer, lang);
            CallResult {
                text: answer.text,
                end: CallOutcome::Ok,
                duration_ms: 0,
            }
        }
        Err(error) => {
            let mut output = tool::ToolOutput::from_error(&error, lang, true);
            ignored.add_note_to(&mut output, lang);
            CallResult::failed(output.text)
        }
    }
}
