//! Line scanner that finds headings without a parser wherever a line is unambiguous.
//!
//! It relies on this: an unindented line after a blank line, and an unindented `#` heading or fence, close
//! every list, quote and paragraph. So the text from there on can be parsed independently, and an ambiguous
//! range can be parsed alone.

use memchr::{memchr, memmem};

use super::{Section, commonmark, heading_title};

/// Maximum length, in bytes, that ranges parsed in close succession are extended to.
const MAX_PARSE_BYTES: usize = 64 * 1024;

/// Returns the headings of a text from `start` on. The ends of their sections are not set yet.
pub(super) fn scan_headings(text: &str, start: usize) -> Vec<Section> {
    let mut scan = HeadingScanner {
        text,
        bytes: text.as_bytes(),
        sections: Vec::new(),
        independent_from: start,
        no_open_paragraph: true,
        min_parse_bytes: 0,
        parsed_to: 0,
    };
    if has_lone_carriage_return(text.as_bytes()) {
        scan.accept_headings(start, &commonmark::parse_headings(&text[start..]));
    } else {
        scan.scan(start);
    }
    scan.sections
}

/// Returns the level of an unindented `#` heading.
pub(super) fn atx_level(line: &[u8]) -> Option<u8> {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    let ended = matches!(line.get(level), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
    u8::try_from(level)
        .ok()
        .filter(|level| (1..=6).contains(level) && ended)
}

struct HeadingScanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    sections: Vec<Section>,
    /// The last position from which the text can be parsed independently.
    independent_from: usize,
    /// Whether no paragraph can be open.
    no_open_paragraph: bool,
    /// Minimum length of the next range to parse.
    min_parse_bytes: usize,
    /// Where the last parsed range ended.
    parsed_to: usize,
}

/// Class of a line outside of fences.
enum LineClass {
    Blank,
    Heading(u8),
    Fence(CodeFence),
    Rule,
    Text,
    Ambiguous,
}

/// An open, unindented fence.
struct CodeFence {
    mark: u8,
    length: usize,
}

impl HeadingScanner<'_> {
    fn scan(&mut self, start: usize) {
        let mut at = start;
        let mut fence: Option<CodeFence> = None;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, end) = (&rest[..length], at + length);
            if let Some(open) = &fence {
                if open.is_closed_by(line) {
                    fence = None;
                    self.close_blocks(end);
                }
                at = end;
                continue;
            }
            let class = classify_line(line, self.no_open_paragraph);
            if self.no_open_paragraph && !matches!(line.first(), Some(b' ' | b'\t' | b'\r' | b'\n'))
            {
                self.independent_from = at;
            }
            match class {
                LineClass::Blank => self.no_open_paragraph = true,
                LineClass::Text => self.no_open_paragraph = false,
                LineClass::Rule => self.close_blocks(end),
                LineClass::Heading(level) => {
                    self.push_heading(level, at, end);
                    self.close_blocks(end);
                }
                LineClass::Fence(open) => {
                    self.independent_from = at;
                    fence = Some(open);
                }
                LineClass::Ambiguous => {
                    at = self.parse_ambiguous_range(end);
                    continue;
                }
            }
            at = end;
        }
    }

    /// Records that no block is open from here on.
    fn close_blocks(&mut self, at: usize) {
        self.independent_from = at;
        self.no_open_paragraph = true;
    }

    fn push_heading(&mut self, level: u8, start: usize, end: usize) {
        self.sections.push(Section {
            level,
            title: heading_title::heading_title(&self.text[start..end]),
            heading: start..end,
            end,
        });
    }

    fn accept_headings(&mut self, offset: usize, headings: &[(u8, std::ops::Range<usize>)]) {
        for (level, range) in headings {
            self.push_heading(*level, offset + range.start, offset + range.end);
        }
    }

    /// Parses from `independent_from` past `ambiguous_at` up to a heading that closes all blocks. Returns
    /// where that heading begins.
    ///
    /// A range without such a heading is doubled, so that the total parsing time stays linear.
    fn parse_ambiguous_range(&mut self, ambiguous_at: usize) -> usize {
        let start = self.independent_from;
        let close = start <= self.parsed_to.saturating_add(self.min_parse_bytes);
        self.min_parse_bytes = if close {
            (self.min_parse_bytes * 2).clamp(256, MAX_PARSE_BYTES)
        } else {
            0
        };
        let mut least = ambiguous_at.max(start + self.min_parse_bytes);
        loop {
            let stop = self.next_heading_candidate(least);
            let end = stop.unwrap_or(self.bytes.len());
            let headings = commonmark::parse_headings(&self.text[start..end]);
            self.parsed_to = end;
            if stop.is_none() {
                self.accept_headings(start, &headings);
                return end;
            }
            let certain = headings.iter().rposition(|(_, range)| {
                self.is_heading_candidate(start + range.start, ambiguous_at)
            });
            if let Some((index, (_, range))) = certain.and_then(|at| Some((at, headings.get(at)?)))
            {
                self.accept_headings(start, headings.get(..index).unwrap_or_default());
                self.close_blocks(start + range.start);
                return self.independent_from;
            }
            least = start + 2 * (end - start);
        }
    }

    /// Returns the end of the first line at or after `from` that looks like a `#` heading.
    fn next_heading_candidate(&self, from: usize) -> Option<usize> {
        let first = from.checked_sub(1)?;
        let rest = self.bytes.get(first..)?;
        memmem::find_iter(rest, b"\n#")
            .map(|at| first + at + 1)
            .find(|at| self.bytes.get(*at..).and_then(atx_level).is_some())
            .map(|at| {
                let rest = self.bytes.get(at..).unwrap_or_default();
                memchr(b'\n', rest).map_or(self.bytes.len(), |end| at + end + 1)
            })
    }

    fn is_heading_candidate(&self, at: usize, from: usize) -> bool {
        at >= from
            && self.bytes.get(at.wrapping_sub(1)) == Some(&b'\n')
            && self.bytes.get(at..).and_then(atx_level).is_some()
    }
}

impl CodeFence {
    /// Parses a fence at the start of a line. A backtick fence has no backticks in the rest of the line.
    fn parse_opening(line: &[u8]) -> Option<Self> {
        let mark = *line.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = line.iter().take_while(|byte| **byte == mark).count();
        let clean = mark == b'~' || memchr(b'`', line.get(length..)?).is_none();
        (length >= 3 && clean).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &[u8]) -> bool {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let Some(marks) = line.get(indent..).filter(|_| indent <= 3) else {
            return false;
        };
        let length = marks.iter().take_while(|byte| **byte == self.mark).count();
        let rest = marks.get(length..).unwrap_or_default();
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        length >= self.length && matches!(rest.get(spaces), None | Some(b'\r' | b'\n'))
    }
}

/// Classifies a line outside of fences. `settled` means that no paragraph can be open before it.
fn classify_line(line: &[u8], settled: bool) -> LineClass {
    match line.first() {
        Some(b'#') => match atx_level(line) {
            Some(level) => LineClass::Heading(level),
            // A form feed after the `#`s counts as a space.
            None if has_form_feed(line) => LineClass::Ambiguous,
            None => LineClass::Text,
        },
        Some(b'`' | b'~') => {
            CodeFence::parse_opening(line).map_or(LineClass::Text, LineClass::Fence)
        }
        Some(b'<') => LineClass::Ambiguous,
        Some(mark @ (b'-' | b'=')) => match underline_length(line, *mark) {
            Some(_) if !settled => LineClass::Ambiguous,
            // The blanks allowed after a rule are fewer than those after an underline.
            Some(3..) if *mark == b'-' && !has_form_feed(line) => LineClass::Rule,
            _ => LineClass::Text,
        },
        Some(b' ' | b'\t') => classify_indented_line(line, settled),
        Some(b'\n') | None => LineClass::Blank,
        Some(b'\r') if line.get(1) == Some(&b'\n') => LineClass::Blank,
        Some(_) => LineClass::Text,
    }
}

fn classify_indented_line(line: &[u8], settled: bool) -> LineClass {
    let indent = line
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let tabbed = line.iter().take(indent).any(|byte| *byte == b'\t');
    let rest = line.get(indent..).unwrap_or_default();
    match rest.first() {
        None | Some(b'\r' | b'\n') => LineClass::Blank,
        Some(_) if tabbed || indent > 3 => LineClass::Text,
        Some(b'#' | b'<') => LineClass::Ambiguous,
        Some(b'`' | b'~') if CodeFence::parse_opening(rest).is_some() => LineClass::Ambiguous,
        Some(mark @ (b'-' | b'=')) if !settled && underline_length(rest, *mark).is_some() => {
            LineClass::Ambiguous
        }
        Some(_) => LineClass::Text,
    }
}

/// Returns the number of marks in a line that could underline a heading: only marks, then blanks.
fn underline_length(line: &[u8], mark: u8) -> Option<usize> {
    let length = line.iter().take_while(|byte| **byte == mark).count();
    line.get(length..)?
        .iter()
        .all(|byte| is_blank_byte(*byte))
        .then_some(length)
}

/// Returns whether the parser treats a byte as blank within and at the end of a line.
fn is_blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Returns whether a line has vertical tabs or form feeds, which are blanks in some positions only.
fn has_form_feed(line: &[u8]) -> bool {
    line.iter().any(|byte| matches!(byte, 0x0b | 0x0c))
}

fn has_lone_carriage_return(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', text).any(|at| text.get(at + 1) != Some(&b'\n'))
}
