//! Line diff of two texts.
//!
//! The diff algorithm is quadratic for some texts. So a long range is first split at the lines that occur once
//! in both texts (as in patience diff), and a piece that is still too long counts as changed completely.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput, Token};

/// Texts that differ in at most this many lines are compared as a whole.
const SHORT: usize = 20_000;

/// Maximum length, in lines, of a piece of a longer text that is compared in detail.
const LONGEST_PIECE: usize = 4096;

/// A range of lines of the old text, from 0, and the lines of the new text that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Lines of the old text.
    pub old: Range<usize>,
    /// Lines of the new text.
    pub new: Range<usize>,
}

/// Returns the changes from one text to another, in order, separated by at least one unchanged line.
pub fn changes(old: &str, new: &str) -> Vec<Change> {
    let input = InternedInput::new(old, new);
    let middle = trim(&input, 0..input.before.len(), 0..input.after.len());
    if middle.old.len() + middle.new.len() <= SHORT {
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        return changes_of(&diff, 0, 0).collect();
    }
    let mut found = Vec::new();
    let (mut old_at, mut new_at) = (middle.old.start, middle.new.start);
    let ends = std::iter::once((middle.old.end, middle.new.end));
    for (old_end, new_end) in anchors(&input, &middle).into_iter().chain(ends) {
        let piece = trim(&input, old_at..old_end, new_at..new_end);
        compare(&input, piece, &mut found);
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
    found
}

/// Returns the ranges without their common first and last lines.
fn trim(input: &InternedInput<&str>, old: Range<usize>, new: Range<usize>) -> Change {
    let (before, after) = (part(&input.before, &old), part(&input.after, &new));
    let head = same(before.iter().zip(after));
    let (before, after) = (
        before.get(head..).unwrap_or_default(),
        after.get(head..).unwrap_or_default(),
    );
    let tail = same(before.iter().rev().zip(after.iter().rev()));
    Change {
        old: old.start + head..old.end - tail,
        new: new.start + head..new.end - tail,
    }
}

fn same<'a>(pairs: impl Iterator<Item = (&'a Token, &'a Token)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

fn part<'a>(tokens: &'a [Token], range: &Range<usize>) -> &'a [Token] {
    tokens.get(range.clone()).unwrap_or_default()
}

/// Returns the lines that occur once in both ranges; of those, the longest sequence with the same order in
/// both.
fn anchors(input: &InternedInput<&str>, middle: &Change) -> Vec<(usize, usize)> {
    let old = single_lines(input, &input.before, &middle.old);
    let new = single_lines(input, &input.after, &middle.new);
    let pairs = part(&input.before, &middle.old).iter().filter_map(|token| {
        let place = |places: &[Place]| match places.get(token.0 as usize) {
            Some(Place::Once(line)) => Some(*line),
            _ => None,
        };
        Some((place(&old)?, place(&new)?))
    });
    longest_rise(&pairs.collect::<Vec<_>>())
}

#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Once(usize),
    Often,
}

fn single_lines(input: &InternedInput<&str>, tokens: &[Token], range: &Range<usize>) -> Vec<Place> {
    let mut places = vec![Place::Nowhere; input.interner.num_tokens() as usize];
    for (line, token) in range.clone().zip(part(tokens, range)) {
        if let Some(place) = places.get_mut(token.0 as usize) {
            *place = match place {
                Place::Nowhere => Place::Once(line),
                _ => Place::Often,
            };
        }
    }
    places
}

/// Returns the longest subsequence that also increases on the second side; on the first side the pairs are
/// already sorted.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
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

fn compare(input: &InternedInput<&str>, piece: Change, found: &mut Vec<Change>) {
    let length = piece.old.len() + piece.new.len();
    if length == 0 {
        return;
    }
    if piece.old.is_empty() || piece.new.is_empty() || length > LONGEST_PIECE {
        found.push(piece);
        return;
    }
    // The algorithm's tables are as long as the highest token, so tokens are renumbered.
    let mut known: HashMap<Token, u32> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut renumber = |tokens: &[Token]| -> Vec<Token> {
        let number = |token: &Token| {
            let next = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            Token(*known.entry(*token).or_insert_with(|| {
                texts.push(input.interner[*token]);
                next
            }))
        };
        tokens.iter().map(number).collect()
    };
    let old = renumber(part(&input.before, &piece.old));
    let new = renumber(part(&input.after, &piece.new));
    let mut diff = Diff::default();
    let kinds = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    diff.compute_with(Algorithm::Histogram, &old, &new, kinds);
    let level = |token: Token| {
        let text = texts.get(token.0 as usize).copied().unwrap_or_default();
        IndentLevel::for_ascii_line(text.bytes(), 8)
    };
    diff.postprocess_with(&old, &new, IndentHeuristic::new(level));
    found.extend(changes_of(&diff, piece.old.start, piece.new.start));
}

fn changes_of(diff: &Diff, old: usize, new: usize) -> impl Iterator<Item = Change> {
    let lines =
        |from: usize, range: Range<u32>| from + range.start as usize..from + range.end as usize;
    diff.hunks().map(move |hunk| Change {
        old: lines(old, hunk.before),
        new: lines(new, hunk.after),
    })
}

/// A text split into lines, each with its line end.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
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
    fn applied(old: &str, new: &str) -> String {
        let (before, after) = (Lines::of(old), Lines::of(new));
        let (mut old_at, mut new_at, mut text) = (0, 0, String::new());
        for (number, change) in changes(old, new).into_iter().enumerate() {
            assert!(
                number == 0 || old_at < change.old.start,
                "two changes touch"
            );
            let kept = before.get(old_at..change.old.start);
            assert_eq!(kept, after.get(new_at..change.new.start));
            text.push_str(kept);
            text.push_str(after.get(change.new.clone()));
            (old_at, new_at) = (change.old.end, change.new.end);
        }
        text + before.get(old_at..before.count())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn long_texts_are_cut_and_still_right(
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
            prop_assert_eq!(applied(&old, &new), new);
        }
    }

    #[test]
    fn far_apart_changes_in_a_long_text_stay_small() {
        let lines: Vec<_> = (0..30_000).map(|line| format!("{line}\n")).collect();
        let mut edited = lines.clone();
        edited[10] = "x\n".to_owned();
        edited.insert(29_000, "y\n".to_owned());
        let found = changes(&lines.concat(), &edited.concat());
        let expected = [
            Change {
                old: 10..11,
                new: 10..11,
            },
            Change {
                old: 29_000..29_000,
                new: 29_000..29_001,
            },
        ];
        assert_eq!(found, expected);
    }

    /// With a quadratic algorithm these would not finish.
    #[test]
    fn hostile_texts_take_linear_time() {
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
            assert_eq!(applied(&old, &new), new);
        }
    }
}
