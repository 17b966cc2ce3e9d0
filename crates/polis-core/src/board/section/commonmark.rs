//! Finds the headings of a text range with the full Markdown parser (pulldown-cmark).

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Beyond this byte of a line, no list or quote is opened. The parser checks all open ones for each line, so
/// without a nesting limit a text could keep it busy for hours.
const MAX_NESTING_COLUMN: usize = 200;

/// Returns the headings at document level: level and bytes, with indentation and line end.
pub(super) fn parse_headings(text: &str) -> Vec<(u8, Range<usize>)> {
    let text = &*limit_nesting(text);
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                found.push((level as u8, extend_to_whole_lines(text.as_bytes(), range)));
            }
            Event::Start(Tag::BlockQuote(_) | Tag::Item) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// Extends a heading to whole lines: the parser omits the indentation and, in some cases, the line end.
fn extend_to_whole_lines(text: &[u8], range: Range<usize>) -> Range<usize> {
    let (before, rest) = text.split_at_checked(range.start).unwrap_or((text, &[]));
    let indent = before
        .iter()
        .rev()
        .take_while(|byte| **byte == b' ')
        .count();
    let length = range.len().max(1) - 1;
    // Starts at the last byte, because it may already be the line end.
    let end = rest
        .get(length..)
        .and_then(line_length)
        .map_or(text.len(), |more| range.start + length + more);
    range.start - indent..end
}

fn line_length(text: &[u8]) -> Option<usize> {
    let at = memchr::memchr2(b'\n', b'\r', text)?;
    let pair = text.get(at..at + 2) == Some(b"\r\n");
    Some(at + if pair { 2 } else { 1 })
}

/// Returns the text with an `x` in place of every marker that would nest too deeply.
fn limit_nesting(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let length = line_length(rest).unwrap_or(rest.len());
        if let Some(mark) = rest.get(..length).and_then(find_deep_marker) {
            text.to_mut().replace_range(at + mark..=at + mark, "x");
        }
        at += length;
    }
    text
}

/// Returns where a line opens a list or quote that is nested too deeply.
fn find_deep_marker(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = line.get(at..)?;
        let length = match rest {
            [b' ' | b'\t', ..] => {
                at += 1;
                continue;
            }
            [b'>', ..] => 1,
            [b'-' | b'+' | b'*', b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
            _ => ordered_marker_length(rest)?,
        };
        if at >= MAX_NESTING_COLUMN {
            return (!is_thematic_break(line)).then_some(at);
        }
        at += length;
    }
}

fn ordered_marker_length(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let marked = matches!(text.get(digits..), Some([b'.' | b')', b' ' | b'\t', ..]));
    ((1..=9).contains(&digits) && marked).then_some(digits + 1)
}

fn is_thematic_break(line: &[u8]) -> bool {
    let mut marks = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|mark| Some(mark) == first)
}
