//! LRU cache of rendered boards: a board of 10 MB is read once per version instead of once per part, and never rendered
//! on an async thread.

use std::sync::{Arc, Mutex, PoisonError};

use polis_core::board::{BoardName, outline};
use polis_core::{AgentId, Code};
use polis_ops::op::{self, BoardRead, BoardView};
use polis_ops::port::PortError;
use polis_ops::{OpError, Polis};
use tokio::sync::Semaphore;

use crate::markdown::{Document, document};

/// Maximum number of cached boards.
const MOST: usize = 16;
/// Maximum total size of their HTML in bytes; the newest is cached regardless of its size.
const MOST_BYTES: usize = 64 << 20;
/// A text longer than this is rendered on a blocking thread.
const LONG: usize = 32 << 10;
/// Maximum number of boards rendered concurrently.
const AT_ONCE: usize = 2;

/// A rendered board.
#[derive(Debug)]
pub(super) struct Bound {
    /// Parts and headings.
    pub(super) document: Document,
    /// Titles of the sections, in the order of the headings that begin one, with the index among sections of the same
    /// title.
    pub(super) sections: Vec<(String, usize)>,
    /// Size of the source text.
    pub(super) bytes: usize,
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Most recently used last.
    kept: Mutex<Vec<(BoardName, u64, Arc<Bound>)>>,
    turns: Semaphore,
}

impl Default for Shelf {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
        }
    }
}

impl Shelf {
    /// Returns a board's head and its rendered text.
    pub(super) async fn read(
        &self,
        polis: &Polis,
        me: &AgentId,
        board: &BoardName,
    ) -> Result<(BoardView, Arc<Bound>), OpError> {
        let head = head(polis, me, board).await?;
        if let Some(bound) = self.find(board, head.version) {
            return Ok((head, bound));
        }
        let _turn = self.turns.acquire().await;
        let mut view = op::read_board(polis, me, &BoardRead::of(board.clone())).await?;
        if let Some(bound) = self.find(board, view.version) {
            return Ok((view, bound));
        }
        let text = view.content.take().unwrap_or_default();
        let bound = Arc::new(if text.len() > LONG {
            tokio::task::spawn_blocking(move || bind(&text))
                .await
                .map_err(|error| failed(&error))?
        } else {
            bind(&text)
        });
        // A board that was never written shows its template, which changes without a new version.
        if view.version > 0 {
            self.keep(board, view.version, &bound);
        }
        Ok((view, bound))
    }

    /// Returns a version from the cache.
    pub(super) fn find(&self, board: &BoardName, version: u64) -> Option<Arc<Bound>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept
            .iter()
            .position(|(name, of, _)| name == board && *of == version)?;
        let found = kept.remove(at);
        let bound = Arc::clone(&found.2);
        kept.push(found);
        Some(bound)
    }

    fn keep(&self, board: &BoardName, version: u64, bound: &Arc<Bound>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((board.clone(), version, Arc::clone(bound)));
        let size = |kept: &[(BoardName, u64, Arc<Bound>)]| -> usize {
            let parts = kept.iter().flat_map(|(_, _, bound)| &bound.document.parts);
            parts.map(|part| part.html.len()).sum()
        };
        while kept.len() > 1 && (kept.len() > MOST || size(&kept) > MOST_BYTES) {
            kept.remove(0);
        }
    }
}

/// Returns a board's head without its text.
pub(super) async fn head(
    polis: &Polis,
    me: &AgentId,
    board: &BoardName,
) -> Result<BoardView, OpError> {
    let asked = BoardRead {
        if_newer_than: Some(u64::MAX),
        ..BoardRead::of(board.clone())
    };
    op::read_board(polis, me, &asked).await
}

fn bind(text: &str) -> Bound {
    let mut seen = std::collections::HashMap::new();
    let sections = outline(text).sections.into_iter().map(|section| {
        let nth: &mut usize = seen.entry(section.title.clone()).or_default();
        *nth += 1;
        (section.title, *nth)
    });
    Bound {
        sections: sections.collect(),
        document: document(text),
        bytes: text.len(),
    }
}

pub(super) fn failed(error: &tokio::task::JoinError) -> OpError {
    PortError::new(
        Code::ReadFailed,
        format!("The board could not be shown: {error}."),
        "load the page again",
    )
    .into()
}
