//! Cache of the open decisions of all boards.
//!
//! Decisions are part of the boards' texts, and reading all boards takes long. The cache stores the decisions found and
//! the log sequence number up to which they are valid. Only boards that changed since then are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::board::BoardName;
use polis_core::board::decision::{Decision, DecisionStatus, decisions};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// If the cache is this many events behind the log, all boards are read again.
const MOST_BEHIND: u32 = 2_000;

/// A decision that waits for signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenDecision {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
}

/// The cache.
#[derive(Debug, Default)]
pub(crate) struct OpenDecisions(Mutex<Option<Found>>);

#[derive(Debug, Clone, Default)]
struct Found {
    through: u64,
    boards: BTreeMap<BoardName, Vec<Decision>>,
}

impl OpenDecisions {
    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Polis {
    /// Returns the decisions that need signatures, by board, for the boards that `reads` accepts.
    pub(super) async fn open_decisions(
        &self,
        reads: impl Fn(&BoardName) -> bool + Send,
    ) -> Result<Vec<OpenDecision>, OpError> {
        let found = self.find_open_decisions().await?;
        let admitted = found.boards.into_iter().filter(|(board, _)| reads(board));
        let each = admitted.flat_map(|(board, all)| {
            all.into_iter().map(move |decision| OpenDecision {
                board: board.clone(),
                decision,
            })
        });
        Ok(each.collect())
    }

    async fn find_open_decisions(&self) -> Result<Found, OpError> {
        let kept = self.open_decisions.lock().clone();
        let query = EventQuery {
            after: kept.as_ref().map_or(0, |kept| kept.through),
            limit: MOST_BEHIND,
            ..EventQuery::default()
        };
        let (mut found, changed) = match kept {
            Some(mut kept) => {
                let events = self.store.events(&query).await?;
                if events.len() >= usize::try_from(MOST_BEHIND).unwrap_or(usize::MAX) {
                    self.all_boards().await?
                } else {
                    kept.through = events.last().map_or(kept.through, |last| last.seq);
                    let subjects = events.iter().map(|event| event.subject.as_str());
                    (kept, subjects.filter_map(board_of).collect())
                }
            }
            None => self.all_boards().await?,
        };
        for board in changed {
            let text = &self.load_board(&board).await?.text;
            let mut open = decisions(text);
            open.retain(|decision| is_open(decision.status));
            match open.is_empty() {
                true => found.boards.remove(&board),
                false => found.boards.insert(board, open),
            };
        }
        let mut kept = self.open_decisions.lock();
        if kept
            .as_ref()
            .is_none_or(|kept| kept.through <= found.through)
        {
            *kept = Some(found.clone());
        }
        drop(kept);
        Ok(found)
    }

    /// Returns an empty cache entry and all existing boards, for a full rebuild.
    async fn all_boards(&self) -> Result<(Found, BTreeSet<BoardName>), OpError> {
        let through = self.store.last_sequence().await?;
        let heads = self.store.boards().await?;
        let found = Found {
            through,
            ..Found::default()
        };
        let begun = heads.into_iter().filter(|head| head.version > 0);
        Ok((found, begun.map(|head| head.name).collect()))
    }
}

fn board_of(subject: &str) -> Option<BoardName> {
    subject.strip_prefix("board/")?.parse().ok()
}

fn is_open(status: DecisionStatus) -> bool {
    matches!(status, DecisionStatus::Pending | DecisionStatus::Appealing)
}
