//! Parser for server-sent events (SSE), as far as model servers use them: extracts the `data` lines of a
//! stream. A line that arrives in one chunk is not copied.

use memchr::memchr;

/// Maximum length of a line: a response is a few kilobytes, and a flood of data is not buffered.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The lines of a stream. Buffers an incomplete line.
#[derive(Debug, Default)]
pub(super) struct SseDataParser {
    partial_line: Vec<u8>,
}

/// A line is too long to be a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLongError;

impl SseDataParser {
    /// Adds a chunk, and passes on the data of each line that is complete now. Fails if `on_data` fails or an
    /// incomplete line is too long.
    pub(super) fn feed_chunk<E: From<LineTooLongError>>(
        &mut self,
        mut bytes: &[u8],
        mut on_data: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            bytes = rest.get(1..).unwrap_or_default();
            if self.partial_line.is_empty() {
                pass_data_line(line, &mut on_data)?;
            } else {
                self.partial_line.extend_from_slice(line);
                pass_data_line(&self.partial_line, &mut on_data)?;
                self.partial_line.clear();
            }
        }
        if self.partial_line.len() + bytes.len() > MAX_LINE_BYTES {
            return Err(LineTooLongError.into());
        }
        self.partial_line.extend_from_slice(bytes);
        Ok(())
    }

    /// Passes on the rest after the last line end: some servers omit the last line end.
    pub(super) fn finish_stream<E>(
        &mut self,
        mut on_data: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.partial_line);
        pass_data_line(&line, &mut on_data)
    }
}

/// Passes on the data of a `data` line. Comments, event names and ids are ignored.
fn pass_data_line<E>(
    line: &[u8],
    on_data: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let Some(data) = line.strip_prefix(b"data:") else {
        return Ok(());
    };
    let data = data.trim_ascii();
    if data.is_empty() {
        return Ok(());
    }
    on_data(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse_pieces(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = SseDataParser::default();
        let mut on_data = |data: &[u8]| {
            all.push(String::from_utf8_lossy(data).into_owned());
            Ok::<(), LineTooLongError>(())
        };
        for piece in pieces {
            lines.feed_chunk(piece, &mut on_data).unwrap();
        }
        lines.finish_stream(&mut on_data).unwrap();
        all
    }

    #[test]
    fn data_lines_are_extracted_with_any_line_ending() {
        for (stream, data) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data:a\r\n\r\ndata:  b \r\n", vec!["a", "b"]),
            (
                ": a comment\nevent: x\nid: 4\ndata: a\nretry: 5\n",
                vec!["a"],
            ),
            ("data: a\ndata: [DONE]", vec!["a", "[DONE]"]),
            ("data:\n\ndata: \n\n", vec![]),
            ("", vec![]),
            ("{\"error\":1}", vec![]),
        ] {
            assert_eq!(parse_pieces(&[stream.as_bytes()]), data, "{stream:?}");
        }
    }

    #[test]
    fn line_over_the_limit_is_refused() {
        let mut lines = SseDataParser::default();
        let piece = vec![b'x'; 1 << 20];
        let error = (0..17).find_map(|_| lines.feed_chunk(&piece, |_| Ok(())).err());
        assert_eq!(error, Some(LineTooLongError));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn chunk_boundaries_do_not_change_the_data(
            data in prop::collection::vec("[a-zé\"{}:]{1,12}", 0..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let whole: String = data.iter().map(|data| format!("data: {data}\r\n\r\n")).collect();
            let bytes = whole.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse_pieces(&pieces), data);
        }
    }
}
