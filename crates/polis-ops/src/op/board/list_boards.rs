//! Operations that list the boards visible to a caller, and explain its access rights to one board.

use std::collections::BTreeSet;

use polis_core::board::access::{self, AccessVerdict, BoardAccess};
use polis_core::board::{BoardHead, BoardName};
use polis_core::id::quote_untrusted;
use polis_core::refusal::Reason;
use polis_core::{Agent, AgentId, AgentLayer, AgentStatus, Refusal, Timestamp};
use polis_i18n::{Surface, UiLanguage, render_reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::OpError;
use crate::loading::board_loading::agents_for_access_check;
use crate::op::board::board_history::BoardNameParams;
use crate::pagination::truncate_page;
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Parameters of `whiteboard_list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListBoardsParams {
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The boards that a caller may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardList {
    /// The boards, whiteboards first.
    pub boards: Vec<BoardEntry>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A board in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardEntry {
    /// Its name.
    pub board: String,
    /// Its version; 0 if it was never written.
    pub version: u64,
    /// Size of its text in bytes.
    pub bytes: u64,
    /// Agent that changed it last.
    pub last_modified_by: Option<String>,
    /// When it was last changed.
    pub last_modified_at: Option<Timestamp>,
    /// Agent that holds its lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
}

/// Access rights of a caller to a board, with reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardRights {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The caller.
    pub agent: AgentId,
    /// Its layer, if it is registered.
    pub layer: Option<AgentLayer>,
    /// Its role.
    pub role: String,
    /// Whether it may read the board.
    pub read: BoardRight,
    /// Whether it may write the board.
    pub write: BoardRight,
    /// Whether it may append to the board.
    pub append: BoardRight,
}

/// Whether one kind of access is allowed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardRight {
    /// Whether the access is allowed.
    pub allowed: bool,
    /// The reason, in a sentence; in English for programs.
    #[serde(rename = "why", serialize_with = "serialize_in_english")]
    #[schemars(with = "String")]
    pub reason: Reason,
}

impl From<AccessVerdict> for BoardRight {
    fn from(verdict: AccessVerdict) -> Self {
        Self {
            allowed: verdict.allowed,
            reason: verdict.reason.into(),
        }
    }
}

impl BoardRight {
    /// Returns the reason as a sentence for a surface.
    pub fn render_reason(&self, surface: Surface, lang: UiLanguage) -> String {
        render_reason(&self.reason, surface, lang).message
    }
}

fn serialize_in_english<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    let text = render_reason(reason, Surface::Tool, UiLanguage::En).message;
    serializer.serialize_str(&text)
}

/// Returns the board that an active agent may start: its role's board, its own board, or none.
fn startable_board(agent: &Agent) -> Option<BoardName> {
    if agent.status != AgentStatus::Active {
        return None;
    }
    match agent.layer {
        AgentLayer::Top => None,
        AgentLayer::Mid => agent.role.parse().ok().map(BoardName::Mid),
        AgentLayer::Bottom => Some(BoardName::Bottom(agent.id.clone())),
    }
}

/// Lists the boards that the caller may read: those that exist, and those that registered agents may start.
/// Fails with `permission_denied` if the caller may not act, and with `invalid_input` if the cursor is not
/// a board's name.
pub async fn list_boards(
    request: &Request,
    params: &ListBoardsParams,
) -> Result<BoardList, OpError> {
    let caller = request.resolve_caller().await?;
    let agents = request.app.store.agents().await?;
    let mut heads = request.app.store.boards().await?;
    let existing: BTreeSet<BoardName> = heads.iter().map(|head| head.name.clone()).collect();
    let of_agents = agents.iter().filter_map(startable_board);
    let startable: BTreeSet<BoardName> = [BoardName::Global, BoardName::Top]
        .into_iter()
        .chain(of_agents)
        .collect();
    heads.extend(startable.difference(&existing).cloned().map(BoardHead::new));
    let rules = &request.app.settings.boards.access_rules;
    heads.retain(|head| {
        access::judge_access(BoardAccess::Read, &head.name, &caller, &agents, rules).allowed
    });
    heads.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(after) = &params.cursor {
        let after = BoardName::from_stored(after).ok_or_else(|| {
            Refusal::from(OperationRefusal::InvalidBoardCursor {
                cursor: quote_untrusted(after),
            })
        })?;
        heads.retain(|head| head.name > after);
    }
    let next = truncate_page(&mut heads, params.limit).map(|last| last.name.to_string());
    let now = request.app.clock.now_millis();
    let boards = heads
        .into_iter()
        .map(|head| {
            let is_written = head.version > 0;
            BoardEntry {
                board: head.name.to_string(),
                version: head.version,
                bytes: head.bytes,
                locked_by: head.active_lease(now).map(|lease| lease.holder.to_string()),
                last_modified_at: is_written.then_some(head.modified_at),
                last_modified_by: is_written.then_some(head.modified_by),
            }
        })
        .collect();
    Ok(BoardList { boards, next })
}

/// Explains what the caller may do to a board. Fails with `permission_denied` if the caller may not act.
pub async fn explain_board_rights(
    request: &Request,
    params: &BoardNameParams,
) -> Result<BoardRights, OpError> {
    let caller = request.resolve_caller().await?;
    let entry = request.caller_entry().await?;
    let layer = entry.as_ref().map(|found| found.agent.layer);
    let agents =
        agents_for_access_check(&request.app, entry, BoardAccess::Read, &params.board).await?;
    let rules = &request.app.settings.boards.access_rules;
    let access_to = |act| {
        let verdict = access::judge_access(act, &params.board, &caller, &agents, rules);
        BoardRight::from(verdict)
    };
    Ok(BoardRights {
        board: params.board.clone(),
        agent: caller.id.clone(),
        layer,
        read: access_to(BoardAccess::Read),
        write: access_to(BoardAccess::Write),
        append: access_to(BoardAccess::Append),
        role: caller.role.clone(),
    })
}
