//! Helpers shared by all board operations: permission check, loading the current head and text, loading an older
//! version, and the template text of a board that was never written.

use std::sync::Arc;

use polis_core::board::access::{self, Act};
use polis_core::board::template::{TemplateFacts, TemplateOf, template};
use polis_core::board::text::{By, Current};
use polis_core::board::{BoardHead, BoardName};
use polis_core::{Agent, AgentId, AgentStatus, Caller, Code, Refusal, Registered};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{BoardState, Noticed, PortError};

/// A board's head and its text.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) head: BoardHead,
    pub(super) text: Arc<String>,
    pub(super) noticed: Option<Noticed>,
}

impl Loaded {
    pub(super) fn current(&self) -> Current<'_> {
        Current {
            head: &self.head,
            text: &self.text,
        }
    }
}

impl Polis {
    /// Resolves a caller and fails if the access matrix does not allow it the act on the board.
    pub(super) async fn board_caller(
        &self,
        caller: &AgentId,
        act: Act,
        board: &BoardName,
    ) -> Result<Caller, OpError> {
        let entry = self.entry(caller).await?;
        let caller = self.resolve(caller, entry.as_ref())?;
        let agents = self.known_agents(entry, act, board).await?;
        access::check(act, board, &caller, &agents, &self.settings.boards.access)?;
        Ok(caller)
    }

    /// Returns the agents that the access decision needs: only the caller, or all agents.
    pub(super) async fn known_agents(
        &self,
        entry: Option<Registered>,
        act: Act,
        board: &BoardName,
    ) -> Result<Vec<Agent>, OpError> {
        if access::needs_registry(act, board) {
            return Ok(self.store.agents().await?);
        }
        Ok(entry.into_iter().map(|found| found.agent).collect())
    }

    /// Returns the current head of a board; version 0 if it was never written.
    pub(super) async fn board_state(&self, board: &BoardName) -> Result<BoardState, OpError> {
        let found = self.store.board(board).await?;
        Ok(found.unwrap_or_else(|| BoardState {
            head: BoardHead::new(board.clone()),
            noticed: None,
        }))
    }

    /// Returns a board with its text, or with its template text if it was never written.
    pub(super) async fn load_board(&self, board: &BoardName) -> Result<Loaded, OpError> {
        let until = self.deadline();
        let mut before = None;
        loop {
            let BoardState { head, noticed } = self.board_state(board).await?;
            let text = match head.version {
                0 => Some(Arc::new(self.board_template(board).await?)),
                version => {
                    let found = self.store.board_text(board, version).await?;
                    found.map(|found| found.text)
                }
            };
            if let Some(text) = text {
                return Ok(Loaded {
                    head,
                    text,
                    noticed,
                });
            }
            // Between the two reads the board advanced so far that its log was truncated, so retry. If the version did
            // not change, rows are missing from the store.
            if before.replace(head.version) == Some(head.version) {
                return Err(PortError::new(
                    Code::StoreCorrupt,
                    format!("The log of board {board} is damaged."),
                    "restore the store from a backup; `polis doctor` checks it",
                )
                .into());
            }
            self.may_go_on(until)?;
        }
    }

    /// Returns the text of a version that a caller has read, or `None` if it can no longer be reconstructed.
    pub(super) async fn text_had(
        &self,
        board: &BoardName,
        version: u64,
    ) -> Result<Option<Arc<String>>, OpError> {
        if version == 0 {
            return Ok(Some(Arc::new(self.board_template(board).await?)));
        }
        let found = self.store.board_text(board, version).await?;
        Ok(found.map(|found| found.text))
    }

    /// Returns the text of a requested version. Fails with `VersionNotFound` if it can no longer be reconstructed.
    pub(super) async fn text_of(
        &self,
        board: &BoardName,
        version: u64,
    ) -> Result<Arc<String>, OpError> {
        let found = self.text_had(board, version).await?;
        found.ok_or_else(|| {
            Refusal::new(
                Code::VersionNotFound,
                format!("Board {board} has no version {version}, or not any more."),
                format!("see the versions there are with `polis board history {board}`"),
            )
            .into()
        })
    }

    async fn board_template(&self, board: &BoardName) -> Result<String, OpError> {
        let of = match board {
            BoardName::Global => TemplateOf::Global,
            BoardName::Top => TemplateOf::Top,
            BoardName::Mid(role) => TemplateOf::Mid {
                role: role.as_str(),
            },
            BoardName::Bottom(agent) => TemplateOf::Bottom {
                agent: agent.as_str(),
            },
            BoardName::Blackboard(_) => return Ok(String::new()),
        };
        let mut agents = self.store.agents().await?;
        agents.retain(|agent| agent.status == AgentStatus::Active);
        let settings = &self.settings.boards;
        let facts = TemplateFacts {
            language: settings.language,
            project: &settings.project,
            created: &self.store.began_at().await?,
            agents: &agents,
        };
        Ok(template(of, &facts))
    }

    /// Returns the author and time of a board change made now.
    pub(super) fn by<'a>(&self, caller: &'a Caller) -> By<'a> {
        By {
            caller,
            now: self.clock.now_millis(),
            keep: self.settings.boards.max_versions,
        }
    }
}
