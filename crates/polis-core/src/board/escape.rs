//! Escaping of names and titles in a line of Markdown, so that they survive a round trip exactly.
//!
//! A character that would be interpreted is written as a numeric character reference (`&#x2C;` for a comma),
//! which CommonMark renders as the character itself.

/// Escapes every character for which `special` returns true, given its position.
pub(super) fn escape(text: &str, special: impl Fn(usize, char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let looks_escaped = text[at..].starts_with("&#");
        if looks_escaped || special(at, c) {
            written.push_str(&format!("&#x{:X};", u32::from(c)));
        } else {
            written.push(c);
        }
    }
    written
}

/// Decodes an escaped text.
pub(super) fn unescape(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("&#x") {
        read.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((c, length)) = reference(rest) else {
            read.push_str("&#x");
            rest = &rest[3..];
            continue;
        };
        read.push(c);
        rest = &rest[length..];
    }
    read.push_str(rest);
    read
}

/// Parses a character reference at the start of a text. Returns the character and the length of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("&#x")?;
    let end = digits.bytes().take(7).position(|byte| byte == b';')?;
    let code = digits.get(..end)?;
    if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let c = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
    Some((c, "&#x".len() + end + 1))
}

/// Returns whether a text is an unfilled template placeholder, such as `{timestamp}`.
pub(super) fn is_unfilled(text: &str) -> bool {
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    inner.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_special_looks_different() {
        assert_eq!(escape("R&D, 中", |_, c| c == ','), "R&D&#x2C; 中");
        assert_eq!(
            unescape("R&D&#x2C; &#xZZ; &#x; &#x110000;"),
            "R&D, &#xZZ; &#x; &#x110000;"
        );
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(text in "(&#x|&|#|;|,|2C|\\PC){0,12}") {
            prop_assert_eq!(unescape(&escape(&text, |at, c| at == 0 || c == ',')), text);
        }
    }
}
