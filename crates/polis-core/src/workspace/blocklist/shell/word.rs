//! A word of shell, as far as it can be known before it is run.

/// Stands in a word's text for what only the running shell knows, such as the value of `$X`. No
/// character of this number exists.
pub(super) const UNKNOWN: char = '\u{FFFF}';

/// A word after quotes are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    text: String,
    /// How much of the text came before the first quote.
    bare: usize,
    quoted: bool,
    glob: bool,
    unknown: bool,
}

impl Word {
    /// A word of exactly this text.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut word = Self::default();
        word.push_quoted(text);
        word
    }

    /// The text, with a placeholder for each part that is not known.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text, if the shell would not change it.
    pub(crate) fn known(&self) -> Option<&str> {
        (!self.unknown && !self.glob).then_some(self.text.as_str())
    }

    /// The text, if the shell would at most find files that match it.
    pub(crate) fn pattern(&self) -> Option<&str> {
        (!self.unknown).then_some(self.text.as_str())
    }

    /// Whether the shell looks for files that match it.
    pub(crate) fn is_glob(&self) -> bool {
        self.glob
    }

    /// The text, if no part of it is quoted or unknown: only then can it be a word of the grammar.
    pub(super) fn bare(&self) -> Option<&str> {
        (!self.quoted && !self.unknown).then_some(self.text.as_str())
    }

    /// Whether some of it is quoted.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// Whether it is of the form `NAME=value` where a command may begin.
    pub(crate) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self
            .text
            .get(..self.bare)
            .and_then(|bare| bare.split_once('='))
        else {
            return false;
        };
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = match name.split_once('[') {
            Some((array, index)) if index.ends_with(']') => array,
            _ => name,
        };
        let mut characters = name.chars();
        characters
            .next()
            .is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
            && characters.all(|next| next == '_' || next.is_ascii_alphanumeric())
    }

    /// Whether it names the file descriptor of a redirection that follows at once.
    pub(super) fn is_descriptor(&self) -> bool {
        self.bare().is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit())
                || text.starts_with('{') && text.ends_with('}')
        })
    }

    /// Takes a character that stands outside of quotes.
    pub(super) fn push_bare(&mut self, character: char) {
        self.glob |= matches!(character, '*' | '?' | '[');
        self.unknown |= character == UNKNOWN;
        self.text.push(character);
        if !self.quoted {
            self.bare = self.text.len();
        }
    }

    /// Takes text that is quoted; a word may consist of nothing but empty quotes.
    pub(super) fn push_quoted(&mut self, text: &str) {
        self.quoted = true;
        self.unknown |= text.contains(UNKNOWN);
        self.text.push_str(text);
    }

    /// Takes something that only the running shell knows.
    pub(super) fn push_unknown(&mut self) {
        self.unknown = true;
        self.text.push(UNKNOWN);
    }
}
