//! Side-by-side diff of two texts, with changed words marked within changed lines.
//!
//! Long unchanged stretches are folded, the rows beyond a limit are omitted (their changed lines are
//! counted), and long lines are truncated, so the result is small for any texts.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use polis_core::board::{LineChange, line_changes};

/// Number of unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;
/// Maximum length in bytes of a line whose words are compared.
const MAX_COMPARED_LINE_BYTES: usize = 4_000;
/// Maximum displayed length of a line in bytes.
const MAX_SHOWN_LINE_BYTES: usize = 8_000;
/// Maximum number of line pairs whose words are compared.
const MAX_COMPARED_PAIRS: usize = 1_000;

/// A side-by-side diff of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideBySideDiff<'a> {
    /// The rows, in order; none if the texts are equal.
    pub rows: Vec<DiffRow<'a>>,
    /// Number of changed rows omitted at the end.
    pub omitted_rows: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// Number of added lines.
    pub added: usize,
}

/// A row of a side-by-side diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffRow<'a> {
    /// An unchanged line; line numbers start at 1.
    Unchanged {
        /// Its line number in the old text.
        old: usize,
        /// Its line number in the new text.
        new: usize,
        /// The line, without its line break.
        text: &'a str,
    },
    /// A fold of this many unchanged lines.
    Folded(usize),
    /// A removed, added or modified line.
    Changed {
        /// The line in the old text; `None` if it was added.
        old: Option<DiffLine<'a>>,
        /// The line in the new text; `None` if it was removed.
        new: Option<DiffLine<'a>>,
    },
}

/// A line of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// Its line number, starting at 1.
    pub number: usize,
    /// Its pieces in order; concatenated, they are the line (truncated if it is very long).
    pub segments: Vec<DiffSegment<'a>>,
}

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffSegment<'a> {
    /// Part of the line's text.
    pub text: &'a str,
    /// Whether it is marked as different from the other side. In a line without a counterpart, nothing is.
    pub is_changed: bool,
}

/// Computes a side-by-side diff. Lines are added until there are `max_rows` rows; the context of the last
/// change may exceed that.
pub fn diff_side_by_side<'a>(old: &'a str, new: &'a str, max_rows: usize) -> SideBySideDiff<'a> {
    let before: Vec<&str> = old.lines().collect();
    let after: Vec<&str> = new.lines().collect();
    let mut page = DiffBuilder {
        before: &before,
        after: &after,
        rows: Vec::new(),
        max_rows,
        omitted_rows: 0,
        compared_pairs: 0,
    };
    let (mut removed, mut added) = (0, 0);
    let (mut old_at, mut new_at) = (0, 0);
    for LineChange { old, new } in line_changes(old, new) {
        page.push_unchanged(old_at..old.start, new_at, old_at > 0 || new_at > 0, true);
        removed += old.len();
        added += new.len();
        (old_at, new_at) = (old.end, new.end);
        page.push_changed(old, new);
    }
    if !page.rows.is_empty() {
        page.push_unchanged(old_at..before.len(), new_at, true, false);
    }
    SideBySideDiff {
        rows: page.rows,
        omitted_rows: page.omitted_rows,
        removed,
        added,
    }
}

struct DiffBuilder<'a, 'l> {
    before: &'l [&'a str],
    after: &'l [&'a str],
    rows: Vec<DiffRow<'a>>,
    max_rows: usize,
    omitted_rows: usize,
    compared_pairs: usize,
}

impl<'a> DiffBuilder<'a, '_> {
    /// Adds unchanged lines: `old` in the old text, starting at `new` in the new one. Those next to a change
    /// before or after are shown as context; the rest is folded.
    fn push_unchanged(
        &mut self,
        old: Range<usize>,
        new: usize,
        change_before: bool,
        change_after: bool,
    ) {
        if self.rows.len() >= self.max_rows {
            return;
        }
        let lead = if change_before { CONTEXT_LINES } else { 0 };
        let trail = if change_after { CONTEXT_LINES } else { 0 };
        let shift = |at: usize| new + (at - old.start);
        // A single line is not folded: the fold would be as long as the line.
        let folds = old.len() > lead + trail + 1;
        for at in old.clone() {
            let is_context = at - old.start < lead || old.end - at <= trail;
            if !folds || is_context {
                let text = self.before.get(at).copied().unwrap_or_default();
                self.rows.push(DiffRow::Unchanged {
                    old: at + 1,
                    new: shift(at) + 1,
                    text: truncate_line(text),
                });
            } else if at - old.start == lead {
                self.rows.push(DiffRow::Folded(old.len() - lead - trail));
            }
        }
    }

    /// Adds removed and added lines, paired as far as possible.
    fn push_changed(&mut self, old: Range<usize>, new: Range<usize>) {
        for at in 0..old.len().max(new.len()) {
            if self.rows.len() >= self.max_rows {
                self.omitted_rows += old.len().max(new.len()) - at;
                return;
            }
            let line = |lines: &[&'a str], range: &Range<usize>| {
                let number = range.start + at;
                let text = lines.get(number).copied();
                text.filter(|_| number < range.end)
                    .map(|text| (number + 1, truncate_line(text)))
            };
            let row = match (line(self.before, &old), line(self.after, &new)) {
                (Some(old), Some(new)) => self.compare_pair(old, new),
                (old, new) => DiffRow::Changed {
                    old: old.map(|(number, text)| whole_line(number, text, false)),
                    new: new.map(|(number, text)| whole_line(number, text, false)),
                },
            };
            self.rows.push(row);
        }
    }

    fn compare_pair(
        &mut self,
        (old, old_text): (usize, &'a str),
        (new, new_text): (usize, &'a str),
    ) -> DiffRow<'a> {
        self.compared_pairs += 1;
        let long = old_text.len().max(new_text.len()) > MAX_COMPARED_LINE_BYTES;
        let (old_line, new_line) = if long || self.compared_pairs > MAX_COMPARED_PAIRS {
            (
                whole_line(old, old_text, false),
                whole_line(new, new_text, false),
            )
        } else {
            compare_words(old, old_text, new, new_text)
        };
        DiffRow::Changed {
            old: Some(old_line),
            new: Some(new_line),
        }
    }
}

fn truncate_line(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_SHOWN_LINE_BYTES))
        .unwrap_or(text)
}

fn whole_line(number: usize, text: &str, changed: bool) -> DiffLine<'_> {
    DiffLine {
        number,
        segments: vec![DiffSegment {
            text,
            is_changed: changed,
        }],
    }
}

fn compare_words<'a>(
    old: usize,
    old_text: &'a str,
    new: usize,
    new_text: &'a str,
) -> (DiffLine<'a>, DiffLine<'a>) {
    let (before, after) = (split_words(old_text), split_words(new_text));
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let is_blank = |word: &str| word.chars().all(char::is_whitespace);
    let has_unchanged = |words: &[&str], is_changed: &dyn Fn(u32) -> bool| {
        (0_u32..)
            .zip(words)
            .any(|(at, word)| !is_changed(at) && !is_blank(word))
    };
    let removed = |at| diff.is_removed(at);
    let added = |at| diff.is_added(at);
    // Lines without a common word are unrelated; marking everything would convey nothing.
    if !has_unchanged(&before, &removed) {
        return (
            whole_line(old, old_text, false),
            whole_line(new, new_text, false),
        );
    }
    (
        line_from_words(old, old_text, &before, removed),
        line_from_words(new, new_text, &after, added),
    )
}

/// Builds a line from its words and joins adjacent words of the same kind.
fn line_from_words<'a>(
    number: usize,
    text: &'a str,
    words: &[&'a str],
    changed: impl Fn(u32) -> bool,
) -> DiffLine<'a> {
    let mut pieces: Vec<DiffSegment<'a>> = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut kind = None;
    for (at, word) in (0_u32..).zip(words) {
        let is_changed = changed(at);
        if kind.is_some_and(|kind| kind != is_changed) {
            pieces.extend(text.get(start..end).map(|text| DiffSegment {
                text,
                is_changed: !is_changed,
            }));
            start = end;
        }
        kind = Some(is_changed);
        end += word.len();
    }
    pieces.extend(text.get(start..end).map(|text| DiffSegment {
        text,
        is_changed: kind.unwrap_or(false),
    }));
    DiffLine {
        number,
        segments: pieces,
    }
}

/// Splits a line into words: runs of letters and digits, and runs of spaces. Every other character is a word
/// of its own, including all characters of scripts without spaces between words.
fn split_words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_whitespace() => 1,
        '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => 0,
        c if c.is_alphanumeric() || c == '_' => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in line.char_indices() {
        let current = kind(c);
        if before.is_some_and(|before| before != current || current == 0) {
            words.extend(line.get(start..at));
            start = at;
        }
        before = Some(current);
    }
    if start < line.len() {
        words.extend(line.get(start..));
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn render_rows(old: &str, new: &str) -> Vec<String> {
        let side = |line: &Option<DiffLine<'_>>| match line {
            None => "-".to_owned(),
            Some(line) => {
                let piece = |p: &DiffSegment<'_>| {
                    if p.is_changed {
                        format!("[{}]", p.text)
                    } else {
                        p.text.to_owned()
                    }
                };
                format!(
                    "{} {}",
                    line.number,
                    line.segments.iter().map(piece).collect::<String>()
                )
            }
        };
        let row = |row: &DiffRow<'_>| match row {
            DiffRow::Unchanged { old, new, text } => format!("{old} {new} {text}"),
            DiffRow::Folded(count) => format!("... {count}"),
            DiffRow::Changed { old, new } => format!("{} | {}", side(old), side(new)),
        };
        diff_side_by_side(old, new, 100)
            .rows
            .iter()
            .map(row)
            .collect()
    }

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        assert_eq!(
            render_rows("a\nthe old plan\nc\n", "a\nthe new plan\nc\nd\n"),
            [
                "1 1 a",
                "2 the [old] plan | 2 the [new] plan",
                "3 3 c",
                "- | 4 d"
            ]
        );
        assert_eq!(
            render_rows("目标一\n", "目标二\n"),
            ["1 目标[一] | 1 目标[二]"]
        );
        assert_eq!(render_rows("abc\n", "xyz\n"), ["1 abc | 1 xyz"]);
        assert!(render_rows("same\n", "same\n").is_empty());
    }

    #[test]
    fn long_stretches_without_a_change_are_folded() {
        let lines =
            |from: usize, to: usize| (from..to).map(|n| format!("{n}\n")).collect::<String>();
        let old = lines(0, 100);
        let new = old.replace("50\n", "fifty\n");
        assert_eq!(
            render_rows(&old, &new),
            [
                "... 47",
                "48 48 47",
                "49 49 48",
                "50 50 49",
                "51 50 | 51 fifty",
                "52 52 51",
                "53 53 52",
                "54 54 53",
                "... 46"
            ]
        );
    }

    #[test]
    fn rows_beyond_limit_are_counted() {
        let old = "a\n".repeat(50);
        let diff = diff_side_by_side(&old, "", 10);
        assert_eq!(
            (diff.rows.len(), diff.omitted_rows, diff.removed),
            (10, 40, 50)
        );
    }

    #[test]
    fn hostile_texts_are_compared_in_bounded_time() {
        let old: String = (0..60_000)
            .map(|n| format!("{} {}\n", n % 7, n % 3))
            .collect();
        let new: String = (0..60_000)
            .map(|n| format!("{} {}\n", n % 5, n % 2))
            .collect();
        let started = Instant::now();
        diff_side_by_side(&old, &new, 2_000);
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
    }

    proptest! {
        #[test]
        fn diff_rows_reproduce_both_texts(old in "([ab \\n]|字|word ){0,40}", new in "([ab \\n]|字|word ){0,40}") {
            let all = diff_side_by_side(&old, &new, usize::MAX);
            let (mut before, mut after) = (Vec::new(), Vec::new());
            let (mut old_at, mut new_at) = (0, 0);
            let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            for row in &all.rows {
                match row {
                    DiffRow::Unchanged { text, .. } => {
                        before.push((*text).to_owned());
                        after.push((*text).to_owned());
                    }
                    DiffRow::Folded(count) => {
                        before.extend(old_lines[before.len()..before.len() + count].iter().map(|l| (*l).to_owned()));
                        after.extend(new_lines[after.len()..after.len() + count].iter().map(|l| (*l).to_owned()));
                    }
                    DiffRow::Changed { old, new } => {
                        for (line, side, at) in [(old, &mut before, &mut old_at), (new, &mut after, &mut new_at)] {
                            if let Some(line) = line {
                                side.push(line.segments.iter().map(|p| p.text).collect());
                                prop_assert_eq!(line.number, side.len());
                                *at = line.number;
                            }
                        }
                    }
                }
            }
            if !all.rows.is_empty() {
                prop_assert_eq!(before, old_lines);
                prop_assert_eq!(after, new_lines);
            } else {
                prop_assert_eq!(old_lines, new_lines, "{:?} {:?}", old, new);
            }
        }
    }
}
