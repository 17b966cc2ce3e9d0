//! Byte ranges of long texts: returns a part of a text, and the offset at which the next part begins.

use std::sync::Arc;

use polis_core::RawJson;
use polis_core::number::saturating_cast;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextRange {
    /// The part.
    pub(crate) text: Arc<String>,
    /// Offset of the next part, if there is one.
    pub(crate) next_offset: Option<u64>,
    /// Length of the whole text, if this is only a part of it.
    pub(crate) total_size: Option<u64>,
}

impl TextRange {
    /// Returns the part as a JSON string, or `None` if it is the whole text.
    pub(crate) fn as_json(&self) -> Option<RawJson> {
        self.total_size?;
        RawJson::from_value(self.text.as_ref()).ok()
    }
}

/// Like [`text_range`], for a JSON value: of the string if it is one, otherwise of its JSON text.
pub(crate) fn json_text_range(
    value: &RawJson,
    offset: Option<u64>,
    max_bytes: Option<u64>,
) -> TextRange {
    let text = value.parse_as::<String>();
    let text = text.unwrap_or_else(|| value.as_str().to_owned());
    text_range(Arc::new(text), offset, max_bytes)
}

/// Returns the part of `text` that begins at byte `offset` and has about `max_bytes` bytes.
///
/// The part ends at a line break if there is one in its second half, and never within a character. It is
/// never empty while text remains, so reading part after part always reaches the end of the text.
pub(crate) fn text_range(
    text: Arc<String>,
    offset: Option<u64>,
    max_bytes: Option<u64>,
) -> TextRange {
    let bytes = |number: Option<u64>, default| number.map_or(default, saturating_cast::<usize>);
    let rest = text_from_offset(&text, offset.unwrap_or(0));
    let start = text.len() - rest.len();
    let part = truncate_text(rest, bytes(max_bytes, usize::MAX));
    if part.len() == text.len() {
        return TextRange {
            text,
            next_offset: None,
            total_size: None,
        };
    }
    let end = start + part.len();
    TextRange {
        next_offset: (end < text.len()).then_some(end as u64),
        total_size: Some(text.len() as u64),
        text: Arc::new(part.to_owned()),
    }
}

/// Returns the text from byte `offset` on, rounded down to a character boundary.
pub(crate) fn text_from_offset(text: &str, offset: u64) -> &str {
    let start = text.floor_char_boundary(saturating_cast::<usize>(offset));
    text.get(start..).unwrap_or_default()
}

/// Returns the first `max_bytes` bytes of a text, approximately: rounded down to whole lines if that does not
/// remove too much.
pub(crate) fn truncate_text(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let head = text
        .get(..text.floor_char_boundary(max_bytes).max(first))
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
    fn text_range_ends_at_a_line_break() {
        let text = Arc::new("one\ntwo\nthree\n".to_owned());
        let first = text_range(Arc::clone(&text), None, Some(9));
        assert_eq!(
            (first.text.as_str(), first.next_offset, first.total_size),
            ("one\ntwo\n", Some(8), Some(14))
        );
        let rest = text_range(Arc::clone(&text), first.next_offset, None);
        assert_eq!(
            (rest.text.as_str(), rest.next_offset, rest.total_size),
            ("three\n", None, Some(14))
        );
        let all = text_range(text, None, Some(14));
        assert_eq!((all.next_offset, all.total_size), (None, None));
    }

    proptest! {
        #[test]
        fn joined_ranges_equal_the_text(text in "[a-z\n\u{e9}\u{957f}\u{1f600}]{0,60}", most in 0_u64..20) {
            let whole = Arc::new(text);
            let (mut read, mut next) = (String::new(), Some(0));
            for _ in 0..=whole.len() {
                let Some(at) = next else { break };
                let part = text_range(Arc::clone(&whole), Some(at), Some(most));
                read.push_str(&part.text);
                next = part.next_offset;
            }
            prop_assert_eq!(next, None);
            prop_assert_eq!(&read, whole.as_ref());
        }

        #[test]
        fn any_window_is_a_part(text in "\\PC{0,40}", offset: u64, most: u64) {
            let whole = Arc::new(text);
            let part = text_range(Arc::clone(&whole), Some(offset), Some(most));
            prop_assert!(whole.contains(part.text.as_str()));
        }
    }
}
