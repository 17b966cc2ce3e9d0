//! Syntax highlighting: splits source text into spans of keywords, comments, strings, numbers and so on.
//!
//! A lexer without a parser: it needs no syntax tree, takes linear time for any text, and never loses a
//! character (the concatenated spans are the text). Each language is a row of the table in `table`. Languages
//! that a row cannot describe (markup, diffs, Markdown) have lexers of their own in `lines` and `markup`.

mod code;
mod language;
mod lines;
mod markup;
#[rustfmt::skip]
mod table;
#[cfg(test)]
mod tests;

pub use language::{Language, language, language_of_path};

use self::code::Code;
use self::language::Shape;
use self::lines::Lines;
use self::markup::Markup;

/// Kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
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
pub struct Span<'a> {
    /// The kind.
    pub kind: Kind,
    /// The text.
    pub text: &'a str,
}

/// Iterator over the spans of a text. Concatenated, they are the text. Adjacent spans may have the same kind.
#[derive(Debug)]
pub struct Highlight<'a>(Reader<'a>);

#[derive(Debug)]
enum Reader<'a> {
    Code(Code<'a>),
    Lines(Lines<'a>),
    Markup(Markup<'a>),
}

/// Returns the spans of a text in a language.
pub fn highlight<'a>(text: &'a str, language: &'static Language) -> Highlight<'a> {
    Highlight(match language.shape {
        Shape::Code => Reader::Code(Code::new(text, language)),
        Shape::Markup => Reader::Markup(Markup::new(text)),
        Shape::Markdown | Shape::Diff => Reader::Lines(Lines::new(text, language.shape)),
    })
}

impl<'a> Iterator for Highlight<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        match &mut self.0 {
            Reader::Code(code) => code.next(),
            Reader::Lines(lines) => lines.next(),
            Reader::Markup(markup) => markup.next(),
        }
    }
}

/// Splits off the first `length` bytes; the whole text if that is not a character boundary.
fn take<'a>(rest: &mut &'a str, length: usize) -> &'a str {
    let (taken, left) = rest.split_at_checked(length).unwrap_or((*rest, ""));
    *rest = left;
    taken
}

/// Returns the length of the longest prefix whose characters all match.
fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// Returns the length of the rest of the line, without its line break.
fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}
