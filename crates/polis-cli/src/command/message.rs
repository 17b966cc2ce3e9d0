//! `polis message`: sends messages and checks the mailbox.

use clap::{Args, Subcommand};
use polis_core::Raw;
use polis_core::message::{Message as Letter, Recipients, SendMessage, payload_text};
use polis_ops::op::{self, CheckMessages};
use polis_store::embedded::Use;

use super::content::Content;
use super::duration;
use crate::cli::Globals;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::{Output, Style, clean};

/// Messages between agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Message {
    /// Send a message
    Send(Send),
    /// Show the unread messages of `--as`, and mark them as read
    Check(Check),
}

/// Send a message.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// To whom: agents' ids, `user`, or role:ROLE
    #[arg(required = true, value_name = "TO")]
    to: Vec<String>,
    #[command(flatten)]
    content: Content,
    /// The content is JSON, not text
    #[arg(long)]
    as_json: bool,
    /// The message it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<u64>,
    /// Deliver it later, such as 10m
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
}

/// Show unread messages.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Wait for one, such as 30s; at most a minute
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// Read again what came after this number, and mark nothing
    #[arg(long, value_name = "ID")]
    since: Option<u64>,
}

impl Message {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        match self {
            Self::Send(send) => send.run(&Context::open(globals)?, out),
            Self::Check(check) if check.wait.is_some() => {
                check.run(&Context::open_for(globals, Use::Long)?, out)
            }
            Self::Check(check) => check.run(&Context::open(globals)?, out),
        }
    }
}

impl Send {
    fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let text = self.content.text()?;
        let payload = if self.as_json {
            Raw::parse(&text)
        } else {
            Raw::of(&text)
        };
        let payload = payload.map_err(|why| {
            invalid(
                format!("The content is not JSON: {why}."),
                "leave --as-json out to send text",
            )
        })?;
        let params = SendMessage {
            to: Recipients::Several(self.to),
            payload,
            reply_to: self.reply_to,
            delay_ms: self.delay.as_deref().map(duration).transpose()?,
        };
        let sent = context.run(op::send_message(&context.polis, &context.agent, &params))?;
        out.answer(&sent, |sent| {
            let each = sent
                .messages
                .iter()
                .map(|m| format!("{} (message {})", m.to, m.id));
            format!("Sent to {}.", each.collect::<Vec<_>>().join(", "))
        })
    }
}

impl Check {
    fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = CheckMessages {
            limit: self.limit,
            wait_ms: self.wait.as_deref().map(duration).transpose()?,
            since: self.since,
            offset: None,
        };
        let mail = context.run(op::check_messages(&context.polis, &context.agent, &params))?;
        out.answer(&mail, |mail| {
            if mail.messages.is_empty() {
                return format!("No new messages for {}.", context.agent);
            }
            let mut text: String = mail.messages.iter().map(|m| letter(m, out)).collect();
            if mail.more {
                text.push_str("There are more; check again.");
            }
            text.trim_end().to_owned()
        })
    }
}

fn letter(message: &Letter, out: &Output) -> String {
    let answers = message
        .reply_to
        .map_or_else(String::new, |id| format!(", answering {id}"));
    let head = format!(
        "{} from {} at {}{answers}",
        message.id,
        clean(message.from.as_str()),
        message.created_at.as_str()
    );
    let said = payload_text(&message.payload);
    let said: Vec<String> = said.lines().map(clean).collect();
    format!("{}\n{}\n\n", out.paint(Style::Bold, &head), said.join("\n"))
}
