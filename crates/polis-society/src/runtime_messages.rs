//! Texts of the runtime in the language of a team: headers of mailbox messages, notes to members, notices to their
//! supervisors, and requests for summaries. The texts of the prompts are in `prompt`.
//!
//! All texts are in the catalogue (`polis-i18n`); this module inserts what they need.

use polis_core::AgentId;
use polis_core::message::Message;
use polis_core::number::saturating_cast;
use polis_i18n::{UiLanguage, msg};

/// The texts of the runtime in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeMessages(pub UiLanguage);

impl RuntimeMessages {
    /// Returns the header line of a mailbox message: its id, its sender and the message it replies to.
    pub fn mail_header(self, message: &Message) -> String {
        let (id, from) = (message.id, &message.from);
        let mut header = match message.reply_to {
            None => msg::society_mail_header(self.0, id, from),
            Some(to) => msg::society_mail_header_reply(self.0, id, from, to),
        };
        header.push('\n');
        header
    }

    /// Returns the note that a message is truncated, with the call that reads the rest.
    pub fn truncated_mail_note(self, message: &Message, visible: usize, total: usize) -> String {
        let before = message.id.saturating_sub(1);
        let call = format!("check_messages since={before} limit=1 offset={visible}");
        msg::society_mail_truncated(self.0, visible, total, call)
    }

    /// Returns the request for a summary.
    pub fn summary_request(self) -> &'static str {
        msg::society_summary_request(self.0)
    }

    /// Returns the introduction of a transcript that is to be summarized.
    pub fn transcript_intro(self) -> &'static str {
        msg::society_transcript_intro(self.0)
    }

    /// Returns a summary with its header, as it appears in the context.
    pub fn format_summary(self, text: &str) -> String {
        format!("{}\n{text}", msg::society_summary_header(self.0))
    }

    /// Returns the header of a digest, which replaces a conversation that could not be summarized.
    pub fn digest_header(self) -> &'static str {
        msg::society_digest_header(self.0)
    }

    /// Returns the note that the response was cut off by the length limit.
    pub fn truncated_response_note(self) -> &'static str {
        msg::society_truncated_response(self.0)
    }

    /// Returns the note that the provider's content filter blocked the response.
    pub fn content_filter_note(self) -> &'static str {
        msg::society_content_filter(self.0)
    }

    /// Returns the note that the response announced tool calls but contained none.
    pub fn missing_calls_note(self) -> &'static str {
        msg::society_missing_calls(self.0)
    }

    /// Returns the note that the response was empty.
    pub fn empty_response_note(self) -> &'static str {
        msg::society_empty_response(self.0)
    }

    /// Returns the notice to the supervisor that a member became idle after two empty responses.
    pub fn no_response_notice(self, agent: &AgentId) -> String {
        msg::society_no_response_notice(self.0, agent)
    }

    /// Returns the note that only the first calls of a response were executed.
    pub fn dropped_calls_note(self, executed: usize, dropped: u64) -> String {
        let total = dropped.saturating_add(saturating_cast::<u64>(executed));
        msg::society_dropped_calls(self.0, total, executed, dropped)
    }

    /// Returns the notice to the supervisor that a member is parked because its model fails.
    pub fn parked_notice(self, agent: &AgentId, reason: &str) -> String {
        msg::society_parked_notice(self.0, agent, reason)
    }

    /// Returns the notice to the supervisor that a member is paused because it repeats the same call.
    pub fn loop_notice(self, agent: &AgentId, tool: &str) -> String {
        msg::society_loop_notice(self.0, agent, tool)
    }

    /// Returns the notice to the supervisor that a member is paused because a budget is exhausted.
    pub fn budget_exhausted_notice(self, agent: &AgentId, reason: &str) -> String {
        msg::society_budget_notice(self.0, agent, reason)
    }
}
