//! Line diff of two texts, in linear time for long texts (histogram diff between patience-diff anchors).
//!
//! The diff algorithm is quadratic for some texts. So a long range is first split at the lines that occur
//! once in both texts (as in patience diff), and a piece that is still too long counts as changed completely.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput, Token};

use crate::number::saturating_cast;

/// Texts that differ in at most this many lines are compared as a whole.
const MAX_WHOLE_DIFF_LINES: usize = 20_000;

/// Maximum length, in lines, of a piece of a longer text that is compared in detail.
const MAX_PIECE_LINES: usize = 4096;

/// A range of lines of the old text, from 0, and the lines of the new text that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// Lines of the old text.
    pub old: Range<usize>,
    /// Lines of the new text.
    pub new: Range<usize>,
}

/// Returns the changes from one text to another, in order, separated by at least one unchanged line.
pub fn diff_lines(old: &str, new: &str) -> Vec<LineChange> {
    let input = InternedInput::new(old, new);
    let middle = trim_common_lines(&input, 0..input.before.len(), 0..input.after.len());
    if middle.old.len() + middle.new.len() <= MAX_WHOLE_DIFF_LINES {
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        return hunk_changes(&diff, 0, 0).collect();
    }
    let mut found = Vec::new();
    let (mut old_at, mut new_at) = (middle.old.start, middle.new.start);
    let ends = std::iter::once((middle.old.end, middle.new.end));
    for (old_end, new_end) in find_anchors(&input, &middle).into_iter().chain(ends) {
        let piece = trim_common_lines(&input, old_at..old_end, new_at..new_end);
        diff_piece(&input, piece, &mut found);
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
    found
}

/// Returns the ranges without their common first and last lines.
fn trim_common_lines(
    input: &InternedInput<&str>,
    old: Range<usize>,
    new: Range<usize>,
) -> LineChange {
    let (before, after) = (
        tokens_in_range(&input.before, &old),
        tokens_in_range(&input.after, &new),
    );
    let head = count_equal_pairs(before.iter().zip(after));
    let (before, after) = (
        before.get(head..).unwrap_or_default(),
        after.get(head..).unwrap_or_default(),
    );
    let tail = count_equal_pairs(before.iter().rev().zip(after.iter().rev()));
    LineChange {
        old: old.start + head..old.end - tail,
        new: new.start + head..new.end - tail,
    }
}

fn count_equal_pairs<'a>(pairs: impl Iterator<Item = (&'a Token, &'a Token)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

fn tokens_in_range<'a>(tokens: &'a [Token], range: &Range<usize>) -> &'a [Token] {
    tokens.get(range.clone()).unwrap_or_default()
}

/// Returns the lines that occur once in both ranges; of those, the longest sequence with the same order in
/// both.
fn find_anchors(input: &InternedInput<&str>, middle: &LineChange) -> Vec<(usize, usize)> {
    let old = line_occurrences(input, &input.before, &middle.old);
    let new = line_occurrences(input, &input.after, &middle.new);
    let pairs = tokens_in_range(&input.before, &middle.old)
        .iter()
        .filter_map(|token| {
            let unique_line =
                |occurrences: &[LineOccurrence]| match occurrences.get(token.0 as usize) {
                    Some(LineOccurrence::Once(line)) => Some(*line),
                    _ => None,
                };
            Some((unique_line(&old)?, unique_line(&new)?))
        });
    longest_increasing_subsequence(&pairs.collect::<Vec<_>>())
}

#[derive(Clone, Copy)]
enum LineOccurrence {
    Never,
    Once(usize),
    Repeated,
}

fn line_occurrences(
    input: &InternedInput<&str>,
    tokens: &[Token],
    range: &Range<usize>,
) -> Vec<LineOccurrence> {
    let mut occurrences = vec![LineOccurrence::Never; input.interner.num_tokens() as usize];
    for (line, token) in range.clone().zip(tokens_in_range(tokens, range)) {
        if let Some(occurrence) = occurrences.get_mut(token.0 as usize) {
            *occurrence = match occurrence {
                LineOccurrence::Never => LineOccurrence::Once(line),
                _ => LineOccurrence::Repeated,
            };
        }
    }
    occurrences
}

/// Returns the longest subsequence that also increases on the second side; on the first side the pairs are
/// already sorted.
fn longest_increasing_subsequence(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the run of pairs with the lowest end; for each pair, its predecessor.
    let mut lowest: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |index: usize| pairs.get(index).map(|pair| pair.1);
    for (index, pair) in pairs.iter().enumerate() {
        let length = lowest.partition_point(|end| second(*end) < Some(pair.1));
        before.push(
            length
                .checked_sub(1)
                .and_then(|shorter| lowest.get(shorter).copied()),
        );
        match lowest.get_mut(length) {
            Some(end) => *end = index,
            None => lowest.push(index),
        }
    }
    let mut run = Vec::with_capacity(lowest.len());
    let mut at = lowest.last().copied();
    while let Some(index) = at {
        run.extend(pairs.get(index).copied());
        at = before.get(index).copied().flatten();
    }
    run.reverse();
    run
}

fn diff_piece(input: &InternedInput<&str>, piece: LineChange, found: &mut Vec<LineChange>) {
    let length = piece.old.len() + piece.new.len();
    if length == 0 {
        return;
    }
    if piece.old.is_empty() || piece.new.is_empty() || length > MAX_PIECE_LINES {
        found.push(piece);
        return;
    }
    // The algorithm's tables are as long as the highest token, so tokens are renumbered.
    let mut numbers: HashMap<Token, u32> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut renumber = |tokens: &[Token]| -> Vec<Token> {
        let number = |token: &Token| {
            let next = saturating_cast::<u32>(texts.len());
            Token(*numbers.entry(*token).or_insert_with(|| {
                texts.push(input.interner[*token]);
                next
            }))
        };
        tokens.iter().map(number).collect()
    };
    let old = renumber(tokens_in_range(&input.before, &piece.old));
    let new = renumber(tokens_in_range(&input.after, &piece.new));
    let mut diff = Diff::default();
    let kinds = saturating_cast::<u32>(texts.len());
    diff.compute_with(Algorithm::Histogram, &old, &new, kinds);
    let level = |token: Token| {
        let text = texts.get(token.0 as usize).copied().unwrap_or_default();
        IndentLevel::for_ascii_line(text.bytes(), 8)
    };
    diff.postprocess_with(&old, &new, IndentHeuristic::new(level));
    found.extend(hunk_changes(&diff, piece.old.start, piece.new.start));
}

fn hunk_changes(diff: &Diff, old: usize, new: usize) -> impl Iterator<Item = LineChange> {
    let lines =
        |from: usize, range: Range<u32>| from + range.start as usize..from + range.end as usize;
    diff.hunks().map(move |hunk| LineChange {
        old: lines(old, hunk.before),
        new: lines(new, hunk.after),
    })
}

/// A text split into lines, each with its line end.
pub(super) struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { text, starts }
    }

    /// Returns the text of a range of lines; lines past the end are empty.
    pub(super) fn get(&self, lines: Range<usize>) -> &'t str {
        let at = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text
            .get(at(lines.start)..at(lines.end))
            .unwrap_or_default()
    }

    pub(super) fn count(&self) -> usize {
        let open = self
            .starts
            .last()
            .is_some_and(|last| *last < self.text.len());
        self.starts.len() - usize::from(!open)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies the changes, checking that the lines between them are equal in both texts.
    fn apply_changes(old: &str, new: &str) -> String {
        let (before, after) = (LineIndex::new(old), LineIndex::new(new));
        let (mut old_at, mut new_at, mut text) = (0, 0, String::new());
        for (number, change) in diff_lines(old, new).into_iter().enumerate() {
            assert!(
                number == 0 || old_at < change.old.start,
                "two changes touch"
            );
            let unchanged = before.get(old_at..change.old.start);
            assert_eq!(unchanged, after.get(new_at..change.new.start));
            text.push_str(unchanged);
            text.push_str(after.get(change.new.clone()));
            (old_at, new_at) = (change.old.end, change.new.end);
        }
        text + before.get(old_at..before.count())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn long_texts_are_split_and_diffed_correctly(
            kinds in prop::sample::select(vec![2_u32, 50, 3000, 1_000_000]),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..60), 0..3000),
        ) {
            let lines: Vec<_> = (0..25_000_u32).map(|line| line.wrapping_mul(2_654_435_761) % kinds).collect();
            let mut edited = lines.clone();
            for (at, text) in edits {
                let at = at.index(edited.len());
                match text % 3 {
                    0 => { edited.remove(at); }
                    1 => edited.insert(at, text),
                    _ => edited[at] = text,
                }
            }
            let text = |lines: &[u32]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (old, new) = (text(&lines), text(&edited));
            prop_assert_eq!(apply_changes(&old, &new), new);
        }
    }

    #[test]
    fn distant_changes_in_a_long_text_stay_small() {
        let lines: Vec<_> = (0..30_000).map(|line| format!("{line}\n")).collect();
        let mut edited = lines.clone();
        edited[10] = "x\n".to_owned();
        edited.insert(29_000, "y\n".to_owned());
        let found = diff_lines(&lines.concat(), &edited.concat());
        let expected = [
            LineChange {
                old: 10..11,
                new: 10..11,
            },
            LineChange {
                old: 29_000..29_000,
                new: 29_000..29_001,
            },
        ];
        assert_eq!(found, expected);
    }

    /// With a quadratic algorithm these would not finish.
    #[test]
    fn hostile_texts_are_diffed_in_linear_time() {
        const LINES: usize = 200_000;
        let numbers = |every: usize, mark: &str| -> String {
            (0..LINES)
                .map(|line| {
                    if line % every == 0 {
                        format!("{mark}{line}\n")
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect()
        };
        let bits = |seed: usize| -> String {
            (0..LINES)
                .map(|line| {
                    if line.wrapping_mul(seed) >> 7 & 1 == 0 {
                        "a\n"
                    } else {
                        "b\n"
                    }
                })
                .collect()
        };
        for (old, new) in [
            (numbers(2, "x"), numbers(2, "y")),
            (bits(2_654_435_761), bits(2_246_822_519)),
            ("a\n".repeat(LINES), "a\n".repeat(LINES / 2)),
            ("a\nb\n".repeat(LINES), "b\na\na\n".repeat(LINES)),
        ] {
            assert_eq!(apply_changes(&old, &new), new);
        }
    }
}
