//! Line-based lexers for syntax highlighting: Markdown and diffs.

use super::source_language::LexerKind;
use super::{HighlightKind, HighlightSpan, split_prefix};

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct LineLexer<'a> {
    rest: &'a str,
    shape: LexerKind,
    /// Remainder of the Markdown line that is being split into inline spans.
    inline: &'a str,
    /// Closing fence of the open code block.
    fence: Option<&'a str>,
}

impl<'a> LineLexer<'a> {
    pub(super) fn new(rest: &'a str, shape: LexerKind) -> Self {
        Self {
            rest,
            shape,
            inline: "",
            fence: None,
        }
    }

    pub(super) fn next_span(&mut self) -> Option<HighlightSpan<'a>> {
        if !self.inline.is_empty() {
            return Some(self.next_inline_span());
        }
        if self.rest.is_empty() {
            return None;
        }
        let length = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        let line = split_prefix(&mut self.rest, length);
        let kind = match self.shape {
            LexerKind::Diff => Some(classify_diff_line(line)),
            _ => self.classify_markdown_line(line),
        };
        let Some(kind) = kind else {
            self.inline = line;
            return Some(self.next_inline_span());
        };
        Some(HighlightSpan { kind, text: line })
    }

    /// Returns the kind of a whole Markdown line; `None` if it has to be split into inline spans.
    fn classify_markdown_line(&mut self, line: &'a str) -> Option<HighlightKind> {
        let text = line.trim_start();
        let marks = ["```", "~~~"];
        if let Some(fence) = self.fence {
            if text.starts_with(fence) {
                self.fence = None;
            }
            return Some(HighlightKind::Text);
        }
        if let Some(mark) = marks.into_iter().find(|mark| text.starts_with(mark)) {
            self.fence = text.get(..mark.len());
            return Some(HighlightKind::Text);
        }
        let level = text.len() - text.trim_start_matches('#').len();
        if (1..=6).contains(&level) && text.get(level..).is_some_and(|t| t.starts_with(' ')) {
            return Some(HighlightKind::Heading);
        }
        text.starts_with('>').then_some(HighlightKind::Comment)
    }

    /// Returns the next inline span of a Markdown line: code between backticks, or the text before it.
    fn next_inline_span(&mut self) -> HighlightSpan<'a> {
        let Some(inside) = self.inline.strip_prefix('`') else {
            let length = self.inline.find('`').unwrap_or(self.inline.len());
            let text = split_prefix(&mut self.inline, length);
            return HighlightSpan {
                kind: HighlightKind::Plain,
                text,
            };
        };
        let (kind, length) = match inside.find('`') {
            Some(end) => (HighlightKind::Text, end + 2),
            // Unclosed, and no other backtick follows on this line.
            None => (HighlightKind::Plain, self.inline.len()),
        };
        let text = split_prefix(&mut self.inline, length);
        HighlightSpan { kind, text }
    }
}

fn classify_diff_line(line: &str) -> HighlightKind {
    let file_prefixes = [
        "diff ",
        "index ",
        "+++ ",
        "--- ",
        "new file",
        "deleted file",
    ];
    if file_prefixes.iter().any(|prefix| line.starts_with(prefix)) {
        return HighlightKind::Heading;
    }
    match line.chars().next() {
        Some('+') => HighlightKind::Added,
        Some('-') => HighlightKind::Removed,
        Some('@') => HighlightKind::Meta,
        Some('\\') => HighlightKind::Comment,
        _ => HighlightKind::Plain,
    }
}
