//! Line splitter with a length limit. A line that is too long is discarded as a whole, so it takes no memory.

use bytes::{Bytes, BytesMut};

/// Maximum line length in bytes: the largest board with every byte escaped once, plus the surrounding
/// message.
pub(super) const LONGEST: usize = 24 << 20;

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) buffer: BytesMut,
    /// Length of the buffer prefix known to contain no line break.
    looked: usize,
    /// Whether the rest of an overlong line is being discarded.
    skipping: bool,
}

/// Result of a search for a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A line without its line break.
    Line(Bytes),
    /// A line that was too long and is discarded.
    TooLong,
    /// No complete line yet.
    Nothing,
}

impl Lines {
    /// Returns the next line in the buffer.
    pub(super) fn next(&mut self) -> Found {
        loop {
            let fresh = self.buffer.get(self.looked..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', fresh).map(|at| self.looked + at) else {
                if self.skipping {
                    self.buffer.clear();
                }
                self.looked = self.buffer.len();
                if self.looked <= LONGEST {
                    return Found::Nothing;
                }
                self.buffer = BytesMut::new();
                self.looked = 0;
                self.skipping = true;
                return Found::TooLong;
            };
            let mut line = self.buffer.split_to(end + 1);
            self.looked = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(end);
            if line.len() > LONGEST {
                return Found::TooLong;
            }
            return Found::Line(line.freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(lines: &mut Lines) -> Vec<Found> {
        std::iter::from_fn(|| match lines.next() {
            Found::Nothing => None,
            found => Some(found),
        })
        .collect()
    }

    #[test]
    fn a_line_too_long_is_left_out_and_the_next_one_read() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for _ in 0..=(LONGEST / (1 << 20)) {
            lines.buffer.extend_from_slice(&vec![b'x'; 1 << 20]);
            seen.extend(all(&mut lines));
            assert!(lines.buffer.len() <= LONGEST + (1 << 20));
        }
        lines.buffer.extend_from_slice(b"xxx\nnext\n");
        seen.extend(all(&mut lines));
        assert_eq!(seen, [Found::TooLong, Found::Line("next".into())]);
    }

    proptest! {
        #[test]
        fn however_it_comes_the_lines_are_the_same(text in "[a\n]{0,60}", cut in 1_usize..7) {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(cut) {
                lines.buffer.extend_from_slice(chunk);
                found.extend(all(&mut lines));
            }
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let expected: Vec<Found> = if text.contains('\n') {
                whole.split('\n').map(|line| Found::Line(line.to_owned().into())).collect()
            } else {
                Vec::new()
            };
            prop_assert_eq!(found, expected);
        }
    }
}
