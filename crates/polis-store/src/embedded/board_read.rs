//! Board reads ([`BoardReader`]): checks a board's file for external edits, imports them, and returns the
//! store's state. Texts come from the cache, the file or the log.
//!
//! A check that finds the file unchanged (size and mtime match) is short and runs inline. If the file
//! differs, the read may have to wait, for another program that is writing to the file and for the write lock
//! of the store; in a server, at most one thread per board is blocked by that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::{RefusalCode, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{BoardFileGuard, BoardReader, BoardState, BoardText, PortFuture};
use rusqlite::Connection;

use super::blocking::{ready_future, run_blocking};
use super::{EmbeddedStore, EmbeddedStoreState, boards, writer};

/// How long a reader waits for another program that is writing to a blackboard file.
const EXTERNAL_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Result of a cheap check of a board's file.
struct FileCheck {
    /// The board's state in the store.
    stored: Option<BoardState>,
    /// Whether the file is the one the store wrote.
    is_in_sync: bool,
}

impl EmbeddedStoreState {
    fn check_file(&self, name: &BoardName) -> Result<FileCheck, PortError> {
        let stored = self.read_inline(|c| boards::select_head(c, name))?;
        let in_step = self.mirror.is_in_sync(name, stored.as_ref())?;
        let known = stored.map(|stored| BoardState {
            head: stored.head,
            file_change: None,
        });
        Ok(FileCheck {
            stored: known,
            is_in_sync: in_step,
        })
    }

    /// Returns every board in the store, and the names of those whose files differ.
    fn check_all_files(&self) -> Result<(BTreeMap<String, BoardHead>, Vec<BoardName>), PortError> {
        let heads = self.read_inline(boards::select_heads)?;
        let mut names: BTreeSet<BoardName> = heads.iter().map(|head| head.name.clone()).collect();
        names.extend(self.mirror.discover_boards());
        let differs = |name: &BoardName| self.check_file(name).is_ok_and(|check| !check.is_in_sync);
        let differing = names.into_iter().filter(differs).collect();
        let all = heads.into_iter().map(|head| (head.name.to_string(), head));
        Ok((all.collect(), differing))
    }

    /// Reconciles a board's file with the store. `waited` is subtracted from the time this may take.
    fn reconcile_board(
        &self,
        name: &BoardName,
        waited: Duration,
    ) -> Result<Option<BoardState>, PortError> {
        // Another task may have done it while we waited.
        let FileCheck { stored, is_in_sync } = self.check_file(name)?;
        if is_in_sync {
            return Ok(stored);
        }
        let lock_wait = EXTERNAL_WRITE_TIMEOUT.saturating_sub(waited);
        let (is_unlocked, lock) = self.mirror.wait_until_unlocked(name, lock_wait)?;
        if !is_unlocked {
            return Ok(stored);
        }
        let timeout = self.lock_timeout.saturating_sub(waited);
        match writer::repair_board_file(self, name, lock.is_some(), timeout) {
            Ok(found) => Ok(found
                .filter(|(head, _)| head.version > 0 || stored.is_some())
                .map(|(head, file_change)| BoardState { head, file_change })),
            // A board in the store can be read even if its file cannot be repaired.
            Err(error) if stored.is_some() && is_write_failure(error.code) => Ok(stored),
            // Another program has started writing to it; the next reader sees the result.
            Err(error) if error.code == RefusalCode::BOARD_LOCKED => Ok(stored),
            Err(error) => Err(error),
        }
    }

    /// Returns a text that is not in the cache.
    fn load_board_text(
        &self,
        name: &BoardName,
        version: u64,
    ) -> Result<Option<BoardText>, PortError> {
        self.read_inline(|connection| {
            let stored = boards::select_head(connection, name)?;
            let current = stored.filter(|stored| stored.head.version == version);
            if let Some(text) = current
                .as_ref()
                .and_then(|stored| self.mirror.current_text(stored))
            {
                return Ok(Some(BoardText { version, text }));
            }
            let text = boards::select_version_text(connection, name, version)?.map(Arc::new);
            if let (Some(text), Some(_)) = (&text, &current) {
                self.mirror.cache_text(name, version, Arc::clone(text));
            }
            Ok(text.map(|text| BoardText { version, text }))
        })
    }
}

fn is_write_failure(code: RefusalCode) -> bool {
    matches!(code, RefusalCode::STORE_READ_ONLY | RefusalCode::STORE_FULL)
}

impl EmbeddedStore {
    async fn reconcile_board(&self, name: BoardName) -> Result<Option<BoardState>, PortError> {
        let started_at = Instant::now();
        let turn = self.repair_locks.lock_board(&name).await;
        run_blocking(&self.shared, move |shared| {
            let _turn = turn;
            shared.reconcile_board(&name, started_at.elapsed())
        })
        .await
    }

    async fn list_boards(&self) -> Result<Vec<BoardHead>, PortError> {
        let (mut all, differing) = self.run_long(EmbeddedStoreState::check_all_files).await?;
        for name in differing {
            // A board whose file is unusable is listed with the store's state; using the board reports why.
            if let Ok(Some(state)) = self.reconcile_board(name.clone()).await {
                all.insert(name.to_string(), state.head);
            }
        }
        Ok(all.into_values().collect())
    }

    /// Compares every board's file with the log byte by byte and returns the names of those that differ.
    /// Ordinary reads compare only size and mtime, because they are frequent. Fails only if the store does.
    pub async fn check_boards(&self) -> Result<Vec<String>, PortError> {
        let mut faults = Vec::new();
        for head in self.list_boards().await? {
            let (name, version) = (head.name, head.version);
            let fault = (version > 0).then(|| name.to_string());
            let compare = move |shared: &EmbeddedStoreState| {
                shared.read_inline(|connection: &Connection| {
                    let logged = boards::select_version_text(connection, &name, version)?;
                    let stored = boards::select_head(connection, &name)?;
                    let read = stored.and_then(|stored| shared.mirror.read_verified_file(&stored));
                    Ok(logged == read)
                })
            };
            if !self.run_long(compare).await? {
                faults.extend(fault);
            }
        }
        Ok(faults)
    }
}

impl BoardReader for EmbeddedStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        match self.shared.check_file(name) {
            Ok(check) if check.is_in_sync => ready_future(Ok(check.stored)),
            Ok(_) => Box::pin(self.reconcile_board(name.clone())),
            Err(error) => ready_future(Err(error)),
        }
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        Box::pin(self.list_boards())
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        if let Some(text) = self.shared.mirror.cached_text(name, version) {
            return ready_future(Ok(Some(BoardText { version, text })));
        }
        let name = name.clone();
        self.run_long(move |shared| shared.load_board_text(&name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        let name = name.clone();
        self.read_rows(limit, move |c| boards::select_versions(c, &name, limit))
    }

    fn lock_board_file<'a>(
        &'a self,
        name: &'a BoardName,
        timeout: Duration,
    ) -> PortFuture<'a, Option<BoardFileGuard>> {
        Box::pin(async move {
            let started_at = Instant::now();
            let Ok(turn) = tokio::time::timeout(timeout, self.hold_locks.lock_board(name)).await
            else {
                return Ok(None);
            };
            let name = name.clone();
            // Waits for another program, so not on a thread that serves other tasks.
            let guard = run_blocking(&self.shared, move |shared| {
                let left = timeout.saturating_sub(started_at.elapsed());
                shared.mirror.lock_exclusive(&name, left)
            });
            let guard = guard.await?;
            Ok(guard.map(|guard| -> BoardFileGuard { Box::new((guard, turn)) }))
        })
    }

    fn store_created_at(&self) -> PortFuture<'_, Timestamp> {
        self.read_short(boards::read_created_at)
    }
}
