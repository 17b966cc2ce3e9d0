//! Byte ranges of long texts: returns a part of a text, and the offset at which the next part begins.

use std::sync::Arc;

use polis_core::Raw;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// The part.
    pub(super) text: Arc<String>,
    /// Offset of the next part, if there is one.
    pub(super) next: Option<u64>,
    /// Length of the whole text, if this is only a part of it.
    pub(super) size: Option<u64>,
}

impl Window {
    /// Returns the part as a JSON string, or `None` if it is the whole text.
    pub(super) fn as_json(&self) -> Option<Raw> {
        self.size?;
        Raw::of(self.text.as_ref()).ok()
    }
}

/// Like [`window`], for a JSON value: of the string if it is one, otherwise of its JSON text.
pub(super) fn window_of(value: &Raw, offset: Option<u64>, most: Option<u64>) -> Window {
    let text = value.to::<String>();
    let text = text.unwrap_or_else(|| value.text().to_owned());
    window(Arc::new(text), offset, most)
}

/// Returns the part of `text` that begins at byte `offset` and has about `most` bytes.
///
/// The part ends at a line break if there is one in its second half, and never within a character. It is never empty
/// while text remains, so reading part after part always reaches the end of the text.
pub(super) fn window(text: Arc<String>, offset: Option<u64>, most: Option<u64>) -> Window {
    let bytes = |number: Option<u64>, none| {
        number.map_or(none, |n| usize::try_from(n).unwrap_or(usize::MAX))
    };
    let rest = from(&text, offset.unwrap_or(0));
    let start = text.len() - rest.len();
    let taken = cut(rest, bytes(most, usize::MAX));
    if taken.len() == text.len() {
        return Window {
            text,
            next: None,
            size: None,
        };
    }
    let end = start + taken.len();
    Window {
        next: (end < text.len()).then_some(end as u64),
        size: Some(text.len() as u64),
        text: Arc::new(taken.to_owned()),
    }
}

/// Returns the text from byte `offset` on, rounded down to a character boundary.
pub(crate) fn from(text: &str, offset: u64) -> &str {
    let start = text.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX));
    text.get(start..).unwrap_or_default()
}

/// Returns the first `most` bytes of a text, approximately: rounded down to whole lines if that does not remove too
/// much.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let head = text
        .get(..text.floor_char_boundary(most).max(first))
        .unwrap_or(text);
    let line = head.rfind('\n').map_or(0, |at| at + 1);
    let end = if line > head.len() / 2 {
        line
    } else {
        head.len()
    };
    head.get(..end).unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_ends_with_a_line() {
        let text = Arc::new("one\ntwo\nthree\n".to_owned());
        let first = window(Arc::clone(&text), None, Some(9));
        assert_eq!(
            (first.text.as_str(), first.next, first.size),
            ("one\ntwo\n", Some(8), Some(14))
        );
        let rest = window(Arc::clone(&text), first.next, None);
        assert_eq!(
            (rest.text.as_str(), rest.next, rest.size),
            ("three\n", None, Some(14))
        );
        let all = window(text, None, Some(14));
        assert_eq!((all.next, all.size), (None, None));
    }

    proptest! {
        #[test]
        fn windows_put_together_are_the_text(text in "[a-z\n\u{e9}\u{957f}\u{1f600}]{0,60}", most in 0_u64..20) {
            let whole = Arc::new(text);
            let (mut read, mut next) = (String::new(), Some(0));
            for _ in 0..=whole.len() {
                let Some(at) = next else { break };
                let part = window(Arc::clone(&whole), Some(at), Some(most));
                read.push_str(&part.text);
                next = part.next;
            }
            prop_assert_eq!(next, None);
            prop_assert_eq!(&read, whole.as_ref());
        }

        #[test]
        fn any_window_is_a_part(text in "\\PC{0,40}", offset: u64, most: u64) {
            let whole = Arc::new(text);
            let part = window(Arc::clone(&whole), Some(offset), Some(most));
            prop_assert!(whole.contains(part.text.as_str()));
        }
    }
}
