//! Names and titles in a line of Markdown, so that they come back to the letter.
//!
//! A character that would be read as something else is written as a numeric character reference
//! (`&#x2C;` for a comma), which CommonMark shows as the character itself.

/// Writes a text, with a reference for every character that `special` points out by its place.
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

/// Reads a text back.
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

/// The character a text begins with a reference to, and the reference's length.
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

/// Whether a text is a place of the template that nobody has filled in, as `{timestamp}`.
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
