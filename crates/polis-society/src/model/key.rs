//! API keys of endpoints: sent in the request header, and redacted everywhere else.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use polis_core::{Code, Refusal};

/// Minimum length of a key that is treated as a secret.
const SECRET: usize = 8;

/// An API key. It is never shown: not in a log, an error, a recording or a dump of the settings.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(Option<Arc<str>>);

impl Key {
    /// Creates a key, without surrounding whitespace such as a final newline. An empty text is no key.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        Self((!text.is_empty()).then(|| text.into()))
    }

    /// Returns no key, for servers that require none.
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns the `Authorization` header. Fails with `InvalidConfig` if the key contains invalid characters.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, Refusal> {
        let Some(key) = &self.0 else { return Ok(None) };
        let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| {
            Refusal::new(
                Code::InvalidConfig,
                "The key of a model's endpoint has characters in it that no key has.",
                "look at the environment variable or the file it comes from",
            )
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Returns a text from a provider with this key redacted. Providers often repeat it, in full or with asterisks in
    /// the middle.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        // A word such as `none`, for a server that requires no key, is not a secret and occurs in ordinary sentences.
        let Some(key) = self.0.as_ref().filter(|key| key.len() >= SECRET) else {
            return text.to_owned();
        };
        let text = text.replace(key.as_ref(), "[key]");
        let (Some(head), Some(tail)) = (key.get(..4), key.get(key.len().saturating_sub(4)..))
        else {
            return text;
        };
        let mut out = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '*');
            let starred = bare.contains("**") || bare.contains("...");
            if starred && (bare.starts_with(head) || bare.ends_with(tail)) {
                out.push_str(&word.replace(bare, "[key]"));
            } else {
                out.push_str(word);
            }
        }
        out
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "[key]" } else { "none" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_seen() {
        let key = Key::new(" sk-abcdefghijklmnop\n");
        assert_eq!(format!("{key:?}"), "[key]");
        let header = key.header().unwrap().unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer sk-abcdefghijklmnop");
        assert!(!format!("{header:?}").contains("sk-"));
        for (said, shown) in [
            ("Wrong key sk-abcdefghijklmnop.", "Wrong key [key]."),
            ("Wrong key: sk-ab****mnop. See", "Wrong key: [key]. See"),
            ("Wrong key: ****mnop, sorry", "Wrong key: [key], sorry"),
            ("sk-abc is another", "sk-abc is another"),
            ("", ""),
        ] {
            assert_eq!(key.hidden_in(said), shown);
        }
        assert!(Key::new("a\nb").header().is_err());
        assert_eq!(Key::new(" \n"), Key::none());
    }
}
