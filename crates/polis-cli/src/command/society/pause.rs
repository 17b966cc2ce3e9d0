//! `polis society send`, `pause`, `resume` and `stop`: controls a run and its members.

use clap::Args;
use polis_core::Refusal;
use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::{AgentId, RawJson, RunId};
use polis_i18n::msg;
use polis_ops::op::{self, PauseSocietyParams, RunIdParams};

use super::{RunArg, RunFlagArgs, find_run};
use crate::command::read_text_arg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Send a message to an agent.
#[derive(Debug, Args)]
pub(crate) struct SocietySendArgs {
    /// Agent
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "member", value_name = "AGENT")]
    agent: String,
    /// Text; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    run: RunFlagArgs,
    /// Id of the message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<u64>,
}

/// Pause or resume a run or an agent.
#[derive(Debug, Args)]
pub(crate) struct SocietyPauseArgs {
    /// Run; default: the newest that is not stopped
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only this agent of the run
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "member", long = "agent", value_name = "AGENT")]
    agent: Option<String>,
    /// Include all agents below it
    #[arg(long, requires = "member")]
    subtree: bool,
    /// Reason, shown in the status of the agents
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl SocietySendArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let agent: AgentId = self.agent.parse()?;
        let run = self.run.resolve_run(context, &agent)?;
        let text = read_text_arg(self.text)?;
        let sent = context.block_on(send_to_agent(context, &agent, run, &text, self.reply_to))?;
        out.print_result(&sent, |sent| {
            let number = sent.messages.first().map_or(0, |m| m.id);
            msg::cli_society_sent(out.lang(), &agent, number)
        })
    }
}

/// Sends a message to an agent in the name of the caller.
pub(crate) async fn send_to_agent(
    context: &CommandContext,
    agent: &AgentId,
    run: Option<RunId>,
    text: &str,
    reply_to: Option<u64>,
) -> Result<op::SendMessageResult, polis_ops::OpError> {
    let payload =
        RawJson::from_value(&text).map_err(|_| Refusal::from(CommandRefusal::TextNotSendable))?;
    let params = SendMessageParams {
        to: MessageRecipients::One(agent.to_string()),
        payload,
        reply_to,
        delay_ms: None,
    };
    let mut request = context.request();
    if let Some(run) = run {
        request = request.in_run(run);
    }
    op::send_message(&request, &params).await
}

impl SocietyPauseArgs {
    pub(super) fn run(
        self,
        pause: bool,
        context: &CommandContext,
        out: &CliOutput,
    ) -> Result<(), CliError> {
        let agent: Option<AgentId> = self.agent.as_deref().map(str::parse).transpose()?;
        let named_or_root = self.run.is_some() || agent.as_ref().is_none_or(AgentId::is_root);
        let run = if named_or_root {
            Some(find_run(context, self.run.as_deref())?.id)
        } else {
            None
        };
        let params = PauseSocietyParams {
            run_id: run,
            agent_id: agent,
            subtree: self.subtree,
            reason: self.reason,
        };
        let (app, caller) = (&context.app, &context.agent);
        let result = if pause {
            context.block_on(op::pause_society(&app.request(caller), &params))?
        } else {
            context.block_on(op::resume_society(&app.request(caller), &params))?
        };
        out.print_result(&result, |result| {
            let lang = out.lang();
            let agents: Vec<String> = result.agents.iter().map(ToString::to_string).collect();
            let names = agents.join(msg::common_list_separator(lang));
            match (pause, params.agent_id.is_some(), agents.is_empty()) {
                (true, false, _) => msg::cli_society_run_paused(lang, &result.run),
                (false, false, _) => msg::cli_society_run_resumed(lang, &result.run),
                (_, true, true) => msg::cli_society_no_status_changed(lang).to_owned(),
                (true, true, false) => msg::cli_run_agents_paused(lang, names),
                (false, true, false) => msg::cli_run_agents_resumed(lang, names),
            }
        })
    }
}

/// Stops a run and dismisses all its members. Refuses to guess if several runs are active.
pub(super) fn stop_run(
    one: &RunArg,
    context: &CommandContext,
    out: &CliOutput,
) -> Result<(), CliError> {
    if one.run.is_none() && super::list_all_runs(context, false)?.len() > 1 {
        return Err(CliError::from(CommandRefusal::SeveralActiveRuns));
    }
    let run = one.find_selected(context)?;
    let params = RunIdParams {
        run_id: run.id.clone(),
    };
    let ended = context.block_on(op::stop_run(&context.request(), &params))?;
    out.print_result(&ended, |_| {
        msg::cli_society_run_stopped(out.lang(), &run.id)
    })
}
