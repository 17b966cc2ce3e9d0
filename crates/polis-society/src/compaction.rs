//! Context compaction: decides when a context is too long, where to cut it, and what replaces the removed
//! part (a summary by the model, or a digest made without it).
//!
//! Pure. A cut is always before an entry that begins a step, so no tool result is separated from its call.
//! Each further attempt removes more, down to a short digest made without a model: compaction always succeeds
//! unless the system message and the tools alone are too long.

use polis_core::number::saturating_cast;
use polis_i18n::{UiLanguage, msg};

use crate::chat_message;
use crate::context_window::{ContextEntryKind, ContextWindow, tokens_for_bytes};
use crate::runtime_messages::RuntimeMessages;

/// Compaction begins when the context reaches this many tenths of its limit.
const COMPACTION_THRESHOLD_TENTHS: u64 = 7;
/// The newest turns are kept unchanged as far as they fit into the limit divided by this: a fifth.
const KEPT_LIMIT_DIVISOR: u64 = 5;
/// The last step is kept unchanged if it fits into the limit divided by this: a quarter.
const LAST_STEP_LIMIT_DIVISOR: u64 = 4;
/// Minimum length of a shortened entry, in bytes.
const MIN_ENTRY_BYTES: usize = 160;
/// Minimum size of a digest, in bytes; if that does not fit, compaction is impossible.
const MIN_DIGEST_BYTES: usize = 400;

/// How a context is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionPlan {
    /// Ask the model for a summary.
    Summarise(SummaryRequest),
    /// Replace the whole conversation by this text.
    Digest(String),
    /// The system message and the tools alone are too long.
    Impossible,
}

/// A request for a summary of the turns before `since`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The first turn that is kept.
    pub since: u64,
    /// The messages of the request; `None` for the normal prompt with the question appended.
    pub messages: Option<String>,
}

/// Returns whether a context has to be compacted before the next model request.
pub fn is_compaction_needed(tokens: u64, limit: u64) -> bool {
    tokens.saturating_mul(10) >= limit.saturating_mul(COMPACTION_THRESHOLD_TENTHS)
}

/// Returns the plan of the `attempt`th compaction (from 0) of a context. `limit` is the context limit in
/// tokens, and `next` the number of the turn that is not committed yet.
pub fn plan_compaction(
    context: &ContextWindow,
    limit: u64,
    attempt: u32,
    next: u64,
    words: RuntimeMessages,
) -> CompactionPlan {
    let steps = step_starts(context);
    let last = steps.last().copied().unwrap_or(0);
    if attempt == 0 {
        let small = |step: &&usize| {
            tokens_for_bytes(context.bytes_from_entry(**step)) <= limit / KEPT_LIMIT_DIVISOR
        };
        let first_kept = steps.iter().find(small).copied().unwrap_or(last);
        // The request for the summary and the response need room.
        if first_kept > 0
            && context.estimated_tokens().saturating_mul(20) <= limit.saturating_mul(19)
        {
            return CompactionPlan::Summarise(SummaryRequest {
                since: turn_of_entry(context, first_kept, next),
                messages: None,
            });
        }
    }
    if attempt <= 1 {
        let fits =
            tokens_for_bytes(context.bytes_from_entry(last)) <= limit / LAST_STEP_LIMIT_DIVISOR;
        let first_kept = if fits && last > 0 {
            last
        } else {
            context.entries().len()
        };
        let room = bytes_for_tokens(limit / 2).saturating_sub(context.fixed_bytes());
        let text = format!(
            "{}\n\n{}\n{}",
            words.transcript_intro(),
            render_transcript(context, first_kept, room, words.0),
            words.summary_request()
        );
        let messages = format!(
            "{},{}",
            context.head(),
            chat_message::user_message(&text).as_str()
        );
        return CompactionPlan::Summarise(SummaryRequest {
            since: turn_of_entry(context, first_kept, next),
            messages: Some(messages),
        });
    }
    let halvings = attempt.saturating_sub(1).min(40);
    let room = bytes_for_tokens(limit.checked_shr(halvings).unwrap_or(0))
        .saturating_sub(context.fixed_bytes() / 2);
    if room < MIN_DIGEST_BYTES && attempt > 2 {
        return CompactionPlan::Impossible;
    }
    let room = room.max(MIN_DIGEST_BYTES);
    let text = render_transcript(context, context.entries().len(), room, words.0);
    CompactionPlan::Digest(format!("{}\n{text}", words.digest_header()))
}

/// Estimates the size in bytes of a text with this many tokens.
fn bytes_for_tokens(tokens: u64) -> usize {
    saturating_cast::<usize>(tokens.saturating_mul(7) / 2)
}

/// Returns where steps begin: at the first entry of a turn, unless it is a tool result.
fn step_starts(context: &ContextWindow) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, entry) in context.entries().iter().enumerate() {
        if before != Some(entry.turn) && entry.kind != ContextEntryKind::ToolResult {
            found.push(at);
        }
        before = Some(entry.turn);
    }
    found
}

/// Returns the turn of an entry, or `next` if the index is after the last entry.
fn turn_of_entry(context: &ContextWindow, index: usize, next: u64) -> u64 {
    context
        .entries()
        .get(index)
        .map_or(next, |entry| entry.turn)
}

/// Returns the summary and the entries before index `until` in about `room` bytes at most. Each entry is
/// shortened, and the newest entries are included first.
fn render_transcript(
    context: &ContextWindow,
    until: usize,
    room: usize,
    lang: UiLanguage,
) -> String {
    let summary = context.summary().map(chat_message::message_content);
    let summary = summary.map(|text| shorten_middle(&text, room / 3, lang));
    let mut left = room.saturating_sub(summary.as_ref().map_or(0, String::len));
    let marks = context.entries().get(..until).unwrap_or_default();
    let entry_limit = (left / marks.len().clamp(1, 24)).max(MIN_ENTRY_BYTES);
    let mut lines = Vec::new();
    for entry in marks.iter().rev() {
        let line = shorten_middle(context.entry_text(entry), entry_limit, lang);
        if line.len() > left {
            break;
        }
        left = left.saturating_sub(line.len().saturating_add(1));
        lines.push(line);
    }
    lines.extend(summary);
    lines.reverse();
    lines.join("\n")
}

/// Returns a text that is longer than `limit` bytes as its beginning and its end, with a mark in between that
/// tells how many bytes are missing; a shorter text unchanged.
pub(crate) fn shorten_middle(text: &str, limit: usize, lang: UiLanguage) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let head = text
        .get(..text.floor_char_boundary(half))
        .unwrap_or_default();
    let from = text.ceil_char_boundary(text.len().saturating_sub(half));
    let tail = text.get(from..).unwrap_or_default();
    let removed = text.len().saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", msg::society_bytes_removed(lang, removed))
}

#[cfg(test)]
mod tests {
    use polis_core::RawJson;
    use polis_core::society::turn::{CallOutcome, ConversationEntry, ModelUsage};
    use proptest::prelude::*;

    use super::*;

    const RUNTIME_MESSAGES: RuntimeMessages = RuntimeMessages(UiLanguage::En);

    fn response_entry(calls: usize) -> ConversationEntry {
        let calls: Vec<_> = (0..calls)
            .map(|n| serde_json::json!({"id": n.to_string()}))
            .collect();
        let m = serde_json::json!({"role":"assistant","content":null,"tool_calls":calls});
        ConversationEntry::Response {
            message: RawJson::from_value(&m).unwrap(),
            usage: ModelUsage {
                estimated: true,
                ..ModelUsage::default()
            },
            dropped: 0,
        }
    }

    fn tool_result_entry(size: usize) -> ConversationEntry {
        ConversationEntry::ToolResult {
            message: chat_message::tool_message("0", &"x".repeat(size)),
            outcome: CallOutcome::Ok,
            ms: 0,
        }
    }

    fn received_entry(size: usize) -> ConversationEntry {
        ConversationEntry::Received {
            ids: vec![1],
            message: chat_message::user_message(&"y".repeat(size)),
        }
    }

    /// A conversation of steps with one call each, whose results have these sizes.
    fn build_conversation(sizes: &[usize]) -> (ContextWindow, u64) {
        let mut context = ContextWindow::new(chat_message::system_message("be good").as_str(), 0);
        let mut turn = 0;
        context.push_entry(turn, &received_entry(10));
        for (n, size) in sizes.iter().enumerate() {
            context.push_entry(turn, &response_entry(1));
            // Every other result is in a separate turn.
            if n % 2 == 1 {
                turn += 1;
            }
            context.push_entry(turn, &tool_result_entry(*size));
            turn += 1;
        }
        (context, turn)
    }

    #[test]
    fn compaction_is_needed_at_seven_tenths_of_the_limit() {
        assert!(!is_compaction_needed(699, 1_000));
        assert!(is_compaction_needed(700, 1_000));
        assert!(is_compaction_needed(1, 0));
    }

    #[test]
    fn first_attempt_keeps_the_newest_fifth() {
        let (context, next) = build_conversation(&[700; 10]);
        let limit = tokens_for_bytes(10 * 800) * 10 / 7;
        let CompactionPlan::Summarise(SummaryRequest { since, messages }) =
            plan_compaction(&context, limit, 0, next, RUNTIME_MESSAGES)
        else {
            panic!("the model is asked");
        };
        assert_eq!(messages, None);
        assert!(since > 5 && since < next, "{since} of {next}");
    }

    #[test]
    fn single_oversized_step_is_shortened() {
        let (context, next) = build_conversation(&[100_000]);
        let CompactionPlan::Summarise(SummaryRequest { since, messages }) =
            plan_compaction(&context, 10_000, 0, next, RUNTIME_MESSAGES)
        else {
            panic!("the model is asked");
        };
        assert_eq!(since, next);
        assert!(tokens_for_bytes(messages.unwrap().len()) < 6_000);
    }

    #[test]
    fn further_attempts_remove_more_until_impossible() {
        let (context, next) = build_conversation(&[5_000; 20]);
        let mut before = usize::MAX;
        for attempt in 2.. {
            match plan_compaction(&context, 10_000, attempt, next, RUNTIME_MESSAGES) {
                CompactionPlan::Digest(text) => {
                    assert!(text.len() < before, "{attempt}");
                    before = text.len();
                }
                CompactionPlan::Impossible => return assert!(attempt > 4),
                CompactionPlan::Summarise(_) => panic!("no model helps here"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// After a cut each tool result still follows its response, and each response still has all its
        /// results.
        #[test]
        fn compaction_never_separates_calls_from_results(
            sizes in prop::collection::vec(1_usize..5_000, 0..30),
            limit in 100_u64..20_000,
            attempt in 0_u32..6,
        ) {
            let (mut context, next) = build_conversation(&sizes);
            let since = match plan_compaction(&context, limit, attempt, next, RUNTIME_MESSAGES) {
                CompactionPlan::Summarise(summary) => summary.since,
                CompactionPlan::Digest(_) | CompactionPlan::Impossible => next,
            };
            context.drop_turns_before(since);
            let mut open = 0;
            for entry in context.entries() {
                match entry.kind {
                    ContextEntryKind::Response(calls) => {
                        prop_assert_eq!(open, 0);
                        open = calls;
                    }
                    ContextEntryKind::ToolResult => {
                        prop_assert!(open > 0);
                        open -= 1;
                    }
                    ContextEntryKind::Received | ContextEntryKind::Note => prop_assert_eq!(open, 0),
                }
            }
            prop_assert_eq!(open, 0);
        }
    }
}
