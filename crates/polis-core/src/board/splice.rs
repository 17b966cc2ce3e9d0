//! Text splices: the replacement of one byte range of a text. [`TextSplice::from_change`] computes the smallest
//! one, on character boundaries; [`TextSplice::apply`] applies it.
//!
//! Edits of a part of a board (section, milestone, decision) return a splice. `write_rules` decides whether the
//! splice or the whole new text is stored: the splice only if the board is large.

/// A byte range to remove from a text, and the text to insert there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextSplice {
    /// Where the change begins, in bytes.
    pub start: usize,
    /// Number of bytes to remove.
    pub removed: usize,
    /// The text to insert.
    pub text: String,
}

impl TextSplice {
    /// Returns the smallest splice that turns `old`, which begins at `start`, into `new`.
    pub fn from_change(start: usize, old: &str, new: &str) -> Self {
        let mut head = common_prefix_length(old.bytes(), new.bytes());
        while !(old.is_char_boundary(head) && new.is_char_boundary(head)) {
            head -= 1;
        }
        let (old, new) = (&old[head..], &new[head..]);
        let mut tail = common_prefix_length(old.bytes().rev(), new.bytes().rev());
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

fn common_prefix_length(old: impl Iterator<Item = u8>, new: impl Iterator<Item = u8>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn splice_is_minimal() {
        let splice = TextSplice::from_change(10, "aXb", "aYYb");
        assert_eq!((splice.start, splice.removed, &*splice.text), (11, 1, "YY"));
        assert!(TextSplice::from_change(3, "板", "板").is_empty());
        // The two share their first byte, but no character.
        assert_eq!(TextSplice::from_change(0, "板", "枿").text, "枿");
    }

    proptest! {
        #[test]
        fn applied_splice_gives_new_text(before in "[ab板枿]{0,3}", old in "[ab板枿é]{0,6}", new in "[ab板枿é]{0,6}", after in "[ab]{0,3}") {
            let text = format!("{before}{old}{after}");
            let splice = TextSplice::from_change(before.len(), &old, &new);
            prop_assert_eq!(splice.apply(&text), format!("{before}{new}{after}"));
            prop_assert_eq!(splice.is_empty(), old == new);
        }
    }
}
