//! Lexical description of a language, and lookup of a language by name or file name.

use super::table::LANGUAGES;

/// Lexical description of a language.
#[derive(Debug)]
pub struct Language {
    /// Display name.
    pub name: &'static str,
    /// Other names, including file extensions; in lower case.
    pub(super) names: &'static [&'static str],
    /// Which lexer is used.
    pub(super) shape: Shape,
    /// Prefixes of line comments.
    pub(super) line_comments: &'static [&'static str],
    /// Start and end of block comments.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// String delimiters; longer ones first.
    pub(super) quotes: &'static [Quote],
    /// Keywords.
    pub(super) keywords: &'static [&'static str],
    /// Words that are values, such as `true`.
    pub(super) values: &'static [&'static str],
    /// Whether keywords are case-insensitive.
    pub(super) any_case: bool,
    /// Sign that follows a key, such as `:` in YAML.
    pub(super) key_sign: Option<char>,
    /// Characters allowed in words besides letters, digits and `_`.
    pub(super) in_words: &'static str,
    /// Prefixes of preprocessor directives, attributes, decorators and shell variables.
    pub(super) meta_signs: &'static str,
    /// Whether `'` starts a character literal or a lifetime, and `r"` a raw string.
    pub(super) rust_quotes: bool,
    /// Whether a capitalized word is a type.
    pub(super) capital_types: bool,
}

/// Which lexer reads a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Keywords, strings, comments.
    Code,
    /// Tags (HTML, XML).
    Markup,
    /// Markdown, line by line.
    Markdown,
    /// A diff, line by line.
    Diff,
}

/// A string delimiter.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    /// Whether a backslash escapes the next character.
    pub(super) escapes: bool,
    /// Whether the string may span several lines.
    pub(super) lines: bool,
}

impl Language {
    /// A programming language without keywords; the rows of the table override what they need.
    pub(super) const CODE: Self = Self {
        name: "",
        names: &[],
        shape: Shape::Code,
        line_comments: &[],
        block_comment: None,
        quotes: &[],
        keywords: &[],
        values: &[],
        any_case: false,
        key_sign: None,
        in_words: "",
        meta_signs: "",
        rust_quotes: false,
        capital_types: true,
    };
}

/// Maximum length of a language's name.
const LONGEST: usize = 24;

/// Returns a language by its name (`rust`, `Rust`, `rs`), as given on the fence of a code block.
pub fn language(name: &str) -> Option<&'static Language> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|one| one.name.eq_ignore_ascii_case(&name) || one.names.contains(&name.as_str()))
}

/// Returns the language of a file by its name.
pub fn language_of_path(path: &str) -> Option<&'static Language> {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file {
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" => return language("make"),
        "Dockerfile" | "Containerfile" => return language("dockerfile"),
        "Cargo.lock" | "poetry.lock" | "uv.lock" => return language("toml"),
        ".bashrc" | ".profile" | ".bash_profile" | ".zshrc" | ".gitignore" | ".dockerignore" => {
            return language("sh");
        }
        _ => {}
    }
    let (_, ending) = file.rsplit_once('.')?;
    language(ending)
}
