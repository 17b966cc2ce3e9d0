//! Iterates over the lines of a text range, with their positions and CommonMark's line ends.

use std::ops::Range;

/// A line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextLine<'a> {
    /// The line without its line end.
    pub(super) text: &'a str,
    /// Its bytes in the text, without the line end.
    pub(super) range: Range<usize>,
    /// Where the next line begins.
    pub(super) next_start: usize,
}

impl TextLine<'_> {
    /// Returns whether CommonMark considers it blank.
    pub(super) fn is_blank(&self) -> bool {
        self.text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Returns its indentation, in columns.
    pub(super) fn indent_columns(&self) -> usize {
        let mut column = 0;
        for byte in self.text.bytes() {
            match byte {
                b' ' => column += 1,
                b'\t' => column += 4 - column % 4,
                _ => break,
            }
        }
        column
    }
}

/// Iterates over the lines of a range. As in CommonMark, `\n`, `\r\n` and `\r` end a line.
pub(super) fn iter_lines(text: &str, range: Range<usize>) -> impl Iterator<Item = TextLine<'_>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let rest = text.get(at..range.end).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = match rest.as_bytes().get(length..) {
            Some([b'\r', b'\n', ..]) => length + 2,
            Some([_, ..]) => length + 1,
            _ => length,
        };
        let line = TextLine {
            text: &rest[..length],
            range: at..at + length,
            next_start: at + end,
        };
        at += end;
        Some(line)
    })
}

/// Returns the start of the line that contains a position.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind(['\n', '\r']))
        .map_or(0, |end| end + 1)
}

/// Returns the end of the last line of a range that is not blank, including its line end; the start of the
/// range if there is none.
pub(super) fn end_of_content(text: &str, range: Range<usize>) -> usize {
    let content = text.get(range.clone()).unwrap_or_default();
    let last = content.trim_end_matches([' ', '\t', '\r', '\n']).len();
    if last == 0 {
        return range.start;
    }
    iter_lines(text, range.start + last..range.end)
        .next()
        .map_or(range.end, |line| line.next_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_line_ends_are_recognized() {
        let text = "a\r\nb\rc\n\nd";
        let found: Vec<_> = iter_lines(text, 0..text.len())
            .map(|l| (l.text, l.next_start))
            .collect();
        assert_eq!(found, [("a", 3), ("b", 5), ("c", 7), ("", 8), ("d", 9)]);
    }

    #[test]
    fn trailing_blank_lines_are_not_content() {
        assert_eq!(end_of_content("x\ny\n\n  \n", 0..8), 4);
        assert_eq!(end_of_content("x\ny", 0..3), 3);
        assert_eq!(end_of_content("x\n\n", 2..3), 2);
        assert_eq!(end_of_content("a  \r\n\r\nb", 0..7), 5);
    }
}
