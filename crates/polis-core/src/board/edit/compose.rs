//! Putting the lines of a section together.

/// A text without the blank lines around it and without its last line end.
pub(super) fn trimmed(text: &str) -> &str {
    let text = without_blank_end(text);
    let blank = text
        .find(|c| !is_blank(c))
        .and_then(|first| text.get(..first))
        .unwrap_or_default();
    let indent = blank.rfind(is_line_end).map_or(0, |end| end + 1);
    text.get(indent..).unwrap_or_default()
}

/// The line end a text begins with, if it begins with one.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.starts_with("\r\n") {
        "\r\n"
    } else if text.starts_with('\r') {
        "\r"
    } else {
        "\n"
    }
}

/// The line end after a line, if it has one.
pub(super) fn own_line_end(line: &str) -> Option<&'static str> {
    let end = line.trim_end_matches(is_line_end).len();
    let ends = line.get(end..).filter(|ends| !ends.is_empty())?;
    Some(line_end(ends))
}

/// A heading with nothing below it.
pub(super) fn emptied(heading: &str, eol: &str, last: bool) -> String {
    let mut new = lines(heading, eol);
    if !last {
        new.push_str(eol);
    }
    new
}

/// A section, or only its heading, with content added as a block of its own at the end.
pub(super) fn appended(section: &str, content: &str, eol: &str, last: bool) -> String {
    let kept = without_blank_end(section);
    let mut new = lines(
        section
            .get(..after_line(section, kept.len()))
            .unwrap_or(kept),
        eol,
    );
    if !(ends_in_item(kept) && is_item(content)) {
        new.push_str(eol);
    }
    new.push_str(content);
    new.push_str(eol);
    if !last {
        new.push_str(eol);
    }
    new
}

/// What has to stand between a text and a heading after it: the end of its line and a blank one.
pub(super) fn gap_before(text: &str, eol: &str) -> String {
    let kept = without_blank_end(text);
    let line = after_line(text, kept.len());
    if text.is_empty() || text == "\u{feff}" {
        String::new()
    } else if own_line_end(text).is_none() {
        eol.repeat(2)
    } else if line < text.len() || kept.is_empty() {
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

/// A text up to its last line that is not blank; that line whole, without its end.
fn without_blank_end(text: &str) -> &str {
    let end = text.trim_end_matches(is_blank).len();
    let rest = text.get(end..).unwrap_or_default();
    let spaces = rest.find(is_line_end).unwrap_or(rest.len());
    // Text that is all blank has no line to keep.
    if end == 0 {
        return "";
    }
    text.get(..end + spaces).unwrap_or(text)
}

/// The place after the line end that stands at `at`, if one does.
fn after_line(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with(is_line_end) {
        at + line_end(rest).len()
    } else {
        at
    }
}

/// Lines, the last of them ended.
fn lines(text: &str, eol: &str) -> String {
    let ended = text.is_empty() || text.ends_with(is_line_end);
    [text, if ended { "" } else { eol }].concat()
}

/// Whether the last block of a text belongs to a list.
fn ends_in_item(text: &str) -> bool {
    text.rsplit('\n')
        .find(|line| {
            is_item(line.trim_start()) || !(line.starts_with([' ', '\t']) || line.trim().is_empty())
        })
        .is_some_and(|line| is_item(line.trim_start()))
}

/// Whether a text begins with the mark of a list item.
fn is_item(text: &str) -> bool {
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
