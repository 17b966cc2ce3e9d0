//! Lexer of programming languages for syntax highlighting: keywords, strings, comments, numbers and names.

use super::source_language::{SourceLanguage, StringDelimiter};
use super::{HighlightKind, HighlightSpan, line_length, prefix_length, split_prefix};

/// Maximum length in bytes of a word that is compared with the keywords.
const MAX_KEYWORD_BYTES: usize = 24;

/// State of the lexer: the remaining text.
#[derive(Debug)]
pub(super) struct CodeLexer<'a> {
    rest: &'a str,
    language: &'static SourceLanguage,
}

impl<'a> CodeLexer<'a> {
    pub(super) fn new(rest: &'a str, language: &'static SourceLanguage) -> Self {
        Self { rest, language }
    }

    pub(super) fn next_span(&mut self) -> Option<HighlightSpan<'a>> {
        let first = self.rest.chars().next()?;
        let (kind, length) = self.classify_token(first);
        let text = split_prefix(&mut self.rest, length.max(first.len_utf8()));
        Some(HighlightSpan { kind, text })
    }

    /// Returns kind and length of the next token.
    fn classify_token(&self, first: char) -> (HighlightKind, usize) {
        if first.is_whitespace() {
            return (
                HighlightKind::Plain,
                prefix_length(self.rest, char::is_whitespace),
            );
        }
        if let Some(found) = self.lex_comment().or_else(|| self.lex_string(first)) {
            return found;
        }
        if first.is_ascii_digit() {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            return (HighlightKind::Value, prefix_length(self.rest, fits));
        }
        if self.is_word_start(first) {
            return self.lex_word(first);
        }
        if self.language.meta_prefixes.contains(first) {
            let sign = first.len_utf8();
            let after = self.rest.get(sign..).unwrap_or_default();
            let length = prefix_length(after, |c| c.is_alphanumeric() || c == '_' || c == '-');
            let kind = if length == 0 {
                HighlightKind::Plain
            } else {
                HighlightKind::Meta
            };
            return (kind, sign + length);
        }
        (HighlightKind::Plain, first.len_utf8())
    }

    fn lex_comment(&self) -> Option<(HighlightKind, usize)> {
        let language = self.language;
        if let Some((open, close)) = language.block_comment
            && let Some(inside) = self.rest.strip_prefix(open)
        {
            let end = inside.find(close).map(|at| at + close.len());
            let length = open.len() + end.unwrap_or(inside.len());
            return Some((HighlightKind::Comment, length));
        }
        let mut marks = language.line_comments.iter();
        marks.find(|mark| self.rest.starts_with(**mark))?;
        // A language in which `#` starts an attribute (Rust) or a directive (C) does not list it as a comment
        // mark.
        Some((HighlightKind::Comment, line_length(self.rest)))
    }

    fn lex_string(&self, first: char) -> Option<(HighlightKind, usize)> {
        if self.language.rust_quotes {
            if first == '\'' {
                return Some(lex_char_or_lifetime(self.rest));
            }
            if let Some(length) = raw_string_length(self.rest) {
                return Some((HighlightKind::Text, length));
            }
        }
        let mut quotes = self.language.quotes.iter();
        let quote = quotes.find(|quote| self.rest.starts_with(quote.delimiter))?;
        let length = string_length(self.rest, quote);
        let is_key = self.language.key_separator == Some(':') && self.is_key(length);
        Some((
            if is_key {
                HighlightKind::Key
            } else {
                HighlightKind::Text
            },
            length,
        ))
    }

    fn is_word_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_' || (self.language.extra_word_chars.contains(c) && c == '$')
    }

    fn lex_word(&self, first: char) -> (HighlightKind, usize) {
        let language = self.language;
        let fits =
            |c: char| c.is_alphanumeric() || c == '_' || language.extra_word_chars.contains(c);
        let length = prefix_length(self.rest, fits);
        let word = self.rest.get(..length).unwrap_or_default();
        let after = self.rest.get(length..).unwrap_or_default();
        let kind = if self.is_key(length) {
            HighlightKind::Key
        } else if self.is_listed_word(word, language.keywords) {
            HighlightKind::Keyword
        } else if self.is_listed_word(word, language.value_words) {
            HighlightKind::Value
        } else if after.starts_with('(') || after.starts_with("!(") {
            HighlightKind::Call
        } else if language.capitalized_types && first.is_uppercase() {
            HighlightKind::Type
        } else {
            HighlightKind::Plain
        };
        (kind, length)
    }

    fn is_listed_word(&self, word: &str, words: &[&str]) -> bool {
        if word.len() > MAX_KEYWORD_BYTES {
            return false;
        }
        if self.language.case_insensitive {
            return words
                .iter()
                .any(|keyword| keyword.eq_ignore_ascii_case(word));
        }
        words.contains(&word)
    }

    /// Returns whether the key sign (such as `:`) follows after `length` bytes.
    fn is_key(&self, length: usize) -> bool {
        let Some(sign) = self.language.key_separator else {
            return false;
        };
        let after = self.rest.get(length..).unwrap_or_default();
        after.trim_start_matches([' ', '\t']).starts_with(sign)
    }
}

/// Returns the length of the string that starts here. An unclosed string ends with its line, or with the
/// text.
fn string_length(text: &str, quote: &StringDelimiter) -> usize {
    let delimiter = quote.delimiter;
    let mut at = delimiter.len();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let stop = rest.find(|c| c == '\\' || c == '\n' || delimiter.starts_with(c));
        let Some(stop) = stop else {
            return text.len();
        };
        let found = rest.get(stop..).unwrap_or_default();
        at += stop;
        if found.starts_with(delimiter) {
            return at + delimiter.len();
        }
        if found.starts_with('\n') && !quote.multiline {
            return at;
        }
        if found.starts_with('\\') && quote.escapes {
            at += 1;
            // In a single-line string, the line break cannot be escaped.
            let next = text.get(at..).and_then(|left| left.chars().next());
            at += next.map_or(0, |c| {
                if c == '\n' && !quote.multiline {
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
fn lex_char_or_lifetime(text: &str) -> (HighlightKind, usize) {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        // The longest is '\u{10ffff}'.
        Some((_, '\\')) => {
            let close = chars.skip(1).take(10).find(|(_, c)| *c == '\'');
            (HighlightKind::Text, close.map_or(1, |(at, _)| at + 1))
        }
        Some((_, c)) if c != '\n' => match chars.next() {
            Some((at, '\'')) => (HighlightKind::Text, at + 1),
            _ => {
                let name = text.get(1..).unwrap_or_default();
                let length = prefix_length(name, |c| c.is_alphanumeric() || c == '_');
                (HighlightKind::Meta, 1 + length)
            }
        },
        _ => (HighlightKind::Plain, 1),
    }
}

/// Returns the length of a Rust raw string, if one starts here.
fn raw_string_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = prefix_length(after, |c| c == '#');
    let inside = after.get(hashes..)?.strip_prefix('"')?;
    let start = text.len() - inside.len();
    let mut at = 0;
    while let Some(quote) = inside.get(at..)?.find('"') {
        at += quote + 1;
        let closing = prefix_length(inside.get(at..)?, |c| c == '#');
        if closing >= hashes {
            return Some(start + at + hashes);
        }
        at += closing;
    }
    Some(text.len())
}
