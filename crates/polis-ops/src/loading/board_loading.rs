//! Helpers shared by the board operations: permission check, loading the current head and text, loading an
//! older version, and the template text of a board that was never written.

use std::sync::Arc;

use polis_core::board::access::{self, BoardAccess};
use polis_core::board::template::{TemplateBoard, TemplateValues, render_template};
use polis_core::board::write_rules::{BoardWriteContext, CurrentBoard};
use polis_core::board::{BoardHead, BoardName};
use polis_core::{Agent, AgentStatus, Caller, Refusal, RegisteredAgent};

use crate::app::App;
use crate::error::OpError;
use crate::port::{BoardFileChange, BoardState, PortError};
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// A board's head and its text.
#[derive(Debug, Clone)]
pub(crate) struct LoadedBoard {
    pub(crate) head: BoardHead,
    pub(crate) text: Arc<String>,
    pub(crate) file_change: Option<BoardFileChange>,
}

impl LoadedBoard {
    pub(crate) fn current(&self) -> CurrentBoard<'_> {
        CurrentBoard {
            head: &self.head,
            text: &self.text,
        }
    }
}

/// Resolves a caller. Fails with `PermissionDenied` if the access matrix does not allow `act` on the
/// board.
pub(crate) async fn check_board_access(
    request: &Request,
    act: BoardAccess,
    board: &BoardName,
) -> Result<Caller, OpError> {
    let caller = request.resolve_caller().await?;
    let entry = request.caller_entry().await?;
    let agents = agents_for_access_check(&request.app, entry, act, board).await?;
    access::check_access(
        act,
        board,
        &caller,
        &agents,
        &request.app.settings.boards.access_rules,
    )?;
    Ok(caller)
}

/// Returns the agents that the access decision needs: only the caller, or all agents.
pub(crate) async fn agents_for_access_check(
    app: &App,
    entry: Option<RegisteredAgent>,
    act: BoardAccess,
    board: &BoardName,
) -> Result<Vec<Agent>, OpError> {
    if access::needs_registry(act, board) {
        return Ok(app.store.agents().await?);
    }
    Ok(entry.into_iter().map(|found| found.agent).collect())
}

/// Returns the current head of a board; version 0 if it was never written.
pub(crate) async fn load_board_state(app: &App, board: &BoardName) -> Result<BoardState, OpError> {
    let found = app.store.board(board).await?;
    Ok(found.unwrap_or_else(|| BoardState {
        head: BoardHead::new(board.clone()),
        file_change: None,
    }))
}

/// Returns a board with its text, or with its template text if it was never written.
pub(crate) async fn load_board(app: &App, board: &BoardName) -> Result<LoadedBoard, OpError> {
    let until = app.retry_deadline();
    let mut previous_version = None;
    loop {
        let BoardState {
            head,
            file_change: noticed,
        } = load_board_state(app, board).await?;
        let text = match head.version {
            0 => Some(Arc::new(render_board_template(app, board).await?)),
            version => {
                let found = app.store.board_text(board, version).await?;
                found.map(|found| found.text)
            }
        };
        if let Some(text) = text {
            return Ok(LoadedBoard {
                head,
                text,
                file_change: noticed,
            });
        }
        // Between the two reads the board advanced so far that its log was truncated, so retry. If the
        // version did not change, rows are missing from the store.
        if previous_version.replace(head.version) == Some(head.version) {
            return Err(PortError::from(OperationRefusal::BoardLogDamaged {
                board: board.to_string(),
            })
            .into());
        }
        app.check_deadline(until)?;
    }
}

/// Returns the text of a version that a caller has read, or `None` if it can no longer be reconstructed.
pub(crate) async fn find_version_text(
    app: &App,
    board: &BoardName,
    version: u64,
) -> Result<Option<Arc<String>>, OpError> {
    if version == 0 {
        return Ok(Some(Arc::new(render_board_template(app, board).await?)));
    }
    let found = app.store.board_text(board, version).await?;
    Ok(found.map(|found| found.text))
}

/// Returns the text of a requested version. Fails with `VersionNotFound` if it can no longer be
/// reconstructed.
pub(crate) async fn load_version_text(
    app: &App,
    board: &BoardName,
    version: u64,
) -> Result<Arc<String>, OpError> {
    let found = find_version_text(app, board, version).await?;
    found.ok_or_else(|| {
        Refusal::from(OperationRefusal::BoardVersionNotFound {
            board: board.to_string(),
            version,
        })
        .into()
    })
}

async fn render_board_template(app: &App, board: &BoardName) -> Result<String, OpError> {
    let template = match board {
        BoardName::Global => TemplateBoard::Global,
        BoardName::Top => TemplateBoard::Top,
        BoardName::Mid(role) => TemplateBoard::Mid {
            role: role.as_str(),
        },
        BoardName::Bottom(agent) => TemplateBoard::Bottom {
            agent: agent.as_str(),
        },
        BoardName::Blackboard(_) => return Ok(String::new()),
    };
    let mut agents = app.store.agents().await?;
    agents.retain(|agent| agent.status == AgentStatus::Active);
    let settings = &app.settings.boards;
    let facts = TemplateValues {
        language: settings.language,
        project: &settings.project,
        created: &app.store.store_created_at().await?,
        agents: &agents,
    };
    Ok(render_template(template, &facts))
}

/// Returns the context of a board change that this caller makes now.
pub(crate) fn change_author<'a>(app: &App, caller: &'a Caller) -> BoardWriteContext<'a> {
    BoardWriteContext {
        caller,
        now: app.clock.now_millis(),
        max_versions: app.settings.boards.max_versions,
    }
}
