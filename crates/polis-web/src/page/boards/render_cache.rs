//! LRU cache of rendered boards: a board of 10 MB is read and rendered once per version instead of once per
//! part, on a blocking thread. `read_rendered` checks at every call that the reader may read the board;
//! `find_version` checks nothing, so callers use it only after `read_rendered`.

use std::sync::Arc;

use parking_lot::Mutex;
use polis_core::board::{BoardName, parse_outline};
use polis_ops::op::{self, BoardReadParams, BoardView};
use polis_ops::port::PortError;
use polis_ops::{OpError, Request};
use tokio::sync::Semaphore;

use crate::component::markdown::{MarkdownDocument, render_document};
use crate::refusal_tables::PageRefusal;

/// Maximum number of cached boards.
const MAX_CACHED_BOARDS: usize = 16;
/// Maximum total size of their HTML in bytes; the newest is cached regardless of its size.
const MAX_CACHED_BYTES: usize = 64 << 20;
/// A text longer than this is rendered on a blocking thread.
const BLOCKING_RENDER_BYTES: usize = 32 << 10;
/// Maximum number of boards rendered concurrently.
const MAX_CONCURRENT_RENDERS: usize = 2;

/// A version of a board, rendered to HTML parts.
#[derive(Debug)]
pub(super) struct RenderedBoard {
    /// Text as HTML in parts, and its headings.
    pub(super) document: MarkdownDocument,
    /// Titles of the sections, in the order of the headings that begin one, with the index among sections of
    /// the same title.
    pub(super) sections: Vec<(String, usize)>,
    /// Size of the source text.
    pub(super) bytes: usize,
}

/// LRU cache of rendered boards. A semaphore limits how many boards are rendered concurrently.
#[derive(Debug)]
pub(crate) struct RenderCache {
    /// Cached boards with their versions, most recently used last.
    entries: Mutex<Vec<(BoardName, u64, Arc<RenderedBoard>)>>,
    render_permits: Semaphore,
}

impl Default for RenderCache {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            render_permits: Semaphore::new(MAX_CONCURRENT_RENDERS),
        }
    }
}

impl RenderCache {
    /// Returns a board's head (the view without the text) and its rendered text. Fails if the agent may not
    /// read the board.
    pub(super) async fn read_rendered(
        &self,
        request: &Request,
        board: &BoardName,
    ) -> Result<(BoardView, Arc<RenderedBoard>), OpError> {
        let head = read_board_head(request, board).await?;
        if let Some(rendered) = self.find_version(board, head.version) {
            return Ok((head, rendered));
        }
        let _permit = self.render_permits.acquire().await;
        let mut view = op::read_board(request, &BoardReadParams::for_board(board.clone())).await?;
        if let Some(rendered) = self.find_version(board, view.version) {
            return Ok((view, rendered));
        }
        let text = view.content.take().unwrap_or_default();
        let rendered = Arc::new(if text.len() > BLOCKING_RENDER_BYTES {
            tokio::task::spawn_blocking(move || render_board(&text))
                .await
                .map_err(|error| render_failed(&error))?
        } else {
            render_board(&text)
        });
        // A board that was never written shows its template, which changes without a new version.
        if view.version > 0 {
            self.insert(board, view.version, &rendered);
        }
        Ok((view, rendered))
    }

    /// Returns a version from the cache, if it is there. Does not check whether the reader may see it.
    pub(super) fn find_version(
        &self,
        board: &BoardName,
        version: u64,
    ) -> Option<Arc<RenderedBoard>> {
        let mut entries = self.entries.lock();
        let at = entries
            .iter()
            .position(|(name, cached_version, _)| name == board && *cached_version == version)?;
        let found = entries.remove(at);
        let rendered = Arc::clone(&found.2);
        entries.push(found);
        Some(rendered)
    }

    fn insert(&self, board: &BoardName, version: u64, rendered: &Arc<RenderedBoard>) {
        let mut entries = self.entries.lock();
        entries.push((board.clone(), version, Arc::clone(rendered)));
        let size = |entries: &[(BoardName, u64, Arc<RenderedBoard>)]| -> usize {
            let parts = entries
                .iter()
                .flat_map(|(_, _, rendered)| &rendered.document.parts);
            parts.map(|part| part.html.len()).sum()
        };
        while entries.len() > 1
            && (entries.len() > MAX_CACHED_BOARDS || size(&entries) > MAX_CACHED_BYTES)
        {
            entries.remove(0);
        }
    }
}

/// Returns a board's head: version, author and lock, without the text.
pub(super) async fn read_board_head(
    request: &Request,
    board: &BoardName,
) -> Result<BoardView, OpError> {
    let params = BoardReadParams {
        if_newer_than: Some(u64::MAX),
        ..BoardReadParams::for_board(board.clone())
    };
    op::read_board(request, &params).await
}

fn render_board(text: &str) -> RenderedBoard {
    let mut seen = std::collections::HashMap::new();
    let sections = parse_outline(text).sections.into_iter().map(|section| {
        let nth: &mut usize = seen.entry(section.title.clone()).or_default();
        *nth += 1;
        (section.title, *nth)
    });
    RenderedBoard {
        sections: sections.collect(),
        document: render_document(text),
        bytes: text.len(),
    }
}

pub(super) fn render_failed(error: &tokio::task::JoinError) -> OpError {
    PortError::from(PageRefusal::BoardNotShown {
        error: error.to_string(),
    })
    .into()
}
