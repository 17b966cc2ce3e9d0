//! Display language of the user interfaces.

use polis_core::board::template_text::Language;

/// Display language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// Returns the text in this language. Texts are given in pairs where they are used, so that a sentence
    /// and its translation are read and changed together.
    pub fn say<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }

    /// Returns its language code: `en`, `zh`.
    pub fn code(self) -> &'static str {
        self.say("en", "zh")
    }

    /// Parses a locale name such as `zh`, `zh-CN` or `en_US.UTF-8`. Returns `None` if it is neither language.
    pub fn parse(name: &str) -> Option<Self> {
        let first = name.split(['-', '_', '.']).next()?;
        match first.to_ascii_lowercase().as_str() {
            "en" => Some(Self::En),
            "zh" => Some(Self::Zh),
            _ => None,
        }
    }
}

impl From<Language> for Lang {
    fn from(language: Language) -> Self {
        match language {
            Language::En => Self::En,
            Language::Zh => Self::Zh,
        }
    }
}
