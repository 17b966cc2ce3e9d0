//! Store port [`BoardReader`]: reads boards, and locks a board's file against other programs.

use std::sync::Arc;
use std::time::Duration;

use polis_core::Timestamp;
use polis_core::board::{BoardHead, BoardName, VersionEntry};

use crate::port::PortFuture;

/// Current state of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardState {
    /// Version, author, time and lease of the board.
    pub head: BoardHead,
    /// Change of the board's file that this call detected, for the caller's information.
    pub file_change: Option<BoardFileChange>,
}

/// A detected change of a board's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardFileChange {
    /// A program other than polis changed it; the change is a new version.
    ExternalEdit,
    /// It was missing and has been written again.
    FileRestored,
}

/// Text of a version of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardText {
    /// Version number.
    pub version: u64,
    /// Its text, shared: reading an unchanged board again copies nothing.
    pub text: Arc<String>,
}

/// Guard that keeps other programs away from a board's file until it is dropped.
pub type BoardFileGuard = Box<dyn Send + Sync>;

/// Read access to boards.
pub trait BoardReader {
    /// Returns the state of a board, or `None` if it was never written or locked. A store that also keeps
    /// boards as files checks the file first, so that changes made there are included. Fails with
    /// `not_utf8`, `board_too_large` or `not_a_file` if that file cannot be a board.
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>>;

    /// Returns every board that was written or locked, ordered by name.
    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>>;

    /// Returns the text of a version, or `None` if the log does not contain it. The newest
    /// [`max_versions`](polis_core::board::BoardWrite::max_versions) versions are always available.
    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>>;

    /// Returns the newest versions of a board, newest first, at most `limit`.
    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>>;

    /// Locks the board's file against other programs that lock it, waiting at most `timeout`. Returns `None`
    /// if another program still holds the lock. A store without files has nothing to wait for.
    fn lock_board_file<'a>(
        &'a self,
        name: &'a BoardName,
        timeout: Duration,
    ) -> PortFuture<'a, Option<BoardFileGuard>>;

    /// Returns when the store was created.
    fn store_created_at(&self) -> PortFuture<'_, Timestamp>;
}
