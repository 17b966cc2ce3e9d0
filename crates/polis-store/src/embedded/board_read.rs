//! Board reads: the store's state, after checking the board's file for external edits.
//!
//! A check that finds the file unchanged (size and mtime match) is short and runs inline. If the file
//! differs, the read may have to wait, for another program that is writing to the file and for the write lock
//! of the store; in a server, at most one thread per board is blocked by that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::{Code, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{BoardState, BoardText, Boards, Held, PortFuture};
use rusqlite::Connection;

use super::blocking::{aside, ready};
use super::{EmbeddedStore, Shared, boards, writer};

/// How long a reader waits for another program that is writing to a blackboard file.
const OTHERS_WRITE: Duration = Duration::from_secs(1);

/// Result of a cheap check of a board's file.
struct Glance {
    /// The board's state in the store.
    known: Option<BoardState>,
    /// Whether the file is the one the store wrote.
    in_step: bool,
}

impl Shared {
    fn glance(&self, name: &BoardName) -> Result<Glance, PortError> {
        let kept = self.read(|c| boards::head(c, name))?;
        let in_step = self.mirror.in_step(name, kept.as_ref())?;
        let known = kept.map(|kept| BoardState {
            head: kept.head,
            noticed: None,
        });
        Ok(Glance { known, in_step })
    }

    /// Returns every board in the store, and the names of those whose files differ.
    fn glance_at_all(&self) -> Result<(BTreeMap<String, BoardHead>, Vec<BoardName>), PortError> {
        let known = self.read(boards::heads)?;
        let mut names: BTreeSet<BoardName> = known.iter().map(|head| head.name.clone()).collect();
        names.extend(self.mirror.files());
        let differs = |name: &BoardName| self.glance(name).is_ok_and(|glance| !glance.in_step);
        let differing = names.into_iter().filter(differs).collect();
        let all = known.into_iter().map(|head| (head.name.to_string(), head));
        Ok((all.collect(), differing))
    }

    /// Reconciles a board's file with the store. `waited` is subtracted from the time this may take.
    fn look_closer(
        &self,
        name: &BoardName,
        waited: Duration,
    ) -> Result<Option<BoardState>, PortError> {
        // Another task may have done it while we waited.
        let Glance { known, in_step } = self.glance(name)?;
        if in_step {
            return Ok(known);
        }
        let at_most = OTHERS_WRITE.saturating_sub(waited);
        let (quiet, lock) = self.mirror.quiet(name, at_most)?;
        if !quiet {
            return Ok(known);
        }
        let patience = self.patience.saturating_sub(waited);
        match writer::mend(self, name, lock.is_some(), patience) {
            Ok(found) => Ok(found
                .filter(|(head, _)| head.version > 0 || known.is_some())
                .map(|(head, noticed)| BoardState { head, noticed })),
            // A board in the store can be read even if its file cannot be repaired.
            Err(error) if known.is_some() && cannot_write(error.code) => Ok(known),
            // Another program has started writing to it; the next reader sees the result.
            Err(error) if error.code == Code::BoardLocked => Ok(known),
            Err(error) => Err(error),
        }
    }

    /// Returns a text that is not in the cache.
    fn board_text(&self, name: &BoardName, version: u64) -> Result<Option<BoardText>, PortError> {
        self.read(|connection| {
            let kept = boards::head(connection, name)?;
            let current = kept.filter(|kept| kept.head.version == version);
            if let Some(text) = current.as_ref().and_then(|kept| self.mirror.text(kept)) {
                return Ok(Some(BoardText { version, text }));
            }
            let text = boards::text(connection, name, version)?.map(Arc::new);
            if let (Some(text), Some(_)) = (&text, &current) {
                self.mirror.remember(name, version, Arc::clone(text));
            }
            Ok(text.map(|text| BoardText { version, text }))
        })
    }
}

fn cannot_write(code: Code) -> bool {
    matches!(code, Code::StoreReadOnly | Code::StoreFull)
}

impl EmbeddedStore {
    async fn look_closer(&self, name: BoardName) -> Result<Option<BoardState>, PortError> {
        let begun = Instant::now();
        let turn = self.mending.take(&name).await;
        aside(&self.shared, move |shared| {
            let _turn = turn;
            shared.look_closer(&name, begun.elapsed())
        })
        .await
    }

    async fn all_boards(&self) -> Result<Vec<BoardHead>, PortError> {
        let (mut all, differing) = self.long(Shared::glance_at_all).await?;
        for name in differing {
            // A board whose file is unusable is listed with the store's state; using the board reports why.
            if let Ok(Some(state)) = self.look_closer(name.clone()).await {
                all.insert(name.to_string(), state.head);
            }
        }
        Ok(all.into_values().collect())
    }

    /// Compares every board's file with the log byte by byte and returns the names of those that differ.
    /// Ordinary reads compare only size and mtime, because they are frequent.
    pub async fn check_boards(&self) -> Result<Vec<String>, PortError> {
        let mut faults = Vec::new();
        for head in self.all_boards().await? {
            let (name, version) = (head.name, head.version);
            let fault = (version > 0).then(|| name.to_string());
            let compare = move |shared: &Shared| {
                shared.read(|connection: &Connection| {
                    let logged = boards::text(connection, &name, version)?;
                    let kept = boards::head(connection, &name)?;
                    let read = kept.and_then(|kept| shared.mirror.read_file(&kept));
                    Ok(logged == read)
                })
            };
            if !self.long(compare).await? {
                faults.extend(fault);
            }
        }
        Ok(faults)
    }
}

impl Boards for EmbeddedStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        match self.shared.glance(name) {
            Ok(glance) if glance.in_step => ready(Ok(glance.known)),
            Ok(_) => Box::pin(self.look_closer(name.clone())),
            Err(error) => ready(Err(error)),
        }
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        Box::pin(self.all_boards())
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        if let Some(text) = self.shared.mirror.remembered(name, version) {
            return ready(Ok(Some(BoardText { version, text })));
        }
        let name = name.clone();
        self.long(move |shared| shared.board_text(&name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        let name = name.clone();
        self.read_rows(limit, move |c| boards::versions(c, &name, limit))
    }

    fn hold_board<'a>(
        &'a self,
        name: &'a BoardName,
        at_most: Duration,
    ) -> PortFuture<'a, Option<Held>> {
        Box::pin(async move {
            let begun = Instant::now();
            let Ok(turn) = tokio::time::timeout(at_most, self.holding.take(name)).await else {
                return Ok(None);
            };
            let name = name.clone();
            // Waits for another program, so not on a thread that serves other tasks.
            let held = aside(&self.shared, move |shared| {
                let left = at_most.saturating_sub(begun.elapsed());
                shared.mirror.hold(&name, left)
            });
            let held = held.await?;
            Ok(held.map(|held| -> Held { Box::new((held, turn)) }))
        })
    }

    fn began_at(&self) -> PortFuture<'_, Timestamp> {
        self.read(boards::began_at)
    }
}
