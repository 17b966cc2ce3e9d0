//! Lexical description of a language ([`SourceLanguage`]), and lookup of one in the language table by its
//! name or by the name of a file.

use super::language_table::LANGUAGES;

/// Lexical description of a language.
#[derive(Debug)]
pub struct SourceLanguage {
    /// Display name of the language.
    pub name: &'static str,
    /// Other names, including file extensions; in lower case.
    pub(super) aliases: &'static [&'static str],
    /// Which lexer is used.
    pub(super) lexer: LexerKind,
    /// Prefixes of line comments.
    pub(super) line_comments: &'static [&'static str],
    /// Start and end of block comments.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// String delimiters; longer ones first.
    pub(super) quotes: &'static [StringDelimiter],
    /// Reserved words and built-in types.
    pub(super) keywords: &'static [&'static str],
    /// Words that are values, such as `true`.
    pub(super) value_words: &'static [&'static str],
    /// Whether keywords are case-insensitive.
    pub(super) case_insensitive: bool,
    /// Sign that follows a key, such as `:` in YAML.
    pub(super) key_separator: Option<char>,
    /// Characters allowed in words besides letters, digits and `_`.
    pub(super) extra_word_chars: &'static str,
    /// Prefixes of preprocessor directives, attributes, decorators and shell variables.
    pub(super) meta_prefixes: &'static str,
    /// Whether `'` starts a character literal or a lifetime, and `r"` a raw string.
    pub(super) rust_quotes: bool,
    /// Whether a capitalized word is a type.
    pub(super) capitalized_types: bool,
}

/// Which lexer reads a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexerKind {
    /// Keywords, strings, comments.
    Code,
    /// Tags (HTML, XML).
    Markup,
    /// Markdown, line by line.
    Markdown,
    /// A diff, line by line.
    Diff,
}

/// A delimiter of string literals.
#[derive(Debug)]
pub(super) struct StringDelimiter {
    pub(super) delimiter: &'static str,
    /// Whether a backslash escapes the next character.
    pub(super) escapes: bool,
    /// Whether the string may span several lines.
    pub(super) multiline: bool,
}

impl SourceLanguage {
    /// A programming language without keywords; the rows of the table override what they need.
    pub(super) const CODE_DEFAULTS: Self = Self {
        name: "",
        aliases: &[],
        lexer: LexerKind::Code,
        line_comments: &[],
        block_comment: None,
        quotes: &[],
        keywords: &[],
        value_words: &[],
        case_insensitive: false,
        key_separator: None,
        extra_word_chars: "",
        meta_prefixes: "",
        rust_quotes: false,
        capitalized_types: true,
    };
}

/// Maximum length in bytes of a name that is looked up.
const MAX_NAME_BYTES: usize = 24;

/// Returns a language by its name or alias (`rust`, `Rust`, `rs`), as given on the fence of a code block.
pub fn find_language(name: &str) -> Option<&'static SourceLanguage> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let name = name.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|one| one.name.eq_ignore_ascii_case(&name) || one.aliases.contains(&name.as_str()))
}

/// Returns the language of a file by its name or extension.
pub fn language_for_path(path: &str) -> Option<&'static SourceLanguage> {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file {
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" => return find_language("make"),
        "Dockerfile" | "Containerfile" => return find_language("dockerfile"),
        "Cargo.lock" | "poetry.lock" | "uv.lock" => return find_language("toml"),
        ".bashrc" | ".profile" | ".bash_profile" | ".zshrc" | ".gitignore" | ".dockerignore" => {
            return find_language("sh");
        }
        _ => {}
    }
    let (_, ending) = file.rsplit_once('.')?;
    find_language(ending)
}
