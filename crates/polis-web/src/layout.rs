//! HTML document shell of every page (head, scripts, content, notices), and the security headers of every response.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue};
use maud::{DOCTYPE, Markup, html};
use polis_core::token::{Access, Area};
pub(crate) use polis_view::Tab;

use crate::request_context::{Taste, Visit};
use crate::{assets, navigation, tab};

/// Content Security Policy: only our own scripts, styles, images and connections, and nothing inline.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Scripts of every page.
const SCRIPTS: [&str; 3] = ["htmx.min.js", "idiomorph-ext.min.js", "polis.js"];

/// Response header with which htmx replaces the URL in the address bar.
const REPLACE_URL: HeaderName = HeaderName::from_static("hx-replace-url");

/// Returns a complete page with `body` as its content.
///
/// `live` lists the events that the page subscribes to (see [`crate::live`]): areas such as `task`, or subjects such as
/// `board/global`, separated by commas. A session without permission to read events gets no subscription. An element
/// that is to be refreshed then has `hx-trigger="polis:task from:body"`, `hx-get` with its own URL and
/// `hx-swap="morph:outerHTML"`.
pub(crate) fn page(visit: &Visit, tab: Tab, title: &str, live: &str, body: &Markup) -> Response {
    framed(visit, Some(tab), title, live, body)
}

/// Returns a page that belongs to no tab.
pub(crate) fn apart(visit: &Visit, title: &str, body: &Markup) -> Response {
    framed(visit, None, title, "", body)
}

fn framed(visit: &Visit, tab: Option<Tab>, title: &str, live: &str, body: &Markup) -> Response {
    // Without permission to read events, the browser's requests for the stream would be refused again and again.
    let heard = !live.is_empty() && visit.allows(Area::Events, Access::Read);
    let content = html! {
        (navigation::bar(visit, tab, heard))
        main #main tabindex="-1" { h1 { (title) } (body) }
        (navigation::help(visit.lang()))
        (navigation::lost(visit.taste))
    };
    let live = heard.then_some((live, visit.place));
    let title = format!("{title} · {}", visit.project());
    document(visit.taste, tab, &title, Some(&visit.csrf), live, &content)
}

/// Returns a page for a visitor without a session.
pub(crate) fn outside(taste: Taste, title: &str, body: &Markup) -> Response {
    let content = html! { main #main.outside { h1 { (title) } (body) } };
    document(taste, None, title, None, None, &content)
}

/// Returns a fragment of a page, for htmx to swap in.
pub(crate) fn part(markup: Markup) -> Response {
    Html(markup.into_string()).into_response()
}

/// Returns a fragment and sets the page's URL, so that a filtered view can be reloaded and bookmarked.
pub(crate) fn part_at(address: &str, markup: Markup) -> Response {
    let mut answer = part(markup);
    if let Ok(address) = HeaderValue::try_from(address) {
        answer.headers_mut().insert(REPLACE_URL, address);
    }
    answer
}

fn document(
    taste: Taste,
    tab: Option<Tab>,
    title: &str,
    csrf: Option<&str>,
    live: Option<(&str, Option<u64>)>,
    content: &Markup,
) -> Response {
    let (live, place) = live.map_or((None, None), |(live, place)| (Some(live), place));
    let headers = csrf.map(|word| format!("{{\"X-Polis-Csrf\":\"{word}\"}}"));
    let whole = html! {
        (DOCTYPE)
        html lang=(taste.lang.code()) data-theme=(taste.theme.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(taste.theme.schemes());
                meta name="htmx-config" content=(HTMX);
                title { (title) " · polis" }
                link rel="icon" href=(assets::url("icon.svg"));
                @for sheet in ["polis.css"].iter().chain(tab.map_or(&[][..], tab::sheets)) {
                    link rel="stylesheet" href=(assets::url(sheet));
                }
                @for script in SCRIPTS.iter().chain(tab.map_or(&[][..], tab::scripts)) {
                    script defer src=(assets::url(script)) {}
                }
            }
            body hx-ext="morph" hx-headers=[headers] data-live=[live] data-place=[place] {
                a.skip href="#main" { (taste.lang.say("Skip to content", "跳到正文")) }
                (content)
                div #notices aria-live="polite" {}
            }
        }
    };
    Html(whole.into_string()).into_response()
}

/// htmx configuration: disables what the Content Security Policy forbids, and swaps in error responses as well.
const HTMX: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}"#;

/// Middleware that adds the default security headers to every response that does not set them itself: documents and
/// fragments, router errors, redirects, assets and streams.
pub(crate) async fn dress(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // No other site learns the reader's URL. Our own forms need the referrer: with `no-referrer`, browsers would
        // send `Origin: null`, which the admission check refuses.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ] {
        headers.entry(name).or_insert(value);
    }
    answer
}
