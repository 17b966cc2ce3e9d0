//! Error responses: an error with code, message and next step, as a page or as a notice within a page.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use maud::{Markup, html};
use polis_core::Kind;
use polis_ops::OpError;
use polis_serve::http::problem;
use polis_view::{Lang, labels};

use crate::layout;
use crate::request_context::{Taste, Visit};

/// Error type of the handlers; converts to an error response.
#[derive(Debug)]
pub(crate) struct Refused {
    visit: Box<Visit>,
    error: Box<OpError>,
}

impl Refused {
    pub(crate) fn of(visit: &Visit, error: OpError) -> Self {
        Self {
            visit: Box::new(visit.clone()),
            error: Box::new(error),
        }
    }
}

/// Extension trait that converts an error in a handler: `.or_refuse(&visit)?`.
pub(crate) trait OrRefuse<T> {
    fn or_refuse(self, visit: &Visit) -> Result<T, Refused>;
}

impl<T, E: Into<OpError>> OrRefuse<T> for Result<T, E> {
    fn or_refuse(self, visit: &Visit) -> Result<T, Refused> {
        self.map_err(|error| Refused::of(visit, error.into()))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { visit, error } = self;
        let status = problem::status_of(error.code());
        if !visit.part {
            let body = notice(visit.taste, &error, false);
            let mut answer = layout::apart(&visit, headline(visit.taste, &error), &body);
            *answer.status_mut() = status;
            return answer;
        }
        // For htmx: a notice on the current page, placed in the notices area regardless of the requested target.
        let mut answer = layout::part(notice(visit.taste, &error, true));
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
pub(crate) fn document(taste: Taste, error: &OpError) -> Response {
    let mut answer = layout::outside(taste, headline(taste, error), &notice(taste, error, false));
    *answer.status_mut() = problem::status_of(error.code());
    answer
}

fn headline(taste: Taste, error: &OpError) -> &'static str {
    match error.kind() {
        Kind::NotFound => taste.lang.say("Not found", "没有找到"),
        _ => taste.lang.say("That was not done", "未能完成"),
    }
}

/// Renders an error: message, next step and code. With `over`, the notice can be closed.
pub(crate) fn notice(taste: Taste, error: &OpError, over: bool) -> Markup {
    let told = error.document().error;
    let lang = taste.lang;
    // Error messages are in English. In another language, a translated sentence for the code comes first, followed by
    // the original message, which names the exact cause.
    let own = lang == Lang::En;
    let hint = labels::screen_hint(told.code, told.hint, lang);
    html! {
        div.notice.bad role="alert" data-code=(told.code) {
            @if over { (close(lang)) }
            @if own {
                p { (labels::screen_message(told.message)) }
                @if !hint.is_empty() { p.hint { "Next: " (hint) } }
            } @else {
                p { (labels::refusal(told.code, lang)) }
                p.hint { "下一步：" (hint) }
                p.small.muted { (labels::screen_detail(told.message, told.hint, lang)) }
            }
            code { (told.code) }
        }
    }
}

/// Renders the button that closes a notice.
pub(crate) fn close(lang: Lang) -> Markup {
    html! { button.close type="button" data-close aria-label=(lang.say("Close", "关闭")) { "×" } }
}
