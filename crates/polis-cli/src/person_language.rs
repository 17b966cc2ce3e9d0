//! Language of the person ([`PersonLanguage`]): decides whether a command speaks English or Chinese.
//!
//! It is the first of `--lang` and `POLIS_LANG`. Without them it is Chinese if the project's configuration says
//! `language = "zh"` or the locale is Chinese, else English. The project is looked up only when a text is needed
//! that the flags and the environment do not decide, and not at all if the command has read the configuration.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use polis_i18n::UiLanguage;

use crate::cli::GlobalArgs;
use crate::config;
use crate::context::ProjectLocation;

/// Environment variable that chooses the language, after `--lang`.
const LANGUAGE_VARIABLE: &str = "POLIS_LANG";
/// Environment variables of the locale, in the order in which they apply.
const LOCALE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Language of the person, shared by the global flags, the project location and the output of a command.
#[derive(Debug, Clone)]
pub(crate) struct PersonLanguage(Arc<LanguageSources>);

/// What the language depends on.
#[derive(Debug)]
struct LanguageSources {
    /// The language that the flag or the environment names.
    chosen: Option<UiLanguage>,
    is_locale_chinese: bool,
    /// The project named by the flags.
    dir: Option<PathBuf>,
    store: Option<String>,
    /// Language of the project's configuration, once it is known.
    configured: OnceLock<Option<UiLanguage>>,
}

impl Default for PersonLanguage {
    /// English, whatever the environment says.
    fn default() -> Self {
        Self::fixed(UiLanguage::En)
    }
}

impl PersonLanguage {
    /// Creates a language that depends on nothing.
    pub(crate) fn fixed(lang: UiLanguage) -> Self {
        Self(Arc::new(LanguageSources {
            chosen: Some(lang),
            is_locale_chinese: false,
            dir: None,
            store: None,
            configured: OnceLock::new(),
        }))
    }

    /// Creates the language of a command with these flags.
    pub(crate) fn for_flags(globals: &GlobalArgs) -> Self {
        let flag = globals.lang.map(UiLanguage::from);
        let variable = || UiLanguage::parse(&read_variable(LANGUAGE_VARIABLE)?);
        let locale = || LOCALE_VARIABLES.into_iter().find_map(read_variable);
        let chosen = flag.or_else(variable);
        Self(Arc::new(LanguageSources {
            chosen,
            is_locale_chinese: chosen.is_none() && locale().is_some_and(|l| is_chinese_locale(&l)),
            dir: globals.dir.clone(),
            store: globals.store.clone(),
            configured: OnceLock::new(),
        }))
    }

    /// Returns the language. Reads the project's configuration if nothing else decides, unless it was read before.
    pub(crate) fn get(&self) -> UiLanguage {
        let sources = &*self.0;
        resolve_language(sources.chosen, sources.is_locale_chinese, || {
            *(sources.configured).get_or_init(|| sources.find_configured())
        })
    }

    /// Returns the language without that of a project, for a command that creates one.
    pub(crate) fn get_without_project(&self) -> UiLanguage {
        resolve_language(self.0.chosen, self.0.is_locale_chinese, || None)
    }

    /// Records the language of the configuration that the command has read.
    pub(crate) fn set_configured(&self, language: &str) {
        // Known already: a command reads the configuration of one project.
        let _ = (self.0.configured).set(UiLanguage::parse(language));
    }
}

impl LanguageSources {
    /// Returns the language that the project's configuration names. A project that is not trusted has none: its
    /// configuration is not read.
    fn find_configured(&self) -> Option<UiLanguage> {
        let location = ProjectLocation::find_named(self.dir.as_deref(), self.store.as_deref());
        let data_dir = location.ok()?.data_dir?;
        UiLanguage::parse(&config::read_language(&data_dir)?)
    }
}

/// The rule: the chosen language, else Chinese if the locale or the configuration is, else English.
fn resolve_language(
    chosen: Option<UiLanguage>,
    is_locale_chinese: bool,
    configured: impl FnOnce() -> Option<UiLanguage>,
) -> UiLanguage {
    match chosen {
        Some(chosen) => chosen,
        None if is_locale_chinese || configured() == Some(UiLanguage::Zh) => UiLanguage::Zh,
        None => UiLanguage::En,
    }
}

fn is_chinese_locale(locale: &str) -> bool {
    UiLanguage::parse(locale) == Some(UiLanguage::Zh)
}

/// Returns the value of an environment variable, if it is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the language of the person is only in the environment"
)]
fn read_variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    Some(value).filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_first_source_that_decides() {
        use UiLanguage::{En, Zh};
        for (chosen, is_locale_chinese, configured, expected) in [
            (None, false, None, En),
            (None, false, Some(En), En),
            (None, false, Some(Zh), Zh),
            (None, true, None, Zh),
            (None, true, Some(En), Zh),
            (None, true, Some(Zh), Zh),
            (Some(En), true, Some(Zh), En),
            (Some(Zh), false, Some(En), Zh),
        ] {
            assert_eq!(
                resolve_language(chosen, is_locale_chinese, || configured),
                expected,
                "{chosen:?} {is_locale_chinese} {configured:?}"
            );
        }
    }

    #[test]
    fn configuration_is_not_read_if_language_is_decided() {
        let unread = || unreachable!("the configuration was read");
        assert_eq!(
            resolve_language(Some(UiLanguage::En), false, unread),
            UiLanguage::En
        );
        assert_eq!(resolve_language(None, true, unread), UiLanguage::Zh);
    }

    #[test]
    fn locale_is_chinese_by_its_language() {
        for (locale, expected) in [
            ("zh_CN.UTF-8", true),
            ("zh", true),
            ("zh-Hans", true),
            ("C.UTF-8", false),
            ("POSIX", false),
            ("en_US.UTF-8", false),
            ("de_DE", false),
        ] {
            assert_eq!(is_chinese_locale(locale), expected, "{locale}");
        }
    }
}
