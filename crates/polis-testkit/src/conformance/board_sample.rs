//! Changes of boards to try a store with.

use std::sync::Arc;

use polis_core::RecordKey;
use polis_core::board::{
    Action, BoardHead, BoardName, BoardWrite, Change, Lease, LeaseWrite, Splice,
};
use polis_core::changeset::{Changeset, Write};
use polis_ops::port::{Outcome, Store};

use super::sample::moment;
use crate::test_store::agent;

/// More than any test writes.
pub(super) const LIMIT: u64 = 32 << 20;
/// More versions than most tests make.
pub(super) const KEEP: u32 = 1_000;

/// A board, of the whiteboard or the blackboard.
pub(super) fn named(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

/// The moment, in milliseconds, so long after the beginning.
pub(super) fn millis(after_beginning: i64) -> i64 {
    moment(after_beginning).millis().unwrap()
}

fn change(expect: Option<u64>, change: Change, action: Action) -> BoardWrite {
    BoardWrite {
        board: BoardName::Global,
        expect,
        change,
        action,
        now: millis(0),
        limit: LIMIT,
        keep: KEEP,
    }
}

/// Writes the global board whole.
pub(super) fn whole(expect: Option<u64>, text: &str) -> BoardWrite {
    change(expect, Change::Whole(text.to_owned()), Action::Written)
}

/// Adds to the global board's end.
pub(super) fn add(text: &str) -> BoardWrite {
    let added = Change::Add {
        text: text.to_owned(),
        on_new_line: false,
    };
    change(None, added, Action::Appended)
}

/// Adds to the global board's end, on a new line.
pub(super) fn add_line(text: &str) -> BoardWrite {
    let added = Change::Add {
        text: text.to_owned(),
        on_new_line: true,
    };
    change(None, added, Action::Appended)
}

/// Changes a part of the global board.
pub(super) fn splice(expect: u64, start: usize, removed: usize, text: &str) -> BoardWrite {
    let part = Splice {
        start,
        removed,
        text: text.to_owned(),
    };
    change(Some(expect), Change::Splice(part), Action::Edited)
}

pub(super) fn on(board: &str, write: BoardWrite) -> BoardWrite {
    BoardWrite {
        board: named(board),
        ..write
    }
}

pub(super) fn written(write: BoardWrite) -> Write {
    Write::ChangeBoard(Box::new(write))
}

pub(super) fn leased(board: &str, was: Option<&Lease>, lease: Option<&Lease>) -> Write {
    Write::LeaseBoard(Box::new(LeaseWrite {
        board: named(board),
        was: was.cloned(),
        lease: lease.cloned(),
    }))
}

/// A lease that ends so long after the beginning.
pub(super) fn lease(holder: &str, token: &str, ends: i64) -> Lease {
    Lease {
        holder: agent(holder),
        token: token.to_owned(),
        until: millis(ends),
    }
}

/// Commits what must conflict on a board.
pub(super) async fn conflicts(store: &Arc<dyn Store>, board: &str, changes: Changeset) {
    let outcome = store.commit(changes).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict(RecordKey::Board(named(board))));
}

/// A board's head, which is there.
pub(super) async fn head(store: &Arc<dyn Store>, board: &str) -> BoardHead {
    let found = store.board(&named(board)).await.unwrap().unwrap();
    assert_eq!(found.noticed, None);
    found.head
}

/// The text of a version, which is there.
pub(super) async fn text_of(store: &Arc<dyn Store>, board: &str, version: u64) -> String {
    let found = store.board_text(&named(board), version).await.unwrap();
    let found = found.unwrap_or_else(|| panic!("version {version} of {board} is not there"));
    assert_eq!(found.version, version);
    String::clone(&found.text)
}

/// The text of the newest version. The head says its size, and how it ends.
pub(super) async fn text(store: &Arc<dyn Store>, board: &str) -> String {
    let head = head(store, board).await;
    let text = text_of(store, board, head.version).await;
    assert_eq!(head.bytes, text.len() as u64);
    assert_eq!(head.ends_line, text.is_empty() || text.ends_with('\n'));
    text
}
