//! Server-sent events, as far as model servers use them: extracts the `data` lines of a stream. A line that arrives in
//! one chunk is not copied.

use memchr::memchr;

/// Maximum length of a line: a response is a few kilobytes, and a flood of data is not buffered.
const LONGEST: usize = 16 << 20;

/// The lines of a stream. Buffers an incomplete line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
}

/// A line is too long to be a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLongALine;

impl Lines {
    /// Adds a chunk, and passes on the data of each line that is complete now.
    pub(super) fn feed<E: From<TooLongALine>>(
        &mut self,
        mut bytes: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            bytes = rest.get(1..).unwrap_or_default();
            if self.begun.is_empty() {
                give_data(line, &mut give)?;
            } else {
                self.begun.extend_from_slice(line);
                give_data(&self.begun, &mut give)?;
                self.begun.clear();
            }
        }
        if self.begun.len() + bytes.len() > LONGEST {
            return Err(TooLongALine.into());
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    /// Passes on the rest after the last line end: some servers omit the last line end.
    pub(super) fn end<E>(&mut self, mut give: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.begun);
        give_data(&line, &mut give)
    }
}

/// Passes on the data of a `data` line. Comments, event names and ids are ignored.
fn give_data<E>(line: &[u8], give: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let Some(data) = line.strip_prefix(b"data:") else {
        return Ok(());
    };
    let data = data.trim_ascii();
    if data.is_empty() {
        return Ok(());
    }
    give(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        let mut give = |data: &[u8]| {
            all.push(String::from_utf8_lossy(data).into_owned());
            Ok::<(), TooLongALine>(())
        };
        for piece in pieces {
            lines.feed(piece, &mut give).unwrap();
        }
        lines.end(&mut give).unwrap();
        all
    }

    #[test]
    fn data_is_found_whatever_the_line_ends_are() {
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
            assert_eq!(read(&[stream.as_bytes()]), data, "{stream:?}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1 << 20];
        let fed = (0..17).find_map(|_| lines.feed(&piece, |_| Ok(())).err());
        assert_eq!(fed, Some(TooLongALine));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn where_it_is_cut_does_not_matter(
            data in prop::collection::vec("[a-zé\"{}:]{1,12}", 0..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let whole: String = data.iter().map(|data| format!("data: {data}\r\n\r\n")).collect();
            let bytes = whole.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), data);
        }
    }
}
