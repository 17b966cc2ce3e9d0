//! Delivery lease: decides which of several servers delivers to a webhook. Pure functions on its record.
//!
//! A lease is taken when there is an event to deliver and expires on its own, so an idle webhook causes no
//! writes. A server that dies is replaced when its lease expires.

use polis_core::webhook::Webhook;

/// Holder of the lease, from the view of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryLeaseStatus {
    /// Held by us, for long enough.
    Ours,
    /// Free, expired, or ours with too little time left: it may be taken.
    Free,
    /// Held by another server until this time (milliseconds since the epoch).
    Theirs(i64),
}

/// Returns who holds the lease from the view of server `me`, which needs `needed` milliseconds for a
/// delivery.
pub(super) fn lease_status(hook: &Webhook, me: &str, now: i64, needed: i64) -> DeliveryLeaseStatus {
    match hook.sender.as_deref() {
        Some(sender) if sender == me && hook.sender_until > now.saturating_add(needed) => {
            DeliveryLeaseStatus::Ours
        }
        Some(sender) if sender != me && hook.sender_until > now => {
            DeliveryLeaseStatus::Theirs(hook.sender_until)
        }
        _ => DeliveryLeaseStatus::Free,
    }
}

/// Acquires the lease for `me` until this time.
pub(super) fn acquire_lease(hook: &mut Webhook, me: &str, until: i64) {
    hook.sender = Some(me.to_owned());
    hook.sender_until = until;
}

/// Releases the lease if `me` holds it.
pub(super) fn release_lease(hook: &mut Webhook, me: &str) {
    if hook.sender.as_deref() == Some(me) {
        hook.sender = None;
        hook.sender_until = 0;
    }
}
