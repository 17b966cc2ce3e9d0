//! A shell word after quote removal, as far as it is known before the command runs.

/// Placeholder in a word's text for what is only known at run time, such as the value of `$X`. It is a Unicode
/// noncharacter.
pub(super) const UNKNOWN: char = '\u{FFFF}';

/// A word after quotes are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    text: String,
    /// Length of the text before the first quote.
    bare: usize,
    quoted: bool,
    glob: bool,
    unknown: bool,
}

impl Word {
    /// Creates a word of exactly this text.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut word = Self::default();
        word.push_quoted(text);
        word
    }

    /// Returns the text, with a placeholder for each unknown part.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text if the shell would not change it.
    pub(crate) fn known(&self) -> Option<&str> {
        (!self.unknown && !self.glob).then_some(self.text.as_str())
    }

    /// Returns the text if the shell would at most expand globs in it.
    pub(crate) fn pattern(&self) -> Option<&str> {
        (!self.unknown).then_some(self.text.as_str())
    }

    /// Returns whether it contains a glob.
    pub(crate) fn is_glob(&self) -> bool {
        self.glob
    }

    /// Returns the text if no part of it is quoted or unknown. Only then can it be a reserved word.
    pub(super) fn bare(&self) -> Option<&str> {
        (!self.quoted && !self.unknown).then_some(self.text.as_str())
    }

    /// Returns whether a part of it is quoted.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// Returns whether it has the form `NAME=value` of an assignment before a command.
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

    /// Returns whether it is the file descriptor of a redirection that follows immediately.
    pub(super) fn is_descriptor(&self) -> bool {
        self.bare().is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit())
                || text.starts_with('{') && text.ends_with('}')
        })
    }

    /// Adds an unquoted character.
    pub(super) fn push_bare(&mut self, character: char) {
        self.glob |= matches!(character, '*' | '?' | '[');
        self.unknown |= character == UNKNOWN;
        self.text.push(character);
        if !self.quoted {
            self.bare = self.text.len();
        }
    }

    /// Adds quoted text. A word may consist only of empty quotes.
    pub(super) fn push_quoted(&mut self, text: &str) {
        self.quoted = true;
        self.unknown |= text.contains(UNKNOWN);
        self.text.push_str(text);
    }

    /// Adds a part that is only known at run time.
    pub(super) fn push_unknown(&mut self) {
        self.unknown = true;
        self.text.push(UNKNOWN);
    }
}
