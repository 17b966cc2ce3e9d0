//! Syntax highlighting: splits source text into spans of keywords, comments, strings, numbers and so on.
//!
//! [`find_language`] and [`language_for_path`] look a language up, [`highlight`] returns the spans. There are
//! lexers but no parser: they need no syntax tree, take linear time for any text, and never lose a character
//! (the concatenated spans are the text). Each language is a row of `language_table`; the row describes it to
//! `code_lexer`, or selects another lexer: `line_lexer` (Markdown, diffs) or `markup_lexer` (HTML, XML).

mod code_lexer;
mod line_lexer;
mod markup_lexer;
mod source_language;
#[rustfmt::skip]
mod language_table;
#[cfg(test)]
mod tests;

pub use source_language::{SourceLanguage, find_language, language_for_path};

use self::code_lexer::CodeLexer;
use self::line_lexer::LineLexer;
use self::markup_lexer::MarkupLexer;
use self::source_language::LexerKind;

/// Kind of a highlighted span. Each surface maps the kinds to its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HighlightKind {
    /// Plain text.
    Plain,
    /// A comment.
    Comment,
    /// A string.
    Text,
    /// A number, or a word that is a value, such as `true`.
    Value,
    /// A keyword.
    Keyword,
    /// A type, or a capitalized word.
    Type,
    /// The name of a called function.
    Call,
    /// A key in JSON, YAML, TOML or CSS, or an attribute of a tag.
    Key,
    /// A preprocessor directive, decorator, lifetime or shell variable.
    Meta,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
    /// A heading.
    Heading,
}

/// A piece of text and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HighlightSpan<'a> {
    /// Kind of the whole piece.
    pub kind: HighlightKind,
    /// The piece, unchanged.
    pub text: &'a str,
}

/// Iterator over the spans of a text. Concatenated, they are the text. Adjacent spans may have the same kind.
#[derive(Debug)]
pub struct HighlightSpans<'a>(TextLexer<'a>);

#[derive(Debug)]
enum TextLexer<'a> {
    Code(CodeLexer<'a>),
    Lines(LineLexer<'a>),
    Markup(MarkupLexer<'a>),
}

/// Returns the spans of a text in a language.
pub fn highlight<'a>(text: &'a str, language: &'static SourceLanguage) -> HighlightSpans<'a> {
    HighlightSpans(match language.lexer {
        LexerKind::Code => TextLexer::Code(CodeLexer::new(text, language)),
        LexerKind::Markup => TextLexer::Markup(MarkupLexer::new(text)),
        LexerKind::Markdown | LexerKind::Diff => {
            TextLexer::Lines(LineLexer::new(text, language.lexer))
        }
    })
}

impl<'a> Iterator for HighlightSpans<'a> {
    type Item = HighlightSpan<'a>;

    fn next(&mut self) -> Option<HighlightSpan<'a>> {
        match &mut self.0 {
            TextLexer::Code(code) => code.next_span(),
            TextLexer::Lines(lines) => lines.next_span(),
            TextLexer::Markup(markup) => markup.next_span(),
        }
    }
}

/// Splits off the first `length` bytes; the whole text if that is not a character boundary.
fn split_prefix<'a>(rest: &mut &'a str, length: usize) -> &'a str {
    let (prefix, left) = rest.split_at_checked(length).unwrap_or((*rest, ""));
    *rest = left;
    prefix
}

/// Returns the length of the longest prefix whose characters all match.
fn prefix_length(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// Returns the length of the rest of the line, without its line break.
fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}
