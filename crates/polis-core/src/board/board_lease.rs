//! Board leases (locks): acquiring, renewing and releasing the exclusive right to write a board.
//!
//! Other agents can take a lease over after it has expired. The holder renews it by locking the board again,
//! or by its token; the token can renew even an expired lease that was not taken over. Releasing needs the
//! token, except for the person ([`end_lease`]).

use super::board_name::BoardName;
use super::board_record::{BoardHead, BoardLease};
use super::board_write::BoardLeaseWrite;
use crate::caller::{Caller, CallerKind};
use crate::changeset::{Changeset, StoreWrite};
use crate::event::{BoardLockEvent, EventPayload, EventSubject, NewEvent};
use crate::number::saturating_cast;
use crate::refusal::{BoardRefusal, Refusal, RefusalDetails};
use crate::timestamp::Timestamp;

/// Default duration of a lease, in milliseconds.
pub const DEFAULT_BOARD_LEASE_MS: u64 = 5_000;
/// Maximum duration of a lease, in milliseconds. Longer use requires renewals.
pub const MAX_BOARD_LEASE_MS: u64 = 3_600_000;

/// Fails with `board_locked` while another agent holds the lock.
pub fn check_board_lock(head: &BoardHead, caller: &Caller, now: i64) -> Result<(), Refusal> {
    match head.active_lease(now) {
        Some(lease) if lease.holder != caller.id => Err(board_locked(&head.name, lease)),
        _ => Ok(()),
    }
}

fn board_locked(board: &BoardName, lease: &BoardLease) -> Refusal {
    let until = Timestamp::from_millis(lease.until);
    Refusal::from(BoardRefusal::Locked {
        board: board.to_string(),
        holder: lease.holder.clone(),
        until: until.to_string(),
    })
    .with_details(RefusalDetails::Locked {
        holder: lease.holder.to_string(),
        expires_at: until,
    })
}

/// Acquires the lock of a board, or renews it for its holder. `token` is a fresh token, used only for a new
/// lease. Returns the lease. Fails with `board_locked` while another agent holds the lock.
pub fn acquire_lease(
    head: &BoardHead,
    caller: &Caller,
    ttl_ms: u64,
    token: String,
    now: i64,
) -> Result<(BoardLease, Changeset), Refusal> {
    if !(1..=MAX_BOARD_LEASE_MS).contains(&ttl_ms) {
        return Err(Refusal::from(BoardRefusal::InvalidLeaseTime));
    }
    check_board_lock(head, caller, now)?;
    let ends = now.saturating_add(saturating_cast::<i64>(ttl_ms));
    let existing = head.active_lease(now);
    let lease = BoardLease {
        holder: caller.id.clone(),
        token: existing.map_or(token, |lease| lease.token.clone()),
        // A short renewal does not shorten a longer lease.
        until: existing.map_or(ends, |lease| lease.until.max(ends)),
    };
    let data = BoardLockEvent {
        expires_at: Some(Timestamp::from_millis(lease.until)),
    };
    let payload = if existing.is_some() {
        EventPayload::BoardRenewed(data)
    } else {
        EventPayload::BoardLocked(data)
    };
    Ok((
        lease.clone(),
        lease_changeset(head, caller, Some(lease), payload, now),
    ))
}

/// Releases a lock. Fails with `lock_lost` if the token is not the current one: the lease was released, or
/// has expired and another agent may be writing.
pub fn release_lease(
    head: &BoardHead,
    caller: &Caller,
    token: &str,
    now: i64,
) -> Result<((), Changeset), Refusal> {
    require_token(head, token)?;
    Ok(((), unlock_changeset(head, caller, now)))
}

/// Ends the current lease without its token. Fails with `permission_denied` unless the caller is the person.
pub fn end_lease(head: &BoardHead, caller: &Caller, now: i64) -> Result<((), Changeset), Refusal> {
    if caller.kind != CallerKind::Person {
        return Err(Refusal::from(BoardRefusal::UnlockWithoutToken));
    }
    let none = Changeset::new(caller, Timestamp::from_millis(now));
    match head.lease {
        None => Ok(((), none)),
        Some(_) => Ok(((), unlock_changeset(head, caller, now))),
    }
}

/// Renews a lease by its token, even an expired one. Fails with `lock_lost` if the token is not the current
/// one.
pub fn renew_lease(
    head: &BoardHead,
    caller: &Caller,
    token: &str,
    ttl_ms: u64,
    now: i64,
) -> Result<(BoardLease, Changeset), Refusal> {
    let existing = require_token(head, token)?;
    if existing.holder != caller.id {
        return Err(board_locked(&head.name, existing));
    }
    acquire_lease(head, caller, ttl_ms, token.to_owned(), now)
}

fn require_token<'a>(head: &'a BoardHead, token: &str) -> Result<&'a BoardLease, Refusal> {
    let matching = head.lease.as_ref().filter(|lease| lease.token == token);
    matching.ok_or_else(|| {
        Refusal::from(BoardRefusal::LeaseLost {
            board: head.name.to_string(),
        })
    })
}

fn unlock_changeset(head: &BoardHead, caller: &Caller, now: i64) -> Changeset {
    let payload = EventPayload::BoardUnlocked(BoardLockEvent { expires_at: None });
    lease_changeset(head, caller, None, payload, now)
}

fn lease_changeset(
    head: &BoardHead,
    caller: &Caller,
    lease: Option<BoardLease>,
    payload: EventPayload,
    now: i64,
) -> Changeset {
    Changeset::new(caller, Timestamp::from_millis(now))
        .with_write(StoreWrite::LeaseBoard(Box::new(BoardLeaseWrite {
            board: head.name.clone(),
            expected: head.lease.clone(),
            lease,
        })))
        .with_event(NewEvent::new(
            EventSubject::Board(head.name.clone()),
            payload,
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;
    use crate::id::AgentId;

    fn test_caller(name: &str) -> Caller {
        Caller::resolve(name.parse::<AgentId>().unwrap(), None).unwrap()
    }

    fn head_after(changes: &Changeset) -> BoardHead {
        let mut head = BoardHead::new(BoardName::Global);
        if let Some(StoreWrite::LeaseBoard(write)) = changes.writes.first() {
            head.lease = write.lease.clone();
        }
        head
    }

    #[test]
    fn lease_is_reentrant_expires_and_is_taken_over() {
        let (a, b) = (test_caller("a"), test_caller("b"));
        let free = BoardHead::new(BoardName::Global);
        let (first, changes) = acquire_lease(&free, &a, 5_000, "t1".into(), 1_000).unwrap();
        assert_eq!((first.token.as_str(), first.until), ("t1", 6_000));
        let head = head_after(&changes);

        let refusal = acquire_lease(&head, &b, 5_000, "t2".into(), 5_999).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::BOARD_LOCKED);
        assert_eq!(refusal.reason.arg("holder").unwrap().to_string(), "a");
        assert!(
            check_board_lock(&head, &a, 5_999).is_ok()
                && check_board_lock(&head, &b, 5_999).is_err()
        );

        let (renewed, _) = acquire_lease(&head, &a, 5_000, "t3".into(), 4_000).unwrap();
        assert_eq!((renewed.token.as_str(), renewed.until), ("t1", 9_000));

        let (taken, _) = acquire_lease(&head, &b, 5_000, "t2".into(), 6_000).unwrap();
        assert_eq!((taken.token.as_str(), taken.holder.as_str()), ("t2", "b"));
        assert!(check_board_lock(&head, &b, 6_000).is_ok());
    }

    #[test]
    fn lease_is_released_only_with_its_token() {
        let a = test_caller("a");
        let free = BoardHead::new(BoardName::Global);
        let (_, changes) = acquire_lease(&free, &a, 5_000, "t1".into(), 0).unwrap();
        let head = head_after(&changes);
        assert!(release_lease(&head, &a, "t1", 1).is_ok());
        assert_eq!(
            release_lease(&head, &a, "t2", 1).unwrap_err().code,
            RefusalCode::LOCK_LOST
        );
        assert_eq!(
            release_lease(&free, &a, "t1", 1).unwrap_err().code,
            RefusalCode::LOCK_LOST
        );
        assert_eq!(
            renew_lease(&head, &a, "t1", 5_000, 9_000).unwrap().0.until,
            14_000
        );
        for ttl in [0, MAX_BOARD_LEASE_MS + 1] {
            assert!(acquire_lease(&free, &a, ttl, "t".into(), 0).is_err());
        }
    }
}
