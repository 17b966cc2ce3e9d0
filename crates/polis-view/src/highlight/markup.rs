//! Lexer of markup languages (HTML, XML): tags, attributes, entities and comments.

use super::{Kind, Span, run, take};

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct Markup<'a> {
    rest: &'a str,
    /// Whether the position is between `<` and `>`.
    in_tag: bool,
}

impl<'a> Markup<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self {
            rest,
            in_tag: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Span<'a>> {
        let first = self.rest.chars().next()?;
        let (kind, length) = if self.in_tag {
            self.within(first)
        } else {
            self.outside(first)
        };
        let text = take(&mut self.rest, length.max(first.len_utf8()));
        Some(Span { kind, text })
    }

    fn outside(&mut self, first: char) -> (Kind, usize) {
        if let Some(inside) = self.rest.strip_prefix("<!--") {
            let end = inside.find("-->").map_or(inside.len(), |at| at + 3);
            return (Kind::Comment, 4 + end);
        }
        if first == '<' {
            let sign = run(self.rest, |c| matches!(c, '<' | '/' | '!' | '?'));
            let name = run(self.rest.get(sign..).unwrap_or_default(), in_name);
            self.in_tag = name > 0;
            let kind = if name > 0 { Kind::Keyword } else { Kind::Plain };
            return (kind, sign + name);
        }
        if first == '&' {
            let name = run(self.rest.get(1..).unwrap_or_default(), |c| {
                c.is_ascii_alphanumeric() || c == '#'
            });
            return (Kind::Value, 1 + name);
        }
        (Kind::Plain, run(self.rest, |c| c != '<' && c != '&'))
    }

    fn within(&mut self, first: char) -> (Kind, usize) {
        match first {
            '>' => {
                self.in_tag = false;
                (Kind::Keyword, 1)
            }
            // The previous tag was not closed.
            '<' => {
                self.in_tag = false;
                self.outside(first)
            }
            '"' | '\'' => {
                let inside = self.rest.get(1..).unwrap_or_default();
                let end = inside.find(first).map_or(inside.len(), |at| at + 1);
                (Kind::Text, 1 + end)
            }
            c if in_name(c) => (Kind::Key, run(self.rest, in_name)),
            c => (Kind::Plain, c.len_utf8()),
        }
    }
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '@')
}
