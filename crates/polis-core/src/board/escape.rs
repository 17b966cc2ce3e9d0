//! Escapes names, titles and descriptions for one line of a decision or milestone, so that polis parses them
//! back exactly.
//!
//! The caller decides which characters are special in its format, such as the comma in a list of names. Each
//! is written as a numeric character reference (`&#x2C;`), which CommonMark renders as the character itself.

/// Escapes every character for which `special` returns true, given its position.
pub(super) fn escape_characters(text: &str, special: impl Fn(usize, char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let looks_escaped = text[at..].starts_with("&#");
        if looks_escaped || special(at, c) {
            escaped.push_str(&format!("&#x{:X};", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Decodes an escaped text.
pub(super) fn unescape_characters(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("&#x") {
        read.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((c, length)) = parse_character_reference(rest) else {
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

/// Parses a character reference at the start of a text. Returns the character and the length of the
/// reference.
fn parse_character_reference(text: &str) -> Option<(char, usize)> {
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
pub(super) fn is_unfilled_placeholder(text: &str) -> bool {
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
    fn only_special_characters_are_escaped() {
        assert_eq!(
            escape_characters("R&D, 中", |_, c| c == ','),
            "R&D&#x2C; 中"
        );
        assert_eq!(
            unescape_characters("R&D&#x2C; &#xZZ; &#x; &#x110000;"),
            "R&D, &#xZZ; &#x; &#x110000;"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_round_trips(text in "(&#x|&|#|;|,|2C|\\PC){0,12}") {
            prop_assert_eq!(unescape_characters(&escape_characters(&text, |at, c| at == 0 || c == ',')), text);
        }
    }
}
