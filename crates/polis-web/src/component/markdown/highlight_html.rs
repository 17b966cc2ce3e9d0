//! Syntax highlighting of code blocks and source files as HTML spans with CSS classes.

use polis_view::highlight::{HighlightKind, SourceLanguage, highlight};

use super::html_writer::{HtmlWriter, escape_html};

/// Maximum length in bytes of source text that is highlighted; longer text is written without colours.
const MAX_HIGHLIGHT_BYTES: usize = 512 << 10;

/// Returns the CSS class of a token kind; `None` for plain text.
fn css_class(kind: HighlightKind) -> Option<&'static str> {
    Some(match kind {
        HighlightKind::Plain => return None,
        HighlightKind::Comment => "hl-comment",
        HighlightKind::Text => "hl-text",
        HighlightKind::Value => "hl-value",
        HighlightKind::Keyword => "hl-word",
        HighlightKind::Type => "hl-type",
        HighlightKind::Call => "hl-call",
        HighlightKind::Key => "hl-key",
        HighlightKind::Meta => "hl-meta",
        HighlightKind::Added => "hl-added",
        HighlightKind::Removed => "hl-removed",
        HighlightKind::Heading => "hl-head",
    })
}

/// Writes a code block line by line.
pub(super) fn write_code_block(
    writer: &mut HtmlWriter,
    source: &str,
    language: Option<&'static SourceLanguage>,
) {
    let Some(language) = language.filter(|_| source.len() <= MAX_HIGHLIGHT_BYTES) else {
        for line in source.split_inclusive('\n') {
            writer.write_text(line);
            writer.end_block();
        }
        return;
    };
    for span in highlight(source, language) {
        for line in span.text.split_inclusive('\n') {
            if let Some(class) = css_class(span.kind) {
                writer.open(format!("<span class=\"{class}\">"), "</span>");
                writer.write_text(line);
                writer.close();
            } else {
                writer.write_text(line);
            }
            if line.ends_with('\n') {
                writer.end_block();
            }
        }
    }
}

/// Returns the lines of a source file, each as HTML without its line break.
pub(crate) fn highlight_lines(
    source: &str,
    language: Option<&'static SourceLanguage>,
) -> Vec<String> {
    let Some(language) = language.filter(|_| source.len() <= MAX_HIGHLIGHT_BYTES) else {
        let line = |line: &str| {
            let mut html = String::new();
            escape_html(line, &mut html);
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
            match css_class(span.kind).filter(|_| !text.is_empty()) {
                Some(class) => {
                    html.push_str("<span class=\"");
                    html.push_str(class);
                    html.push_str("\">");
                    escape_html(text, &mut html);
                    html.push_str("</span>");
                }
                None => escape_html(text, &mut html),
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
