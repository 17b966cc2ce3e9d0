//! Executes the lines that the person types during `polis run`: answers, messages, approvals, pausing and resuming.
//! A refusal is printed and changes nothing; the run continues.

use polis_core::AgentId;
use polis_core::message::Message;
use polis_ops::OpError;
use polis_ops::op::{self, DecideApproval, HoldSociety, ListApprovals};

use super::typed::{self, HELP, Typed};
use super::watch::{Ended, Watch};
use crate::command::society::send;
use crate::error::Failure;
use crate::output::clean_lines;

impl Watch<'_> {
    /// Executes a typed line. Returns how watching ends, if the line ends it.
    pub(super) async fn typed(&mut self, line: &str) -> Result<Option<Ended>, Failure> {
        let said = match typed::read(line) {
            Typed::Nothing => return Ok(None),
            Typed::Quit => return Ok(Some(Ended::Quit)),
            Typed::Help => Ok(HELP.to_owned()),
            Typed::Unknown(text) => Ok(format!(
                "{text} is nothing that can be done here; /help says what is."
            )),
            Typed::Answer(text) => {
                // A member may have been dismissed since the store was last read.
                self.look().await?;
                self.answer(&text).await
            }
            Typed::To(agent, text) => self.write(&agent, &text).await,
            Typed::Approve(id) => self.decide(id, true, None).await,
            Typed::Deny(id, why) => self.decide(id, false, why).await,
            Typed::Pause(agent) => self.hold(agent, true).await,
            Typed::Resume(agent) => self.hold(agent, false).await,
        };
        match said {
            Ok(said) => self.face.say(&clean_lines(&said))?,
            Err(OpError::Refused(refusal)) => {
                let told = format!("{}\n  {}", refusal.message, refusal.hint);
                self.face.say(&clean_lines(&told))?;
            }
            Err(failed) => return Err(failed.into()),
        }
        Ok(None)
    }

    /// Answers the oldest open question. Without one, writes to the member that wrote last if it still works for the
    /// run, or to `root`.
    async fn answer(&mut self, text: &str) -> Result<String, OpError> {
        let works = |message: &&Message| {
            let mut members = self.org.iter().flat_map(|org| &org.members);
            members.any(|member| member.agent_id == message.from)
        };
        let last = self.last.as_ref().filter(works);
        let (to, reply) = match self.questions.first().or(last) {
            Some(message) => (message.from.clone(), Some(message.id)),
            None => (AgentId::root(), None),
        };
        self.send_to(&to, text, reply).await
    }

    /// Writes to a member; if it has asked something, as the answer to its oldest open question.
    async fn write(&mut self, agent: &str, text: &str) -> Result<String, OpError> {
        let agent: AgentId = agent.parse()?;
        let mut from_agent = self.questions.iter().chain(&self.last);
        let reply = from_agent.find(|message| message.from == agent);
        let reply = reply.map(|message| message.id);
        self.send_to(&agent, text, reply).await
    }

    async fn send_to(
        &mut self,
        to: &AgentId,
        text: &str,
        reply: Option<u64>,
    ) -> Result<String, OpError> {
        let run = Some(self.run.id.clone());
        send(self.context, to, run, text, reply).await?;
        self.questions.retain(|message| Some(message.id) != reply);
        self.told = false;
        Ok(format!("you → {to}: {text}"))
    }

    async fn decide(
        &mut self,
        id: Option<String>,
        allowed: bool,
        note: Option<String>,
    ) -> Result<String, OpError> {
        let (polis, caller) = (&self.context.polis, &self.context.agent);
        let id = match id {
            Some(id) => id,
            None => {
                let params = ListApprovals {
                    task_id: Some(self.run.id.clone()),
                    ..ListApprovals::default()
                };
                let mut waiting = op::list_approvals(polis, caller, &params).await?.approvals;
                waiting.sort_by_key(|one| one.asked_at.millis().unwrap_or(0));
                match waiting.into_iter().next() {
                    Some(oldest) => oldest.id,
                    None => return Ok("No call waits to be allowed.".to_owned()),
                }
            }
        };
        let params = DecideApproval { id, allowed, note };
        let one = op::decide_approval(polis, caller, &params).await?;
        let what = if allowed { "may" } else { "may not" };
        Ok(format!("{} {what} call {}.", one.agent, one.tool))
    }

    async fn hold(&mut self, agent: Option<String>, pause: bool) -> Result<String, OpError> {
        let params = HoldSociety {
            task_id: Some(self.run.id.clone()),
            agent_id: agent.as_deref().map(str::parse).transpose()?,
            subtree: false,
            reason: None,
        };
        let (polis, caller) = (&self.context.polis, &self.context.agent);
        let held = if pause {
            op::pause_society(polis, caller, &params).await?
        } else {
            op::resume_society(polis, caller, &params).await?
        };
        let names: Vec<String> = held.agents.iter().map(ToString::to_string).collect();
        Ok(match (pause, params.agent_id, names.is_empty()) {
            (true, None, _) => "The run is paused until /resume.".to_owned(),
            (false, None, _) => "The run is resumed.".to_owned(),
            (true, Some(agent), true) => format!("{agent} cannot be paused now."),
            (false, Some(agent), true) => format!("{agent} was not paused."),
            (true, Some(_), false) => format!("Paused: {}.", names.join(", ")),
            (false, Some(_), false) => format!("Resumed: {}.", names.join(", ")),
        })
    }
}
