//! Lexer of markup languages (HTML, XML) for syntax highlighting: tags, attributes, entities and comments.

use super::{HighlightKind, HighlightSpan, prefix_length, split_prefix};

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct MarkupLexer<'a> {
    rest: &'a str,
    /// Whether the position is between `<` and `>`.
    in_tag: bool,
}

impl<'a> MarkupLexer<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self {
            rest,
            in_tag: false,
        }
    }

    pub(super) fn next_span(&mut self) -> Option<HighlightSpan<'a>> {
        let first = self.rest.chars().next()?;
        let (kind, length) = if self.in_tag {
            self.lex_tag(first)
        } else {
            self.lex_text(first)
        };
        let text = split_prefix(&mut self.rest, length.max(first.len_utf8()));
        Some(HighlightSpan { kind, text })
    }

    fn lex_text(&mut self, first: char) -> (HighlightKind, usize) {
        if let Some(inside) = self.rest.strip_prefix("<!--") {
            let end = inside.find("-->").map_or(inside.len(), |at| at + 3);
            return (HighlightKind::Comment, 4 + end);
        }
        if first == '<' {
            let sign = prefix_length(self.rest, |c| matches!(c, '<' | '/' | '!' | '?'));
            let name = prefix_length(self.rest.get(sign..).unwrap_or_default(), is_name_char);
            self.in_tag = name > 0;
            let kind = if name > 0 {
                HighlightKind::Keyword
            } else {
                HighlightKind::Plain
            };
            return (kind, sign + name);
        }
        if first == '&' {
            let name = prefix_length(self.rest.get(1..).unwrap_or_default(), |c| {
                c.is_ascii_alphanumeric() || c == '#'
            });
            return (HighlightKind::Value, 1 + name);
        }
        (
            HighlightKind::Plain,
            prefix_length(self.rest, |c| c != '<' && c != '&'),
        )
    }

    fn lex_tag(&mut self, first: char) -> (HighlightKind, usize) {
        match first {
            '>' => {
                self.in_tag = false;
                (HighlightKind::Keyword, 1)
            }
            // The previous tag was not closed.
            '<' => {
                self.in_tag = false;
                self.lex_text(first)
            }
            '"' | '\'' => {
                let inside = self.rest.get(1..).unwrap_or_default();
                let end = inside.find(first).map_or(inside.len(), |at| at + 1);
                (HighlightKind::Text, 1 + end)
            }
            c if is_name_char(c) => (HighlightKind::Key, prefix_length(self.rest, is_name_char)),
            c => (HighlightKind::Plain, c.len_utf8()),
        }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '@')
}
