//! What a handler gets of a request: its fields, the caller with the preferences, and the idempotency key of a
//! form.

pub(crate) mod extract;
pub(crate) mod form_idempotency;
pub(crate) mod preferences;
pub(crate) mod request_context;
