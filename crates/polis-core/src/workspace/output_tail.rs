//! Bounded tail of a command's output: keeps the last bytes in limited memory and counts all of them.

use std::collections::VecDeque;

use crate::number::saturating_cast;

/// The last bytes of an output, and how many there were.
#[derive(Debug)]
pub struct OutputTail {
    last_bytes: VecDeque<u8>,
    limit: usize,
    total_bytes: u64,
}

impl OutputTail {
    /// Creates an empty tail that keeps at most `limit` bytes. Allocates memory only as output arrives.
    pub fn new(limit: usize) -> Self {
        Self {
            last_bytes: VecDeque::new(),
            limit,
            total_bytes: 0,
        }
    }

    /// Adds the next bytes of the output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes = self
            .total_bytes
            .saturating_add(saturating_cast(bytes.len()));
        // Bytes that this call would remove again are not copied.
        let skipped = bytes.len().saturating_sub(self.limit);
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let length = self.last_bytes.len() + bytes.len();
        self.last_bytes.drain(..length.saturating_sub(self.limit));
        let length = length.min(self.limit);
        if length > self.last_bytes.capacity() {
            let capacity = length.max(self.last_bytes.capacity() * 2).min(self.limit);
            self.last_bytes
                .reserve_exact(capacity - self.last_bytes.len());
        }
        self.last_bytes.extend(bytes);
    }

    /// Returns the number of all bytes of the output.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns the number of bytes kept.
    pub fn kept_bytes(&self) -> usize {
        self.last_bytes.len()
    }

    /// Returns the number of bytes allocated, which never exceeds the limit.
    pub fn allocated_bytes(&self) -> usize {
        self.last_bytes.capacity()
    }

    /// Returns the bytes kept. If earlier ones were dropped, an incomplete UTF-8 character at the beginning is left
    /// out.
    pub fn bytes(&mut self) -> &[u8] {
        let is_truncated = self.total_bytes > saturating_cast::<u64>(self.last_bytes.len());
        let bytes: &[u8] = self.last_bytes.make_contiguous();
        let is_continuation = |byte: &&u8| matches!(byte, 0x80..=0xBF);
        let incomplete = bytes.iter().take(3).take_while(is_continuation).count();
        let from = if is_truncated { incomplete } else { 0 };
        bytes.get(from..).unwrap_or_default()
    }

    /// Returns the text kept, and the number of bytes before it. Bytes that are not UTF-8 are replaced.
    pub fn text(&mut self) -> (String, u64) {
        let total_bytes = self.total_bytes;
        let bytes = self.bytes();
        let omitted = total_bytes.saturating_sub(saturating_cast(bytes.len()));
        (String::from_utf8_lossy(bytes).into_owned(), omitted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail_of(limit: usize, pieces: &[&[u8]]) -> OutputTail {
        let mut tail = OutputTail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn tail_begins_at_a_character_boundary() {
        for (limit, output, text, omitted) in [
            (4, "", "", 0),
            (4, "1234", "1234", 0),
            (4, "12345", "2345", 1),
            (0, "12", "", 2),
            (1, "12", "2", 1),
            // "é" is two bytes, "中" three, "😀" four.
            (4, "é123", "123", 2),
            (4, "1中45", "45", 4),
            (4, "😀1", "1", 4),
            (4, "中😀", "😀", 3),
            (3, "😀", "", 4),
        ] {
            assert_eq!(
                tail_of(limit, &[output.as_bytes()]).text(),
                (text.to_owned(), omitted),
                "{output} within {limit}"
            );
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(tail_of(4, &[b"a\xff"]).text(), ("a\u{fffd}".to_owned(), 0));
        // Without earlier bytes, a continuation byte is not the end of a character.
        assert_eq!(tail_of(4, &[b"\xbfa"]).text(), ("\u{fffd}a".to_owned(), 0));
        // No character has more than three continuation bytes.
        assert_eq!(tail_of(5, &[&[0xbf; 100]]).bytes(), [0xbf; 2]);
    }

    #[test]
    fn long_output_stays_within_limit() {
        for limit in [0, 1, 1_000, 65_537] {
            let mut tail = OutputTail::new(limit);
            for _ in 0..400 {
                tail.push(&[b'y'; 1_007]);
                tail.push(b"z");
                assert!(tail.allocated_bytes() <= limit, "{limit}");
                assert!(tail.kept_bytes() <= limit);
            }
            assert_eq!(tail.total_bytes(), 400 * 1_008);
        }
    }

    proptest! {
        #[test]
        fn tail_is_the_end_of_the_output(
            pieces in proptest::collection::vec(any::<Vec<u8>>(), 0..12),
            limit in 0_usize..200,
        ) {
            let mut tail = OutputTail::new(limit);
            for piece in &pieces {
                tail.push(piece);
            }
            let whole = pieces.concat();
            let kept = tail.kept_bytes();
            prop_assert_eq!(kept, whole.len().min(limit));
            prop_assert_eq!(tail.total_bytes(), whole.len() as u64);
            let bytes = tail.bytes();
            prop_assert!(whole.ends_with(bytes) && kept - bytes.len() <= 3);
        }
    }
}
