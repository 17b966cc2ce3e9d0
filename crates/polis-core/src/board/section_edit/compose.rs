//! Composes the new text of an edited section: heading, blank lines and line ends.
//!
//! Added lines use the line ends of the text around them.

/// Returns a text without surrounding blank lines and without its last line end.
pub(super) fn trim_blank_lines(text: &str) -> &str {
    let text = trim_trailing_blank_lines(text);
    let blank = text
        .find(|c| !is_blank(c))
        .and_then(|first| text.get(..first))
        .unwrap_or_default();
    let indent = blank.rfind(is_line_end).map_or(0, |end| end + 1);
    text.get(indent..).unwrap_or_default()
}

/// Returns the line end that a text begins with; `\n` if it begins with none.
pub(super) fn leading_line_end(text: &str) -> &'static str {
    if text.starts_with("\r\n") {
        "\r\n"
    } else if text.starts_with('\r') {
        "\r"
    } else {
        "\n"
    }
}

/// Returns the line end of a line, if it has one.
pub(super) fn trailing_line_end(line: &str) -> Option<&'static str> {
    let end = line.trim_end_matches(is_line_end).len();
    let ends = line.get(end..).filter(|ends| !ends.is_empty())?;
    Some(leading_line_end(ends))
}

/// Returns a heading with an empty body.
pub(super) fn compose_empty_section(heading: &str, eol: &str, last: bool) -> String {
    let mut new = terminate_last_line(heading, eol);
    if !last {
        new.push_str(eol);
    }
    new
}

/// Returns a section, or only its heading, with content appended as a separate block.
pub(super) fn compose_with_content(section: &str, content: &str, eol: &str, last: bool) -> String {
    let trimmed = trim_trailing_blank_lines(section);
    let mut new = terminate_last_line(
        section
            .get(..skip_line_end(section, trimmed.len()))
            .unwrap_or(trimmed),
        eol,
    );
    if !(ends_in_list_item(trimmed) && is_list_item(content)) {
        new.push_str(eol);
    }
    new.push_str(content);
    new.push_str(eol);
    if !last {
        new.push_str(eol);
    }
    new
}

/// Returns the line ends needed between a text and a following heading: the end of its last line and a blank
/// line.
pub(super) fn gap_before(text: &str, eol: &str) -> String {
    let trimmed = trim_trailing_blank_lines(text);
    let line = skip_line_end(text, trimmed.len());
    if text.is_empty() || text == "\u{feff}" {
        String::new()
    } else if trailing_line_end(text).is_none() {
        eol.repeat(2)
    } else if line < text.len() || trimmed.is_empty() {
        String::new()
    } else {
        eol.to_owned()
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_line_end(c)
}

/// Returns a text up to its last line that is not blank, including that line without its line end.
fn trim_trailing_blank_lines(text: &str) -> &str {
    let end = text.trim_end_matches(is_blank).len();
    let rest = text.get(end..).unwrap_or_default();
    let spaces = rest.find(is_line_end).unwrap_or(rest.len());
    // A text that is all blank has no line to keep.
    if end == 0 {
        return "";
    }
    text.get(..end + spaces).unwrap_or(text)
}

/// Returns the position after the line end at `at`, if there is one.
fn skip_line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with(is_line_end) {
        at + leading_line_end(rest).len()
    } else {
        at
    }
}

/// Returns lines with the last one terminated.
fn terminate_last_line(text: &str, eol: &str) -> String {
    let ended = text.is_empty() || text.ends_with(is_line_end);
    [text, if ended { "" } else { eol }].concat()
}

/// Returns whether the last block of a text belongs to a list.
fn ends_in_list_item(text: &str) -> bool {
    text.rsplit('\n')
        .find(|line| {
            is_list_item(line.trim_start())
                || !(line.starts_with([' ', '\t']) || line.trim().is_empty())
        })
        .is_some_and(|line| is_list_item(line.trim_start()))
}

/// Returns whether a text begins with a list item marker.
fn is_list_item(text: &str) -> bool {
    let after = match text.strip_prefix(['-', '*', '+']) {
        Some(after) => after,
        None => {
            let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
            match number.strip_prefix(['.', ')']) {
                Some(after) if (1..=9).contains(&(text.len() - number.len())) => after,
                _ => return false,
            }
        }
    };
    after.starts_with([' ', '\t'])
}
