//! Scanner for JSON with comments: blanks comments and finds the byte ranges of members. Not recursive: brackets are
//! counted, so deep nesting cannot overflow the stack.

use std::ops::Range;

use super::Dialect;
use crate::command::mcp::install::edit::{Fault, line_stop, unusual};

pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A member of an object.
pub(super) struct Member {
    pub(super) key: String,
    /// Start of its key.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
}

/// Returns the text with comments blanked, and the offsets of commas before closing brackets.
pub(super) fn without_comments(
    text: &str,
    dialect: Dialect,
) -> Result<(String, Vec<usize>), Fault> {
    let bytes = text.as_bytes();
    let mut plain = bytes.to_vec();
    let mut trailing = Vec::new();
    // The last two non-blank bytes, to distinguish `1,]` from `[,]`.
    let (mut last, mut before_last) = ((0, 0), 0);
    let mut at = 0;
    if text.starts_with(BYTE_ORDER_MARK) {
        if !dialect.byte_order_mark {
            return Err(Fault::at(text, 0, "a byte order mark is not read"));
        }
        at = BYTE_ORDER_MARK.len();
        blank(&mut plain, 0..at);
    }
    while let Some(&byte) = bytes.get(at) {
        let comment = match (byte, bytes.get(at + 1)) {
            (b'/', Some(b'/')) => Some(line_stop(text, at)),
            (b'/', Some(b'*')) => {
                let close = text.get(at + 2..).and_then(|rest| rest.find("*/"));
                let close = close.ok_or_else(|| Fault::at(text, at, "a comment is not closed"))?;
                Some(at + 2 + close + 2)
            }
            _ => None,
        };
        if let Some(end) = comment {
            if !dialect.comments {
                return Err(Fault::at(text, at, "comments are not read"));
            }
            blank(&mut plain, at..end);
            at = end;
            continue;
        }
        let start = at;
        at = match byte {
            b'"' => string_end(bytes, at)
                .ok_or_else(|| Fault::at(text, start, "a text has no closing quote"))?,
            _ => at + 1,
        };
        if byte.is_ascii_whitespace() {
            continue;
        }
        if matches!(byte, b'}' | b']')
            && last.1 == b','
            && !matches!(before_last, 0 | b'{' | b'[' | b',' | b':')
        {
            trailing.push(last.0);
        }
        before_last = last.1;
        last = (start, byte);
    }
    let plain = String::from_utf8(plain).map_err(|_| unusual())?;
    Ok((plain, trailing))
}

/// Overwrites bytes with blanks, except line breaks.
fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).into_iter().flatten() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Returns the members of the object that begins at a byte of valid JSON.
pub(super) fn members(json: &[u8], start: usize) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = skip_blanks(json, start + 1);
    while *json.get(at)? != b'}' {
        let start = at;
        let key_end = string_end(json, start)?;
        let key = serde_json::from_slice(json.get(start..key_end)?).ok()?;
        let colon = skip_blanks(json, key_end);
        let begin = skip_blanks(json, colon + 1);
        let end = value_end(json, begin)?;
        members.push(Member {
            key,
            start,
            value: begin..end,
        });
        at = skip_blanks(json, end);
        if *json.get(at)? == b',' {
            at = skip_blanks(json, at + 1);
        }
    }
    Some(members)
}

fn skip_blanks(json: &[u8], mut at: usize) -> usize {
    while json.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the end of a string, after its closing quote.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the end of a value in valid JSON.
fn value_end(json: &[u8], start: usize) -> Option<usize> {
    match *json.get(start)? {
        b'"' => return string_end(json, start),
        b'{' | b'[' => {}
        _ => {
            let rest = json.get(start..)?;
            let end = |b: &u8| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace();
            return rest.iter().position(end).map(|length| start + length);
        }
    }
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match *json.get(at)? {
            b'"' => {
                at = string_end(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}
