//! When something was, as pages show it.

use maud::{Markup, html};
use polis_core::Timestamp;
use polis_view::time;

use crate::request_context::Visit;

/// How long ago something was; the moment itself is told by pointing at it (the page's script says it in the
/// reader's own time).
pub(crate) fn ago(visit: &Visit, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let age = time::age(visit.now(), then, visit.lang());
    html! { time datetime=(at.as_str()) { (age) } }
}

/// How long it is until something; the moment itself is told by pointing at it.
pub(crate) fn until(visit: &Visit, at: &Timestamp) -> Markup {
    let Some(then) = at.millis() else {
        return html! { span.muted { (at.as_str()) } };
    };
    let left = time::until(visit.now(), then, visit.lang());
    html! { time datetime=(at.as_str()) { (left) } }
}
