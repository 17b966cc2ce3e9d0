//! Source files in colours: which words are keywords, what is a comment, a string, a number.
//!
//! A lexer and no parser: it needs no tree, takes time in proportion to the text whatever the text is, and
//! never loses a character (the spans put together are the text). What a language looks like is a row of
//! the table in `table`; what a row cannot say (tags, differences, Markdown) is in `lines` and `markup`.

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

/// What a piece of source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing in particular.
    Plain,
    /// A remark.
    Comment,
    /// A text in quotes.
    Text,
    /// A number, or a word that stands for a value, such as `true`.
    Value,
    /// A word of the language.
    Keyword,
    /// A type, or what is written like one.
    Type,
    /// What is called.
    Call,
    /// The name of a value: in JSON, YAML, TOML, CSS, an attribute of a tag.
    Key,
    /// What speaks to another program: a directive, a decorator, a lifetime, a variable of a shell.
    Meta,
    /// A line that came, in a difference.
    Added,
    /// A line that went, in a difference.
    Removed,
    /// A heading.
    Heading,
}

/// A piece of a text, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// What it is.
    pub kind: Kind,
    /// The piece.
    pub text: &'a str,
}

/// The pieces of a text, in order; together they are the text. Neighbours may be of the same kind.
#[derive(Debug)]
pub struct Highlight<'a>(Reader<'a>);

#[derive(Debug)]
enum Reader<'a> {
    Code(Code<'a>),
    Lines(Lines<'a>),
    Markup(Markup<'a>),
}

/// The pieces of a text of a language.
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

/// Takes the first `length` bytes off a text; all of it if that is no place between two characters.
fn take<'a>(rest: &mut &'a str, length: usize) -> &'a str {
    let (taken, left) = rest.split_at_checked(length).unwrap_or((*rest, ""));
    *rest = left;
    taken
}

/// How long the beginning of a text is whose characters all fit.
fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// How long the rest of the line is, without its end.
fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}
