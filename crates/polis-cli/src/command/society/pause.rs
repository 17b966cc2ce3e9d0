//! `polis society send`, `pause`, `resume` and `stop`: controls a run and its members.

use clap::Args;
use polis_core::message::{Recipients, SendMessage};
use polis_core::{AgentId, Raw, RunId};
use polis_ops::op::{self, HoldSociety, OfRun};

use super::{OfRunFlag, OneRun, which};
use crate::command::text_or_stdin;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::Output;

/// Write to an agent.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The agent
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "member", value_name = "AGENT")]
    agent: String,
    /// What to say; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    run: OfRunFlag,
    /// The message it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<u64>,
}

/// Let somebody wait, or go on.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    /// The run; default: the newest that is not over
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only this agent of it
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "member", long = "agent", value_name = "AGENT")]
    agent: Option<String>,
    /// And everybody below it
    #[arg(long, requires = "member")]
    subtree: bool,
    /// Why; the agent and those who look are told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Send {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let agent: AgentId = self.agent.parse()?;
        let run = self.run.of(context, &agent)?;
        let text = text_or_stdin(self.text)?;
        let sent = context.run(send(context, &agent, run, &text, self.reply_to))?;
        out.answer(&sent, |sent| {
            let number = sent.messages.first().map_or(0, |m| m.id);
            format!("Sent to {agent} (message {number}). It is heard at the agent's next step.")
        })
    }
}

/// Sends a message to an agent in the name of the caller.
pub(crate) async fn send(
    context: &Context,
    agent: &AgentId,
    run: Option<RunId>,
    text: &str,
    reply_to: Option<u64>,
) -> Result<op::Sent, polis_ops::OpError> {
    let payload = Raw::of(&text).map_err(|_| {
        polis_core::Refusal::new(
            polis_core::Code::InvalidText,
            "The text cannot be sent.",
            "send plain text",
        )
    })?;
    let params = SendMessage {
        to: Recipients::One(agent.to_string()),
        payload,
        reply_to,
        delay_ms: None,
    };
    let within;
    let polis = match run {
        Some(run) => {
            within = context.polis.within(run);
            &within
        }
        None => &context.polis,
    };
    op::send_message(polis, &context.agent, &params).await
}

impl Hold {
    pub(super) fn run(self, pause: bool, context: &Context, out: &Output) -> Result<(), Failure> {
        let agent: Option<AgentId> = self.agent.as_deref().map(str::parse).transpose()?;
        let named_or_root = self.run.is_some() || agent.as_ref().is_none_or(AgentId::is_root);
        let run = if named_or_root {
            Some(which(context, self.run.as_deref())?.id)
        } else {
            None
        };
        let params = HoldSociety {
            task_id: run,
            agent_id: agent,
            subtree: self.subtree,
            reason: self.reason,
        };
        let (polis, caller) = (&context.polis, &context.agent);
        let held = if pause {
            context.run(op::pause_society(polis, caller, &params))?
        } else {
            context.run(op::resume_society(polis, caller, &params))?
        };
        out.answer(&held, |held| {
            let names: Vec<String> = held.agents.iter().map(ToString::to_string).collect();
            match (pause, params.agent_id.is_some(), names.is_empty()) {
                (true, false, _) => format!(
                    "Run {} is paused: nobody thinks until `polis society resume {}`.",
                    held.run, held.run
                ),
                (false, false, _) => format!("Run {} goes on.", held.run),
                (_, true, true) => "Nobody stands differently now.".to_owned(),
                (true, true, false) => format!("Paused: {}.", names.join(", ")),
                (false, true, false) => format!("Going on: {}.", names.join(", ")),
            }
        })
    }
}

/// Ends a run.
pub(super) fn stop(one: &OneRun, context: &Context, out: &Output) -> Result<(), Failure> {
    if one.run.is_none() && super::all(context, false)?.len() > 1 {
        return Err(invalid(
            "More than one run goes on, and it was not said which is to end.",
            "name it: `polis society ps` shows them",
        ));
    }
    let run = one.find(context)?;
    let params = OfRun {
        task_id: run.id.clone(),
    };
    let ended = context.run(op::stop_run(&context.polis, &context.agent, &params))?;
    out.answer(&ended, |_| {
        format!(
            "Run {} is over: everybody was dismissed. Its files stay; `polis society log AGENT` still shows what was said.",
            run.id
        )
    })
}
