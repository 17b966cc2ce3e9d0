//! A splice: the replacement of one byte range of a text.
//!
//! Edits of boards are expressed as splices, so that a small change of a large board is stored as a small row.

/// A byte range to remove from a text, and the text to insert there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splice {
    /// Where the change begins, in bytes.
    pub start: usize,
    /// Number of bytes to remove.
    pub removed: usize,
    /// The text to insert.
    pub text: String,
}

impl Splice {
    /// Returns the smallest splice that turns `old`, which begins at `start`, into `new`.
    pub fn between(start: usize, old: &str, new: &str) -> Self {
        let mut head = common(old.bytes(), new.bytes());
        while !(old.is_char_boundary(head) && new.is_char_boundary(head)) {
            head -= 1;
        }
        let (old, new) = (&old[head..], &new[head..]);
        let mut tail = common(old.bytes().rev(), new.bytes().rev());
        while !(old.is_char_boundary(old.len() - tail) && new.is_char_boundary(new.len() - tail)) {
            tail -= 1;
        }
        Self {
            start: start + head,
            removed: old.len() - tail,
            text: new[..new.len() - tail].to_owned(),
        }
    }

    /// Returns whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.removed == 0 && self.text.is_empty()
    }

    /// Returns the text with the splice applied. A position outside of the text is taken as its end.
    pub fn apply(&self, text: &str) -> String {
        let before = text.get(..self.start).unwrap_or(text);
        let after = text
            .get(self.start.saturating_add(self.removed)..)
            .unwrap_or_default();
        [before, &self.text, after].concat()
    }
}

fn common(old: impl Iterator<Item = u8>, new: impl Iterator<Item = u8>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_change_is_the_smallest() {
        let splice = Splice::between(10, "aXb", "aYYb");
        assert_eq!((splice.start, splice.removed, &*splice.text), (11, 1, "YY"));
        assert!(Splice::between(3, "板", "板").is_empty());
        // The two share their first byte, but no character.
        assert_eq!(Splice::between(0, "板", "枿").text, "枿");
    }

    proptest! {
        #[test]
        fn it_makes_the_one_into_the_other(before in "[ab板枿]{0,3}", old in "[ab板枿é]{0,6}", new in "[ab板枿é]{0,6}", after in "[ab]{0,3}") {
            let text = format!("{before}{old}{after}");
            let splice = Splice::between(before.len(), &old, &new);
            prop_assert_eq!(splice.apply(&text), format!("{before}{new}{after}"));
            prop_assert_eq!(splice.is_empty(), old == new);
        }
    }
}
