//! Idempotency of forms: a form takes effect once, even if it is submitted again by a second click or a page reload.
//!
//! A form that adds something contains an idempotency key; a second request with that key gets the stored response
//! (`polis_ops::once`). A form that changes something contains the version it was created from, which has the same
//! effect.

use maud::{Markup, html};
use polis_core::digest;
use polis_ops::idempotency::do_once;
use polis_ops::{OpError, Polis};
use serde::Serialize;
use serde_json::Value;

use crate::request_context::Visit;

/// Renders the hidden field with a new idempotency key. It is excluded from the browser's form restoration.
pub(crate) fn field(visit: &Visit) -> Markup {
    html! { input type="hidden" name="once" value=(visit.polis.chance.token()) autocomplete="off"; }
}

/// Runs a form's action and stores the response under the form's key. `asked` must contain all submitted fields:
/// submitting different content after going back is a different request. A form without a key takes effect each time.
pub(crate) async fn done<V, F>(
    visit: &Visit,
    key: &str,
    asked: &impl Serialize,
    deed: impl FnOnce(Polis) -> F,
) -> Result<Value, OpError>
where
    V: Serialize,
    F: Future<Output = Result<V, OpError>>,
{
    if key.is_empty() {
        let done = deed(visit.polis.clone()).await?;
        return Ok(serde_json::to_value(done).unwrap_or_default());
    }
    let asked = serde_json::to_string(asked).unwrap_or_default();
    let asked = [visit.path.as_str(), key, &asked];
    let key = format!("page-{}", digest::of_parts(&asked));
    let replied = do_once(&visit.polis, &visit.me, &key, &asked, deed).await?;
    Ok(replied.document)
}
