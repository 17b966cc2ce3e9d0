//! Line-based lexers: Markdown and diffs.

use super::language::Shape;
use super::{Kind, Span, take};

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    rest: &'a str,
    shape: Shape,
    /// Remainder of the Markdown line that is being split into inline spans.
    inline: &'a str,
    /// Closing fence of the open code block.
    fence: Option<&'a str>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(rest: &'a str, shape: Shape) -> Self {
        Self {
            rest,
            shape,
            inline: "",
            fence: None,
        }
    }

    pub(super) fn next(&mut self) -> Option<Span<'a>> {
        if !self.inline.is_empty() {
            return Some(self.inline());
        }
        if self.rest.is_empty() {
            return None;
        }
        let length = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        let line = take(&mut self.rest, length);
        let kind = match self.shape {
            Shape::Diff => Some(diff(line)),
            _ => self.markdown(line),
        };
        let Some(kind) = kind else {
            self.inline = line;
            return Some(self.inline());
        };
        Some(Span { kind, text: line })
    }

    /// Returns the kind of a whole Markdown line; `None` if it has to be split into inline spans.
    fn markdown(&mut self, line: &'a str) -> Option<Kind> {
        let text = line.trim_start();
        let marks = ["```", "~~~"];
        if let Some(fence) = self.fence {
            if text.starts_with(fence) {
                self.fence = None;
            }
            return Some(Kind::Text);
        }
        if let Some(mark) = marks.into_iter().find(|mark| text.starts_with(mark)) {
            self.fence = text.get(..mark.len());
            return Some(Kind::Text);
        }
        let level = text.len() - text.trim_start_matches('#').len();
        if (1..=6).contains(&level) && text.get(level..).is_some_and(|t| t.starts_with(' ')) {
            return Some(Kind::Heading);
        }
        text.starts_with('>').then_some(Kind::Comment)
    }

    /// Returns the next inline span of a Markdown line: code between backticks, or the text before it.
    fn inline(&mut self) -> Span<'a> {
        let Some(inside) = self.inline.strip_prefix('`') else {
            let length = self.inline.find('`').unwrap_or(self.inline.len());
            let text = take(&mut self.inline, length);
            return Span {
                kind: Kind::Plain,
                text,
            };
        };
        let (kind, length) = match inside.find('`') {
            Some(end) => (Kind::Text, end + 2),
            // Unclosed, and no other backtick follows on this line.
            None => (Kind::Plain, self.inline.len()),
        };
        let text = take(&mut self.inline, length);
        Span { kind, text }
    }
}

fn diff(line: &str) -> Kind {
    let of_file = [
        "diff ",
        "index ",
        "+++ ",
        "--- ",
        "new file",
        "deleted file",
    ];
    if of_file.iter().any(|mark| line.starts_with(mark)) {
        return Kind::Heading;
    }
    match line.chars().next() {
        Some('+') => Kind::Added,
        Some('-') => Kind::Removed,
        Some('@') => Kind::Meta,
        Some('\\') => Kind::Comment,
        _ => Kind::Plain,
    }
}
