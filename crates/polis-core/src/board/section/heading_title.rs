//! Heading titles: extracts the plain text of a heading, without Markdown markup.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::heading_scanner::atx_level;

/// Bytes that may be markup in a heading, or be interpreted.
static SPECIAL_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut bytes: &[u8] = b"\\`*_[]<>&!\0\r\n\x0b\x0c";
    while let [byte, rest @ ..] = bytes {
        table[*byte as usize] = true;
        bytes = rest;
    }
    table
};

/// Returns the plain text of a heading, given with its marks. Link definitions elsewhere are ignored, so that
/// the title depends only on the heading.
pub(super) fn heading_title(heading: &str) -> String {
    let line = heading.trim_matches([' ', '\t', '\r', '\n']);
    match plain_atx_title(line) {
        Some(title) => title.to_owned(),
        None => parse_title(heading),
    }
}

/// Returns the plain text that a typed title has as a heading. Returns `None` if it has line breaks.
pub(crate) fn plain_title(input: &str) -> Option<String> {
    let input = input.trim();
    (!input.contains(['\n', '\r'])).then(|| heading_title(&format!("# {input}\n")))
}

/// Returns the text of a `#` heading that needs no parsing.
fn plain_atx_title(line: &str) -> Option<&str> {
    let level = usize::from(atx_level(line.as_bytes())?);
    let text = line.get(level..)?.trim();
    let plain = !text.ends_with('#') && !text.bytes().any(|byte| SPECIAL_BYTES[usize::from(byte)]);
    plain.then_some(text)
}

/// Returns the text as parsed. If the heading is not one without the text before it (such as a link
/// definition, which its first line may not interrupt), returns all lines but the underline.
fn parse_title(heading: &str) -> String {
    let mut title = String::new();
    let mut inside = false;
    for event in Parser::new(heading) {
        match event {
            Event::Start(Tag::Heading { .. }) => inside = true,
            Event::End(TagEnd::Heading(_)) => break,
            Event::Text(text) | Event::Code(text) if inside => title.push_str(&text),
            Event::SoftBreak | Event::HardBreak if inside => title.push(' '),
            _ => {}
        }
    }
    if !inside {
        let lines: Vec<_> = heading.trim_end().split(['\r', '\n']).collect();
        let (_, text) = lines.split_last().unwrap_or((&"", &[]));
        title = text.join(" ");
    }
    title.trim().to_owned()
}
