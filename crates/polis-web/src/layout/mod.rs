//! HTML document shell of every page: head, scripts, content and notices.

mod navigation_bar;
pub(crate) mod tab;

use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderName, HeaderValue};
use maud::{DOCTYPE, Markup, html};
use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::msg;
pub(crate) use polis_view::Tab;

use crate::assets;
use crate::request::preferences::Preferences;
use crate::request::request_context::RequestContext;

/// Scripts of every page.
const COMMON_SCRIPTS: [&str; 3] = ["htmx.min.js", "idiomorph-ext.min.js", "polis.js"];

/// Response header with which htmx replaces the URL in the address bar.
const HX_REPLACE_URL: HeaderName = HeaderName::from_static("hx-replace-url");

/// Returns a complete page with `body` as its content.
///
/// `live` lists the events that the page subscribes to (see [`crate::live_updates`]): areas such as `task`,
/// or subjects such as `board/global`, separated by commas. A session without permission to read events gets
/// no subscription. An element that is to be refreshed then has `hx-trigger="polis:task from:body"`, `hx-get`
/// with its own URL and `hx-swap="morph:outerHTML"`.
pub(crate) fn tab_page(
    context: &RequestContext,
    tab: Tab,
    title: &str,
    live: &str,
    body: &Markup,
) -> Response {
    page_with_navigation(context, Some(tab), title, live, body)
}

/// Returns a page that belongs to no tab.
pub(crate) fn standalone_page(context: &RequestContext, title: &str, body: &Markup) -> Response {
    page_with_navigation(context, None, title, "", body)
}

fn page_with_navigation(
    context: &RequestContext,
    tab: Option<Tab>,
    title: &str,
    live: &str,
    body: &Markup,
) -> Response {
    // Without permission to read events, the browser's requests for the stream would be refused again and
    // again.
    let is_live = !live.is_empty() && context.may_access(OperationArea::Events, AccessLevel::Read);
    let content = html! {
        (navigation_bar::render_navigation_bar(context, tab, is_live))
        main #main tabindex="-1" { h1 { (title) } (body) }
        (navigation_bar::render_keyboard_help(context.lang()))
        (navigation_bar::render_offline_notice(context.preferences))
    };
    let live = is_live.then_some((live, context.log_position));
    let title = format!("{title} · {}", context.project_name());
    html_document(
        context.preferences,
        tab,
        &title,
        Some(&context.csrf),
        live,
        &content,
    )
}

/// Returns a page for a visitor without a session.
pub(crate) fn signed_out_page(preferences: Preferences, title: &str, body: &Markup) -> Response {
    let content = html! { main #main.outside { h1 { (title) } (body) } };
    html_document(preferences, None, title, None, None, &content)
}

/// Returns a fragment of a page, for htmx to swap in.
pub(crate) fn html_fragment(markup: Markup) -> Response {
    Html(markup.into_string()).into_response()
}

/// Returns a fragment and sets the page's URL, so that a filtered view can be reloaded and bookmarked.
pub(crate) fn html_fragment_with_url(address: &str, markup: Markup) -> Response {
    let mut answer = html_fragment(markup);
    if let Ok(address) = HeaderValue::try_from(address) {
        answer.headers_mut().insert(HX_REPLACE_URL, address);
    }
    answer
}

fn html_document(
    preferences: Preferences,
    tab: Option<Tab>,
    title: &str,
    csrf: Option<&str>,
    live: Option<(&str, Option<u64>)>,
    content: &Markup,
) -> Response {
    let (live, position) = live.map_or((None, None), |(live, position)| (Some(live), position));
    let headers = csrf.map(|token| format!("{{\"X-Polis-Csrf\":\"{token}\"}}"));
    let document = html! {
        (DOCTYPE)
        html lang=(preferences.lang.code()) data-theme=(preferences.theme.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(preferences.theme.color_schemes());
                meta name="htmx-config" content=(HTMX_CONFIG);
                title { (title) " · polis" }
                link rel="icon" href=(assets::asset_url("icon.svg"));
                @for sheet in ["polis.css"].iter().chain(tab.map_or(&[][..], tab::tab_stylesheets)) {
                    link rel="stylesheet" href=(assets::asset_url(sheet));
                }
                @for script in COMMON_SCRIPTS.iter().chain(tab.map_or(&[][..], tab::tab_scripts)) {
                    script defer src=(assets::asset_url(script)) {}
                }
            }
            body hx-ext="morph" hx-headers=[headers] data-live=[live] data-place=[position] {
                a.skip href="#main" { (msg::page_skip_to_content(preferences.lang)) }
                (content)
                div #notices aria-live="polite" {}
            }
        }
    };
    Html(document.into_string()).into_response()
}

/// htmx configuration: disables what the Content Security Policy forbids, and swaps in error responses as
/// well.
const HTMX_CONFIG: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}"#;
