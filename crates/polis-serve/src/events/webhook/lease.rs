//! Which server sends to a webhook: the one whose lease is in the record. Pure.
//!
//! A lease is taken when there is something to send and runs out by itself, so that nothing is written
//! while nothing happens. A server that dies is replaced when its lease has ended.

use polis_core::webhook::Webhook;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Ours, for long enough.
    Ours,
    /// Nobody's, or ours for too short a time: it may be taken.
    Free,
    /// Another server's until then (milliseconds).
    Theirs(i64),
}

/// Whose turn it is to send, for `me`, who needs so much time (milliseconds) for a delivery.
pub(super) fn turn(hook: &Webhook, me: &str, now: i64, needed: i64) -> Turn {
    match hook.sender.as_deref() {
        Some(sender) if sender == me && hook.sender_until > now.saturating_add(needed) => {
            Turn::Ours
        }
        Some(sender) if sender != me && hook.sender_until > now => Turn::Theirs(hook.sender_until),
        _ => Turn::Free,
    }
}

/// Makes it ours until then.
pub(super) fn take(hook: &mut Webhook, me: &str, until: i64) {
    hook.sender = Some(me.to_owned());
    hook.sender_until = until;
}

/// Gives it back, if it is ours.
pub(super) fn release(hook: &mut Webhook, me: &str) {
    if hook.sender.as_deref() == Some(me) {
        hook.sender = None;
        hook.sender_until = 0;
    }
}
