//! Context window of a member: the serialized messages of its conversation, ready to be sent to the model,
//! with an estimate of their token count.
//!
//! A prompt consists of the system message (head), the newest summary, all entries since then, and the status
//! message (tail). Where it is cut when it grows too long is decided by [compaction](crate::compaction).
//!
//! The prompt is one string of JSON objects separated by commas, not a tree of values. It is assembled from
//! texts for speed: a conversation is sent again with every request and grows to hundreds of kilobytes, so
//! serializing it each time would cost more than copying its bytes (`docs/benchmarks.md` measures the CPU
//! time per turn). Between compactions the string only grows at its end, so a new entry moves nothing. The
//! prefix also stays identical byte for byte, which the prompt caches of providers require. The texts cannot
//! break the JSON: each one was serialized by serde, or validated when it was read ([`RawJson`]).

use polis_core::RawJson;
use polis_core::society::turn::{ConversationEntry, ModelUsage};

/// Bytes per two tokens: about 3.5 bytes per token, for English and Chinese alike.
const BYTES_PER_TWO_TOKENS: u64 = 7;

/// Estimates the number of tokens in a text of this many bytes.
pub fn tokens_for_bytes(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(2) / BYTES_PER_TWO_TOKENS
}

/// Kind of a context entry. Tool results must not come first after a cut; all other kinds may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextEntryKind {
    /// Messages that the member received.
    Received,
    /// A response of the model, with its number of tool calls.
    Response(usize),
    /// The result of a tool call.
    ToolResult,
    /// A note of the runtime.
    Note,
}

/// A message of the conversation: its kind, and where its JSON text is in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextEntry {
    /// The turn it belongs to.
    pub turn: u64,
    /// What the entry contains.
    pub kind: ContextEntryKind,
    /// Byte offset where its text begins.
    pub start: usize,
    /// Byte offset where its text ends.
    pub end: usize,
}

/// The context window of a member.
#[derive(Debug, Clone, Default)]
pub struct ContextWindow {
    /// Head, summary and conversation; also the tail while a prompt is in use.
    text: String,
    /// Where the head ends.
    head_end: usize,
    /// Where the conversation begins: after the head and the summary.
    conversation_start: usize,
    /// Where the conversation ends.
    conversation_end: usize,
    /// The entries of the conversation, in order.
    entries: Vec<ContextEntry>,
    /// Tokens of the text before `reported_up_to`, as reported by the model.
    reported_tokens: u64,
    /// The offset up to which `reported_tokens` counts.
    reported_up_to: usize,
    /// Bytes sent with every prompt in addition to the messages: the tool definitions.
    tool_definition_bytes: usize,
}

impl ContextWindow {
    /// Creates an empty context with this head (messages joined by commas) and this many bytes of tool
    /// definitions.
    pub fn new(head: &str, tool_definition_bytes: usize) -> Self {
        Self {
            text: head.to_owned(),
            head_end: head.len(),
            conversation_start: head.len(),
            conversation_end: head.len(),
            entries: Vec::new(),
            reported_tokens: 0,
            reported_up_to: 0,
            tool_definition_bytes,
        }
    }

    /// Replaces the head (the system message), and shifts the offsets of all entries.
    pub fn set_head(&mut self, head: &str) {
        if self.text.get(..self.head_end) == Some(head) {
            return;
        }
        self.text.truncate(self.conversation_end);
        self.text.replace_range(..self.head_end, head);
        let (old, new) = (self.head_end, head.len());
        let shift = |at: usize| at.saturating_sub(old).saturating_add(new);
        for entry in &mut self.entries {
            entry.start = shift(entry.start);
            entry.end = shift(entry.end);
        }
        self.conversation_start = shift(self.conversation_start);
        self.conversation_end = shift(self.conversation_end);
        self.reported_up_to = match self.reported_up_to {
            0 => 0,
            at => shift(at),
        };
        self.head_end = new;
    }

    /// Adds an entry of this turn. A summary replaces the earlier one; it removes no turns
    /// ([`drop_turns_before`](Self::drop_turns_before)).
    pub fn push_entry(&mut self, turn: u64, entry: &ConversationEntry) {
        let (kind, message) = match entry {
            ConversationEntry::Received { message, .. } => (ContextEntryKind::Received, message),
            ConversationEntry::Response { message, .. } => (
                ContextEntryKind::Response(count_tool_calls(message)),
                message,
            ),
            ConversationEntry::ToolResult { message, .. } => {
                (ContextEntryKind::ToolResult, message)
            }
            ConversationEntry::Note { message } => (ContextEntryKind::Note, message),
            ConversationEntry::Summary { message, .. } => {
                return self.set_summary(message.as_str());
            }
        };
        self.text.truncate(self.conversation_end);
        self.text.push(',');
        let from = self.text.len();
        self.text.push_str(message.as_str());
        self.conversation_end = self.text.len();
        self.entries.push(ContextEntry {
            turn,
            kind,
            start: from,
            end: self.conversation_end,
        });
        if let ConversationEntry::Response { usage, .. } = entry {
            self.record_usage(usage);
        }
    }

    /// Takes over the token count reported by the model, if it reported one.
    fn record_usage(&mut self, usage: &ModelUsage) {
        if !usage.estimated {
            self.reported_tokens = usage.prompt.saturating_add(usage.response);
            self.reported_up_to = self.conversation_end;
        }
    }

    /// Inserts a summary before the conversation, replacing an older one.
    fn set_summary(&mut self, message: &str) {
        let conversation = self
            .text
            .get(self.conversation_start..self.conversation_end)
            .unwrap_or_default()
            .to_owned();
        let old = self.conversation_start;
        self.text.truncate(self.head_end);
        self.text.push(',');
        self.text.push_str(message);
        self.conversation_start = self.text.len();
        self.text.push_str(&conversation);
        self.conversation_end = self.text.len();
        let new = self.conversation_start;
        for entry in &mut self.entries {
            entry.start = entry.start.saturating_sub(old).saturating_add(new);
            entry.end = entry.end.saturating_sub(old).saturating_add(new);
        }
        self.reset_token_count();
    }

    /// Removes all entries before this turn; summaries stay.
    pub fn drop_turns_before(&mut self, since: u64) {
        let first = self.entries.partition_point(|entry| entry.turn < since);
        if first == 0 {
            return;
        }
        // Each entry is preceded by a comma.
        let from = self
            .entries
            .get(first)
            .map_or(self.conversation_end, |entry| entry.start.saturating_sub(1));
        self.text.truncate(self.conversation_end);
        self.text.replace_range(self.conversation_start..from, "");
        let removed = from.saturating_sub(self.conversation_start);
        self.entries.drain(..first);
        for entry in &mut self.entries {
            entry.start = entry.start.saturating_sub(removed);
            entry.end = entry.end.saturating_sub(removed);
        }
        self.conversation_end = self.text.len();
        self.reset_token_count();
    }

    /// Discards the reported token count: the text it refers to has changed.
    fn reset_token_count(&mut self) {
        self.reported_tokens = 0;
        self.reported_up_to = 0;
    }

    /// Returns the prompt: the whole context, followed by a tail (messages joined by commas) that is not
    /// kept.
    pub fn render_prompt(&mut self, tail: &str) -> &str {
        self.text.truncate(self.conversation_end);
        if !tail.is_empty() {
            self.text.push(',');
            self.text.push_str(tail);
        }
        &self.text
    }

    /// Estimates the number of tokens: the count last reported by the model, plus an estimate for all entries
    /// since.
    pub fn estimated_tokens(&self) -> u64 {
        if self.reported_up_to == 0 {
            return tokens_for_bytes(
                self.conversation_end
                    .saturating_add(self.tool_definition_bytes),
            );
        }
        let since = self.conversation_end.saturating_sub(self.reported_up_to);
        self.reported_tokens.saturating_add(tokens_for_bytes(since))
    }

    /// Returns the entries of the conversation.
    pub fn entries(&self) -> &[ContextEntry] {
        &self.entries
    }

    /// Returns the message of an entry.
    pub fn entry_text(&self, entry: &ContextEntry) -> &str {
        self.text.get(entry.start..entry.end).unwrap_or_default()
    }

    /// Returns the message of the summary, if there is one.
    pub fn summary(&self) -> Option<&str> {
        let from = self.head_end.saturating_add(1);
        self.text.get(from..self.conversation_start)
    }

    /// Returns the head: the system message as JSON.
    pub fn head(&self) -> &str {
        self.text.get(..self.head_end).unwrap_or_default()
    }

    /// Returns the size of head and tool definitions in bytes, which compaction cannot reduce.
    pub fn fixed_bytes(&self) -> usize {
        self.head_end.saturating_add(self.tool_definition_bytes)
    }

    /// Returns the size of the conversation from this entry on, in bytes.
    pub fn bytes_from_entry(&self, index: usize) -> usize {
        self.entries
            .get(index)
            .map_or(0, |entry| self.conversation_end.saturating_sub(entry.start))
    }
}

/// Returns the number of tool calls in a response.
fn count_tool_calls(message: &RawJson) -> usize {
    #[derive(serde::Deserialize)]
    struct ToolCallArray<'a> {
        #[serde(borrow, default)]
        tool_calls: Vec<&'a serde_json::value::RawValue>,
    }
    // Skips parsing for messages without this key, which have no calls.
    if !message.as_str().contains("\"tool_calls\"") {
        return 0;
    }
    message
        .parse_as::<ToolCallArray<'_>>()
        .map_or(0, |parsed| parsed.tool_calls.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_raw(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    fn received_entry(text: &str) -> ConversationEntry {
        ConversationEntry::Received {
            ids: vec![1],
            message: parse_raw(text),
        }
    }

    fn response_entry(text: &str, tokens: u64) -> ConversationEntry {
        ConversationEntry::Response {
            message: parse_raw(text),
            usage: ModelUsage {
                prompt: tokens,
                estimated: tokens == 0,
                ..ModelUsage::default()
            },
            dropped: 0,
        }
    }

    #[test]
    fn prompt_has_head_conversation_and_tail_and_tail_is_discarded() {
        let mut context = ContextWindow::new("1", 0);
        assert_eq!(context.render_prompt("9"), "1,9");
        context.push_entry(0, &received_entry("2"));
        context.push_entry(0, &response_entry("3", 0));
        assert_eq!(context.render_prompt("8,9"), "1,2,3,8,9");
        assert_eq!(context.render_prompt(""), "1,2,3");
        context.set_head("10,11");
        assert_eq!(context.render_prompt("9"), "10,11,2,3,9");
        assert_eq!(context.entry_text(&context.entries()[1]), "3");
    }

    #[test]
    fn summary_precedes_the_conversation_and_replaces_an_older_one() {
        let mut context = ContextWindow::new("1", 0);
        for (turn, text) in ["2", "3", "4"].iter().enumerate() {
            context.push_entry(turn as u64, &received_entry(text));
        }
        let summary_entry = |text: &str| ConversationEntry::Summary {
            message: parse_raw(text),
            usage: ModelUsage::default(),
        };
        context.push_entry(3, &summary_entry("70"));
        context.drop_turns_before(2);
        assert_eq!(context.render_prompt(""), "1,70,4");
        assert_eq!(context.summary(), Some("70"));
        context.push_entry(4, &received_entry("5"));
        context.push_entry(5, &summary_entry("8"));
        context.drop_turns_before(5);
        context.set_head("11");
        assert_eq!(context.render_prompt("9"), "11,8,9");
        context.push_entry(6, &received_entry("6"));
        assert_eq!(context.render_prompt(""), "11,8,6");
        assert_eq!(context.entry_text(&context.entries()[0]), "6");
    }

    #[test]
    fn token_count_is_reported_usage_plus_estimate_of_later_entries() {
        let mut context = ContextWindow::new(&"1".repeat(70), 70);
        assert_eq!(context.estimated_tokens(), 40);
        context.push_entry(0, &response_entry("1", 1_000));
        assert_eq!(context.estimated_tokens(), 1_000);
        context.push_entry(1, &received_entry(&"2".repeat(69)));
        assert_eq!(context.estimated_tokens(), 1_020);
        context.drop_turns_before(1);
        assert!(
            context.estimated_tokens() < 100,
            "{}",
            context.estimated_tokens()
        );
    }
}
