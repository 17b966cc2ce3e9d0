//! Lease that decides which server delivers to a webhook. Pure functions on the webhook's record.
//!
//! A lease is taken when there is an event to deliver and expires on its own, so an idle webhook causes no
//! writes. A server that dies is replaced when its lease expires.

use polis_core::webhook::Webhook;

/// Who holds the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Held by us, for long enough.
    Ours,
    /// Free, expired, or ours with too little time left: it may be taken.
    Free,
    /// Held by another server until this time (milliseconds since the epoch).
    Theirs(i64),
}

/// Returns who holds the lease from the view of server `me`, which needs `needed` milliseconds for a
/// delivery.
pub(super) fn turn(hook: &Webhook, me: &str, now: i64, needed: i64) -> Turn {
    match hook.sender.as_deref() {
        Some(sender) if sender == me && hook.sender_until > now.saturating_add(needed) => {
            Turn::Ours
        }
        Some(sender) if sender != me && hook.sender_until > now => Turn::Theirs(hook.sender_until),
        _ => Turn::Free,
    }
}

/// Acquires the lease for `me` until this time.
pub(super) fn take(hook: &mut Webhook, me: &str, until: i64) {
    hook.sender = Some(me.to_owned());
    hook.sender_until = until;
}

/// Releases the lease if `me` holds it.
pub(super) fn release(hook: &mut Webhook, me: &str) {
    if hook.sender.as_deref() == Some(me) {
        hook.sender = None;
        hook.sender_until = 0;
    }
}
