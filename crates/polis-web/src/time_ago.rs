//! Relative times ("3 min ago") as pages show them.

use maud::{Markup, html};
use polis_core::Timestamp;
use polis_view::time;

use crate::request_context::Visit;

/// Renders how long ago something was. The page's script shows the exact time in the reader's time zone on hover.
pub(crate) fn ago(visit: &Visit, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let age = time::age(visit.now(), then, visit.lang());
    html! { time datetime=(at.as_str()) { (age) } }
}

/// Renders how long it is until something. The exact time is shown on hover.
pub(crate) fn until(visit: &Visit, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let left = time::until(visit.now(), then, visit.lang());
    html! { time datetime=(at.as_str()) { (left) } }
}
