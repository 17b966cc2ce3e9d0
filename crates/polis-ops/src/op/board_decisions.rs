//! Operations on decisions and milestones: reading them from a board's text, proposing, signing, vetoing and appealing
//! decisions, and adding or completing milestones. Every change is written to the board's text and to the event log.

use polis_core::board::access::Act;
use polis_core::board::decision::{
    self as rules, By as Signer, Decision, DecisionKind, DecisionStatus,
};
use polis_core::board::milestone::{self, Milestone};
use polis_core::board::{BoardName, Splice, text};
use polis_core::event::{NewEvent, Subject, kind};
use polis_core::{
    AgentId, AgentStatus, Caller, Changeset, Code, Layer, Refusal, Standing, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_history::OfBoard;
use super::board_loading::Loaded;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// The decisions on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decisions {
    /// In the board's order.
    pub decisions: Vec<Decision>,
}

/// The milestones on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Milestones {
    /// In the board's order.
    pub milestones: Vec<Milestone>,
}

/// An act on a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionAct {
    /// Propose a new decision.
    Propose {
        /// The text of the decision.
        content: String,
        /// The milestone that it declares reached, by title; such a decision needs more signatures.
        milestone: Option<String>,
    },
    /// Sign a decision.
    Sign {
        /// Its id.
        id: String,
    },
    /// Veto a decision.
    Veto {
        /// Its id.
        id: String,
        /// The reason.
        reason: String,
    },
    /// Request a second vote on a rejected decision.
    Appeal {
        /// Its id.
        id: String,
    },
}

/// Parameters of [`decide`]: an act and its board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decide {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The act.
    pub act: DecisionAct,
}

/// What can be done about a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionVerb {
    /// Propose a new one.
    Propose,
    /// Sign it.
    Sign,
    /// Veto it.
    Veto,
    /// Ask for a second vote on a rejected one.
    Appeal,
}

/// The parameters of a decision's operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// What to do.
    pub act: DecisionVerb,
    /// Which one, to sign, veto or appeal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What to propose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The milestone that a proposal declares reached, by its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// Why it is vetoed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl TryFrom<DecisionRequest> for Decide {
    type Error = Refusal;

    fn try_from(asked: DecisionRequest) -> Result<Self, Refusal> {
        let missing = |field: &str, why: &str| {
            Refusal::new(
                Code::InvalidInput,
                format!("`{field}` is missing."),
                format!("give `{field}`: {why}"),
            )
        };
        let strange = |field: &str| {
            Refusal::new(
                Code::InvalidInput,
                format!("`{field}` has no meaning for this act."),
                "propose takes content and milestone, the others id, and veto a reason",
            )
        };
        let proposes = asked.act == DecisionVerb::Propose;
        let unused = [
            ("id", asked.id.is_some() && proposes),
            ("content", asked.content.is_some() && !proposes),
            ("milestone", asked.milestone.is_some() && !proposes),
            (
                "reason",
                asked.reason.is_some() && asked.act != DecisionVerb::Veto,
            ),
        ];
        if let Some((field, _)) = unused.iter().find(|(_, given)| *given) {
            return Err(strange(field));
        }
        let id = || {
            let id = asked.id.clone();
            id.ok_or_else(|| missing("id", "the decision's number, such as 3"))
        };
        let act = match asked.act {
            DecisionVerb::Propose => DecisionAct::Propose {
                content: asked
                    .content
                    .clone()
                    .ok_or_else(|| missing("content", "what is to be decided"))?,
                milestone: asked.milestone.clone(),
            },
            DecisionVerb::Sign => DecisionAct::Sign { id: id()? },
            DecisionVerb::Veto => DecisionAct::Veto {
                id: id()?,
                reason: asked.reason.clone().unwrap_or_default(),
            },
            DecisionVerb::Appeal => DecisionAct::Appeal { id: id()? },
        };
        Ok(Self {
            board: asked.board,
            act,
        })
    }
}

/// A decision on its board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionView {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The board's version now.
    pub version: u64,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
}

/// The parameters of a milestone's operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilestoneChange {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its title.
    pub title: String,
    /// What it is, to add it; left out to tick it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
}

/// A milestone on its board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MilestoneView {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The board's version now.
    pub version: u64,
    /// The milestone.
    #[serde(flatten)]
    pub milestone: Milestone,
}

/// Returns the decisions on a board.
pub async fn board_decisions(
    polis: &Polis,
    caller: &AgentId,
    params: &OfBoard,
) -> Result<Decisions, OpError> {
    let loaded = readable(polis, caller, &params.board).await?;
    Ok(Decisions {
        decisions: rules::decisions(&loaded.text),
    })
}

/// Returns the milestones on a board.
pub async fn board_milestones(
    polis: &Polis,
    caller: &AgentId,
    params: &OfBoard,
) -> Result<Milestones, OpError> {
    let loaded = readable(polis, caller, &params.board).await?;
    Ok(Milestones {
        milestones: milestone::milestones(&loaded.text),
    })
}

async fn readable(polis: &Polis, caller: &AgentId, board: &BoardName) -> Result<Loaded, OpError> {
    polis.board_caller(caller, Act::Read, board).await?;
    polis.load_board(board).await
}

/// Proposes, signs, vetoes or appeals a decision.
///
/// Proposing requires append permission on the board. Signing requires only read permission: the list of signers
/// decides, regardless of write permission.
pub async fn decide(
    polis: &Polis,
    caller: &AgentId,
    params: &Decide,
) -> Result<DecisionView, OpError> {
    let board = &params.board;
    let act = match params.act {
        DecisionAct::Propose { .. } => Act::Append,
        _ => Act::Read,
    };
    let caller = &polis.board_caller(caller, act, board).await?;
    let attempt = || -> Attempt<'_, _> {
        Box::pin(async move {
            let signers = signers(polis).await?;
            let loaded = polis.load_board(board).await?;
            let (decision, splice) = apply(polis, &loaded, caller, &signers, &params.act)?;
            let by = polis.by(caller);
            let changes = text::decide_splice(loaded.current(), splice, by)?;
            let changes = told(changes, board, &params.act, &decision);
            Ok(((decision, loaded.head.version), changes))
        })
    };
    let board = board.clone();
    let view = move |(decision, before), receipt: &Receipt| DecisionView {
        board: board.clone(),
        version: receipt.board.unwrap_or(before),
        decision,
    };
    polis.settle(attempt, view).await
}

/// Returns whether the caller's signature counts, on any board that it may read.
pub async fn may_sign(polis: &Polis, caller: &AgentId) -> Result<bool, OpError> {
    if polis.caller(caller).await?.standing == Standing::Human {
        return Ok(true);
    }
    let signers = signers(polis).await?;
    Ok(signers.iter().any(|name| name == caller.as_str()))
}

/// Returns the configured signers, or the active top-layer agents if none are configured.
async fn signers(polis: &Polis) -> Result<Vec<String>, OpError> {
    let named = &polis.settings.boards.signers;
    if !named.is_empty() {
        return Ok(named.clone());
    }
    let agents = polis.store.agents().await?;
    Ok(agents
        .into_iter()
        .filter(|agent| agent.layer == Layer::Top && agent.status == AgentStatus::Active)
        .map(|agent| agent.id.to_string())
        .collect())
}

/// Returns the decision after an act, and the splice that writes it to the board. An approved milestone is marked done
/// in the same splice.
fn apply(
    polis: &Polis,
    loaded: &Loaded,
    caller: &Caller,
    signers: &[String],
    act: &DecisionAct,
) -> Result<(Decision, Splice), OpError> {
    let by = match caller.standing {
        Standing::Human => Signer::Person,
        Standing::Registered | Standing::Unregistered => Signer::Agent(caller.id.as_str()),
    };
    let electorate = rules::Electorate {
        signers,
        quorum: polis.settings.boards.quorum,
    };
    let board = &loaded.text;
    let decision = match act {
        DecisionAct::Propose { content, milestone } => {
            let proposal = rules::Proposal {
                content,
                kind: match milestone {
                    Some(_) => DecisionKind::Milestone,
                    None => DecisionKind::Decision,
                },
                milestone: milestone.as_deref(),
            };
            let now = Timestamp::from_millis(polis.clock.now_millis());
            let decision = rules::propose(&proposal, rules::next_id(board), by, &now)?;
            let language = polis.settings.boards.language;
            let splice = rules::insert_decision(board, &decision, language);
            return Ok((decision, splice));
        }
        DecisionAct::Sign { id } => {
            rules::sign(&rules::find_decision(board, id)?, by, &electorate)?
        }
        DecisionAct::Veto { id, reason } => {
            rules::veto(&rules::find_decision(board, id)?, by, &electorate, reason)?
        }
        DecisionAct::Appeal { id } => {
            rules::appeal(&rules::find_decision(board, id)?, by, &electorate)?
        }
    };
    let splice = rules::replace_decision(board, &decision)?;
    let reached = decision
        .milestone
        .as_deref()
        .filter(|_| decision.status == DecisionStatus::Approved);
    let Some(title) = reached else {
        return Ok((decision, splice));
    };
    let signed = splice.apply(board);
    // A missing milestone does not make the decision fail.
    let ticked = milestone::set_done(&signed, title).map(|done| done.apply(&signed));
    let splice = ticked.map_or(splice, |ticked| Splice::between(0, board, &ticked));
    Ok((decision, splice))
}

/// Adds the decision's event to the changes, in addition to the board's own event.
fn told(
    mut changes: Changeset,
    board: &BoardName,
    act: &DecisionAct,
    decision: &Decision,
) -> Changeset {
    #[derive(Serialize)]
    struct Told<'a> {
        decision: &'a str,
        status: DecisionStatus,
    }
    if changes.is_empty() {
        return changes;
    }
    let kind = match act {
        DecisionAct::Propose { .. } => kind::DECISION_PROPOSED,
        DecisionAct::Sign { .. } => kind::DECISION_SIGNED,
        DecisionAct::Veto { .. } => kind::DECISION_VETOED,
        DecisionAct::Appeal { .. } => kind::DECISION_APPEALED,
    };
    let told = Told {
        decision: &decision.id,
        status: decision.status,
    };
    changes
        .events
        .push(NewEvent::of(kind, Subject::Board(board.clone()), &told));
    changes
}

/// Adds a milestone, or marks one as done.
pub async fn change_milestone(
    polis: &Polis,
    caller: &AgentId,
    params: &MilestoneChange,
) -> Result<MilestoneView, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Write, board).await?;
    let attempt = || -> Attempt<'_, _> {
        Box::pin(async move {
            let loaded = polis.load_board(board).await?;
            let (splice, kind) = match &params.add {
                Some(description) => {
                    let language = polis.settings.boards.language;
                    let splice =
                        milestone::add(&loaded.text, &params.title, description, language)?;
                    (splice, kind::MILESTONE_ADDED)
                }
                None => (
                    milestone::set_done(&loaded.text, &params.title)?,
                    kind::MILESTONE_DONE,
                ),
            };
            let after = milestone::milestones(&splice.apply(&loaded.text));
            let by = polis.by(caller);
            let mut changes = text::decide_splice(loaded.current(), splice, by)?;
            if !changes.is_empty() {
                let subject = Subject::Board(board.clone());
                changes
                    .events
                    .push(NewEvent::of(kind, subject, &serde_json::json!({})));
            }
            Ok(((after, loaded.head.version), changes))
        })
    };
    let (board, params) = (board.clone(), params.clone());
    let view = move |(after, before): (Vec<Milestone>, u64), receipt: &Receipt| {
        let title = params.title.trim();
        let found = after.into_iter().find(|m| m.title == title);
        let milestone = found.unwrap_or_else(|| Milestone {
            title: title.to_owned(),
            description: params.add.clone().unwrap_or_default(),
            done: params.add.is_none(),
        });
        MilestoneView {
            board: board.clone(),
            version: receipt.board.unwrap_or(before),
            milestone,
        }
    };
    polis.settle(attempt, view).await
}
