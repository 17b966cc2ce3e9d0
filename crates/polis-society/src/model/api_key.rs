//! API key of a model endpoint: sent as a bearer token, left out of `Debug` output, and redacted in the texts
//! of providers (unless it is too short to be a secret).

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use polis_core::Refusal;

use crate::refusal_tables::ModelRefusal;

/// Minimum length of a key that is treated as a secret.
const MIN_SECRET_BYTES: usize = 8;

/// An API key. It is never shown: not in a log, an error, a recording or a dump of the settings.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(Option<Arc<str>>);

impl ApiKey {
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
    pub(super) fn authorization_header(&self) -> Result<Option<HeaderValue>, Refusal> {
        let Some(key) = &self.0 else { return Ok(None) };
        let mut value = HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| Refusal::from(ModelRefusal::InvalidApiKey))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Returns a text from a provider with this key redacted. Providers often repeat it, in full or with
    /// asterisks in the middle.
    pub(super) fn redact_key(&self, text: &str) -> String {
        // A word such as `none`, for a server that requires no key, is not a secret and occurs in ordinary
        // sentences.
        let Some(key) = self.0.as_ref().filter(|key| key.len() >= MIN_SECRET_BYTES) else {
            return text.to_owned();
        };
        let text = text.replace(key.as_ref(), "[key]");
        let (Some(head), Some(tail)) = (key.get(..4), key.get(key.len().saturating_sub(4)..))
        else {
            return text;
        };
        let mut out = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            let trimmed = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '*');
            let starred = trimmed.contains("**") || trimmed.contains("...");
            if starred && (trimmed.starts_with(head) || trimmed.ends_with(tail)) {
                out.push_str(&word.replace(trimmed, "[key]"));
            } else {
                out.push_str(word);
            }
        }
        out
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "[key]" } else { "none" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_redacted_in_debug_output_and_provider_texts() {
        let key = ApiKey::new(" sk-abcdefghijklmnop\n");
        assert_eq!(format!("{key:?}"), "[key]");
        let header = key.authorization_header().unwrap().unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer sk-abcdefghijklmnop");
        assert!(!format!("{header:?}").contains("sk-"));
        for (text, redacted) in [
            ("Wrong key sk-abcdefghijklmnop.", "Wrong key [key]."),
            ("Wrong key: sk-ab****mnop. See", "Wrong key: [key]. See"),
            ("Wrong key: ****mnop, sorry", "Wrong key: [key], sorry"),
            ("sk-abc is another", "sk-abc is another"),
            ("", ""),
        ] {
            assert_eq!(key.redact_key(text), redacted);
        }
        assert!(ApiKey::new("a\nb").authorization_header().is_err());
        assert_eq!(ApiKey::new(" \n"), ApiKey::none());
    }
}
