//! Three-way merge of board texts, with conflict markers.
//!
//! A writer that read an older version can have its change merged into the current text, line by line
//! ([`three_way_merge`]). Text with conflict markers that were not resolved is detected by
//! [`has_new_conflict_markers`].

use super::line_changes::{LineChange, LineIndex, diff_lines};

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// Both changes were applied.
    Clean(String),
    /// Both sides changed the same lines: the text with conflict markers.
    Conflict(String),
}

/// The lines before, between and after the three texts of a conflict.
const CONFLICT_MARKERS: [&str; 4] = [
    "<<<<<<< yours",
    "||||||| base",
    "=======",
    ">>>>>>> current",
];

/// Returns whether a text has more conflict markers than `before`. The middle marker is also a setext heading
/// underline, so it counts only if the text came from a conflict.
pub fn has_new_conflict_markers(text: &str, before: &str, from_conflict: bool) -> bool {
    let count = |text: &str, mark: &str| text.lines().filter(|line| *line == mark).count();
    CONFLICT_MARKERS
        .iter()
        .filter(|mark| from_conflict || **mark != "=======")
        .any(|mark| count(text, mark) > count(before, mark))
}

/// Applies the changes from `base` to `yours` to `current`, line by line.
///
/// Lines that both sides changed conflict, unless both changes are equal. So do additions at the edge of a
/// change on the other side, because their order is undefined. Adjacent lines of which each side changed one,
/// line for line, do not conflict: two agents ticking two items of a list.
pub fn three_way_merge(base: &str, current: &str, yours: &str) -> MergeResult {
    if current == yours || base == yours {
        return MergeResult::Clean(current.to_owned());
    }
    if base == current {
        return MergeResult::Clean(yours.to_owned());
    }
    let mut weave = MergeBuilder {
        base: LineIndex::new(base),
        current: MergeSide::new(base, current),
        yours: MergeSide::new(base, yours),
        at: 0,
        text: String::with_capacity(current.len().max(yours.len())),
        conflict: false,
    };
    weave.run();
    if weave.conflict {
        MergeResult::Conflict(weave.text)
    } else {
        MergeResult::Clean(weave.text)
    }
}

/// One of the two new texts, with its remaining changes.
struct MergeSide<'t> {
    lines: LineIndex<'t>,
    changes: std::iter::Peekable<std::vec::IntoIter<LineChange>>,
}

impl<'t> MergeSide<'t> {
    fn new(base: &str, text: &'t str) -> Self {
        Self {
            lines: LineIndex::new(text),
            changes: diff_lines(base, text).into_iter().peekable(),
        }
    }

    fn changed_text(&self, change: &LineChange) -> &'t str {
        self.lines.get(change.new.clone())
    }

    /// Merges the next change into `mine` if it clashes with `other`. Returns whether it did.
    fn extend_if_clashing(&mut self, mine: &mut LineChange, other: &LineChange) -> bool {
        let Some(next) = self.changes.next_if(|next| changes_clash(next, other)) else {
            return false;
        };
        mine.old.end = next.old.end;
        mine.new.end = next.new.end;
        true
    }
}

struct MergeBuilder<'t> {
    base: LineIndex<'t>,
    current: MergeSide<'t>,
    yours: MergeSide<'t>,
    /// Number of base lines already processed.
    at: usize,
    text: String,
    conflict: bool,
}

impl MergeBuilder<'_> {
    fn run(&mut self) {
        loop {
            match (self.current.changes.peek(), self.yours.changes.peek()) {
                (Some(theirs), Some(mine)) if changes_clash(theirs, mine) => {
                    self.combine_clashing_changes();
                }
                (Some(theirs), Some(mine)) if theirs.old.start < mine.old.start => {
                    self.apply_current_change();
                }
                (_, Some(_)) => self.apply_your_change(),
                (Some(_), None) => self.apply_current_change(),
                (None, None) => break,
            }
        }
        self.copy_base_up_to(self.base.count());
    }

    /// Copies the base lines up to `line`, which are unchanged.
    fn copy_base_up_to(&mut self, line: usize) {
        self.text.push_str(self.base.get(self.at..line));
        self.at = line;
    }

    fn apply_current_change(&mut self) {
        if let Some(change) = self.current.changes.next() {
            let text = self.current.changed_text(&change);
            self.push_change(&change, text);
        }
    }

    fn apply_your_change(&mut self) {
        if let Some(change) = self.yours.changes.next() {
            let text = self.yours.changed_text(&change);
            self.push_change(&change, text);
        }
    }

    fn push_change(&mut self, change: &LineChange, text: &str) {
        self.copy_base_up_to(change.old.start);
        self.text.push_str(text);
        self.at = change.old.end;
    }

    /// Combines the next changes of both sides, and all changes that clash with them in turn.
    fn combine_clashing_changes(&mut self) {
        let (Some(mut theirs), Some(mut mine)) =
            (self.current.changes.next(), self.yours.changes.next())
        else {
            return;
        };
        let same = |a: &LineChange, b: &LineChange| a.old == b.old;
        if same(&theirs, &mine)
            && self.current.changed_text(&theirs) == self.yours.changed_text(&mine)
        {
            let text = self.current.changed_text(&theirs);
            return self.push_change(&theirs, text);
        }
        while self.current.extend_if_clashing(&mut theirs, &mine)
            || self.yours.extend_if_clashing(&mut mine, &theirs)
        {}
        let start = theirs.old.start.min(mine.old.start);
        let end = theirs.old.end.max(mine.old.end);
        for change in [&mut theirs, &mut mine] {
            change.new.start -= change.old.start - start;
            change.new.end += end - change.old.end;
            change.old = start..end;
        }
        let (current, yours) = (
            self.current.changed_text(&theirs),
            self.yours.changed_text(&mine),
        );
        if current == yours {
            return self.push_change(&theirs, current);
        }
        self.copy_base_up_to(start);
        let base = self.base.get(start..end);
        self.push_conflict(yours, base, current);
        self.at = end;
    }

    fn push_conflict(&mut self, yours: &str, base: &str, current: &str) {
        self.conflict = true;
        for (marker, text) in CONFLICT_MARKERS.into_iter().zip([yours, base, current, ""]) {
            self.text.push_str(marker);
            self.text.push('\n');
            self.text.push_str(text);
            if !text.is_empty() && !text.ends_with('\n') {
                self.text.push('\n');
            }
        }
    }
}

/// Returns whether two changes of the base are incompatible.
fn changes_clash(one: &LineChange, two: &LineChange) -> bool {
    let overlap = one.old.start < two.old.end && two.old.start < one.old.end;
    let touch = one.old.start <= two.old.end && two.old.start <= one.old.end;
    let line_for_line = |change: &LineChange| change.old.len() == change.new.len();
    overlap || (touch && !(line_for_line(one) && line_for_line(two)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean_merge(base: &str, current: &str, yours: &str) -> Option<String> {
        match three_way_merge(base, current, yours) {
            MergeResult::Clean(text) => Some(text),
            MergeResult::Conflict(_) => None,
        }
    }

    #[test]
    fn conflict_markers_are_detected_until_all_are_removed() {
        let MergeResult::Conflict(text) = three_way_merge("1\n", "theirs\n", "mine\n") else {
            panic!("expected a conflict");
        };
        let cases = [
            (text.clone(), "theirs\n", true, true),
            (format!("more\n{text}"), "theirs\n", false, true),
            (text.clone(), &text, true, false),
            ("a\n=======\nb\n".to_owned(), "", true, true),
            ("Title\n=======\n".to_owned(), "", false, false),
            (">>>>>>> current\r\n".to_owned(), "", false, true),
            ("> >>>>>>> current\n".to_owned(), "", true, false),
        ];
        for (text, before, conflict, marked) in cases {
            assert_eq!(
                has_new_conflict_markers(&text, before, conflict),
                marked,
                "{text}"
            );
        }
    }

    #[test]
    fn merge_result_for_each_case() {
        let cases = [
            (
                "1\n2\n3\n",
                "one\n2\n3\n",
                "1\n2\nthree\n",
                Some("one\n2\nthree\n"),
            ),
            (
                "1\n2\n3\n",
                "one\n2\n3\n",
                "1\ntwo\n3\n",
                Some("one\ntwo\n3\n"),
            ),
            (
                "1\n2\n3\n",
                "1\n2\n3\n4\n",
                "0\n1\n2\n3\n",
                Some("0\n1\n2\n3\n4\n"),
            ),
            (
                "1\n2\n3\n",
                "1\nx\n3\n",
                "1\nx\n3\n4\n",
                Some("1\nx\n3\n4\n"),
            ),
            ("1\n2\n3\n", "1\n3\n", "1\n3\n", Some("1\n3\n")),
            ("1\n2", "1\n2\n", "one\n2", Some("one\n2\n")),
            ("1\n2\n3\n", "1\nx\n3\n", "1\ny\n3\n", None),
            ("1\n2\n", "1\n2\n3\n", "1\n2\n4\n", None),
            ("1\n2\n", "1\n2\n3\n", "1\n2\n3\n", Some("1\n2\n3\n")),
            ("1\n2\n", "1\n2x\n3\n", "1\n2\n4\n", None),
            ("1\n2\n3\n", "1\n3\n", "1\ntwo\n3\n", None),
            ("", "a\n", "b\n", None),
            (
                "a\r\nb\r\nc\r\n",
                "A\r\nb\r\nc\r\n",
                "a\r\nb\r\nC",
                Some("A\r\nb\r\nC"),
            ),
        ];
        for (base, current, yours, expected) in cases {
            assert_eq!(
                clean_merge(base, current, yours).as_deref(),
                expected,
                "{base:?} {current:?} {yours:?}"
            );
        }
    }

    #[test]
    fn conflict_shows_yours_base_and_current() {
        assert_eq!(
            three_way_merge("1\n2\n3\n4\n5", "1\n2\n3\n4\nfive", "one\n2\n3\n4\n5\n"),
            MergeResult::Conflict(
                "one\n2\n3\n4\n<<<<<<< yours\n5\n||||||| base\n5\n=======\nfive\n>>>>>>> current\n"
                    .to_owned()
            )
        );
    }

    /// Lines that all differ, so that it is unambiguous which one was changed.
    fn numbered_lines(edits: &[(usize, String)]) -> String {
        (0..40)
            .map(|line| match edits.iter().find(|(at, _)| *at == line) {
                Some((_, text)) => text.clone(),
                None => format!("line {line}\n"),
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn separate_changes_are_both_applied(
            edits in prop::collection::vec((any::<bool>(), "([a-z]{0,3}\n){0,3}"), 20)
        ) {
            // At most every other line is changed, so that an unchanged line is between any two changes.
            let edits_of = |side: bool| -> Vec<_> {
                let numbered = edits.iter().enumerate();
                numbered.filter(|(_, (mine, _))| *mine == side).map(|(n, (_, text))| (2 * n, text.clone())).collect()
            };
            let (mine, theirs) = (edits_of(true), edits_of(false));
            let all = [mine.clone(), theirs.clone()].concat();
            let (base, current, yours) = (numbered_lines(&[]), numbered_lines(&theirs), numbered_lines(&mine));
            prop_assert_eq!(clean_merge(&base, &current, &yours), Some(numbered_lines(&all)));
            prop_assert_eq!(clean_merge(&base, &yours, &current), Some(numbered_lines(&all)));
        }

        #[test]
        fn merge_is_symmetric_and_keeps_single_changes(base in "([a-d]\n){0,12}[ab]?", one in "([a-d]\n){0,12}[ab]?", two in "([a-d]\n){0,12}[ab]?") {
            prop_assert_eq!(clean_merge(&base, &base, &one), Some(one.clone()));
            prop_assert_eq!(clean_merge(&base, &one, &base), Some(one.clone()));
            prop_assert_eq!(clean_merge(&base, &one, &one), Some(one.clone()));
            prop_assert_eq!(clean_merge(&base, &one, &two), clean_merge(&base, &two, &one));
        }

        #[test]
        fn conflict_contains_every_added_line(base in "([a-d]\n){0,12}", one in "([a-d]\n){0,12}", two in "([a-d]\n){0,12}") {
            if let MergeResult::Conflict(text) = three_way_merge(&base, &one, &two) {
                let added = |side: &str| -> Vec<String> {
                    diff_lines(&base, side).into_iter().map(|change| LineIndex::new(side).get(change.new).to_owned()).collect()
                };
                for added in [added(&one), added(&two)].concat() {
                    prop_assert!(text.contains(&added), "{:?} of {:?}", added, text);
                }
            }
        }
    }
}
