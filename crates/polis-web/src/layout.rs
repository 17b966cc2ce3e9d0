//! The frame of every page: head, tabs, where notices appear, and the headers every document has.

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

/// Nothing but our own: no script, style, picture or frame from anywhere else, none within a document.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The scripts of every page.
const SCRIPTS: [&str; 3] = ["htmx.min.js", "idiomorph-ext.min.js", "polis.js"];

/// The address a page is to show from now on.
const REPLACE_URL: HeaderName = HeaderName::from_static("hx-replace-url");

/// A whole page: what `body` draws, within the frame.
///
/// `live` names what the page wants to hear of (see [`crate::live`]): areas such as `task`, or subjects
/// such as `board/global`, separated by commas; a session that may not read events hears of nothing. An element that is to be fetched again then has
/// `hx-trigger="polis:task from:body"`, `hx-get` of its own address and
/// `hx-swap="morph:outerHTML"`.
pub(crate) fn page(visit: &Visit, tab: Tab, title: &str, live: &str, body: &Markup) -> Response {
    framed(visit, Some(tab), title, live, body)
}

/// A page that belongs to no tab.
pub(crate) fn apart(visit: &Visit, title: &str, body: &Markup) -> Response {
    framed(visit, None, title, "", body)
}

fn framed(visit: &Visit, tab: Option<Tab>, title: &str, live: &str, body: &Markup) -> Response {
    // Who may not read events would be refused the stream, again and again.
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

/// A page for somebody who is not known.
pub(crate) fn outside(taste: Taste, title: &str, body: &Markup) -> Response {
    let content = html! { main #main.outside { h1 { (title) } (body) } };
    document(taste, None, title, None, None, &content)
}

/// A part of a page, for htmx to put in its place.
pub(crate) fn part(markup: Markup) -> Response {
    Html(markup.into_string()).into_response()
}

/// A part of a page, after which the page's address is this one: who filters can come back to what is shown.
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

/// htmx without what the policy forbids; answers of refusals are shown too.
const HTMX: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}"#;

/// Puts on every answer the headers that it does not have by itself: documents and parts, refusals of the
/// router, redirects, assets and streams alike.
pub(crate) async fn dress(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // Nobody else learns where a reader was. Our own forms have to: with `no-referrer` browsers would
        // send them as from nowhere, and the gate refuses that.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ] {
        headers.entry(name).or_insert(value);
    }
    answer
}
