//! Cache of the open decisions of all boards, filled and read by [`list_open_decisions`].
//!
//! Decisions are part of the boards' texts, and reading all boards takes long. The cache stores the decisions
//! found and the log sequence number up to which they are valid. Only boards that changed since then are read
//! again.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::{Mutex, MutexGuard};
use polis_core::board::BoardName;
use polis_core::board::decision::{BoardDecision, DecisionStatus, parse_decisions};
use polis_core::number::saturating_cast;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::load_board;
use crate::port::EventLogQuery;

/// If the cache is this many events behind the log, all boards are read again.
const MAX_EVENTS_BEHIND: u32 = 2_000;

/// A decision that needs signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenDecision {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The decision.
    #[serde(flatten)]
    pub decision: BoardDecision,
}

/// Cache of the open decisions of all boards.
#[derive(Debug, Default)]
pub(crate) struct OpenDecisionsCache(Mutex<Option<CachedDecisions>>);

#[derive(Debug, Clone, Default)]
struct CachedDecisions {
    last_seq: u64,
    boards: BTreeMap<BoardName, Vec<BoardDecision>>,
}

impl OpenDecisionsCache {
    fn lock(&self) -> MutexGuard<'_, Option<CachedDecisions>> {
        self.0.lock()
    }
}

/// Returns the decisions that need signatures, by board, for the boards that `reads` accepts.
pub(crate) async fn list_open_decisions(
    app: &App,
    reads: impl Fn(&BoardName) -> bool + Send,
) -> Result<Vec<OpenDecision>, OpError> {
    let found = refresh_open_decisions(app).await?;
    let admitted = found.boards.into_iter().filter(|(board, _)| reads(board));
    let decisions = admitted.flat_map(|(board, all)| {
        all.into_iter().map(move |decision| OpenDecision {
            board: board.clone(),
            decision,
        })
    });
    Ok(decisions.collect())
}

async fn refresh_open_decisions(app: &App) -> Result<CachedDecisions, OpError> {
    let cached = app.open_decisions_cache.lock().clone();
    let query = EventLogQuery {
        after: cached.as_ref().map_or(0, |cached| cached.last_seq),
        limit: MAX_EVENTS_BEHIND,
        ..EventLogQuery::default()
    };
    let (mut found, changed) = match cached {
        Some(mut cached) => {
            let events = app.store.events(&query).await?;
            if events.len() >= saturating_cast::<usize>(MAX_EVENTS_BEHIND) {
                boards_for_rebuild(app).await?
            } else {
                cached.last_seq = events.last().map_or(cached.last_seq, |last| last.seq);
                let subjects = events.iter().map(|event| event.subject.as_str());
                (cached, subjects.filter_map(board_of_subject).collect())
            }
        }
        None => boards_for_rebuild(app).await?,
    };
    for board in changed {
        let text = &load_board(app, &board).await?.text;
        let mut open = parse_decisions(text);
        open.retain(|decision| is_open_status(decision.status));
        if open.is_empty() {
            found.boards.remove(&board)
        } else {
            found.boards.insert(board, open)
        };
    }
    let mut cached = app.open_decisions_cache.lock();
    if cached
        .as_ref()
        .is_none_or(|cached| cached.last_seq <= found.last_seq)
    {
        *cached = Some(found.clone());
    }
    drop(cached);
    Ok(found)
}

/// Returns an empty cache entry and all existing boards, for a full rebuild.
async fn boards_for_rebuild(app: &App) -> Result<(CachedDecisions, BTreeSet<BoardName>), OpError> {
    let through = app.store.last_sequence().await?;
    let heads = app.store.boards().await?;
    let found = CachedDecisions {
        last_seq: through,
        ..CachedDecisions::default()
    };
    let written = heads.into_iter().filter(|head| head.version > 0);
    Ok((found, written.map(|head| head.name).collect()))
}

fn board_of_subject(subject: &str) -> Option<BoardName> {
    subject.strip_prefix("board/")?.parse().ok()
}

fn is_open_status(status: DecisionStatus) -> bool {
    matches!(status, DecisionStatus::Pending | DecisionStatus::Appealing)
}
