//! Commits of a driver session: turns a draft of the state machine into a changeset (state, turn, read messages,
//! approval request, notice to the parent, log events), and reports the result as progress.

use polis_core::changeset::Write;
use polis_core::event::{NewEvent, Subject, kind};
use polis_core::message::{self as mail, NewMessage};
use polis_core::record::RecordBody;
use polis_core::society::approval::{self, Approval};
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::versioned;
use polis_core::{AgentId, Changeset, Raw, RecordKey, Timestamp};
use polis_ops::OpError;
use polis_ops::port::Outcome as Stored;
use serde::{Deserialize, Serialize};

use super::carry::Life;
use super::joined;
use crate::machine::{Draft, Event, Outcome};
use crate::message;
use crate::model::{Call, Held};
use crate::progress::Step;

/// Event data of a change of a member's status.
#[derive(Debug, Serialize)]
struct Stands<'a> {
    agent: &'a AgentId,
    status: MemberStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Event data of a call that waits for approval.
#[derive(Debug, Serialize)]
struct Waits<'a> {
    agent: &'a AgentId,
    id: &'a str,
    tool: &'a str,
}

impl Life<'_> {
    /// Commits a draft; returns `None` if another session was faster and the member has to be reloaded.
    pub(super) async fn commit(&mut self, draft: Draft) -> Result<Option<Event>, OpError> {
        let key = &self.seat.key;
        let now = self.ground.clock.now_millis();
        let mut changes = Changeset {
            actor: key.agent.clone(),
            at: Timestamp::from_millis(now),
            writes: Vec::with_capacity(6),
            events: Vec::new(),
        };
        joined::writes(key, &draft, &mut changes);
        if let Some((turn, call)) = draft.asks {
            self.ask_for(turn, call, &mut changes);
        }
        let parent = self.place.member.parent.as_ref();
        if let (Some(text), Some(parent)) = (&draft.parent_notice, parent.filter(|p| !p.is_user()))
        {
            let about = message::told(&key.agent, &key.run, text);
            self.send(parent, &about, now, &mut changes);
        }
        if draft.stands {
            let stands = Stands {
                agent: &key.agent,
                status: draft.state.status,
                why: draft.state.why.as_deref(),
            };
            let subject = Subject::Run(key.run.clone());
            let event = NewEvent::of(kind::SOCIETY_STANDS, subject, &stands);
            changes.events.push(event);
        }
        if let Some(turn) = draft.turn {
            changes.writes.push(Write::AppendTurn {
                member: key.to_string(),
                turn,
                body: RecordBody::Text(joined::turn_body(now, &draft.entries)),
            });
        }
        match self.ground.store.commit(changes).await? {
            Stored::Committed(_) => {
                self.held = Held::nothing();
                let before = self.machine.base().status;
                self.tell_status(before, &draft.state);
                Ok(Some(Event::Committed(draft.revision + 1)))
            }
            Stored::Conflict(of) if joined::is_own(key, &draft, &of) => {
                match of {
                    RecordKey::Record(_) => self.moved().await,
                    // The turn or the read mark exists already: another session wrote it.
                    _ => Ok(None),
                }
            }
            Stored::Conflict(_) => Ok(None),
        }
    }

    fn tell_status(&self, before: MemberStatus, state: &MemberState) {
        if before != state.status {
            self.shared.tell(&self.seat.key, || {
                Step::Stands(state.status, state.why.clone())
            });
        }
    }

    /// Adds the approval request of a call to the changeset.
    fn ask_for(&self, turn: u64, call: usize, changes: &mut Changeset) {
        let Some(asked) = self.machine.call_at(call) else {
            return;
        };
        let key = &self.seat.key;
        let name = approval::record_name(key, turn, call);
        let arguments = Raw::parse(&asked.arguments);
        let approval = Approval {
            id: name.id.clone(),
            run: key.run.clone(),
            agent: key.agent.clone(),
            tool: asked.tool.clone(),
            arguments: arguments.unwrap_or_else(|_| Raw::null()),
            asked_at: changes.at.clone(),
            decision: None,
        };
        let told = Waits {
            agent: &key.agent,
            id: &approval.id,
            tool: &approval.tool,
        };
        let subject = Subject::Run(key.run.clone());
        changes
            .events
            .push(NewEvent::of(kind::SOCIETY_ASKED, subject, &told));
        changes.writes.push(versioned::add(name, &approval));
    }

    /// Adds a message that the runtime sends on behalf of the member.
    fn send(&self, to: &AgentId, payload: &Raw, now: i64, changes: &mut Changeset) {
        let message = NewMessage {
            from: self.seat.key.agent.clone(),
            to: to.clone(),
            created_at: changes.at.clone(),
            deliver_at: now,
            reply_to: None,
            run: Some(self.seat.key.run.clone()),
            payload: payload.clone(),
        };
        changes.events.push(mail::sent_event(&message));
        changes.writes.push(Write::SendMessage(Box::new(message)));
    }

    /// Reports messages to the human user as progress.
    pub(super) fn tell_user(&self, call: &Call, outcome: &Outcome) {
        #[derive(Deserialize)]
        struct Sent {
            messages: Vec<SentTo>,
        }
        #[derive(Deserialize)]
        struct SentTo {
            id: u64,
            to: AgentId,
        }
        #[derive(Deserialize)]
        struct Said {
            payload: Raw,
        }
        if call.tool != "send_message" || self.shared.progress.receiver_count() == 0 {
            return;
        }
        let sent = serde_json::from_str::<Sent>(&outcome.text).ok();
        let to_user = |sent: Sent| {
            let mut all = sent.messages.into_iter();
            all.find(|one| one.to.as_str() == AgentId::USER)
        };
        let said = serde_json::from_str::<Said>(&call.arguments);
        if let (Some(one), Ok(said)) = (sent.and_then(to_user), said) {
            let text = message::payload(&said.payload);
            self.shared
                .tell(&self.seat.key, || Step::ToUser(one.id, text));
        }
    }
}
