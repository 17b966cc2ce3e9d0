//! Reading boards, and keeping other programs away from a board's file.

use std::sync::Arc;
use std::time::Duration;

use polis_core::Timestamp;
use polis_core::board::{BoardHead, BoardName, VersionEntry};

use super::PortFuture;

/// Where a board stands, and what was found out on the way there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardState {
    /// Its head.
    pub head: BoardHead,
    /// What this very call noticed about the board's file, for the caller to be told.
    pub noticed: Option<Noticed>,
}

/// What may be noticed about a board's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noticed {
    /// It was changed by something else than polis; the change is a new version.
    ChangedOutside,
    /// It was gone; it was written again.
    FileRestored,
}

/// A version of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardText {
    /// Its number.
    pub version: u64,
    /// Its text, shared: reading an unchanged board again copies nothing.
    pub text: Arc<String>,
}

/// Keeps other programs away from a board's file until it is dropped.
pub type Held = Box<dyn Send + Sync>;

/// The boards.
pub trait Boards {
    /// Where a board stands; `None` if nobody has written to it or locked it yet. A store that
    /// keeps boards as files too looks at the file first, so that what was changed there is seen.
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>>;

    /// Every board that was written to or locked, by name.
    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>>;

    /// The text of a version; `None` if the log does not reach back to it, or forward. A version
    /// of the newest [`keep`](polis_core::board::BoardWrite::keep) is always there.
    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>>;

    /// The newest versions of a board, newest first, at most `limit`.
    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>>;

    /// Keeps other programs that lock the board's file away from it, waiting for them at most so
    /// long; `None` if one still has it. A store without files has nothing to wait for.
    fn hold_board<'a>(
        &'a self,
        name: &'a BoardName,
        at_most: Duration,
    ) -> PortFuture<'a, Option<Held>>;

    /// When the store began.
    fn began_at(&self) -> PortFuture<'_, Timestamp>;
}
