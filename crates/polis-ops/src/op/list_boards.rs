//! Operations that list the boards visible to a caller, and explain its access rights to one board.

use std::collections::BTreeSet;

use polis_core::board::access::{self, Act, Verdict};
use polis_core::board::{BoardHead, BoardName};
use polis_core::id::quoted;
use polis_core::{Agent, AgentId, AgentStatus, Code, Layer, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_history::OfBoard;
use super::pagination::page;
use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of listing boards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListBoards {
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The boards a caller may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardList {
    /// The boards, whiteboards first.
    pub boards: Vec<BoardEntry>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A board in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardEntry {
    /// Its name.
    pub board: String,
    /// Its version; 0 while nobody has written to it.
    pub version: u64,
    /// The size of its text.
    pub bytes: u64,
    /// Who changed it last.
    pub last_modified_by: Option<String>,
    /// When.
    pub last_modified_at: Option<Timestamp>,
    /// Who has it locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
}

/// What a caller may do to a board, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardRights {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The caller.
    pub agent: AgentId,
    /// Its layer, if it is registered.
    pub layer: Option<Layer>,
    /// Its role.
    pub role: String,
    /// Whether it reads the board.
    pub read: Verdict,
    /// Whether it writes the board.
    pub write: Verdict,
    /// Whether it appends to the board.
    pub append: Verdict,
}

/// Returns the board that an active agent may start: its role's board, its own board, or none.
fn of_agent(agent: &Agent) -> Option<BoardName> {
    if agent.status != AgentStatus::Active {
        return None;
    }
    match agent.layer {
        Layer::Top => None,
        Layer::Mid => agent.role.parse().ok().map(BoardName::Mid),
        Layer::Bottom => Some(BoardName::Bottom(agent.id.clone())),
    }
}

/// Lists the boards that the caller may read: those that exist, and those that registered agents may start.
pub async fn list_boards(
    polis: &Polis,
    caller: &AgentId,
    params: &ListBoards,
) -> Result<BoardList, OpError> {
    let caller = polis.caller(caller).await?;
    let agents = polis.store.agents().await?;
    let mut heads = polis.store.boards().await?;
    let begun: BTreeSet<BoardName> = heads.iter().map(|head| head.name.clone()).collect();
    let of_agents = agents.iter().filter_map(of_agent);
    let there: BTreeSet<BoardName> = [BoardName::Global, BoardName::Top]
        .into_iter()
        .chain(of_agents)
        .collect();
    heads.extend(there.difference(&begun).cloned().map(BoardHead::new));
    let rules = &polis.settings.boards.access;
    heads.retain(|head| access::judge(Act::Read, &head.name, &caller, &agents, rules).allowed);
    heads.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(after) = &params.cursor {
        let after = BoardName::from_stored(after).ok_or_else(|| {
            Refusal::new(
                Code::InvalidInput,
                format!("{} is no cursor.", quoted(after)),
                "give the `next` of the page before, or none",
            )
        })?;
        heads.retain(|head| head.name > after);
    }
    let next = page(&mut heads, params.limit).map(|last| last.name.to_string());
    let now = polis.clock.now_millis();
    let boards = heads
        .into_iter()
        .map(|head| {
            let written = head.version > 0;
            BoardEntry {
                board: head.name.to_string(),
                version: head.version,
                bytes: head.bytes,
                locked_by: head.lease_at(now).map(|lease| lease.holder.to_string()),
                last_modified_at: written.then_some(head.at),
                last_modified_by: written.then_some(head.by),
            }
        })
        .collect();
    Ok(BoardList { boards, next })
}

/// Explains what the caller may do to a board.
pub async fn board_rights(
    polis: &Polis,
    caller: &AgentId,
    params: &OfBoard,
) -> Result<BoardRights, OpError> {
    let entry = polis.entry(caller).await?;
    let who = polis.resolve(caller, entry.as_ref())?;
    let layer = entry.as_ref().map(|found| found.agent.layer);
    let agents = polis.known_agents(entry, Act::Read, &params.board).await?;
    let rules = &polis.settings.boards.access;
    let judge = |act| access::judge(act, &params.board, &who, &agents, rules);
    Ok(BoardRights {
        board: params.board.clone(),
        agent: caller.clone(),
        layer,
        read: judge(Act::Read),
        write: judge(Act::Write),
        append: judge(Act::Append),
        role: who.role,
    })
}
