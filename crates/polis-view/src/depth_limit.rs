//! Limits the nesting depth of lists and quotes before Markdown is parsed.
//!
//! The parser examines every open list and quote on every line. A board of 10 MB could open millions of them
//! on its first line and then contain millions of empty lines, which would take quadratic time.

use std::borrow::Cow;

/// Maximum nesting depth of lists and quotes; no terminal is wide enough for more.
const MAX_DEPTH: usize = 48;
/// Minimum indentation of a list's content in columns.
const MIN_LIST_INDENT: usize = 2;

/// Escapes with a backslash each marker that would open a list or quote beyond the maximum depth, so that it
/// is displayed as text.
pub fn limit_nesting_depth(markdown: &str) -> Cow<'_, str> {
    let mut capped = String::new();
    let mut copied = 0;
    let mut start = 0;
    // The parser treats a lone carriage return as a line break, too.
    for line in markdown.split_inclusive(['\n', '\r']) {
        if let Some(marker) = first_too_deep_marker(line) {
            let at = start + marker;
            capped.push_str(markdown.get(copied..at).unwrap_or_default());
            capped.push('\\');
            copied = at;
        }
        start += line.len();
    }
    if copied == 0 {
        return Cow::Borrowed(markdown);
    }
    capped.push_str(markdown.get(copied..).unwrap_or_default());
    Cow::Owned(capped)
}

/// Returns the offset of the first character in the line that has to be escaped to stay within the maximum
/// depth.
///
/// Every level needs a marker or two columns of indentation on the line that opens it, so their sum is an
/// upper bound of the depth.
fn first_too_deep_marker(line: &str) -> Option<usize> {
    let mut columns = 0;
    let mut markers = 0;
    let mut rest = line;
    loop {
        let indented = rest.trim_start_matches([' ', '\t']);
        let blank = rest.get(..rest.len() - indented.len())?;
        columns += blank
            .chars()
            .map(|c| if c == '\t' { 4 } else { 1 })
            .sum::<usize>();
        let (escape, length) = parse_block_marker(indented)?;
        markers += 1;
        if markers + columns / MIN_LIST_INDENT > MAX_DEPTH {
            return Some(line.len() - indented.len() + escape);
        }
        rest = indented.get(length..)?;
    }
}

/// Parses the list or quote marker at the start of a text. Returns the offset for an escaping backslash, and
/// the length of the marker.
fn parse_block_marker(text: &str) -> Option<(usize, usize)> {
    if text.starts_with('>') {
        return Some((0, 1));
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let ends: &[char] = if digits == 0 {
        &['-', '*', '+']
    } else {
        &['.', ')']
    };
    let after = text.get(digits..)?.strip_prefix(ends)?;
    let ended = after.is_empty() || after.starts_with([' ', '\t', '\n', '\r']);
    ended.then_some((digits, digits + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_unchanged() {
        let text = "- a\n  - b\n> > c\n---\n\n    code\n1. x\n-----------------------------------------------\n";
        assert!(matches!(limit_nesting_depth(text), Cow::Borrowed(same) if same == text));
        let code = format!("```\n{}x - y\n```\n", " ".repeat(500));
        assert_eq!(limit_nesting_depth(&code), code);
    }

    #[test]
    fn marker_beyond_max_depth_is_escaped() {
        let quotes = ">".repeat(60);
        assert_eq!(
            limit_nesting_depth(&quotes),
            format!("{}\\{}", ">".repeat(48), ">".repeat(12))
        );
        let deep = format!("ok\n{}- a\n- b\n", " ".repeat(200));
        assert_eq!(
            limit_nesting_depth(&deep),
            format!("ok\n{}\\- a\n- b\n", " ".repeat(200))
        );
        let numbers = format!("{}12. a", "\t".repeat(50));
        assert_eq!(
            limit_nesting_depth(&numbers),
            format!("{}12\\. a", "\t".repeat(50))
        );
    }
}
