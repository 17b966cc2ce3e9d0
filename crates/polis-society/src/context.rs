//! Context of a member: the serialised messages of its conversation, ready to be sent to the model, with an estimate of
//! their token count.
//!
//! A prompt consists of the system message (head), the newest summary, all entries since then, and the status message
//! (tail). All of it is one string that only grows at its end, so a further request copies nothing. Where it is cut
//! when it grows too long is decided in [`compact`](crate::compact).

use polis_core::Raw;
use polis_core::society::turn::{Entry, Used};

/// Bytes per two tokens: about 3.5 bytes per token, for English and Chinese alike.
const BYTES_OF_TWO_TOKENS: u64 = 7;

/// Estimates the number of tokens in a text of this many bytes.
pub fn estimate(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(2) / BYTES_OF_TWO_TOKENS
}

/// Kind of an entry. Distinguishes tool results, which must not come first after a cut, from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Messages that the member received.
    Heard,
    /// A response of the model, with its number of tool calls.
    Said(usize),
    /// The result of a tool call.
    Did,
    /// A note of the runtime.
    Told,
}

/// Position and kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The turn it belongs to.
    pub turn: u64,
    /// Its kind.
    pub sort: Sort,
    /// Byte offset where its text begins.
    pub from: usize,
    /// Byte offset where its text ends.
    pub to: usize,
}

/// The context of a member.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Head, summary and conversation; also the tail while a prompt is in use.
    text: String,
    /// Where the head ends.
    head: usize,
    /// Where the conversation begins: after the head and the summary.
    begin: usize,
    /// Where the conversation ends.
    end: usize,
    /// The entries of the conversation, in order.
    marks: Vec<Mark>,
    /// Tokens of everything up to `counted`, as reported by the model.
    tokens: u64,
    /// The offset up to which `tokens` counts.
    counted: usize,
    /// Bytes sent with every prompt in addition to the messages: the tool definitions.
    beside: usize,
}

impl Context {
    /// Creates an empty context with this head (messages joined by commas) and `beside` bytes of tool definitions.
    pub fn new(head: &str, beside: usize) -> Self {
        Self {
            text: head.to_owned(),
            head: head.len(),
            begin: head.len(),
            end: head.len(),
            marks: Vec::new(),
            tokens: 0,
            counted: 0,
            beside,
        }
    }

    /// Replaces the head.
    pub fn set_head(&mut self, head: &str) {
        if self.text.get(..self.head) == Some(head) {
            return;
        }
        self.text.truncate(self.end);
        self.text.replace_range(..self.head, head);
        let (old, new) = (self.head, head.len());
        let moved = |at: usize| at.saturating_sub(old).saturating_add(new);
        for mark in &mut self.marks {
            mark.from = moved(mark.from);
            mark.to = moved(mark.to);
        }
        self.begin = moved(self.begin);
        self.end = moved(self.end);
        self.counted = match self.counted {
            0 => 0,
            at => moved(at),
        };
        self.head = new;
    }

    /// Adds an entry of this turn.
    pub fn add(&mut self, turn: u64, entry: &Entry) {
        let (sort, message) = match entry {
            Entry::Heard { m, .. } => (Sort::Heard, m),
            Entry::Said { m, .. } => (Sort::Said(calls_in(m)), m),
            Entry::Did { m, .. } => (Sort::Did, m),
            Entry::Told { m } => (Sort::Told, m),
            Entry::Summed { m, .. } => return self.set_summary(m.text()),
        };
        self.text.truncate(self.end);
        self.text.push(',');
        let from = self.text.len();
        self.text.push_str(message.text());
        self.end = self.text.len();
        self.marks.push(Mark {
            turn,
            sort,
            from,
            to: self.end,
        });
        if let Entry::Said { used, .. } = entry {
            self.count(used);
        }
    }

    /// Takes over the token count reported by the model, if it reported one.
    fn count(&mut self, used: &Used) {
        if !used.estimated {
            self.tokens = used.prompt.saturating_add(used.answer);
            self.counted = self.end;
        }
    }

    /// Inserts a summary before the conversation, replacing an older one.
    fn set_summary(&mut self, message: &str) {
        let kept = self
            .text
            .get(self.begin..self.end)
            .unwrap_or_default()
            .to_owned();
        let old = self.begin;
        self.text.truncate(self.head);
        self.text.push(',');
        self.text.push_str(message);
        self.begin = self.text.len();
        self.text.push_str(&kept);
        self.end = self.text.len();
        let new = self.begin;
        for mark in &mut self.marks {
            mark.from = mark.from.saturating_sub(old).saturating_add(new);
            mark.to = mark.to.saturating_sub(old).saturating_add(new);
        }
        self.uncount();
    }

    /// Removes all entries before this turn; summaries stay.
    pub fn cut(&mut self, since: u64) {
        let first = self.marks.partition_point(|mark| mark.turn < since);
        if first == 0 {
            return;
        }
        // Each entry is preceded by a comma.
        let from = self
            .marks
            .get(first)
            .map_or(self.end, |mark| mark.from.saturating_sub(1));
        self.text.truncate(self.end);
        self.text.replace_range(self.begin..from, "");
        let gone = from.saturating_sub(self.begin);
        self.marks.drain(..first);
        for mark in &mut self.marks {
            mark.from = mark.from.saturating_sub(gone);
            mark.to = mark.to.saturating_sub(gone);
        }
        self.end = self.text.len();
        self.uncount();
    }

    fn uncount(&mut self) {
        self.tokens = 0;
        self.counted = 0;
    }

    /// Returns the prompt: the whole context, followed by a tail (messages joined by commas) that is not kept.
    pub fn prompt(&mut self, tail: &str) -> &str {
        self.text.truncate(self.end);
        if !tail.is_empty() {
            self.text.push(',');
            self.text.push_str(tail);
        }
        &self.text
    }

    /// Estimates the number of tokens: the count last reported by the model, plus an estimate for all entries since.
    pub fn tokens(&self) -> u64 {
        if self.counted == 0 {
            return estimate(self.end.saturating_add(self.beside));
        }
        let since = self.end.saturating_sub(self.counted);
        self.tokens.saturating_add(estimate(since))
    }

    /// Returns the entries of the conversation.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the message of an entry.
    pub fn message(&self, mark: &Mark) -> &str {
        self.text.get(mark.from..mark.to).unwrap_or_default()
    }

    /// Returns the message of the summary, if there is one.
    pub fn summary(&self) -> Option<&str> {
        let from = self.head.saturating_add(1);
        self.text.get(from..self.begin)
    }

    /// Returns the head.
    pub fn head(&self) -> &str {
        self.text.get(..self.head).unwrap_or_default()
    }

    /// Returns the size of head and tool definitions in bytes, which compaction cannot reduce.
    pub fn fixed(&self) -> usize {
        self.head.saturating_add(self.beside)
    }

    /// Returns the size of the conversation from this entry on, in bytes.
    pub fn bytes_from(&self, mark: usize) -> usize {
        self.marks
            .get(mark)
            .map_or(0, |mark| self.end.saturating_sub(mark.from))
    }
}

/// Returns the number of tool calls in a response.
fn calls_in(message: &Raw) -> usize {
    #[derive(serde::Deserialize)]
    struct Said<'a> {
        #[serde(borrow, default)]
        tool_calls: Vec<&'a serde_json::value::RawValue>,
    }
    // Skips parsing for messages without this key, which have no calls.
    if !message.text().contains("\"tool_calls\"") {
        return 0;
    }
    message
        .to::<Said<'_>>()
        .map_or(0, |said| said.tool_calls.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse(text).unwrap()
    }

    fn heard(text: &str) -> Entry {
        Entry::Heard {
            ids: vec![1],
            m: raw(text),
        }
    }

    fn said(text: &str, tokens: u64) -> Entry {
        Entry::Said {
            m: raw(text),
            used: Used {
                prompt: tokens,
                estimated: tokens == 0,
                ..Used::default()
            },
            dropped: 0,
        }
    }

    #[test]
    fn a_prompt_is_head_conversation_and_tail_and_the_tail_is_not_kept() {
        let mut context = Context::new("1", 0);
        assert_eq!(context.prompt("9"), "1,9");
        context.add(0, &heard("2"));
        context.add(0, &said("3", 0));
        assert_eq!(context.prompt("8,9"), "1,2,3,8,9");
        assert_eq!(context.prompt(""), "1,2,3");
        context.set_head("10,11");
        assert_eq!(context.prompt("9"), "10,11,2,3,9");
        assert_eq!(context.message(&context.marks()[1]), "3");
    }

    #[test]
    fn a_summary_stands_in_front_and_replaces_an_older_one() {
        let mut context = Context::new("1", 0);
        for (turn, text) in ["2", "3", "4"].iter().enumerate() {
            context.add(turn as u64, &heard(text));
        }
        let summed = |text: &str| Entry::Summed {
            m: raw(text),
            used: Used::default(),
        };
        context.add(3, &summed("70"));
        context.cut(2);
        assert_eq!(context.prompt(""), "1,70,4");
        assert_eq!(context.summary(), Some("70"));
        context.add(4, &heard("5"));
        context.add(5, &summed("8"));
        context.cut(5);
        context.set_head("11");
        assert_eq!(context.prompt("9"), "11,8,9");
        context.add(6, &heard("6"));
        assert_eq!(context.prompt(""), "11,8,6");
        assert_eq!(context.message(&context.marks()[0]), "6");
    }

    #[test]
    fn tokens_are_what_the_model_said_and_an_estimate_of_the_rest() {
        let mut context = Context::new(&"1".repeat(70), 70);
        assert_eq!(context.tokens(), 40);
        context.add(0, &said("1", 1_000));
        assert_eq!(context.tokens(), 1_000);
        context.add(1, &heard(&"2".repeat(69)));
        assert_eq!(context.tokens(), 1_020);
        context.cut(1);
        assert!(context.tokens() < 100, "{}", context.tokens());
    }
}
