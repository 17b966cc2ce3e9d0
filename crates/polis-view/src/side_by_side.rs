//! Side-by-side diff of two texts, with changed words marked within changed lines.
//!
//! Long unchanged stretches are folded, and rows beyond a limit are counted and omitted, so the result is
//! small for any texts.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use polis_core::board::{LineChange, line_changes};

/// Number of unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Maximum length in bytes of a line whose words are compared.
const LONGEST_LINE: usize = 4_000;
/// Maximum displayed length of a line in bytes.
const LONGEST_SHOWN: usize = 8_000;
/// Maximum number of line pairs whose words are compared.
const MOST_PAIRS: usize = 1_000;

/// A side-by-side diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides<'a> {
    /// The rows, in order.
    pub rows: Vec<Row<'a>>,
    /// Number of changed rows omitted at the end.
    pub left_out: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// Number of added lines.
    pub added: usize,
}

/// A row of a side-by-side diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row<'a> {
    /// An unchanged line; line numbers start at 1.
    Same {
        /// Its line number in the old text.
        old: usize,
        /// Its line number in the new text.
        new: usize,
        /// The line.
        text: &'a str,
    },
    /// A fold of this many unchanged lines.
    Folded(usize),
    /// A removed, added or modified line.
    Changed {
        /// The old line.
        old: Option<Line<'a>>,
        /// The new line.
        new: Option<Line<'a>>,
    },
}

/// A line of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its line number, starting at 1.
    pub number: usize,
    /// Its pieces in order; concatenated, they are the line.
    pub pieces: Vec<Piece<'a>>,
}

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether it differs from the other side.
    pub changed: bool,
}

/// Computes a side-by-side diff with at most `most` rows.
pub fn sides<'a>(old: &'a str, new: &'a str, most: usize) -> Sides<'a> {
    let before: Vec<&str> = old.lines().collect();
    let after: Vec<&str> = new.lines().collect();
    let mut page = Page {
        before: &before,
        after: &after,
        rows: Vec::new(),
        most,
        left_out: 0,
        pairs: 0,
    };
    let (mut removed, mut added) = (0, 0);
    let (mut old_at, mut new_at) = (0, 0);
    for LineChange { old, new } in line_changes(old, new) {
        page.same(old_at..old.start, new_at, old_at > 0 || new_at > 0, true);
        removed += old.len();
        added += new.len();
        (old_at, new_at) = (old.end, new.end);
        page.changed(old, new);
    }
    if !page.rows.is_empty() {
        page.same(old_at..before.len(), new_at, true, false);
    }
    Sides {
        rows: page.rows,
        left_out: page.left_out,
        removed,
        added,
    }
}

struct Page<'a, 'l> {
    before: &'l [&'a str],
    after: &'l [&'a str],
    rows: Vec<Row<'a>>,
    most: usize,
    left_out: usize,
    pairs: usize,
}

impl<'a> Page<'a, '_> {
    /// Adds unchanged lines: `old` in the old text, starting at `new` in the new one. Those next to a change
    /// before or after are shown as context; the rest is folded.
    fn same(&mut self, old: Range<usize>, new: usize, change_before: bool, change_after: bool) {
        if self.rows.len() >= self.most {
            return;
        }
        let lead = if change_before { CONTEXT } else { 0 };
        let trail = if change_after { CONTEXT } else { 0 };
        let shift = |at: usize| new + (at - old.start);
        // A single line is not folded: the fold would be as long as the line.
        let folds = old.len() > lead + trail + 1;
        for at in old.clone() {
            let near = at - old.start < lead || old.end - at <= trail;
            if !folds || near {
                let text = self.before.get(at).copied().unwrap_or_default();
                self.rows.push(Row::Same {
                    old: at + 1,
                    new: shift(at) + 1,
                    text: shown(text),
                });
            } else if at - old.start == lead {
                self.rows.push(Row::Folded(old.len() - lead - trail));
            }
        }
    }

    /// Adds removed and added lines, paired as far as possible.
    fn changed(&mut self, old: Range<usize>, new: Range<usize>) {
        for at in 0..old.len().max(new.len()) {
            if self.rows.len() >= self.most {
                self.left_out += old.len().max(new.len()) - at;
                return;
            }
            let line = |lines: &[&'a str], range: &Range<usize>| {
                let number = range.start + at;
                let text = lines.get(number).copied();
                text.filter(|_| number < range.end)
                    .map(|text| (number + 1, shown(text)))
            };
            let row = match (line(self.before, &old), line(self.after, &new)) {
                (Some(old), Some(new)) => self.pair(old, new),
                (old, new) => Row::Changed {
                    old: old.map(|(number, text)| whole(number, text, false)),
                    new: new.map(|(number, text)| whole(number, text, false)),
                },
            };
            self.rows.push(row);
        }
    }

    fn pair(&mut self, (old, was): (usize, &'a str), (new, is): (usize, &'a str)) -> Row<'a> {
        self.pairs += 1;
        let long = was.len().max(is.len()) > LONGEST_LINE;
        let (was, is) = if long || self.pairs > MOST_PAIRS {
            (whole(old, was, false), whole(new, is, false))
        } else {
            words_compared(old, was, new, is)
        };
        Row::Changed {
            old: Some(was),
            new: Some(is),
        }
    }
}

fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_SHOWN))
        .unwrap_or(text)
}

fn whole(number: usize, text: &str, changed: bool) -> Line<'_> {
    Line {
        number,
        pieces: vec![Piece { text, changed }],
    }
}

fn words_compared<'a>(old: usize, was: &'a str, new: usize, is: &'a str) -> (Line<'a>, Line<'a>) {
    let (before, after) = (words(was), words(is));
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let is_blank = |word: &str| word.chars().all(char::is_whitespace);
    let kept = |words: &[&str], gone: &dyn Fn(u32) -> bool| {
        (0_u32..)
            .zip(words)
            .any(|(at, word)| !gone(at) && !is_blank(word))
    };
    let removed = |at| diff.is_removed(at);
    let added = |at| diff.is_added(at);
    // Lines without a common word are unrelated; marking everything would convey nothing.
    if !kept(&before, &removed) {
        return (whole(old, was, false), whole(new, is, false));
    }
    (
        line(old, was, &before, removed),
        line(new, is, &after, added),
    )
}

/// Builds a line from its words and joins adjacent words of the same kind.
fn line<'a>(
    number: usize,
    text: &'a str,
    words: &[&'a str],
    changed: impl Fn(u32) -> bool,
) -> Line<'a> {
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut kind = None;
    for (at, word) in (0_u32..).zip(words) {
        let here = changed(at);
        if kind.is_some_and(|kind| kind != here) {
            pieces.extend(text.get(start..end).map(|text| Piece {
                text,
                changed: !here,
            }));
            start = end;
        }
        kind = Some(here);
        end += word.len();
    }
    pieces.extend(text.get(start..end).map(|text| Piece {
        text,
        changed: kind.unwrap_or(false),
    }));
    Line { number, pieces }
}

/// Splits a line into words: runs of letters and digits, and runs of spaces. Every other character is a word
/// of its own, including all characters of scripts without spaces between words.
fn words(line: &str) -> Vec<&str> {
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
        let here = kind(c);
        if before.is_some_and(|before| before != here || here == 0) {
            words.extend(line.get(start..at));
            start = at;
        }
        before = Some(here);
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

    fn drawn(old: &str, new: &str) -> Vec<String> {
        let side = |line: &Option<Line<'_>>| match line {
            None => "-".to_owned(),
            Some(line) => {
                let piece = |p: &Piece<'_>| match p.changed {
                    true => format!("[{}]", p.text),
                    false => p.text.to_owned(),
                };
                format!(
                    "{} {}",
                    line.number,
                    line.pieces.iter().map(piece).collect::<String>()
                )
            }
        };
        let row = |row: &Row<'_>| match row {
            Row::Same { old, new, text } => format!("{old} {new} {text}"),
            Row::Folded(count) => format!("... {count}"),
            Row::Changed { old, new } => format!("{} | {}", side(old), side(new)),
        };
        sides(old, new, 100).rows.iter().map(row).collect()
    }

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        assert_eq!(
            drawn("a\nthe old plan\nc\n", "a\nthe new plan\nc\nd\n"),
            [
                "1 1 a",
                "2 the [old] plan | 2 the [new] plan",
                "3 3 c",
                "- | 4 d"
            ]
        );
        assert_eq!(drawn("目标一\n", "目标二\n"), ["1 目标[一] | 1 目标[二]"]);
        assert_eq!(drawn("abc\n", "xyz\n"), ["1 abc | 1 xyz"]);
        assert!(drawn("same\n", "same\n").is_empty());
    }

    #[test]
    fn long_stretches_without_a_change_are_folded() {
        let lines =
            |from: usize, to: usize| (from..to).map(|n| format!("{n}\n")).collect::<String>();
        let old = lines(0, 100);
        let new = old.replace("50\n", "fifty\n");
        assert_eq!(
            drawn(&old, &new),
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
    fn what_goes_beyond_the_bound_is_counted() {
        let old = "a\n".repeat(50);
        let cut = sides(&old, "", 10);
        assert_eq!((cut.rows.len(), cut.left_out, cut.removed), (10, 40, 50));
    }

    #[test]
    fn hostile_texts_are_compared_in_bounded_time() {
        let old: String = (0..60_000)
            .map(|n| format!("{} {}\n", n % 7, n % 3))
            .collect();
        let new: String = (0..60_000)
            .map(|n| format!("{} {}\n", n % 5, n % 2))
            .collect();
        let begun = Instant::now();
        sides(&old, &new, 2_000);
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
    }

    proptest! {
        #[test]
        fn both_sides_can_be_read_off_the_rows(old in "([ab \\n]|字|word ){0,40}", new in "([ab \\n]|字|word ){0,40}") {
            let all = sides(&old, &new, usize::MAX);
            let (mut before, mut after) = (Vec::new(), Vec::new());
            let (mut old_at, mut new_at) = (0, 0);
            let (was, is): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            for row in &all.rows {
                match row {
                    Row::Same { text, .. } => {
                        before.push((*text).to_owned());
                        after.push((*text).to_owned());
                    }
                    Row::Folded(count) => {
                        before.extend(was[before.len()..before.len() + count].iter().map(|l| (*l).to_owned()));
                        after.extend(is[after.len()..after.len() + count].iter().map(|l| (*l).to_owned()));
                    }
                    Row::Changed { old, new } => {
                        for (line, side, at) in [(old, &mut before, &mut old_at), (new, &mut after, &mut new_at)] {
                            if let Some(line) = line {
                                side.push(line.pieces.iter().map(|p| p.text).collect());
                                prop_assert_eq!(line.number, side.len());
                                *at = line.number;
                            }
                        }
                    }
                }
            }
            if !all.rows.is_empty() {
                prop_assert_eq!(before, was);
                prop_assert_eq!(after, is);
            } else {
                prop_assert_eq!(was, is, "{:?} {:?}", old, new);
            }
        }
    }
}
