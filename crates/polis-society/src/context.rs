//! What of a conversation is in a member's context: texts, one after another, ready to be sent.
//!
//! A prompt is what the member is told always (the head), the newest summary, everything since, and what holds
//! only at this moment (the tail). All of it is one text that grows at its end, so asking again copies nothing.
//! Where it is cut when it grows too long is decided in [`compact`](crate::compact).

use polis_core::Raw;
use polis_core::society::turn::{Entry, Used};

/// Bytes of text that make a token, times two: about 3.5, for English and Chinese alike.
const BYTES_OF_TWO_TOKENS: u64 = 7;

/// About how many tokens so many bytes are.
pub fn estimate(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(2) / BYTES_OF_TWO_TOKENS
}

/// What sort of entry it is; those that may come first after a cut are told apart from results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Messages it heard.
    Heard,
    /// An answer of the model, and how many calls it asks for.
    Said(usize),
    /// The result of a call.
    Did,
    /// A note of the runtime.
    Told,
}

/// Where an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The turn it is of.
    pub turn: u64,
    /// What it is.
    pub sort: Sort,
    /// Where its text begins.
    pub from: usize,
    /// Where its text ends.
    pub to: usize,
}

/// A member's context.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Head, summary and conversation; while a prompt is out, the tail too.
    text: String,
    /// Where the head ends.
    head: usize,
    /// Where the conversation begins: after the head and the summary.
    begin: usize,
    /// Where the conversation ends.
    end: usize,
    /// What is in the conversation, in order.
    marks: Vec<Mark>,
    /// Tokens of everything up to `counted`, as the model said.
    tokens: u64,
    /// Up to where `tokens` is about.
    counted: usize,
    /// Bytes that go along with every prompt beside the messages: the tools.
    beside: usize,
}

impl Context {
    /// An empty context with this head (messages, joined by commas) and so many bytes of tools.
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

    /// Says something else at the beginning from now on.
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

    /// Everything so far has as many tokens as the model said, if it did.
    fn count(&mut self, used: &Used) {
        if !used.estimated {
            self.tokens = used.prompt.saturating_add(used.answer);
            self.counted = self.end;
        }
    }

    /// Puts a summary in front of the conversation, in the place of an older one.
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

    /// Leaves out everything before this turn; summaries stay.
    pub fn cut(&mut self, since: u64) {
        let first = self.marks.partition_point(|mark| mark.turn < since);
        if first == 0 {
            return;
        }
        // A comma stands before every entry.
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

    /// The prompt: everything, and a tail (messages, joined by commas) that is not kept.
    pub fn prompt(&mut self, tail: &str) -> &str {
        self.text.truncate(self.end);
        if !tail.is_empty() {
            self.text.push(',');
            self.text.push_str(tail);
        }
        &self.text
    }

    /// About how many tokens it has: as the model last said, and an estimate of what came since.
    pub fn tokens(&self) -> u64 {
        if self.counted == 0 {
            return estimate(self.end.saturating_add(self.beside));
        }
        let since = self.end.saturating_sub(self.counted);
        self.tokens.saturating_add(estimate(since))
    }

    /// What is in the conversation.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// An entry's message.
    pub fn message(&self, mark: &Mark) -> &str {
        self.text.get(mark.from..mark.to).unwrap_or_default()
    }

    /// The summary's message, if there is one.
    pub fn summary(&self) -> Option<&str> {
        let from = self.head.saturating_add(1);
        self.text.get(from..self.begin)
    }

    /// The head.
    pub fn head(&self) -> &str {
        self.text.get(..self.head).unwrap_or_default()
    }

    /// How many bytes head and tools have, which no cut makes smaller.
    pub fn fixed(&self) -> usize {
        self.head.saturating_add(self.beside)
    }

    /// How many bytes the conversation has from this mark on.
    pub fn bytes_from(&self, mark: usize) -> usize {
        self.marks
            .get(mark)
            .map_or(0, |mark| self.end.saturating_sub(mark.from))
    }
}

/// How many calls an answer asks for.
fn calls_in(message: &Raw) -> usize {
    #[derive(serde::Deserialize)]
    struct Said<'a> {
        #[serde(borrow, default)]
        tool_calls: Vec<&'a serde_json::value::RawValue>,
    }
    // A text without the word has none, and most of the work is saved.
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
