//! Operations on the event log and its webhooks.

pub(crate) mod read_log;
pub(crate) mod webhooks;

pub use read_log::{LogPage, LogReadParams, load_event_visibility, read_log};
pub use webhooks::{
    WebhookAddResult, WebhookList, WebhookRemoveParams, WebhookRemoveResult, add_webhook,
    list_webhooks, remove_webhook,
};
