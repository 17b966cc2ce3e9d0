//! Boards as HTML, kept while they are looked at: a board of 10 MB is read once for each version, not for
//! each of its parts, and never on a thread that serves others.

use std::sync::{Arc, Mutex, PoisonError};

use polis_core::board::{BoardName, outline};
use polis_core::{AgentId, Code};
use polis_ops::op::{self, BoardRead, BoardView};
use polis_ops::port::PortError;
use polis_ops::{OpError, Polis};
use tokio::sync::Semaphore;

use crate::markdown::{Document, document};

/// How many boards are kept.
const MOST: usize = 16;
/// How many bytes of HTML they may have together; the newest is kept whatever its size.
const MOST_BYTES: usize = 64 << 20;
/// A text longer than this is not made into HTML on the thread that serves.
const LONG: usize = 32 << 10;
/// How many long texts are made into HTML at the same time.
const AT_ONCE: usize = 2;

/// A board's text as HTML.
#[derive(Debug)]
pub(super) struct Bound {
    /// The parts and headings.
    pub(super) document: Document,
    /// The titles of the sections, in the order of the headings that begin one, and which of those of
    /// the same title each is.
    pub(super) sections: Vec<(String, usize)>,
    /// The size of the text.
    pub(super) bytes: usize,
}

/// Boards as HTML.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// The newest last.
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
    /// A board's head, and its text as HTML.
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
        // A board nobody has written to shows its template, which changes without a version.
        if view.version > 0 {
            self.keep(board, view.version, &bound);
        }
        Ok((view, bound))
    }

    /// A version that was shown before, if it is still there.
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

/// Where a board stands, without its text.
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
