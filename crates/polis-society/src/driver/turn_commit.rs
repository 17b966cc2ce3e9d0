//! Commits of a member's run loop: turns a draft of the state machine into a changeset (state, turn, read
//! messages, approval request, notice to the supervisor, events), and reports the result as progress. A draft
//! that joins the commit of an operation is handled by `turn_commit_hook` instead.

use polis_core::changeset::StoreWrite;
use polis_core::event::{
    CallApprovalRequestedEvent, EventPayload, EventSubject, MemberStatusChangedEvent, NewEvent,
};
use polis_core::message::{self, NewMessage};
use polis_core::record::RecordBody;
use polis_core::society::call_approval::{self, CallApproval};
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::versioned;
use polis_core::{AgentId, Changeset, RawJson, RecordKey, Timestamp};
use polis_ops::OpError;
use polis_ops::port::CommitOutcome;
use serde::Deserialize;

use super::member_run_loop::MemberRunLoop;
use super::turn_commit_hook;
use crate::chat_message;
use crate::machine::{CallResult, CommitDraft, MachineEvent};
use crate::model::{EndpointPermit, ToolCall};
use crate::progress_event::ProgressStep;

impl MemberRunLoop<'_> {
    /// Commits a draft. Returns `Committed`, `StateChanged` if another writer changed the member state, or
    /// `None` if the member has to be reloaded.
    pub(super) async fn commit_draft(
        &mut self,
        draft: CommitDraft,
    ) -> Result<Option<MachineEvent>, OpError> {
        let key = &self.active.key;
        let now = self.shared.app.clock.now_millis();
        let mut changes = Changeset {
            actor: key.agent.clone(),
            at: Timestamp::from_millis(now),
            writes: Vec::with_capacity(6),
            events: Vec::new(),
        };
        turn_commit_hook::add_draft_writes(key, &draft, &mut changes);
        if let Some((turn, call)) = draft.approval_request {
            self.add_approval_request(turn, call, &mut changes);
        }
        let parent = self.loaded.member.parent.as_ref();
        if let (Some(text), Some(parent)) = (&draft.parent_notice, parent.filter(|p| !p.is_user()))
        {
            let payload = chat_message::notice_payload(&key.agent, &key.run, text);
            self.add_message(parent, &payload, now, &mut changes);
        }
        if draft.logs_status {
            let status_change = MemberStatusChangedEvent {
                agent: key.agent.clone(),
                status: draft.state.status,
                reason: draft.state.reason.clone(),
            };
            changes.events.push(NewEvent::new(
                EventSubject::Run(key.run.clone()),
                EventPayload::SocietyStatusChanged(status_change),
            ));
        }
        if let Some(turn) = draft.turn {
            changes.writes.push(StoreWrite::AppendTurn {
                member: key.to_string(),
                turn,
                body: RecordBody::Text(draft.entries.to_turn_json(now)),
            });
        }
        match self.shared.app.store.commit(changes).await? {
            CommitOutcome::Committed(_) => {
                self.permit = EndpointPermit::none();
                let before = self.machine.stored_state().status;
                self.publish_status(before, &draft.state);
                Ok(Some(MachineEvent::Committed(draft.revision + 1)))
            }
            CommitOutcome::Conflict(conflict)
                if turn_commit_hook::is_own_conflict(key, &draft, &conflict) =>
            {
                match conflict {
                    RecordKey::Record(_) => self.load_changed_state().await,
                    // The turn or the read mark exists already: another driver wrote it.
                    _ => Ok(None),
                }
            }
            CommitOutcome::Conflict(_) => Ok(None),
        }
    }

    /// Publishes the new status as progress, if it changed.
    fn publish_status(&self, before: MemberStatus, state: &MemberState) {
        if before != state.status {
            self.shared.publish_progress(&self.active.key, || {
                ProgressStep::StatusChanged(state.status, state.reason.clone())
            });
        }
    }

    /// Adds the approval request of a call to the changeset.
    fn add_approval_request(&self, turn: u64, call: usize, changes: &mut Changeset) {
        let Some(tool_call) = self.machine.call_at(call) else {
            return;
        };
        let key = &self.active.key;
        let name = call_approval::approval_record_name(key, turn, call);
        let arguments = RawJson::parse(&tool_call.arguments);
        let approval = CallApproval {
            id: name.id.clone(),
            run: key.run.clone(),
            agent: key.agent.clone(),
            tool: tool_call.tool.clone(),
            arguments: arguments.unwrap_or_else(|_| RawJson::null()),
            asked_at: changes.at.clone(),
            decision: None,
        };
        let request = CallApprovalRequestedEvent {
            agent: key.agent.clone(),
            id: approval.id.clone(),
            tool: approval.tool.clone(),
        };
        changes.events.push(NewEvent::new(
            EventSubject::Run(key.run.clone()),
            EventPayload::SocietyApprovalRequested(request),
        ));
        changes
            .writes
            .push(versioned::new_record_write(name, &approval));
    }

    /// Adds a message that the runtime sends on behalf of the member.
    fn add_message(&self, to: &AgentId, payload: &RawJson, now: i64, changes: &mut Changeset) {
        let message = NewMessage {
            from: self.active.key.agent.clone(),
            to: to.clone(),
            created_at: changes.at.clone(),
            deliver_at: now,
            reply_to: None,
            run: Some(self.active.key.run.clone()),
            payload: payload.clone(),
        };
        changes.events.push(message::message_sent_event(&message));
        changes
            .writes
            .push(StoreWrite::SendMessage(Box::new(message)));
    }

    /// Publishes the message of a `send_message` call as progress, if it was sent to the person.
    pub(super) fn publish_message_to_user(&self, call: &ToolCall, outcome: &CallResult) {
        #[derive(Deserialize)]
        struct SendMessageOutput {
            messages: Vec<SentMessage>,
        }
        #[derive(Deserialize)]
        struct SentMessage {
            id: u64,
            to: AgentId,
        }
        #[derive(Deserialize)]
        struct SendMessageArguments {
            payload: RawJson,
        }
        if call.tool != "send_message" || self.shared.progress.receiver_count() == 0 {
            return;
        }
        let output = serde_json::from_str::<SendMessageOutput>(&outcome.text).ok();
        let to_user = |output: SendMessageOutput| {
            let mut all = output.messages.into_iter();
            all.find(|message| message.to.as_str() == AgentId::USER)
        };
        let arguments = serde_json::from_str::<SendMessageArguments>(&call.arguments);
        if let (Some(message), Ok(arguments)) = (output.and_then(to_user), arguments) {
            let text = chat_message::payload_text(&arguments.payload);
            self.shared.publish_progress(&self.active.key, || {
                ProgressStep::MessageToUser(message.id, text)
            });
        }
    }
}
