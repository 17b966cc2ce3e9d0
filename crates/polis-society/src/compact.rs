//! Context compaction: decides when a context is too long, where to cut it, and what replaces the removed part (a
//! summary by the model, or a digest made without it).
//!
//! Pure. A cut is always before an entry that begins a step, so no tool result is separated from its call. Each further
//! attempt removes more, down to a short digest made without a model: compaction always succeeds unless the system
//! message and the tools alone are too long.

use crate::context::{Context, Sort, estimate};
use crate::message;
use crate::words::Words;

/// Compaction begins when the context reaches this many tenths of its limit.
const TENTHS: u64 = 7;
/// A fifth of the limit is kept unchanged.
const KEPT: u64 = 5;
/// The last step may take a quarter of the limit to be kept unchanged.
const LAST_STEP: u64 = 4;
/// Minimum length of a shortened entry, in bytes.
const SHORTEST: usize = 160;
/// Minimum size of a digest, in bytes; if that does not fit, compaction is impossible.
const SMALLEST: usize = 400;

/// How a context is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Ask the model for a summary. Turns from `since` on are kept.
    Ask {
        /// The first turn that is kept.
        since: u64,
        /// The messages of the request; `None` for the normal prompt with the question appended.
        messages: Option<String>,
    },
    /// Replace the whole conversation by this text.
    Digest(String),
    /// The system message and the tools alone are too long.
    Hopeless,
}

/// Returns whether a context has to be compacted before the next model request.
pub fn needed(tokens: u64, limit: u64) -> bool {
    tokens.saturating_mul(10) >= limit.saturating_mul(TENTHS)
}

/// Plans the `attempt`th compaction (from 0) of a context. `next` is the turn that is not committed yet.
pub fn plan(context: &Context, limit: u64, attempt: u32, next: u64, words: Words) -> Plan {
    let steps = beginnings(context);
    let last = steps.last().copied().unwrap_or(0);
    if attempt == 0 {
        let small = |step: &&usize| estimate(context.bytes_from(**step)) <= limit / KEPT;
        let keep = steps.iter().find(small).copied().unwrap_or(last);
        // The request for the summary and the response need room.
        if keep > 0 && context.tokens().saturating_mul(20) <= limit.saturating_mul(19) {
            return Plan::Ask {
                since: turn_of(context, keep, next),
                messages: None,
            };
        }
    }
    if attempt <= 1 {
        let fits = estimate(context.bytes_from(last)) <= limit / LAST_STEP;
        let keep = match fits && last > 0 {
            true => last,
            false => context.marks().len(),
        };
        let room = bytes(limit / 2).saturating_sub(context.fixed());
        let text = format!(
            "{}\n\n{}\n{}",
            words.transcript(),
            transcript(context, keep, room),
            words.summarise()
        );
        let messages = format!("{},{}", context.head(), message::user(&text).text());
        return Plan::Ask {
            since: turn_of(context, keep, next),
            messages: Some(messages),
        };
    }
    let halvings = attempt.saturating_sub(1).min(40);
    let room = bytes(limit.checked_shr(halvings).unwrap_or(0)).saturating_sub(context.fixed() / 2);
    if room < SMALLEST && attempt > 2 {
        return Plan::Hopeless;
    }
    let room = room.max(SMALLEST);
    let text = transcript(context, context.marks().len(), room);
    Plan::Digest(format!("{}\n{text}", words.digest()))
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(7) / 2).unwrap_or(usize::MAX)
}

/// Returns where steps begin: at the first entry of a turn, unless it is a tool result.
fn beginnings(context: &Context) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, mark) in context.marks().iter().enumerate() {
        if before != Some(mark.turn) && mark.sort != Sort::Did {
            found.push(at);
        }
        before = Some(mark.turn);
    }
    found
}

fn turn_of(context: &Context, mark: usize, next: u64) -> u64 {
    context.marks().get(mark).map_or(next, |mark| mark.turn)
}

/// Returns the summary and the entries before this mark in about `room` bytes at most. Each entry is shortened, and the
/// newest entries are included first.
fn transcript(context: &Context, until: usize, room: usize) -> String {
    let summary = context.summary().map(message::content);
    let summary = summary.map(|text| shortened(&text, room / 3));
    let mut left = room.saturating_sub(summary.as_ref().map_or(0, String::len));
    let marks = context.marks().get(..until).unwrap_or_default();
    let each = (left / marks.len().clamp(1, 24)).max(SHORTEST);
    let mut lines = Vec::new();
    for mark in marks.iter().rev() {
        let line = shortened(context.message(mark), each);
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

/// Returns the beginning and the end of a text that is too long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head = text
        .get(..text.floor_char_boundary(half))
        .unwrap_or_default();
    let from = text.ceil_char_boundary(text.len().saturating_sub(half));
    let tail = text.get(from..).unwrap_or_default();
    let gone = text.len().saturating_sub(head.len() + tail.len());
    format!("{head}[… {gone} bytes …]{tail}")
}

#[cfg(test)]
mod tests {
    use polis_core::Raw;
    use polis_core::board::template_text::Language;
    use polis_core::society::turn::{CallEnd, Entry, Used};
    use proptest::prelude::*;

    use super::*;

    const WORDS: Words = Words(Language::En);

    fn said(calls: usize) -> Entry {
        let calls: Vec<_> = (0..calls)
            .map(|n| serde_json::json!({"id": n.to_string()}))
            .collect();
        let m = serde_json::json!({"role":"assistant","content":null,"tool_calls":calls});
        Entry::Said {
            m: Raw::of(&m).unwrap(),
            used: Used {
                estimated: true,
                ..Used::default()
            },
            dropped: 0,
        }
    }

    fn did(size: usize) -> Entry {
        Entry::Did {
            m: message::tool("0", &"x".repeat(size)),
            end: CallEnd::Ok,
            ms: 0,
        }
    }

    fn heard(size: usize) -> Entry {
        Entry::Heard {
            ids: vec![1],
            m: message::user(&"y".repeat(size)),
        }
    }

    /// A conversation of steps with one call each, whose results have these sizes.
    fn conversation(sizes: &[usize]) -> (Context, u64) {
        let mut context = Context::new(message::system("be good").text(), 0);
        let mut turn = 0;
        context.add(turn, &heard(10));
        for (n, size) in sizes.iter().enumerate() {
            context.add(turn, &said(1));
            // Every other result is in a separate turn.
            if n % 2 == 1 {
                turn += 1;
            }
            context.add(turn, &did(*size));
            turn += 1;
        }
        (context, turn)
    }

    #[test]
    fn it_is_needed_at_seven_tenths() {
        assert!(!needed(699, 1_000));
        assert!(needed(700, 1_000));
        assert!(needed(1, 0));
    }

    #[test]
    fn the_newest_fifth_stays() {
        let (context, next) = conversation(&[700; 10]);
        let limit = estimate(10 * 800) * 10 / 7;
        let Plan::Ask { since, messages } = plan(&context, limit, 0, next, WORDS) else {
            panic!("the model is asked");
        };
        assert_eq!(messages, None);
        assert!(since > 5 && since < next, "{since} of {next}");
    }

    #[test]
    fn one_step_that_is_too_long_is_cut_within() {
        let (context, next) = conversation(&[100_000]);
        let Plan::Ask { since, messages } = plan(&context, 10_000, 0, next, WORDS) else {
            panic!("the model is asked");
        };
        assert_eq!(since, next);
        assert!(estimate(messages.unwrap().len()) < 6_000);
    }

    #[test]
    fn further_tries_take_more_away_until_nothing_helps() {
        let (context, next) = conversation(&[5_000; 20]);
        let mut before = usize::MAX;
        for attempt in 2.. {
            match plan(&context, 10_000, attempt, next, WORDS) {
                Plan::Digest(text) => {
                    assert!(text.len() < before, "{attempt}");
                    before = text.len();
                }
                Plan::Hopeless => return assert!(attempt > 4),
                Plan::Ask { .. } => panic!("no model helps here"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// After a cut each tool result still follows its response, and each response still has all its results.
        #[test]
        fn calls_and_results_are_never_parted(
            sizes in prop::collection::vec(1_usize..5_000, 0..30),
            limit in 100_u64..20_000,
            attempt in 0_u32..6,
        ) {
            let (mut context, next) = conversation(&sizes);
            let since = match plan(&context, limit, attempt, next, WORDS) {
                Plan::Ask { since, .. } => since,
                Plan::Digest(_) | Plan::Hopeless => next,
            };
            context.cut(since);
            let mut open = 0;
            for mark in context.marks() {
                match mark.sort {
                    Sort::Said(calls) => {
                        prop_assert_eq!(open, 0);
                        open = calls;
                    }
                    Sort::Did => {
                        prop_assert!(open > 0);
                        open -= 1;
                    }
                    Sort::Heard | Sort::Told => prop_assert_eq!(open, 0),
                }
            }
            prop_assert_eq!(open, 0);
        }
    }
}
