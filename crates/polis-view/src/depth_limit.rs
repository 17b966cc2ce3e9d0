//! A limit on how deep lists and quotes go, before the text is parsed.
//!
//! The parser looks at every open list and quote on every line. A board of 10 MB could open
//! millions of them on its first line and then hold millions of empty ones.

use std::borrow::Cow;

/// How many lists and quotes may stand inside each other; no terminal is wide enough for more.
const MAX_DEPTH: usize = 48;
/// The least a list indents what is in it.
const LEAST_INDENT: usize = 2;

/// The text with a backslash before each marker that would open too deep a list or quote, so that
/// it is shown as it was written.
pub fn capped(markdown: &str) -> Cow<'_, str> {
    let mut capped = String::new();
    let mut copied = 0;
    let mut start = 0;
    // The parser takes a lone carriage return for a line end, too.
    for line in markdown.split_inclusive(['\n', '\r']) {
        if let Some(marker) = first_too_deep(line) {
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

/// Where the line's first character stands that, unescaped, would make it too deep.
///
/// A level takes a marker or two columns of indentation on the line that opens it, so the two
/// together are at least the depth.
fn first_too_deep(line: &str) -> Option<usize> {
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
        let (escape, length) = marker(indented)?;
        markers += 1;
        if markers + columns / LEAST_INDENT > MAX_DEPTH {
            return Some(line.len() - indented.len() + escape);
        }
        rest = indented.get(length..)?;
    }
}

/// The list or quote marker that the text starts with: where a backslash takes its meaning, and how
/// long it is.
fn marker(text: &str) -> Option<(usize, usize)> {
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
    fn ordinary_text_stays_as_it_is() {
        let text = "- a\n  - b\n> > c\n---\n\n    code\n1. x\n-----------------------------------------------\n";
        assert!(matches!(capped(text), Cow::Borrowed(same) if same == text));
        let code = format!("```\n{}x - y\n```\n", " ".repeat(500));
        assert_eq!(capped(&code), code);
    }

    #[test]
    fn the_marker_after_the_deepest_is_escaped() {
        let quotes = ">".repeat(60);
        assert_eq!(
            capped(&quotes),
            format!("{}\\{}", ">".repeat(48), ">".repeat(12))
        );
        let deep = format!("ok\n{}- a\n- b\n", " ".repeat(200));
        assert_eq!(
            capped(&deep),
            format!("ok\n{}\\- a\n- b\n", " ".repeat(200))
        );
        let numbers = format!("{}12. a", "\t".repeat(50));
        assert_eq!(capped(&numbers), format!("{}12\\. a", "\t".repeat(50)));
    }
}
