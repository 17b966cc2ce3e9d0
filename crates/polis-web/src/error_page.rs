//! Error responses: an error with code, message and next step, as a page or, for htmx, as a notice within the
//! current page. Handlers return [`PageError`].

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use maud::{Markup, html};
use polis_core::RefusalKind;
use polis_i18n::{Surface, msg};
use polis_ops::OpError;
use polis_serve::http::problem;
use polis_view::UiLanguage;

use crate::layout;
use crate::request::preferences::Preferences;
use crate::request::request_context::RequestContext;

/// Error type of the handlers; converts to an error response.
#[derive(Debug)]
pub(crate) struct PageError {
    context: Box<RequestContext>,
    error: Box<OpError>,
}

impl PageError {
    pub(crate) fn new(context: &RequestContext, error: OpError) -> Self {
        Self {
            context: Box::new(context.clone()),
            error: Box::new(error),
        }
    }
}

/// Extension trait that converts an error in a handler: `.or_page_error(&context)?`.
pub(crate) trait OrPageError<T> {
    fn or_page_error(self, context: &RequestContext) -> Result<T, PageError>;
}

impl<T, E: Into<OpError>> OrPageError<T> for Result<T, E> {
    fn or_page_error(self, context: &RequestContext) -> Result<T, PageError> {
        self.map_err(|error| PageError::new(context, error.into()))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Self { context, error } = self;
        let status = problem::status_for_code(error.code());
        if !context.is_fragment {
            let body = render_error_notice(context.preferences, &error, false);
            let mut answer =
                layout::standalone_page(&context, error_title(context.preferences, &error), &body);
            *answer.status_mut() = status;
            return answer;
        }
        // For htmx: a notice on the current page, placed in the notices area regardless of the requested
        // target.
        let mut answer =
            layout::html_fragment(render_error_notice(context.preferences, &error, true));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        for (name, value) in [("hx-retarget", "#notices"), ("hx-reswap", "beforeend")] {
            let name = HeaderName::from_static(name);
            headers.insert(name, HeaderValue::from_static(value));
        }
        answer
    }
}

/// Returns an error page for a visitor without a session.
pub(crate) fn signed_out_error_page(preferences: Preferences, error: &OpError) -> Response {
    let mut answer = layout::signed_out_page(
        preferences,
        error_title(preferences, error),
        &render_error_notice(preferences, error, false),
    );
    *answer.status_mut() = problem::status_for_code(error.code());
    answer
}

fn error_title(preferences: Preferences, error: &OpError) -> &'static str {
    match error.kind() {
        RefusalKind::NotFound => msg::page_not_found_title(preferences.lang),
        _ => msg::page_failed_title(preferences.lang),
    }
}

/// Renders an error: message, next step and code. With `closable`, the notice has a button that closes it.
pub(crate) fn render_error_notice(
    preferences: Preferences,
    error: &OpError,
    closable: bool,
) -> Markup {
    let lang = preferences.lang;
    let text = error.render(Surface::Screen, lang);
    html! {
        div.notice.bad role="alert" data-code=(error.code()) {
            @if closable { (render_close_button(lang)) }
            p { (text.message) }
            @if !text.hint.is_empty() { p.hint { (msg::refusal_next_step(lang, &text.hint)) } }
            code { (error.code()) }
        }
    }
}

/// Renders the button that closes a notice.
pub(crate) fn render_close_button(lang: UiLanguage) -> Markup {
    html! { button.close type="button" data-close aria-label=(msg::common_close(lang)) { "×" } }
}
