//! Line splitter with a length limit. A line that is too long is discarded as a whole, so the memory for a line
//! is bounded.

use bytes::{Bytes, BytesMut};

/// Maximum line length in bytes: the largest board with every byte escaped once, plus the surrounding
/// message.
pub(super) const MAX_LINE_BYTES: usize = 24 << 20;

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    pub(super) buffer: BytesMut,
    /// Length of the buffer prefix known to contain no line break.
    searched: usize,
    /// Whether the rest of an overlong line is being discarded.
    skipping: bool,
}

/// Result of a search for a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineResult {
    /// A line without its line break.
    Line(Bytes),
    /// A line that was too long and is discarded.
    TooLong,
    /// No complete line yet.
    Incomplete,
}

impl LineSplitter {
    /// Returns the next line in the buffer.
    pub(super) fn next_line(&mut self) -> LineResult {
        loop {
            let fresh = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', fresh).map(|at| self.searched + at) else {
                if self.skipping {
                    self.buffer.clear();
                }
                self.searched = self.buffer.len();
                if self.searched <= MAX_LINE_BYTES {
                    return LineResult::Incomplete;
                }
                self.buffer = BytesMut::new();
                self.searched = 0;
                self.skipping = true;
                return LineResult::TooLong;
            };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(end);
            if line.len() > MAX_LINE_BYTES {
                return LineResult::TooLong;
            }
            return LineResult::Line(line.freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_lines(lines: &mut LineSplitter) -> Vec<LineResult> {
        std::iter::from_fn(|| match lines.next_line() {
            LineResult::Incomplete => None,
            found => Some(found),
        })
        .collect()
    }

    #[test]
    fn overlong_line_is_discarded() {
        let mut lines = LineSplitter::default();
        let mut results = Vec::new();
        for _ in 0..=(MAX_LINE_BYTES / (1 << 20)) {
            lines.buffer.extend_from_slice(&vec![b'x'; 1 << 20]);
            results.extend(all_lines(&mut lines));
            assert!(lines.buffer.len() <= MAX_LINE_BYTES + (1 << 20));
        }
        lines.buffer.extend_from_slice(b"xxx\nnext\n");
        results.extend(all_lines(&mut lines));
        assert_eq!(
            results,
            [LineResult::TooLong, LineResult::Line("next".into())]
        );
    }

    proptest! {
        #[test]
        fn line_split_is_independent_of_chunks(text in "[a\n]{0,60}", cut in 1_usize..7) {
            let mut lines = LineSplitter::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(cut) {
                lines.buffer.extend_from_slice(chunk);
                found.extend(all_lines(&mut lines));
            }
            let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
            let expected: Vec<LineResult> = if text.contains('\n') {
                complete.split('\n').map(|line| LineResult::Line(line.to_owned().into())).collect()
            } else {
                Vec::new()
            };
            prop_assert_eq!(found, expected);
        }
    }
}
