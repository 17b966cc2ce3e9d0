//! Display language of a surface: English or Chinese.

use polis_core::board::template_text::ContentLanguage;

/// Display language of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UiLanguage {
    /// English, the default.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl UiLanguage {
    /// Returns its language code: `en`, `zh`.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
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

impl From<ContentLanguage> for UiLanguage {
    fn from(language: ContentLanguage) -> Self {
        match language {
            ContentLanguage::En => Self::En,
            ContentLanguage::Zh => Self::Zh,
        }
    }
}
