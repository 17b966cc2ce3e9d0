//! Fixtures for the board tests: board writes, leases, and helpers to read boards.

use std::sync::Arc;

use polis_core::RecordKey;
use polis_core::board::{
    Action, BoardHead, BoardName, BoardWrite, Change, Lease, LeaseWrite, Splice,
};
use polis_core::changeset::{Changeset, Write};
use polis_ops::port::{Outcome, Store};

use super::sample::moment;
use crate::test_store::agent;

/// More bytes than any test writes.
pub(super) const LIMIT: u64 = 32 << 20;
/// More versions than most tests create.
pub(super) const KEEP: u32 = 1_000;

/// Returns a board by its stored name, whiteboard or blackboard.
pub(super) fn named(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

/// Returns the time this many milliseconds after the start of the test, in milliseconds.
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

/// A write of the global board's whole text.
pub(super) fn whole(expect: Option<u64>, text: &str) -> BoardWrite {
    change(expect, Change::Whole(text.to_owned()), Action::Written)
}

/// An addition at the end of the global board.
pub(super) fn add(text: &str) -> BoardWrite {
    let added = Change::Add {
        text: text.to_owned(),
        on_new_line: false,
    };
    change(None, added, Action::Appended)
}

/// An addition at the end of the global board, on a new line.
pub(super) fn add_line(text: &str) -> BoardWrite {
    let added = Change::Add {
        text: text.to_owned(),
        on_new_line: true,
    };
    change(None, added, Action::Appended)
}

/// A splice of the global board.
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

/// A lease that expires this many milliseconds after the start of the test.
pub(super) fn lease(holder: &str, token: &str, ends: i64) -> Lease {
    Lease {
        holder: agent(holder),
        token: token.to_owned(),
        until: millis(ends),
    }
}

/// Commits a changeset that must conflict on a board.
pub(super) async fn conflicts(store: &Arc<dyn Store>, board: &str, changes: Changeset) {
    let outcome = store.commit(changes).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict(RecordKey::Board(named(board))));
}

/// Returns the head of an existing board.
pub(super) async fn head(store: &Arc<dyn Store>, board: &str) -> BoardHead {
    let found = store.board(&named(board)).await.unwrap().unwrap();
    assert_eq!(found.noticed, None);
    found.head
}

/// Returns the text of an existing version.
pub(super) async fn text_of(store: &Arc<dyn Store>, board: &str, version: u64) -> String {
    let found = store.board_text(&named(board), version).await.unwrap();
    let found = found.unwrap_or_else(|| panic!("version {version} of {board} is not there"));
    assert_eq!(found.version, version);
    String::clone(&found.text)
}

/// Returns the text of the newest version, and checks it against the size and line end in the head.
pub(super) async fn text(store: &Arc<dyn Store>, board: &str) -> String {
    let head = head(store, board).await;
    let text = text_of(store, board, head.version).await;
    assert_eq!(head.bytes, text.len() as u64);
    assert_eq!(head.ends_line, text.is_empty() || text.ends_with('\n'));
    text
}
