//! Executes the lines that the person types during `polis run`: answers, messages, approvals, pausing and
//! resuming. A refusal is printed and changes nothing; the run continues.

use polis_core::AgentId;
use polis_core::message::Message;
use polis_i18n::{Surface, msg, render_reason};
use polis_ops::OpError;
use polis_ops::op::{self, DecideApprovalParams, ListApprovalsParams, PauseSocietyParams};

use super::input_parser::{self, InputLine};
use super::run_watcher::{RunWatcher, WatchOutcome};
use crate::command::society::send_to_agent;
use crate::error::CliError;
use crate::output::sanitize_lines;

impl RunWatcher<'_> {
    /// Executes a typed line. Returns how watching ends, if the line ends it.
    pub(super) async fn execute_input(
        &mut self,
        line: &str,
    ) -> Result<Option<WatchOutcome>, CliError> {
        let lang = self.renderer.lang();
        let reply = match input_parser::parse_input_line(line) {
            InputLine::Empty => return Ok(None),
            InputLine::Quit => return Ok(Some(WatchOutcome::Quit)),
            InputLine::Help => Ok(msg::cli_run_input_help(lang).to_owned()),
            InputLine::Unknown(text) => Ok(msg::cli_run_unknown_input(lang, text)),
            InputLine::Answer(text) => {
                // A member may have been dismissed since the store was last read.
                self.refresh_from_store().await?;
                self.answer_question(&text).await
            }
            InputLine::Message(agent, text) => self.write_to_member(&agent, &text).await,
            InputLine::Approve(id) => self.decide_approval(id, true, None).await,
            InputLine::Deny(id, reason) => self.decide_approval(id, false, reason).await,
            InputLine::Pause(agent) => self.pause_or_resume(agent, true).await,
            InputLine::Resume(agent) => self.pause_or_resume(agent, false).await,
        };
        match reply {
            Ok(reply) => self.renderer.print_text(&sanitize_lines(&reply))?,
            Err(OpError::Refused(refusal)) => {
                let text = render_reason(&refusal.reason, Surface::Cli, lang);
                let message = format!("{}\n  {}", text.message, text.hint);
                self.renderer.print_text(&sanitize_lines(&message))?;
            }
            Err(failed) => return Err(failed.into()),
        }
        Ok(None)
    }

    /// Answers the oldest open question. Without one, writes to the member that wrote last if it still works
    /// for the run, or to `root`.
    async fn answer_question(&mut self, text: &str) -> Result<String, OpError> {
        let is_member = |message: &&Message| {
            let mut members = self.org.iter().flat_map(|org| &org.members);
            members.any(|member| member.agent_id == message.from)
        };
        let last = self.last_message.as_ref().filter(is_member);
        let (to, reply) = match self.questions.first().or(last) {
            Some(message) => (message.from.clone(), Some(message.id)),
            None => (AgentId::root(), None),
        };
        self.send_reply(&to, text, reply).await
    }

    /// Writes to a member, as the answer to its oldest open question, or else to its message if that is the
    /// last one of the run.
    async fn write_to_member(&mut self, agent: &str, text: &str) -> Result<String, OpError> {
        let agent: AgentId = agent.parse()?;
        let mut from_agent = self.questions.iter().chain(&self.last_message);
        let reply = from_agent.find(|message| message.from == agent);
        let reply = reply.map(|message| message.id);
        self.send_reply(&agent, text, reply).await
    }

    async fn send_reply(
        &mut self,
        to: &AgentId,
        text: &str,
        reply: Option<u64>,
    ) -> Result<String, OpError> {
        let run = Some(self.run.id.clone());
        send_to_agent(self.context, to, run, text, reply).await?;
        self.questions.retain(|message| Some(message.id) != reply);
        self.was_prompted = false;
        Ok(msg::cli_run_message_sent(self.renderer.lang(), to, text))
    }

    async fn decide_approval(
        &mut self,
        id: Option<String>,
        allowed: bool,
        note: Option<String>,
    ) -> Result<String, OpError> {
        let lang = self.renderer.lang();
        let (app, caller) = (&self.context.app, &self.context.agent);
        let id = match id {
            Some(id) => id,
            None => {
                let params = ListApprovalsParams {
                    run_id: Some(self.run.id.clone()),
                    ..ListApprovalsParams::default()
                };
                let mut waiting = op::list_approvals(&app.request(caller), &params)
                    .await?
                    .approvals;
                waiting.sort_by_key(|approval| approval.asked_at.unix_millis());
                match waiting.into_iter().next() {
                    Some(oldest) => oldest.id,
                    None => return Ok(msg::cli_run_no_pending_call(lang).to_owned()),
                }
            }
        };
        let params = DecideApprovalParams { id, allowed, note };
        let approval = op::decide_approval(&app.request(caller), &params).await?;
        Ok(if allowed {
            msg::cli_run_call_approved(lang, approval.agent, approval.tool)
        } else {
            msg::cli_run_call_denied(lang, approval.agent, approval.tool)
        })
    }

    async fn pause_or_resume(
        &mut self,
        agent: Option<String>,
        pause: bool,
    ) -> Result<String, OpError> {
        let params = PauseSocietyParams {
            run_id: Some(self.run.id.clone()),
            agent_id: agent.as_deref().map(str::parse).transpose()?,
            subtree: false,
            reason: None,
        };
        let (app, caller) = (&self.context.app, &self.context.agent);
        let result = if pause {
            op::pause_society(&app.request(caller), &params).await?
        } else {
            op::resume_society(&app.request(caller), &params).await?
        };
        let lang = self.renderer.lang();
        let names: Vec<String> = result.agents.iter().map(ToString::to_string).collect();
        let listed = names.join(msg::common_list_separator(lang));
        Ok(match (pause, params.agent_id, names.is_empty()) {
            (true, None, _) => msg::cli_run_paused(lang).to_owned(),
            (false, None, _) => msg::cli_run_continued(lang).to_owned(),
            (true, Some(agent), true) => msg::cli_run_agent_not_pausable(lang, agent),
            (false, Some(agent), true) => msg::cli_run_agent_not_paused(lang, agent),
            (true, Some(_), false) => msg::cli_run_agents_paused(lang, listed),
            (false, Some(_), false) => msg::cli_run_agents_resumed(lang, listed),
        })
    }
}
