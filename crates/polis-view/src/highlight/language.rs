//! What a language looks like to the lexer, and how one is found by its name or by a file's.

use super::table::LANGUAGES;

/// What a language looks like.
#[derive(Debug)]
pub struct Language {
    /// Its name, as people write it.
    pub name: &'static str,
    /// Other names, among them the endings of its files; in lower case.
    pub(super) names: &'static [&'static str],
    /// How it is read.
    pub(super) shape: Shape,
    /// What begins a remark that goes to the line's end.
    pub(super) line_comments: &'static [&'static str],
    /// What begins and ends a remark of several lines.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// What begins and ends a text. Longer ones first.
    pub(super) quotes: &'static [Quote],
    /// Its words.
    pub(super) keywords: &'static [&'static str],
    /// Words that stand for values.
    pub(super) values: &'static [&'static str],
    /// Whether words are the same in capitals.
    pub(super) any_case: bool,
    /// What stands behind the name of a value.
    pub(super) key_sign: Option<char>,
    /// What may be within a word beside letters, digits and `_`.
    pub(super) in_words: &'static str,
    /// What makes the word after it speak to another program.
    pub(super) meta_signs: &'static str,
    /// Whether `'` begins a character or a lifetime, and `r"` a raw text.
    pub(super) rust_quotes: bool,
    /// Whether a word with a capital is a type.
    pub(super) capital_types: bool,
}

/// How a language is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Words, texts, remarks.
    Code,
    /// Tags.
    Markup,
    /// Markdown, by lines.
    Markdown,
    /// A difference, by lines.
    Diff,
}

/// What begins and ends a text.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    /// Whether a backslash takes the meaning of what follows.
    pub(super) escapes: bool,
    /// Whether it may go over several lines.
    pub(super) lines: bool,
}

impl Language {
    /// A language of words without any; rows of the table change what they need.
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

/// The longest name a language has.
const LONGEST: usize = 24;

/// A language by its name (`rust`, `Rust`, `rs`), as behind the fence of a code block.
pub fn language(name: &str) -> Option<&'static Language> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|one| one.name.eq_ignore_ascii_case(&name) || one.names.contains(&name.as_str()))
}

/// The language of a file, by its name.
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
