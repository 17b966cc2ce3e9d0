//! Language of a response's error texts, negotiated from the request (`Accept-Language`).
//!
//! The language is a property of the request that every error on the way can need, from the admission to the
//! operation. It is therefore a value of the task that handles the request, set once by [`in_language`].

use http::header::{ACCEPT_LANGUAGE, CONTENT_LANGUAGE, VARY};
use http::{HeaderMap, HeaderValue};
use polis_i18n::UiLanguage;

tokio::task_local! {
    static REQUEST_LANGUAGE: UiLanguage;
}

/// Runs the handler of a request whose error texts are in this language.
pub(super) async fn in_language<F: Future>(lang: UiLanguage, handler: F) -> F::Output {
    REQUEST_LANGUAGE.scope(lang, handler).await
}

/// Returns the language of the current request; English outside of a request.
pub(super) fn request_language() -> UiLanguage {
    REQUEST_LANGUAGE.try_with(|lang| *lang).unwrap_or_default()
}

/// Marks the language of a response, and that it depends on the request.
pub(super) fn set_language_headers(headers: &mut HeaderMap, lang: UiLanguage) {
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(lang.code()));
    headers.append(VARY, HeaderValue::from_static("accept-language"));
}

/// Returns the supported language with the highest weight; of several, the first. English if there is none.
pub(super) fn preferred_language(headers: &HeaderMap) -> UiLanguage {
    requested_language(headers).unwrap_or_default()
}

/// Returns the supported language with the highest weight; of several, the first. `None` if the request names none.
pub(crate) fn requested_language(headers: &HeaderMap) -> Option<UiLanguage> {
    let lists = headers.get_all(ACCEPT_LANGUAGE).iter();
    let ranges = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let mut best = (None, 0.0);
    for range in ranges {
        let mut parts = range.split(';').map(str::trim);
        let Some(lang) = parts.next().and_then(UiLanguage::parse) else {
            continue;
        };
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let weight = weight.map_or(1.0, |text| text.trim().parse::<f32>().unwrap_or(0.0));
        if weight > best.1 {
            best = (Some(lang), weight);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(super) fn preferred_language_follows_weights() {
        for (accepted, expected) in [
            ("", UiLanguage::En),
            ("fr", UiLanguage::En),
            ("zh-CN,zh;q=0.9,en;q=0.8", UiLanguage::Zh),
            ("en-GB, zh;q=0.5", UiLanguage::En),
            ("en;q=0.2, zh-Hans;q=0.7", UiLanguage::Zh),
            ("zh;q=0", UiLanguage::En),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(accepted));
            assert_eq!(preferred_language(&headers), expected, "{accepted}");
        }
    }
}
