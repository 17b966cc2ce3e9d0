//! Fixtures for the board tests: board writes, leases, and helpers to read boards.

use std::sync::Arc;

use polis_core::RecordKey;
use polis_core::board::{
    BoardChange, BoardHead, BoardLease, BoardLeaseWrite, BoardName, BoardWrite, TextSplice,
    VersionAction,
};
use polis_core::changeset::{Changeset, StoreWrite};
use polis_ops::port::{CommitOutcome, Store};

use super::store_fixtures::timestamp_after_start;
use crate::store_factory::parse_agent_id;

/// More bytes than any test writes.
pub(super) const MAX_BOARD_BYTES: u64 = 32 << 20;
/// More versions than most tests create.
pub(super) const KEPT_VERSIONS: u32 = 1_000;

/// Returns a board by its stored name, whiteboard or blackboard.
pub(super) fn board_name(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

/// Returns the time this many milliseconds after the start of the test, in milliseconds.
pub(super) fn millis_after_start(after_beginning: i64) -> i64 {
    timestamp_after_start(after_beginning).millis().unwrap()
}

fn board_write(expect: Option<u64>, change: BoardChange, action: VersionAction) -> BoardWrite {
    BoardWrite {
        board: BoardName::Global,
        expect,
        change,
        action,
        now: millis_after_start(0),
        max_bytes: MAX_BOARD_BYTES,
        max_versions: KEPT_VERSIONS,
    }
}

/// A write of the global board's whole text.
pub(super) fn overwrite_global(expect: Option<u64>, text: &str) -> BoardWrite {
    board_write(
        expect,
        BoardChange::Whole(text.to_owned()),
        VersionAction::Written,
    )
}

/// An addition at the end of the global board.
pub(super) fn append_to_global(text: &str) -> BoardWrite {
    let added = BoardChange::Add {
        text: text.to_owned(),
        on_new_line: false,
    };
    board_write(None, added, VersionAction::Appended)
}

/// An addition at the end of the global board, on a new line.
pub(super) fn append_line_to_global(text: &str) -> BoardWrite {
    let added = BoardChange::Add {
        text: text.to_owned(),
        on_new_line: true,
    };
    board_write(None, added, VersionAction::Appended)
}

/// A splice of the global board.
pub(super) fn splice_global(expect: u64, start: usize, removed: usize, text: &str) -> BoardWrite {
    let part = TextSplice {
        start,
        removed,
        text: text.to_owned(),
    };
    board_write(
        Some(expect),
        BoardChange::Splice(part),
        VersionAction::Edited,
    )
}

pub(super) fn with_board(board: &str, write: BoardWrite) -> BoardWrite {
    BoardWrite {
        board: board_name(board),
        ..write
    }
}

pub(super) fn put_board(write: BoardWrite) -> StoreWrite {
    StoreWrite::ChangeBoard(Box::new(write))
}

pub(super) fn put_lease(
    board: &str,
    was: Option<&BoardLease>,
    lease: Option<&BoardLease>,
) -> StoreWrite {
    StoreWrite::LeaseBoard(Box::new(BoardLeaseWrite {
        board: board_name(board),
        expected: was.cloned(),
        lease: lease.cloned(),
    }))
}

/// A lease that expires this many milliseconds after the start of the test.
pub(super) fn lease_until(holder: &str, token: &str, ends: i64) -> BoardLease {
    BoardLease {
        holder: parse_agent_id(holder),
        token: token.to_owned(),
        until: millis_after_start(ends),
    }
}

/// Commits a changeset that must conflict on a board.
pub(super) async fn assert_board_conflict(store: &Arc<dyn Store>, board: &str, changes: Changeset) {
    let outcome = store.commit(changes).await.unwrap();
    assert_eq!(
        outcome,
        CommitOutcome::Conflict(RecordKey::Board(board_name(board)))
    );
}

/// Returns the head of an existing board.
pub(super) async fn read_head(store: &Arc<dyn Store>, board: &str) -> BoardHead {
    let found = store.board(&board_name(board)).await.unwrap().unwrap();
    assert_eq!(found.file_change, None);
    found.head
}

/// Returns the text of an existing version.
pub(super) async fn read_version_text(store: &Arc<dyn Store>, board: &str, version: u64) -> String {
    let found = store.board_text(&board_name(board), version).await.unwrap();
    let found = found.unwrap_or_else(|| panic!("version {version} of {board} does not exist"));
    assert_eq!(found.version, version);
    String::clone(&found.text)
}

/// Returns the text of the newest version, and checks it against the size and line end in the head.
pub(super) async fn read_newest_text(store: &Arc<dyn Store>, board: &str) -> String {
    let head = read_head(store, board).await;
    let text = read_version_text(store, board, head.version).await;
    assert_eq!(head.bytes, text.len() as u64);
    assert_eq!(head.ends_line, text.is_empty() || text.ends_with('\n'));
    text
}
