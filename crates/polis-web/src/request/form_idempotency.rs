//! Idempotency of forms that add something: such a form takes effect once, even if it is submitted again by a
//! second click or a page reload.
//!
//! It contains an idempotency key; a second request with that key gets the stored response
//! (`polis_ops::idempotency`), see [`submit_once`]. A form that changes a task, or that edits or restores a
//! board, contains the version it was created from instead, which has the same effect.

use maud::{Markup, html};
use polis_core::digest;
use polis_core::json::to_json_text;
use polis_ops::idempotency::run_idempotent;
use polis_ops::{OpError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::request::request_context::RequestContext;

/// Renders the hidden field with a new idempotency key. It is excluded from the browser's form restoration.
pub(crate) fn render_idempotency_key_field(context: &RequestContext) -> Markup {
    html! { input type="hidden" name="idempotency_key" value=(context.request.app.random.random_token()) autocomplete="off"; }
}

/// Runs a form's action and stores its result under the form's key; for a repeated key, returns the stored
/// result instead. `request` must contain all submitted fields: submitting different content after going back
/// is a different request. A form without a key takes effect each time.
pub(crate) async fn submit_once<V, F>(
    context: &RequestContext,
    key: &str,
    request: &impl Serialize,
    action: impl FnOnce(Request) -> F,
) -> Result<Value, OpError>
where
    V: Serialize,
    F: Future<Output = Result<V, OpError>>,
{
    if key.is_empty() {
        let done = action(context.request.copy_without_hook()).await?;
        return Ok(serde_json::to_value(done).unwrap_or_default());
    }
    let json = to_json_text(request);
    let fingerprint = [context.path.as_str(), key, &json];
    let key = format!("page-{}", digest::sha256_hex_of_parts(&fingerprint));
    let result = run_idempotent(&context.request, &key, &fingerprint, action).await?;
    Ok(result.document)
}
