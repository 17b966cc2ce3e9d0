//! Syntax highlighting of code blocks and source files as HTML.

use polis_view::highlight::{Kind, Language, highlight};

use super::writer::{Writer, escape};

/// Maximum length of source text that is highlighted.
const LONGEST: usize = 512 << 10;

/// Returns the CSS class of a token kind; `None` for plain text.
fn class(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Plain => return None,
        Kind::Comment => "hl-comment",
        Kind::Text => "hl-text",
        Kind::Value => "hl-value",
        Kind::Keyword => "hl-word",
        Kind::Type => "hl-type",
        Kind::Call => "hl-call",
        Kind::Key => "hl-key",
        Kind::Meta => "hl-meta",
        Kind::Added => "hl-added",
        Kind::Removed => "hl-removed",
        Kind::Heading => "hl-head",
    })
}

/// Writes a code block line by line.
pub(super) fn write(writer: &mut Writer, source: &str, language: Option<&'static Language>) {
    let Some(language) = language.filter(|_| source.len() <= LONGEST) else {
        for line in source.split_inclusive('\n') {
            writer.text(line);
            writer.ended();
        }
        return;
    };
    for span in highlight(source, language) {
        for line in span.text.split_inclusive('\n') {
            if let Some(class) = class(span.kind) {
                writer.open(format!("<span class=\"{class}\">"), "</span>");
                writer.text(line);
                writer.close();
            } else {
                writer.text(line);
            }
            if line.ends_with('\n') {
                writer.ended();
            }
        }
    }
}

/// Returns the lines of a source file, each as HTML without its line break.
pub(crate) fn spans(source: &str, language: Option<&'static Language>) -> Vec<String> {
    let Some(language) = language.filter(|_| source.len() <= LONGEST) else {
        let line = |line: &str| {
            let mut html = String::new();
            escape(line, &mut html);
            html
        };
        return source.lines().map(line).collect();
    };
    let mut lines = Vec::new();
    let mut html = String::new();
    for span in highlight(source, language) {
        for piece in span.text.split_inclusive('\n') {
            let text = piece.strip_suffix('\n').unwrap_or(piece);
            let text = text.strip_suffix('\r').unwrap_or(text);
            match class(span.kind).filter(|_| !text.is_empty()) {
                Some(class) => {
                    html.push_str("<span class=\"");
                    html.push_str(class);
                    html.push_str("\">");
                    escape(text, &mut html);
                    html.push_str("</span>");
                }
                None => escape(text, &mut html),
            }
            if piece.ends_with('\n') {
                lines.push(std::mem::take(&mut html));
            }
        }
    }
    if !source.is_empty() && !source.ends_with('\n') {
        lines.push(html);
    }
    lines
}
