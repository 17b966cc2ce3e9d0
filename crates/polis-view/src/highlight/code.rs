//! Lexer of programming languages: keywords, strings, comments, numbers and names.

use super::language::{Language, Quote};
use super::{Kind, Span, line, run, take};

/// Maximum length of a word that is looked up among the keywords.
const LONGEST_WORD: usize = 24;

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct Code<'a> {
    rest: &'a str,
    language: &'static Language,
}

impl<'a> Code<'a> {
    pub(super) fn new(rest: &'a str, language: &'static Language) -> Self {
        Self { rest, language }
    }

    pub(super) fn next(&mut self) -> Option<Span<'a>> {
        let first = self.rest.chars().next()?;
        let (kind, length) = self.piece(first);
        let text = take(&mut self.rest, length.max(first.len_utf8()));
        Some(Span { kind, text })
    }

    /// Returns kind and length of the next token.
    fn piece(&self, first: char) -> (Kind, usize) {
        if first.is_whitespace() {
            return (Kind::Plain, run(self.rest, char::is_whitespace));
        }
        if let Some(found) = self.comment().or_else(|| self.quoted(first)) {
            return found;
        }
        if first.is_ascii_digit() {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            return (Kind::Value, run(self.rest, fits));
        }
        if self.in_word(first) {
            return self.word(first);
        }
        if self.language.meta_signs.contains(first) {
            let sign = first.len_utf8();
            let after = self.rest.get(sign..).unwrap_or_default();
            let length = run(after, |c| c.is_alphanumeric() || c == '_' || c == '-');
            let kind = if length == 0 { Kind::Plain } else { Kind::Meta };
            return (kind, sign + length);
        }
        (Kind::Plain, first.len_utf8())
    }

    fn comment(&self) -> Option<(Kind, usize)> {
        let language = self.language;
        if let Some((open, close)) = language.block_comment
            && let Some(inside) = self.rest.strip_prefix(open)
        {
            let end = inside.find(close).map(|at| at + close.len());
            let length = open.len() + end.unwrap_or(inside.len());
            return Some((Kind::Comment, length));
        }
        let mut marks = language.line_comments.iter();
        marks.find(|mark| self.rest.starts_with(**mark))?;
        // A language in which `#` starts an attribute (Rust) or a directive (C) does not list it as a comment
        // mark.
        Some((Kind::Comment, line(self.rest)))
    }

    fn quoted(&self, first: char) -> Option<(Kind, usize)> {
        if self.language.rust_quotes {
            if first == '\'' {
                return Some(character(self.rest));
            }
            if let Some(length) = raw(self.rest) {
                return Some((Kind::Text, length));
            }
        }
        let mut quotes = self.language.quotes.iter();
        let quote = quotes.find(|quote| self.rest.starts_with(quote.mark))?;
        let length = end_of_text(self.rest, quote);
        let named = self.language.key_sign == Some(':') && self.is_key(length);
        Some((if named { Kind::Key } else { Kind::Text }, length))
    }

    fn in_word(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_' || (self.language.in_words.contains(c) && c == '$')
    }

    fn word(&self, first: char) -> (Kind, usize) {
        let language = self.language;
        let fits = |c: char| c.is_alphanumeric() || c == '_' || language.in_words.contains(c);
        let length = run(self.rest, fits);
        let word = self.rest.get(..length).unwrap_or_default();
        let after = self.rest.get(length..).unwrap_or_default();
        let kind = if self.is_key(length) {
            Kind::Key
        } else if self.is_one_of(word, language.keywords) {
            Kind::Keyword
        } else if self.is_one_of(word, language.values) {
            Kind::Value
        } else if after.starts_with('(') || after.starts_with("!(") {
            Kind::Call
        } else if language.capital_types && first.is_uppercase() {
            Kind::Type
        } else {
            Kind::Plain
        };
        (kind, length)
    }

    fn is_one_of(&self, word: &str, words: &[&str]) -> bool {
        if word.len() > LONGEST_WORD {
            return false;
        }
        if self.language.any_case {
            return words.iter().any(|one| one.eq_ignore_ascii_case(word));
        }
        words.contains(&word)
    }

    /// Returns whether the key sign (such as `:`) follows after `length` bytes.
    fn is_key(&self, length: usize) -> bool {
        let Some(sign) = self.language.key_sign else {
            return false;
        };
        let after = self.rest.get(length..).unwrap_or_default();
        after.trim_start_matches([' ', '\t']).starts_with(sign)
    }
}

/// Returns the length of the string that starts here. An unclosed string ends with its line, or with the
/// text.
fn end_of_text(text: &str, quote: &Quote) -> usize {
    let mark = quote.mark;
    let mut at = mark.len();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let stop = rest.find(|c| c == '\\' || c == '\n' || mark.starts_with(c));
        let Some(stop) = stop else {
            return text.len();
        };
        let found = rest.get(stop..).unwrap_or_default();
        at += stop;
        if found.starts_with(mark) {
            return at + mark.len();
        }
        if found.starts_with('\n') && !quote.lines {
            return at;
        }
        if found.starts_with('\\') && quote.escapes {
            at += 1;
            // In a single-line string, the line break cannot be escaped.
            let next = text.get(at..).and_then(|left| left.chars().next());
            at += next.map_or(0, |c| {
                if c == '\n' && !quote.lines {
                    0
                } else {
                    c.len_utf8()
                }
            });
        } else {
            at += 1;
        }
    }
}

/// Lexes a character literal or a lifetime of Rust.
fn character(text: &str) -> (Kind, usize) {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        // The longest is '\u{10ffff}'.
        Some((_, '\\')) => {
            let close = chars.skip(1).take(10).find(|(_, c)| *c == '\'');
            (Kind::Text, close.map_or(1, |(at, _)| at + 1))
        }
        Some((_, c)) if c != '\n' => match chars.next() {
            Some((at, '\'')) => (Kind::Text, at + 1),
            _ => {
                let name = text.get(1..).unwrap_or_default();
                let length = run(name, |c| c.is_alphanumeric() || c == '_');
                (Kind::Meta, 1 + length)
            }
        },
        _ => (Kind::Plain, 1),
    }
}

/// Returns the length of a Rust raw string, if one starts here.
fn raw(text: &str) -> Option<usize> {
    let after = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = run(after, |c| c == '#');
    let inside = after.get(hashes..)?.strip_prefix('"')?;
    let begun = text.len() - inside.len();
    let mut at = 0;
    while let Some(quote) = inside.get(at..)?.find('"') {
        at += quote + 1;
        let closing = run(inside.get(at..)?, |c| c == '#');
        if closing >= hashes {
            return Some(begun + at + hashes);
        }
        at += closing;
    }
    Some(text.len())
}
