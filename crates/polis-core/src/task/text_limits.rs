//! Limits of task texts and metadata: validates lengths, control characters and JSON nesting.
//!
//! Refuses control characters, bidirectional controls in single lines, and metadata that is too large or
//! nested too deeply. The texts of board decisions and milestones have the same limits.

use crate::json::{MAX_JSON_DEPTH, RawObject};
use crate::refusal::Refusal;
use crate::refusal::{TaskRefusal, TextField};

/// Maximum length of a subject, in characters.
pub const MAX_SUBJECT_CHARS: usize = 1_000;
/// Maximum length of a description or comment, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum size of metadata, in bytes.
pub const MAX_METADATA_BYTES: usize = 256 << 10;

/// Checks a subject, title or active form: a single non-empty line. Fails with `invalid_subject`, naming the
/// `field`.
pub fn check_line(field: TextField, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(TaskRefusal::EmptyLine { field }.into());
    }
    let chars = text.chars().count();
    if chars > MAX_SUBJECT_CHARS {
        return Err(TaskRefusal::LineTooLong {
            field,
            chars,
            max_subject_chars: MAX_SUBJECT_CHARS,
        }
        .into());
    }
    match text
        .chars()
        .find(|c| c.is_control() || is_separator_or_bidi_control(*c))
    {
        Some(c) => Err(TaskRefusal::LineControl {
            field,
            character: format!("{:04X}", c as u32),
        }
        .into()),
        None => Ok(()),
    }
}

/// Returns whether a character is a line or paragraph separator or a bidirectional control character. These
/// break lines or reorder the surrounding text, so that it reads differently from what it contains.
pub fn is_separator_or_bidi_control(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks a multi-line text such as a description or a comment. Fails with `invalid_text`, naming the
/// `field`.
pub fn check_text(field: TextField, text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(TaskRefusal::TextTooLong {
            field,
            bytes: text.len(),
            max_text_bytes: MAX_TEXT_BYTES,
        }
        .into());
    }
    match text
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        Some(c) => Err(TaskRefusal::TextControl {
            field,
            character: format!("{:04X}", c as u32),
        }
        .into()),
        None => Ok(()),
    }
}

/// Checks metadata given by a caller. Fails with `invalid_metadata`.
pub fn check_metadata(metadata: &RawObject) -> Result<(), Refusal> {
    let size = metadata.encoded_size();
    if size > MAX_METADATA_BYTES {
        return Err(Refusal::from(TaskRefusal::MetadataTooLarge {
            size,
            max_metadata_bytes: MAX_METADATA_BYTES,
        }));
    }
    if metadata.has_unpaired_surrogate() {
        return Err(Refusal::from(TaskRefusal::MetadataSurrogate));
    }
    let depth = metadata.depth() + 1;
    if depth > MAX_JSON_DEPTH {
        return Err(Refusal::from(TaskRefusal::MetadataTooDeep {
            depth,
            max_json_depth: MAX_JSON_DEPTH,
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn subject_is_one_line_without_control_characters() {
        assert!(check_line(TextField::Subject, "[backend-leader] 后端实现 🚀").is_ok());
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
                check_line(TextField::Subject, bad).unwrap_err().code,
                RefusalCode::INVALID_SUBJECT
            );
        }
        assert!(check_line(TextField::Subject, &"长".repeat(1_000)).is_ok());
    }

    #[test]
    fn text_may_have_line_breaks_but_no_other_control_characters() {
        assert!(check_text(TextField::Description, "a\n\tb\r\n").is_ok());
        assert!(check_text(TextField::Description, "").is_ok());
        for bad in ["\0", "\u{7}", "\u{9b}", &"x".repeat(MAX_TEXT_BYTES + 1)] {
            assert_eq!(
                check_text(TextField::Description, bad).unwrap_err().code,
                RefusalCode::INVALID_TEXT
            );
        }
    }
}
