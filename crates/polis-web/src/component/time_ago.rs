//! Relative times ("3 min ago") as pages show them.

use maud::{Markup, html};
use polis_core::Timestamp;
use polis_view::relative_time;

use crate::request::request_context::RequestContext;

/// Renders how long ago something was. The page's script shows the exact time in the reader's time zone on
/// hover.
pub(crate) fn render_time_ago(context: &RequestContext, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let age = relative_time::format_age(context.now_millis(), then, context.lang());
    html! { time datetime=(at.as_str()) { (age) } }
}

/// Renders how long it is until something. The exact time is shown on hover.
pub(crate) fn render_time_until(context: &RequestContext, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let left = relative_time::format_until(context.now_millis(), then, context.lang());
    html! { time datetime=(at.as_str()) { (left) } }
}
