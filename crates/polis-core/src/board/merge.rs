//! Three-way merge of board texts, with conflict markers.
//!
//! A writer that read an older version can have its change merged into the current text, line by line.

use super::line_changes::{Change, Lines, changes};

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both changes were applied.
    Clean(String),
    /// Both sides changed the same lines: the text with conflict markers.
    Conflict(String),
}

/// Conflict markers.
const MARKS: [&str; 4] = [
    "<<<<<<< yours",
    "||||||| base",
    "=======",
    ">>>>>>> current",
];

/// Returns whether a text has more conflict markers than `before`. The middle marker is also a setext heading
/// underline, so it counts only if the text came from a conflict.
pub fn has_marks(text: &str, before: &str, from_conflict: bool) -> bool {
    let count = |text: &str, mark: &str| text.lines().filter(|line| *line == mark).count();
    MARKS
        .iter()
        .filter(|mark| from_conflict || **mark != "=======")
        .any(|mark| count(text, mark) > count(before, mark))
}

/// Applies the changes from `base` to `yours` to `current`, line by line.
///
/// Lines that both sides changed conflict, unless both changes are equal. So do additions at the edge of a
/// change on the other side, because their order is undefined. Adjacent lines of which each side changed one,
/// line for line, do not conflict: two agents ticking two items of a list.
pub fn merge(base: &str, current: &str, yours: &str) -> Merged {
    if current == yours || base == yours {
        return Merged::Clean(current.to_owned());
    }
    if base == current {
        return Merged::Clean(yours.to_owned());
    }
    let mut weave = Weave {
        base: Lines::of(base),
        current: Side::of(base, current),
        yours: Side::of(base, yours),
        at: 0,
        text: String::with_capacity(current.len().max(yours.len())),
        conflict: false,
    };
    weave.run();
    if weave.conflict {
        Merged::Conflict(weave.text)
    } else {
        Merged::Clean(weave.text)
    }
}

/// One of the two new texts, with its remaining changes.
struct Side<'t> {
    lines: Lines<'t>,
    changes: std::iter::Peekable<std::vec::IntoIter<Change>>,
}

impl<'t> Side<'t> {
    fn of(base: &str, text: &'t str) -> Self {
        Self {
            lines: Lines::of(text),
            changes: changes(base, text).into_iter().peekable(),
        }
    }

    fn text_of(&self, change: &Change) -> &'t str {
        self.lines.get(change.new.clone())
    }

    /// Merges the next change into `mine` if it clashes with `other`. Returns whether it did.
    fn extend(&mut self, mine: &mut Change, other: &Change) -> bool {
        let Some(next) = self.changes.next_if(|next| clash(next, other)) else {
            return false;
        };
        mine.old.end = next.old.end;
        mine.new.end = next.new.end;
        true
    }
}

struct Weave<'t> {
    base: Lines<'t>,
    current: Side<'t>,
    yours: Side<'t>,
    /// Number of base lines already processed.
    at: usize,
    text: String,
    conflict: bool,
}

impl Weave<'_> {
    fn run(&mut self) {
        loop {
            match (self.current.changes.peek(), self.yours.changes.peek()) {
                (Some(theirs), Some(mine)) if clash(theirs, mine) => self.join(),
                (Some(theirs), Some(mine)) if theirs.old.start < mine.old.start => {
                    self.take_current();
                }
                (_, Some(_)) => self.take_yours(),
                (Some(_), None) => self.take_current(),
                (None, None) => break,
            }
        }
        self.copy_to(self.base.count());
    }

    /// Copies unchanged lines.
    fn copy_to(&mut self, line: usize) {
        self.text.push_str(self.base.get(self.at..line));
        self.at = line;
    }

    fn take_current(&mut self) {
        if let Some(change) = self.current.changes.next() {
            let text = self.current.text_of(&change);
            self.put(&change, text);
        }
    }

    fn take_yours(&mut self) {
        if let Some(change) = self.yours.changes.next() {
            let text = self.yours.text_of(&change);
            self.put(&change, text);
        }
    }

    fn put(&mut self, change: &Change, text: &str) {
        self.copy_to(change.old.start);
        self.text.push_str(text);
        self.at = change.old.end;
    }

    /// Combines the next changes of both sides, and all changes that clash with them in turn.
    fn join(&mut self) {
        let (Some(mut theirs), Some(mut mine)) =
            (self.current.changes.next(), self.yours.changes.next())
        else {
            return;
        };
        let same = |a: &Change, b: &Change| a.old == b.old;
        if same(&theirs, &mine) && self.current.text_of(&theirs) == self.yours.text_of(&mine) {
            let text = self.current.text_of(&theirs);
            return self.put(&theirs, text);
        }
        while self.current.extend(&mut theirs, &mine) || self.yours.extend(&mut mine, &theirs) {}
        let start = theirs.old.start.min(mine.old.start);
        let end = theirs.old.end.max(mine.old.end);
        for change in [&mut theirs, &mut mine] {
            change.new.start -= change.old.start - start;
            change.new.end += end - change.old.end;
            change.old = start..end;
        }
        let (current, yours) = (self.current.text_of(&theirs), self.yours.text_of(&mine));
        if current == yours {
            return self.put(&theirs, current);
        }
        self.copy_to(start);
        let base = self.base.get(start..end);
        self.mark(yours, base, current);
        self.at = end;
    }

    fn mark(&mut self, yours: &str, base: &str, current: &str) {
        self.conflict = true;
        for (marker, text) in MARKS.into_iter().zip([yours, base, current, ""]) {
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
fn clash(one: &Change, two: &Change) -> bool {
    let overlap = one.old.start < two.old.end && two.old.start < one.old.end;
    let touch = one.old.start <= two.old.end && two.old.start <= one.old.end;
    let line_for_line = |change: &Change| change.old.len() == change.new.len();
    overlap || (touch && !(line_for_line(one) && line_for_line(two)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(base: &str, current: &str, yours: &str) -> Option<String> {
        match merge(base, current, yours) {
            Merged::Clean(text) => Some(text),
            Merged::Conflict(_) => None,
        }
    }

    #[test]
    fn marks_are_known_until_all_of_them_are_gone() {
        let Merged::Conflict(text) = merge("1\n", "theirs\n", "mine\n") else {
            panic!("both changed the line");
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
            assert_eq!(has_marks(&text, before, conflict), marked, "{text}");
        }
    }

    #[test]
    fn what_merges_and_what_conflicts() {
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
                clean(base, current, yours).as_deref(),
                expected,
                "{base:?} {current:?} {yours:?}"
            );
        }
    }

    #[test]
    fn a_conflict_shows_all_three() {
        assert_eq!(
            merge("1\n2\n3\n4\n5", "1\n2\n3\n4\nfive", "one\n2\n3\n4\n5\n"),
            Merged::Conflict(
                "one\n2\n3\n4\n<<<<<<< yours\n5\n||||||| base\n5\n=======\nfive\n>>>>>>> current\n"
                    .to_owned()
            )
        );
    }

    /// Lines that all differ, so that it is unambiguous which one was changed.
    fn numbered(edits: &[(usize, String)]) -> String {
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
        fn changes_apart_from_each_other_are_both_made(
            edits in prop::collection::vec((any::<bool>(), "([a-z]{0,3}\n){0,3}"), 20)
        ) {
            // At most every other line is changed, so that an unchanged line is between any two changes.
            let of = |side: bool| -> Vec<_> {
                let numbered = edits.iter().enumerate();
                numbered.filter(|(_, (mine, _))| *mine == side).map(|(n, (_, text))| (2 * n, text.clone())).collect()
            };
            let (mine, theirs) = (of(true), of(false));
            let all = [mine.clone(), theirs.clone()].concat();
            let (base, current, yours) = (numbered(&[]), numbered(&theirs), numbered(&mine));
            prop_assert_eq!(clean(&base, &current, &yours), Some(numbered(&all)));
            prop_assert_eq!(clean(&base, &yours, &current), Some(numbered(&all)));
        }

        #[test]
        fn sides_are_alike_and_no_change_is_none(base in "([a-d]\n){0,12}[ab]?", one in "([a-d]\n){0,12}[ab]?", two in "([a-d]\n){0,12}[ab]?") {
            prop_assert_eq!(clean(&base, &base, &one), Some(one.clone()));
            prop_assert_eq!(clean(&base, &one, &base), Some(one.clone()));
            prop_assert_eq!(clean(&base, &one, &one), Some(one.clone()));
            prop_assert_eq!(clean(&base, &one, &two), clean(&base, &two, &one));
        }

        #[test]
        fn a_conflict_holds_every_line_of_both(base in "([a-d]\n){0,12}", one in "([a-d]\n){0,12}", two in "([a-d]\n){0,12}") {
            if let Merged::Conflict(text) = merge(&base, &one, &two) {
                let added = |side: &str| -> Vec<String> {
                    changes(&base, side).into_iter().map(|change| Lines::of(side).get(change.new).to_owned()).collect()
                };
                for added in [added(&one), added(&two)].concat() {
                    prop_assert!(text.contains(&added), "{:?} of {:?}", added, text);
                }
            }
        }
    }
}
