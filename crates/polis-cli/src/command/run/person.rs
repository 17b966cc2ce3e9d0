//! What the person typed, carried out. A refusal is told and changes nothing; the run goes on.

use polis_core::AgentId;
use polis_ops::OpError;
use polis_ops::op::{self, DecideApproval, HoldSociety, ListApprovals};

use super::typed::{self, HELP, Typed};
use super::watch::{Ended, Watch};
use crate::command::society::send;
use crate::error::Failure;
use crate::output::clean_lines;

impl Watch<'_> {
    /// Carries out a line that was typed.
    pub(super) async fn typed(&mut self, line: &str) -> Result<Option<Ended>, Failure> {
        let said = match typed::read(line) {
            Typed::Nothing => return Ok(None),
            Typed::Quit => return Ok(Some(Ended::Quit)),
            Typed::Help => Ok(HELP.to_owned()),
            Typed::Unknown(text) => Ok(format!(
                "{text} is nothing that can be done here; /help says what is."
            )),
            Typed::Answer(text) => self.answer(&text).await,
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

    /// Writes to whoever wrote last; to `root` if nobody has.
    async fn answer(&mut self, text: &str) -> Result<String, OpError> {
        let (to, reply) = match self.last.take() {
            Some(letter) => (letter.from, Some(letter.id)),
            None => (AgentId::root(), None),
        };
        let run = Some(self.run.id.clone());
        send(self.context, &to, run, text, reply).await?;
        Ok(format!("you → {to}: {text}"))
    }

    async fn write(&mut self, agent: &str, text: &str) -> Result<String, OpError> {
        let agent: AgentId = agent.parse()?;
        let reply = match &self.last {
            Some(letter) if letter.from == agent => Some(letter.id),
            _ => None,
        };
        let run = Some(self.run.id.clone());
        send(self.context, &agent, run, text, reply).await?;
        if reply.is_some() {
            self.last = None;
        }
        Ok(format!("you → {agent}: {text}"))
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
            (true, None, _) => "Everybody waits until /resume.".to_owned(),
            (false, None, _) => "The run goes on.".to_owned(),
            (_, Some(agent), true) => format!("{agent} stands as it did."),
            (true, Some(_), false) => format!("Paused: {}.", names.join(", ")),
            (false, Some(_), false) => format!("Going on: {}.", names.join(", ")),
        })
    }
}
