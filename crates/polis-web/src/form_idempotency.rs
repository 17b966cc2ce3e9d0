//! Forms that count once, however often they are sent: by a second click, or by a page that is sent again.
//!
//! A form that adds something has a key of its own; a second request with that key gets the first one's answer
//! (`polis_ops::idempotency`). Forms that change something have the version they were made from, which does the same.

use maud::{Markup, html};
use polis_core::digest;
use polis_ops::idempotency::do_once;
use polis_ops::{OpError, Polis};
use serde::Serialize;
use serde_json::Value;

use crate::request_context::Visit;

/// The field with a form's key. Browsers that fill in forms again do not fill in this.
pub(crate) fn field(visit: &Visit) -> Markup {
    html! { input type="hidden" name="once" value=(visit.polis.chance.token()) autocomplete="off"; }
}

/// Does what a form asks for, on a ground that keeps the answer with the form's key. `asked` is all that was
/// sent: who goes back and writes something else has asked for something else. A form without a key counts each
/// time.
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
