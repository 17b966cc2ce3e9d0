//! `polis message`: sends messages and checks the mailbox.

use clap::{Args, Subcommand};
use polis_core::RawJson;
use polis_core::message::{Message, MessageRecipients, SendMessageParams, payload_text};
use polis_i18n::msg;
use polis_ops::op::{self, CheckMessagesParams};
use polis_ops::tool::describe_json_error;
use polis_store::embedded::StoreMode;

use super::content::ContentArgs;
use super::parse_duration_arg;
use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};
use crate::refusal_tables::CommandRefusal;

/// Send and check messages between agents.
#[derive(Debug, Subcommand)]
pub(crate) enum MessageCommand {
    /// Send a message
    Send(MessageSendArgs),
    /// Show the unread messages of the agent (--as), and mark them as read
    Check(MessageCheckArgs),
}

/// Send a message.
#[derive(Debug, Args)]
pub(crate) struct MessageSendArgs {
    /// Recipients: agent ids, `user`, or role:ROLE
    #[arg(required = true, value_name = "TO")]
    to: Vec<String>,
    #[command(flatten)]
    content: ContentArgs,
    /// The content is JSON, not text
    #[arg(long)]
    as_json: bool,
    /// Id of the message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<u64>,
    /// Delay of the delivery, such as 10m
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
}

/// Show unread messages.
#[derive(Debug, Args)]
pub(crate) struct MessageCheckArgs {
    /// Maximum number of messages
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Wait for a message, such as 30s; at most 1m
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// Read messages after this id again, without marking them
    #[arg(long, value_name = "ID")]
    since: Option<u64>,
}

impl MessageCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        match self {
            Self::Send(send) => send.run(&CommandContext::open(globals)?, out),
            Self::Check(check) if check.wait.is_some() => {
                check.run(&CommandContext::open_for(globals, StoreMode::Server)?, out)
            }
            Self::Check(check) => check.run(&CommandContext::open(globals)?, out),
        }
    }
}

impl MessageSendArgs {
    fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let text = self.content.read_text()?;
        let payload = if self.as_json {
            RawJson::parse(&text)
        } else {
            RawJson::from_value(&text)
        };
        let payload = payload.map_err(|error| {
            CliError::from(CommandRefusal::NotJson {
                error: describe_json_error(&error),
            })
        })?;
        let params = SendMessageParams {
            to: MessageRecipients::Several(self.to),
            payload,
            reply_to: self.reply_to,
            delay_ms: self.delay.as_deref().map(parse_duration_arg).transpose()?,
        };
        let sent = context.block_on(op::send_message(&context.request(), &params))?;
        out.print_result(&sent, |sent| {
            let lang = out.lang();
            let recipients = sent.messages.iter();
            let recipients: Vec<String> = recipients
                .map(|m| msg::cli_agent_message_recipient(lang, &m.to, m.id))
                .collect();
            msg::cli_agent_message_sent(lang, recipients.join(msg::common_list_separator(lang)))
        })
    }
}

impl MessageCheckArgs {
    fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = CheckMessagesParams {
            limit: self.limit,
            wait_ms: self.wait.as_deref().map(parse_duration_arg).transpose()?,
            since: self.since,
            offset: None,
        };
        let mail = context.block_on(op::check_messages(&context.request(), &params))?;
        out.print_result(&mail, |mail| {
            if mail.messages.is_empty() {
                return msg::cli_agent_message_none(out.lang(), &context.agent);
            }
            let mut text: String = mail
                .messages
                .iter()
                .map(|m| render_message(m, out))
                .collect();
            if mail.more {
                text.push_str(msg::cli_agent_message_more(out.lang()));
            }
            text.trim_end().to_owned()
        })
    }
}

fn render_message(message: &Message, out: &CliOutput) -> String {
    let lang = out.lang();
    let (id, sender) = (message.id, sanitize_line(message.from.as_str()));
    let time = message.created_at.as_str();
    let head = match message.reply_to {
        Some(answered) => msg::cli_agent_message_answer_heading(lang, id, sender, time, answered),
        None => msg::cli_agent_message_heading(lang, id, sender, time),
    };
    let text = payload_text(&message.payload);
    let lines: Vec<String> = text.lines().map(sanitize_line).collect();
    format!(
        "{}\n{}\n\n",
        out.paint(TextStyle::Bold, &head),
        lines.join("\n")
    )
}
