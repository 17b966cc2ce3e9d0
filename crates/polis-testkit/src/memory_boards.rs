//! Boards of the in-memory store, with the whole text of every kept version and the leases.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::board::{BoardHead, BoardLeaseWrite, BoardName, BoardWrite, VersionEntry};
use polis_core::{AgentId, RecordKey, Timestamp};
use polis_ops::port::{BoardState, BoardText};

/// All boards, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryBoards(BTreeMap<String, MemoryBoard>);

#[derive(Debug, Clone)]
struct MemoryBoard {
    head: BoardHead,
    /// The kept versions, oldest first.
    versions: Vec<(VersionEntry, Arc<String>)>,
}

impl MemoryBoards {
    fn board_or_new(&self, name: &BoardName) -> MemoryBoard {
        self.0
            .get(&name.to_string())
            .cloned()
            .unwrap_or(MemoryBoard {
                head: BoardHead::new(name.clone()),
                versions: Vec::new(),
            })
    }

    /// Changes a board's text and returns its version, or returns a conflict if the board does not admit the
    /// change.
    pub(crate) fn apply_write(
        &mut self,
        write: &BoardWrite,
        actor: &AgentId,
        at: &Timestamp,
    ) -> Result<u64, RecordKey> {
        let MemoryBoard {
            mut head,
            mut versions,
        } = self.board_or_new(&write.board);
        if !head.admits_write(write, actor) {
            return Err(RecordKey::Board(write.board.clone()));
        }
        let before = versions.last().map(|(_, text)| String::clone(text));
        let mut text = before.unwrap_or_default();
        head.apply_change(write.change.clone(), actor.as_str(), at)
            .apply_to(&mut text)
            .unwrap();
        let version = head.version;
        let entry = VersionEntry {
            version,
            by: actor.to_string(),
            at: at.clone(),
            bytes: text.len() as u64,
            action: write.action,
        };
        versions.push((entry, Arc::new(text)));
        versions.retain(|(version_entry, _)| {
            version_entry.version >= head.oldest_kept_version(write.max_versions)
        });
        self.0
            .insert(write.board.to_string(), MemoryBoard { head, versions });
        Ok(version)
    }

    /// Changes a board's lease, or returns a conflict if the lease is not the expected one.
    pub(crate) fn apply_lease(&mut self, write: &BoardLeaseWrite) -> Result<(), RecordKey> {
        let mut board = self.board_or_new(&write.board);
        if !board.head.admits_lease(write) {
            return Err(RecordKey::Board(write.board.clone()));
        }
        board.head.lease.clone_from(&write.lease);
        self.0.insert(write.board.to_string(), board);
        Ok(())
    }

    pub(crate) fn board_state(&self, name: &BoardName) -> Option<BoardState> {
        self.0.get(&name.to_string()).map(|board| BoardState {
            head: board.head.clone(),
            file_change: None,
        })
    }

    pub(crate) fn board_heads(&self) -> Vec<BoardHead> {
        self.0.values().map(|board| board.head.clone()).collect()
    }

    pub(crate) fn board_text(&self, name: &BoardName, version: u64) -> Option<BoardText> {
        let versions = &self.0.get(&name.to_string())?.versions;
        let found = versions.iter().find(|(entry, _)| entry.version == version);
        found.map(|(_, text)| BoardText {
            version,
            text: Arc::clone(text),
        })
    }

    pub(crate) fn board_versions(&self, name: &BoardName, limit: u32) -> Vec<VersionEntry> {
        let board = self.0.get(&name.to_string());
        let newest = board
            .into_iter()
            .flat_map(|board| board.versions.iter().rev());
        newest
            .map(|(entry, _)| entry.clone())
            .take(limit as usize)
            .collect()
    }
}
