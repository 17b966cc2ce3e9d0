//! Boards of the in-memory model store; keeps the whole text of every version.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::board::{BoardHead, BoardName, BoardWrite, LeaseWrite, VersionEntry};
use polis_core::{AgentId, RecordKey, Timestamp};
use polis_ops::port::{BoardState, BoardText};

/// All boards, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boards(BTreeMap<String, Board>);

#[derive(Debug, Clone)]
struct Board {
    head: BoardHead,
    /// The kept versions, oldest first.
    versions: Vec<(VersionEntry, Arc<String>)>,
}

impl Boards {
    fn standing(&self, name: &BoardName) -> Board {
        self.0.get(&name.to_string()).cloned().unwrap_or(Board {
            head: BoardHead::new(name.clone()),
            versions: Vec::new(),
        })
    }

    /// Changes a board's text and returns its version, or returns a conflict if the board does not admit the
    /// change.
    pub(crate) fn change(
        &mut self,
        write: &BoardWrite,
        actor: &AgentId,
        at: &Timestamp,
    ) -> Result<u64, RecordKey> {
        let Board {
            mut head,
            mut versions,
        } = self.standing(&write.board);
        if !head.admits(write, actor) {
            return Err(RecordKey::Board(write.board.clone()));
        }
        let before = versions.last().map(|(_, text)| String::clone(text));
        let mut text = before.unwrap_or_default();
        head.change(write.change.clone(), actor.as_str(), at)
            .apply(&mut text)
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
        versions.retain(|(kept, _)| kept.version >= head.oldest_kept(write.keep));
        self.0
            .insert(write.board.to_string(), Board { head, versions });
        Ok(version)
    }

    /// Changes a board's lease, or returns a conflict if the lease is not the expected one.
    pub(crate) fn lease(&mut self, write: &LeaseWrite) -> Result<(), RecordKey> {
        let mut board = self.standing(&write.board);
        if !board.head.admits_lease(write) {
            return Err(RecordKey::Board(write.board.clone()));
        }
        board.head.lease.clone_from(&write.lease);
        self.0.insert(write.board.to_string(), board);
        Ok(())
    }

    pub(crate) fn state(&self, name: &BoardName) -> Option<BoardState> {
        self.0.get(&name.to_string()).map(|board| BoardState {
            head: board.head.clone(),
            noticed: None,
        })
    }

    pub(crate) fn heads(&self) -> Vec<BoardHead> {
        self.0.values().map(|board| board.head.clone()).collect()
    }

    pub(crate) fn text(&self, name: &BoardName, version: u64) -> Option<BoardText> {
        let versions = &self.0.get(&name.to_string())?.versions;
        let found = versions.iter().find(|(entry, _)| entry.version == version);
        found.map(|(_, text)| BoardText {
            version,
            text: Arc::clone(text),
        })
    }

    pub(crate) fn versions(&self, name: &BoardName, limit: u32) -> Vec<VersionEntry> {
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
