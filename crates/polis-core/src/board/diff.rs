//! Unified diffs of two texts, readable by people and, unless truncated, applicable by programs.
//!
//! Lines beyond the size limit are only counted. The changed lines come from `line_changes`.

use std::ops::Range;

use super::line_changes::{LineChange, LineIndex, diff_lines};

/// Number of unchanged context lines around a change.
const CONTEXT_LINES: usize = 3;

/// Returns the unified diff of two texts; empty if they are equal.
///
/// Lines beyond `max_bytes` are omitted, and a last line gives their number.
pub fn unified_diff(
    old_name: &str,
    new_name: &str,
    old: &str,
    new: &str,
    max_bytes: usize,
) -> String {
    let changes = diff_lines(old, new);
    let (old, new) = (LineIndex::new(old), LineIndex::new(new));
    let mut page = DiffOutput::new(max_bytes);
    if !changes.is_empty() {
        page.push_line("--- ", old_name);
        page.push_line("+++ ", new_name);
    }
    for hunk in changes.chunk_by(|one, two| two.old.start - one.old.end <= 2 * CONTEXT_LINES) {
        write_hunk(&mut page, &old, &new, hunk);
    }
    page.finish()
}

fn write_hunk(
    page: &mut DiffOutput,
    old: &LineIndex<'_>,
    new: &LineIndex<'_>,
    hunk: &[LineChange],
) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let lead = first.old.start.min(CONTEXT_LINES);
    let trail = (old.count() - last.old.end).min(CONTEXT_LINES);
    let old_range = first.old.start - lead..last.old.end + trail;
    let new_range = first.new.start - lead..last.new.end + trail;
    page.push_line(
        "@@ ",
        &format!(
            "-{} +{} @@",
            format_range(&old_range),
            format_range(&new_range)
        ),
    );
    let mut at = old_range.start;
    for change in hunk {
        page.push_lines(" ", old, at..change.old.start);
        page.push_lines("-", old, change.old.clone());
        page.push_lines("+", new, change.new.clone());
        at = change.old.end;
    }
    page.push_lines(" ", old, at..old_range.end);
}

/// Formats a range for a hunk header: counted from 1; the count is omitted for one line; an empty range names
/// the line before it.
fn format_range(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        count => format!("{},{count}", range.start + 1),
    }
}

/// Output that is truncated after a number of bytes and then only counts lines.
struct DiffOutput {
    text: String,
    max_bytes: usize,
    more: usize,
}

impl DiffOutput {
    fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            more: 0,
        }
    }

    fn push_lines(&mut self, mark: &str, source: &LineIndex<'_>, range: Range<usize>) {
        for index in range {
            let line = source.get(index..index + 1);
            match line.strip_suffix('\n') {
                Some(line) => self.push_line(mark, line),
                None => {
                    self.push_line(mark, line);
                    self.push_line("\\ ", "No newline at end of file");
                }
            }
        }
    }

    fn push_line(&mut self, mark: &str, line: &str) {
        let length = self.text.len() + mark.len() + line.len() + 1;
        if self.more > 0 || length > self.max_bytes {
            self.more += 1;
            return;
        }
        self.text.push_str(mark);
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn finish(mut self) -> String {
        if self.more > 0 {
            let plural = if self.more == 1 { "" } else { "s" };
            self.text
                .push_str(&format!("… {} more line{plural}\n", self.more));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn full_diff(old: &str, new: &str) -> String {
        unified_diff("a", "b", old, new, usize::MAX)
    }

    #[test]
    fn diff_has_the_standard_unified_format() {
        assert_eq!(full_diff("x\n", "x\n"), "");
        assert_eq!(full_diff("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(
            full_diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6"),
            "--- a\n+++ b\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n-6\n+five\n+6\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn long_diff_is_truncated_between_lines() {
        let new = "line\n".repeat(100);
        let cut = unified_diff("a", "b", "", &new, 60);
        assert_eq!(
            cut,
            "--- a\n+++ b\n@@ -0,0 +1,100 @@\n+line\n+line\n+line\n+line\n+line\n… 95 more lines\n"
        );
    }

    /// Applies a diff, checking its context and removed lines against the old text.
    fn apply_patch(old: &str, diff: &str) -> String {
        let old: Vec<_> = old.split_inclusive('\n').collect();
        let (mut at, mut new) = (0, String::new());
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            let bare = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if bare {
                &line[1..line.len() - 1]
            } else {
                &line[1..]
            };
            if let Some(range) = line.strip_prefix("@@ -") {
                let range = range.split(' ').next().unwrap();
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                let start = start.parse::<usize>().unwrap() - usize::from(count != "0");
                new.push_str(&old[at..start].concat());
                at = start;
                continue;
            }
            if !line.starts_with('+') {
                assert_eq!(old[at], text);
                at += 1;
            }
            if !line.starts_with('-') {
                new.push_str(text);
            }
        }
        new + &old[at..].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn applied_diff_gives_the_new_text(old in "([a-d]\r?\n){0,30}[ab]{0,2}", new in "([a-d]\r?\n){0,30}[ab]{0,2}") {
            prop_assert_eq!(apply_patch(&old, &full_diff(&old, &new)), new);
        }

        #[test]
        fn small_change_gives_a_small_diff(at in 0_usize..200, text in "[a-z]{1,5}\n") {
            let mut lines: Vec<_> = (0..200).map(|line| format!("{line}\n")).collect();
            let old = lines.concat();
            lines[at] = text;
            let new = lines.concat();
            let diff = full_diff(&old, &new);
            prop_assert!(diff.lines().count() <= 2 + 1 + 8);
            prop_assert_eq!(apply_patch(&old, &diff), new);
        }
    }
}
