//! Validation of task texts and metadata: length limits and forbidden characters.
//!
//! Refuses control characters, bidirectional controls in single lines, and metadata that is too large or nested
//! too deeply.

use crate::json::{Fields, MAX_DEPTH};
use crate::refusal::{Code, Refusal};

/// Maximum length of a subject, in characters.
pub const MAX_SUBJECT_CHARS: usize = 1_000;
/// Maximum length of a description or comment, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum size of metadata, in bytes.
pub const MAX_METADATA_BYTES: usize = 256 << 10;

/// Checks a subject (or an active form): a single non-empty line.
pub fn check_line(field: &str, text: &str) -> Result<(), Refusal> {
    let refuse = |why: String| {
        Err(Refusal::new(
            Code::InvalidSubject,
            why,
            "give one short line; details belong in the description",
        ))
    };
    if text.trim().is_empty() {
        return refuse(format!("Invalid {field}: it is empty."));
    }
    let chars = text.chars().count();
    if chars > MAX_SUBJECT_CHARS {
        return refuse(format!(
            "Invalid {field}: {chars} characters; at most {MAX_SUBJECT_CHARS} are accepted."
        ));
    }
    match text.chars().find(|c| c.is_control() || turns_text(*c)) {
        Some(c) => refuse(format!(
            "Invalid {field}: it contains the control character U+{:04X}.",
            c as u32
        )),
        None => Ok(()),
    }
}

/// Returns whether a character is a line or paragraph separator or a bidirectional control character. These
/// break lines or reorder the surrounding text, so that it reads differently from what it contains.
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks a multi-line text: a description or a comment.
pub fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    let refuse = |why: String, hint: &str| Err(Refusal::new(Code::InvalidText, why, hint));
    if text.len() > MAX_TEXT_BYTES {
        return refuse(
            format!(
                "Invalid {field}: {} bytes; at most {MAX_TEXT_BYTES} are accepted.",
                text.len()
            ),
            "put long material into a file or a board and refer to it",
        );
    }
    match text
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        Some(c) => refuse(
            format!(
                "Invalid {field}: it contains the control character U+{:04X}.",
                c as u32
            ),
            "remove control characters; line breaks and tabs are fine",
        ),
        None => Ok(()),
    }
}

/// Checks metadata given by a caller.
pub fn check_metadata(metadata: &Fields) -> Result<(), Refusal> {
    let size = metadata.size();
    if size > MAX_METADATA_BYTES {
        return Err(Refusal::new(
            Code::InvalidMetadata,
            format!("Invalid metadata: {size} bytes; at most {MAX_METADATA_BYTES} are accepted."),
            "put large data into a file and refer to it",
        ));
    }
    if metadata.has_half_character() {
        return Err(Refusal::new(
            Code::InvalidMetadata,
            "Invalid metadata: a text holds half a character (a lone surrogate).",
            "write the whole character",
        ));
    }
    let depth = metadata.depth() + 1;
    if depth > MAX_DEPTH {
        return Err(Refusal::new(
            Code::InvalidMetadata,
            format!("Invalid metadata: nested {depth} deep; at most {MAX_DEPTH} is accepted."),
            "flatten the value, or keep it as a text",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_one_clean_line() {
        assert!(check_line("subject", "[backend-leader] 后端实现 🚀").is_ok());
        for bad in [
            "",
            "  \t ",
            "a\nb",
            "a\u{1b}[31m",
            "nul\0",
            "bidi \u{202e}",
            &"x".repeat(1_001),
        ] {
            assert_eq!(
                check_line("subject", bad).unwrap_err().code,
                Code::InvalidSubject
            );
        }
        assert!(check_line("subject", &"长".repeat(1_000)).is_ok());
    }

    #[test]
    fn texts_may_have_lines_but_no_other_control_characters() {
        assert!(check_text("description", "a\n\tb\r\n").is_ok());
        assert!(check_text("description", "").is_ok());
        for bad in ["\0", "\u{7}", "\u{9b}", &"x".repeat(MAX_TEXT_BYTES + 1)] {
            assert_eq!(
                check_text("description", bad).unwrap_err().code,
                Code::InvalidText
            );
        }
    }
}
