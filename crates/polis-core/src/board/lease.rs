//! Board locks: leases that the holder can renew and others can take over after expiry.
//!
//! The token of a lease is needed to release or renew it.

use super::board_write::LeaseWrite;
use super::name::BoardName;
use super::record::{BoardHead, Lease};
use crate::caller::{Caller, Standing};
use crate::changeset::{Changeset, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::refusal::{Code, Details, Refusal};
use crate::time::Timestamp;

/// Default duration of a lease, in milliseconds.
pub const DEFAULT_MS: u64 = 5_000;
/// Maximum duration of a lease, in milliseconds. Longer use requires renewals.
pub const MAX_MS: u64 = 3_600_000;

/// Fails with `board_locked` while another agent holds the lock.
pub fn check(head: &BoardHead, caller: &Caller, now: i64) -> Result<(), Refusal> {
    match head.lease_at(now) {
        Some(lease) if lease.holder != caller.id => Err(locked(&head.name, lease)),
        _ => Ok(()),
    }
}

fn locked(board: &BoardName, lease: &Lease) -> Refusal {
    let until = Timestamp::from_millis(lease.until);
    Refusal::new(
        Code::BoardLocked,
        format!(
            "Board {board} is locked by \"{}\" until {until}.",
            lease.holder
        ),
        "retry after that; a lock ends by itself",
    )
    .with(Details::Locked {
        holder: lease.holder.to_string(),
        expires_at: until,
    })
}

/// Acquires the lock of a board, or renews it for its holder. `token` is a fresh token, used only for a new
/// lease.
pub fn acquire(
    head: &BoardHead,
    caller: &Caller,
    ttl_ms: u64,
    token: String,
    now: i64,
) -> Result<(Lease, Changeset), Refusal> {
    if !(1..=MAX_MS).contains(&ttl_ms) {
        return Err(Refusal::new(
            Code::InvalidInput,
            "A lock lasts between 1ms and 1h.",
            "give --ttl a length such as 5s, and renew the lock while you need it",
        ));
    }
    check(head, caller, now)?;
    let ends = now.saturating_add(i64::try_from(ttl_ms).unwrap_or(i64::MAX));
    let held = head.lease_at(now);
    let lease = Lease {
        holder: caller.id.clone(),
        token: held.map_or(token, |lease| lease.token.clone()),
        // A short renewal does not shorten a longer lease.
        until: held.map_or(ends, |lease| lease.until.max(ends)),
    };
    let event = if held.is_some() {
        kind::BOARD_RENEWED
    } else {
        kind::BOARD_LOCKED
    };
    Ok((lease.clone(), change(head, caller, Some(lease), event, now)))
}

/// Releases a lock. Fails with `lock_lost` if the token is not the current one: the lease expired, and another
/// agent may be writing.
pub fn release(
    head: &BoardHead,
    caller: &Caller,
    token: &str,
    now: i64,
) -> Result<((), Changeset), Refusal> {
    require(head, token)?;
    Ok(((), change(head, caller, None, kind::BOARD_UNLOCKED, now)))
}

/// Ends any lease without its token. Only the person who owns the directory may.
pub fn end(head: &BoardHead, caller: &Caller, now: i64) -> Result<((), Changeset), Refusal> {
    if caller.standing != Standing::Human {
        return Err(Refusal::new(
            Code::PermissionDenied,
            "Permission denied: only the person may end a lock without its token.",
            "give --token, or wait: a lock ends by itself",
        ));
    }
    let none = Changeset::by(caller, Timestamp::from_millis(now));
    match head.lease {
        None => Ok(((), none)),
        Some(_) => Ok(((), change(head, caller, None, kind::BOARD_UNLOCKED, now))),
    }
}

/// Renews a lease by its token, even an expired one, as long as no other agent took over.
pub fn renew(
    head: &BoardHead,
    caller: &Caller,
    token: &str,
    ttl_ms: u64,
    now: i64,
) -> Result<(Lease, Changeset), Refusal> {
    let held = require(head, token)?;
    if held.holder != caller.id {
        return Err(locked(&head.name, held));
    }
    acquire(head, caller, ttl_ms, token.to_owned(), now)
}

fn require<'a>(head: &'a BoardHead, token: &str) -> Result<&'a Lease, Refusal> {
    let held = head.lease.as_ref().filter(|lease| lease.token == token);
    held.ok_or_else(|| {
        Refusal::new(
            Code::LockLost,
            format!("That token does not hold board {} (any more).", head.name),
            "the lock ended and was given back or taken over; lock again before you write",
        )
    })
}

fn change(
    head: &BoardHead,
    caller: &Caller,
    lease: Option<Lease>,
    event: &'static str,
    now: i64,
) -> Changeset {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    }
    let data = Data {
        expires_at: lease.as_ref().map(|l| Timestamp::from_millis(l.until)),
    };
    Changeset::by(caller, Timestamp::from_millis(now))
        .write(Write::LeaseBoard(Box::new(LeaseWrite {
            board: head.name.clone(),
            was: head.lease.clone(),
            lease,
        })))
        .event(NewEvent::of(
            event,
            Subject::Board(head.name.clone()),
            &data,
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;

    fn who(name: &str) -> Caller {
        Caller::resolve(name.parse::<AgentId>().unwrap(), None).unwrap()
    }

    fn held(changes: &Changeset) -> BoardHead {
        let mut head = BoardHead::new(BoardName::Global);
        if let Some(Write::LeaseBoard(write)) = changes.writes.first() {
            head.lease = write.lease.clone();
        }
        head
    }

    #[test]
    fn a_lease_is_reentrant_ends_and_is_taken_over() {
        let (a, b) = (who("a"), who("b"));
        let free = BoardHead::new(BoardName::Global);
        let (first, changes) = acquire(&free, &a, 5_000, "t1".into(), 1_000).unwrap();
        assert_eq!((first.token.as_str(), first.until), ("t1", 6_000));
        let head = held(&changes);

        let refusal = acquire(&head, &b, 5_000, "t2".into(), 5_999).unwrap_err();
        assert_eq!(refusal.code, Code::BoardLocked);
        assert!(refusal.message.contains("\"a\""), "{}", refusal.message);
        assert!(check(&head, &a, 5_999).is_ok() && check(&head, &b, 5_999).is_err());

        let (again, _) = acquire(&head, &a, 5_000, "t3".into(), 4_000).unwrap();
        assert_eq!((again.token.as_str(), again.until), ("t1", 9_000));

        let (taken, _) = acquire(&head, &b, 5_000, "t2".into(), 6_000).unwrap();
        assert_eq!((taken.token.as_str(), taken.holder.as_str()), ("t2", "b"));
        assert!(check(&head, &b, 6_000).is_ok());
    }

    #[test]
    fn only_its_token_gives_a_lease_back() {
        let a = who("a");
        let free = BoardHead::new(BoardName::Global);
        let (_, changes) = acquire(&free, &a, 5_000, "t1".into(), 0).unwrap();
        let head = held(&changes);
        assert!(release(&head, &a, "t1", 1).is_ok());
        assert_eq!(
            release(&head, &a, "t2", 1).unwrap_err().code,
            Code::LockLost
        );
        assert_eq!(
            release(&free, &a, "t1", 1).unwrap_err().code,
            Code::LockLost
        );
        assert_eq!(
            renew(&head, &a, "t1", 5_000, 9_000).unwrap().0.until,
            14_000
        );
        for ttl in [0, MAX_MS + 1] {
            assert!(acquire(&free, &a, ttl, "t".into(), 0).is_err());
        }
    }
}
