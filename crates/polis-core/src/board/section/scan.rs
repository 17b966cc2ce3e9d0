//! Line scanner that finds headings without a parser wherever a line is unambiguous.
//!
//! It relies on this: an unindented line after a blank line, and an unindented `#` heading or fence, close
//! every list, quote and paragraph. So the text from there on can be parsed independently, and an ambiguous
//! range can be parsed alone.

use memchr::{memchr, memmem};

use super::{Section, commonmark, title};

/// Maximum length, in bytes, that ranges parsed in close succession are extended to.
const LONGEST_REACH: usize = 64 * 1024;

/// Returns the headings of a text from `start` on. The ends of their sections are not set yet.
pub(super) fn headings(text: &str, start: usize) -> Vec<Section> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        found: Vec::new(),
        sure: start,
        settled: true,
        reach: 0,
        asked: 0,
    };
    if has_lone_return(text.as_bytes()) {
        scan.accept(start, &commonmark::headings(&text[start..]));
    } else {
        scan.run(start);
    }
    scan.found
}

/// Returns the level of an unindented `#` heading.
pub(super) fn atx_level(line: &[u8]) -> Option<u8> {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    let ended = matches!(line.get(level), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
    u8::try_from(level)
        .ok()
        .filter(|level| (1..=6).contains(level) && ended)
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    found: Vec<Section>,
    /// The last position from which the text can be parsed independently.
    sure: usize,
    /// Whether no paragraph can be open.
    settled: bool,
    /// Minimum length of the next range to parse.
    reach: usize,
    /// Where the last parsed range ended.
    asked: usize,
}

/// Class of a line outside of fences.
enum Line {
    Blank,
    Heading(u8),
    Fence(Fence),
    Rule,
    Text,
    Doubt,
}

/// An open, unindented fence.
struct Fence {
    mark: u8,
    length: usize,
}

impl Scan<'_> {
    fn run(&mut self, start: usize) {
        let mut at = start;
        let mut fence: Option<Fence> = None;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, end) = (&rest[..length], at + length);
            if let Some(open) = &fence {
                if open.is_closed_by(line) {
                    fence = None;
                    self.settle(end);
                }
                at = end;
                continue;
            }
            let what = classify(line, self.settled);
            if self.settled && !matches!(line.first(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.sure = at;
            }
            match what {
                Line::Blank => self.settled = true,
                Line::Text => self.settled = false,
                Line::Rule => self.settle(end),
                Line::Heading(level) => {
                    self.push(level, at, end);
                    self.settle(end);
                }
                Line::Fence(open) => {
                    self.sure = at;
                    fence = Some(open);
                }
                Line::Doubt => {
                    at = self.parse_on(end);
                    continue;
                }
            }
            at = end;
        }
    }

    /// Records that no block is open from here on.
    fn settle(&mut self, at: usize) {
        self.sure = at;
        self.settled = true;
    }

    fn push(&mut self, level: u8, start: usize, end: usize) {
        self.found.push(Section {
            level,
            title: title::title_of(&self.text[start..end]),
            heading: start..end,
            end,
        });
    }

    fn accept(&mut self, offset: usize, headings: &[(u8, std::ops::Range<usize>)]) {
        for (level, range) in headings {
            self.push(*level, offset + range.start, offset + range.end);
        }
    }

    /// Parses from the last sure position past `doubt` up to a heading that closes all blocks. Returns where
    /// that heading begins.
    ///
    /// A range without such a heading is doubled, so that the total parsing time stays linear.
    fn parse_on(&mut self, doubt: usize) -> usize {
        let start = self.sure;
        let close = start <= self.asked.saturating_add(self.reach);
        self.reach = if close {
            (self.reach * 2).clamp(256, LONGEST_REACH)
        } else {
            0
        };
        let mut least = doubt.max(start + self.reach);
        loop {
            let stop = self.next_candidate(least);
            let end = stop.unwrap_or(self.bytes.len());
            let headings = commonmark::headings(&self.text[start..end]);
            self.asked = end;
            if stop.is_none() {
                self.accept(start, &headings);
                return end;
            }
            let sure = headings
                .iter()
                .rposition(|(_, range)| self.is_candidate(start + range.start, doubt));
            if let Some((index, (_, range))) = sure.and_then(|at| Some((at, headings.get(at)?))) {
                self.accept(start, headings.get(..index).unwrap_or_default());
                self.settle(start + range.start);
                return self.sure;
            }
            least = start + 2 * (end - start);
        }
    }

    /// Returns the end of the first line at or after `from` that looks like a `#` heading.
    fn next_candidate(&self, from: usize) -> Option<usize> {
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

    fn is_candidate(&self, at: usize, from: usize) -> bool {
        at >= from
            && self.bytes.get(at.wrapping_sub(1)) == Some(&b'\n')
            && self.bytes.get(at..).and_then(atx_level).is_some()
    }
}

impl Fence {
    /// Parses a fence at the start of a line. A backtick fence has no backticks in the rest of the line.
    fn opened_by(line: &[u8]) -> Option<Self> {
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
fn classify(line: &[u8], settled: bool) -> Line {
    match line.first() {
        Some(b'#') => match atx_level(line) {
            Some(level) => Line::Heading(level),
            // A form feed after the `#`s counts as a space.
            None if has_feed(line) => Line::Doubt,
            None => Line::Text,
        },
        Some(b'`' | b'~') => Fence::opened_by(line).map_or(Line::Text, Line::Fence),
        Some(b'<') => Line::Doubt,
        Some(mark @ (b'-' | b'=')) => match underline(line, *mark) {
            Some(_) if !settled => Line::Doubt,
            // The blanks allowed after a rule are fewer than those after an underline.
            Some(3..) if *mark == b'-' && !has_feed(line) => Line::Rule,
            _ => Line::Text,
        },
        Some(b' ' | b'\t') => classify_indented(line, settled),
        Some(b'\n') | None => Line::Blank,
        Some(b'\r') if line.get(1) == Some(&b'\n') => Line::Blank,
        Some(_) => Line::Text,
    }
}

fn classify_indented(line: &[u8], settled: bool) -> Line {
    let indent = line
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let tabbed = line.iter().take(indent).any(|byte| *byte == b'\t');
    let rest = line.get(indent..).unwrap_or_default();
    match rest.first() {
        None | Some(b'\r' | b'\n') => Line::Blank,
        Some(_) if tabbed || indent > 3 => Line::Text,
        Some(b'#' | b'<') => Line::Doubt,
        Some(b'`' | b'~') if Fence::opened_by(rest).is_some() => Line::Doubt,
        Some(mark @ (b'-' | b'=')) if !settled && underline(rest, *mark).is_some() => Line::Doubt,
        Some(_) => Line::Text,
    }
}

/// Returns the number of marks in a line that could underline a heading: only marks, then blanks.
fn underline(line: &[u8], mark: u8) -> Option<usize> {
    let length = line.iter().take_while(|byte| **byte == mark).count();
    line.get(length..)?
        .iter()
        .all(|byte| is_blank(*byte))
        .then_some(length)
}

/// Returns whether the parser treats a byte as blank within and at the end of a line.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Returns whether a line has vertical tabs or form feeds, which are blanks in some positions only.
fn has_feed(line: &[u8]) -> bool {
    line.iter().any(|byte| matches!(byte, 0x0b | 0x0c))
}

fn has_lone_return(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', text).any(|at| text.get(at + 1) != Some(&b'\n'))
}
