//! Operations on decisions and milestones: reading them from a board's text, proposing, signing, vetoing and
//! appealing decisions, and adding or completing milestones. Every change is written to the board's text and
//! to the event log.

use polis_core::board::access::BoardAccess;
use polis_core::board::decision::{
    self as rules, BoardDecision, DecisionKind, DecisionStatus, Voter as Signer,
};
use polis_core::board::milestone::{self, Milestone};
use polis_core::board::{BoardName, TextSplice, write_rules};
use polis_core::event::{
    DecisionChangedEvent, EventPayload, EventSubject, MilestoneChangedEvent, NewEvent,
};
use polis_core::{AgentLayer, AgentStatus, Caller, CallerKind, Changeset, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::LoadedBoard;
use crate::loading::board_loading::change_author;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::load_board;
use crate::op::board::board_history::BoardNameParams;
use crate::port::Receipt;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// The decisions on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardDecisionList {
    /// The decisions, in the board's order.
    pub decisions: Vec<BoardDecision>,
}

/// The milestones on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardMilestoneList {
    /// The milestones, in the board's order.
    pub milestones: Vec<Milestone>,
}

/// An action on a decision, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionAction {
    /// Propose a new decision.
    Propose {
        /// The text of the decision.
        content: String,
        /// The milestone that it declares reached, by title; such a decision needs more signatures.
        milestone: Option<String>,
    },
    /// Sign a decision.
    Sign {
        /// Id of the decision.
        id: String,
    },
    /// Veto a decision.
    Veto {
        /// Id of the decision.
        id: String,
        /// Reason of the veto; may be empty.
        reason: String,
    },
    /// Request a second vote on a rejected decision.
    Appeal {
        /// Id of the decision.
        id: String,
    },
}

/// Parameters of [`change_decision`]: an action and its board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionChange {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// What to do with a decision.
    pub action: DecisionAction,
}

/// An action on a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionActionKind {
    /// Propose a new decision.
    Propose,
    /// Sign a decision.
    Sign,
    /// Veto a decision.
    Veto,
    /// Request a second vote on a rejected decision.
    Appeal,
}

/// Parameters of `whiteboard_decide`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDecideParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The action.
    pub act: DecisionActionKind,
    /// Decision id; required to sign, veto or appeal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Text of the proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Title of the milestone that the proposal declares reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// Reason for a veto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl TryFrom<BoardDecideParams> for DecisionChange {
    type Error = Refusal;

    fn try_from(params: BoardDecideParams) -> Result<Self, Refusal> {
        let missing = |field: &str| {
            Refusal::from(OperationRefusal::DecisionFieldMissing {
                field: field.to_owned(),
            })
        };
        let inapplicable = |field: &str| {
            Refusal::from(OperationRefusal::DecisionFieldInapplicable {
                field: field.to_owned(),
            })
        };
        let proposes = params.act == DecisionActionKind::Propose;
        let unused = [
            ("id", params.id.is_some() && proposes),
            ("content", params.content.is_some() && !proposes),
            ("milestone", params.milestone.is_some() && !proposes),
            (
                "reason",
                params.reason.is_some() && params.act != DecisionActionKind::Veto,
            ),
        ];
        if let Some((field, _)) = unused.iter().find(|(_, is_unused)| *is_unused) {
            return Err(inapplicable(field));
        }
        let id = || {
            let id = params.id.clone();
            id.ok_or_else(|| missing("id"))
        };
        let act = match params.act {
            DecisionActionKind::Propose => DecisionAction::Propose {
                content: params.content.clone().ok_or_else(|| missing("content"))?,
                milestone: params.milestone.clone(),
            },
            DecisionActionKind::Sign => DecisionAction::Sign { id: id()? },
            DecisionActionKind::Veto => DecisionAction::Veto {
                id: id()?,
                reason: params.reason.clone().unwrap_or_default(),
            },
            DecisionActionKind::Appeal => DecisionAction::Appeal { id: id()? },
        };
        Ok(Self {
            board: params.board,
            action: act,
        })
    }
}

/// A decision on its board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionView {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The board's new version.
    pub version: u64,
    /// The decision.
    #[serde(flatten)]
    pub decision: BoardDecision,
}

/// Parameters of `whiteboard_milestone`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilestoneChangeParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Title of the milestone.
    pub title: String,
    /// Description of a new milestone; omit to mark an existing one as reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
}

/// A milestone on its board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MilestoneView {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The board's new version.
    pub version: u64,
    /// The milestone.
    #[serde(flatten)]
    pub milestone: Milestone,
}

/// Returns the decisions on a board. Fails with `permission_denied` if the caller may not read the board.
pub async fn list_decisions(
    request: &Request,
    params: &BoardNameParams,
) -> Result<BoardDecisionList, OpError> {
    let loaded = load_readable_board(request, &params.board).await?;
    Ok(BoardDecisionList {
        decisions: rules::parse_decisions(&loaded.text),
    })
}

/// Returns the milestones on a board. Fails with `permission_denied` if the caller may not read the board.
pub async fn list_milestones(
    request: &Request,
    params: &BoardNameParams,
) -> Result<BoardMilestoneList, OpError> {
    let loaded = load_readable_board(request, &params.board).await?;
    Ok(BoardMilestoneList {
        milestones: milestone::parse_milestones(&loaded.text),
    })
}

async fn load_readable_board(request: &Request, board: &BoardName) -> Result<LoadedBoard, OpError> {
    check_board_access(request, BoardAccess::Read, board).await?;
    load_board(&request.app, board).await
}

/// Proposes, signs, vetoes or appeals a decision, and returns it with the board's new version.
///
/// Proposing requires append permission on the board. The other actions require only read permission: the
/// list of signers decides, regardless of write permission. Fails with `permission_denied` without that
/// permission, with `decision_not_found` if the board has no such decision, with `not_a_signer` or
/// `decision_closed` if the caller may not vote on it, with `invalid_text` or `invalid_subject` if a text is
/// invalid, and with `board_locked` while another agent holds the lock of the board.
pub async fn change_decision(
    request: &Request,
    params: &DecisionChange,
) -> Result<DecisionView, OpError> {
    let board = &params.board;
    let act = match params.action {
        DecisionAction::Propose { .. } => BoardAccess::Append,
        _ => BoardAccess::Read,
    };
    let caller = &check_board_access(request, act, board).await?;
    let attempt = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let signers = load_signers(&request.app).await?;
            let loaded = load_board(&request.app, board).await?;
            let (decision, splice) =
                apply_decision_action(&request.app, &loaded, caller, &signers, &params.action)?;
            let context = change_author(&request.app, caller);
            let changes = write_rules::decide_splice_text(loaded.current(), splice, context)?;
            let changes = with_decision_event(changes, board, &params.action, &decision);
            Ok(((decision, loaded.head.version), changes))
        })
    };
    let board = board.clone();
    let view = move |(decision, previous_version), receipt: &Receipt| DecisionView {
        board: board.clone(),
        version: receipt.board.unwrap_or(previous_version),
        decision,
    };
    request.retry_on_conflict(attempt, view).await
}

/// Returns whether the caller's signature counts, on any board that it may read. Fails with
/// `permission_denied` if the caller may not act.
pub async fn may_sign(request: &Request) -> Result<bool, OpError> {
    if request.resolve_caller().await?.kind == CallerKind::Person {
        return Ok(true);
    }
    let signers = load_signers(&request.app).await?;
    Ok(signers.iter().any(|name| name == request.agent().as_str()))
}

/// Returns the configured signers, or the active top-layer agents if none are configured.
async fn load_signers(app: &App) -> Result<Vec<String>, OpError> {
    let configured = &app.settings.boards.signers;
    if !configured.is_empty() {
        return Ok(configured.clone());
    }
    let agents = app.store.agents().await?;
    Ok(agents
        .into_iter()
        .filter(|agent| agent.layer == AgentLayer::Top && agent.status == AgentStatus::Active)
        .map(|agent| agent.id.to_string())
        .collect())
}

/// Returns the decision after an action, and the splice that writes it to the board. An approved milestone is
/// marked done in the same splice.
fn apply_decision_action(
    app: &App,
    loaded: &LoadedBoard,
    caller: &Caller,
    signers: &[String],
    act: &DecisionAction,
) -> Result<(BoardDecision, TextSplice), OpError> {
    let signer = match caller.kind {
        CallerKind::Person => Signer::Person,
        CallerKind::Registered | CallerKind::Unregistered => Signer::Agent(caller.id.as_str()),
    };
    let electorate = rules::Electorate {
        signers,
        quorum: app.settings.boards.quorum,
    };
    let board = &loaded.text;
    let decision = match act {
        DecisionAction::Propose { content, milestone } => {
            let proposal = rules::DecisionProposal {
                content,
                kind: match milestone {
                    Some(_) => DecisionKind::Milestone,
                    None => DecisionKind::Decision,
                },
                milestone: milestone.as_deref(),
            };
            let now = Timestamp::from_millis(app.clock.now_millis());
            let decision =
                rules::propose_decision(&proposal, rules::next_decision_id(board), signer, &now)?;
            let language = app.settings.boards.language;
            let splice = rules::insert_decision(board, &decision, language);
            return Ok((decision, splice));
        }
        DecisionAction::Sign { id } => {
            rules::sign_decision(&rules::find_decision(board, id)?, signer, &electorate)?
        }
        DecisionAction::Veto { id, reason } => rules::veto_decision(
            &rules::find_decision(board, id)?,
            signer,
            &electorate,
            reason,
        )?,
        DecisionAction::Appeal { id } => {
            rules::appeal_decision(&rules::find_decision(board, id)?, signer, &electorate)?
        }
    };
    let splice = rules::replace_decision(board, &decision)?;
    let completed_milestone = decision
        .milestone
        .as_deref()
        .filter(|_| decision.status == DecisionStatus::Approved);
    let Some(title) = completed_milestone else {
        return Ok((decision, splice));
    };
    let signed_text = splice.apply(board);
    // A missing milestone does not make the decision fail.
    let completed_text = milestone::complete_milestone(&signed_text, title)
        .map(|completion| completion.apply(&signed_text));
    let splice = completed_text.map_or(splice, |completed_text| {
        TextSplice::from_change(0, board, &completed_text)
    });
    Ok((decision, splice))
}

/// Adds the decision's event to the changes, in addition to the board's own event.
fn with_decision_event(
    mut changes: Changeset,
    board: &BoardName,
    act: &DecisionAction,
    decision: &BoardDecision,
) -> Changeset {
    if changes.is_empty() {
        return changes;
    }
    let data = DecisionChangedEvent {
        decision: decision.id.clone(),
        status: decision.status,
    };
    let payload = match act {
        DecisionAction::Propose { .. } => EventPayload::DecisionProposed(data),
        DecisionAction::Sign { .. } => EventPayload::DecisionSigned(data),
        DecisionAction::Veto { .. } => EventPayload::DecisionVetoed(data),
        DecisionAction::Appeal { .. } => EventPayload::DecisionAppealed(data),
    };
    let subject = EventSubject::Board(board.clone());
    changes.events.push(NewEvent::new(subject, payload));
    changes
}

/// Adds a milestone, or marks one as done. Requires write permission on the board. Fails with
/// `permission_denied` without it, with `milestone_exists` or `milestone_not_found` if the title is taken or
/// unknown, with `invalid_subject` if a text is invalid, and with `board_locked` while another agent holds
/// the lock of the board.
pub async fn change_milestone(
    request: &Request,
    params: &MilestoneChangeParams,
) -> Result<MilestoneView, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Write, board).await?;
    let attempt = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let loaded = load_board(&request.app, board).await?;
            let data = MilestoneChangedEvent {};
            let (splice, payload) = match &params.add {
                Some(description) => {
                    let language = request.app.settings.boards.language;
                    let splice = milestone::add_milestone(
                        &loaded.text,
                        &params.title,
                        description,
                        language,
                    )?;
                    (splice, EventPayload::MilestoneAdded(data))
                }
                None => (
                    milestone::complete_milestone(&loaded.text, &params.title)?,
                    EventPayload::MilestoneDone(data),
                ),
            };
            let milestones = milestone::parse_milestones(&splice.apply(&loaded.text));
            let context = change_author(&request.app, caller);
            let mut changes = write_rules::decide_splice_text(loaded.current(), splice, context)?;
            if !changes.is_empty() {
                let subject = EventSubject::Board(board.clone());
                changes.events.push(NewEvent::new(subject, payload));
            }
            Ok(((milestones, loaded.head.version), changes))
        })
    };
    let (board, params) = (board.clone(), params.clone());
    let view = move |(milestones, previous_version): (Vec<Milestone>, u64), receipt: &Receipt| {
        let title = params.title.trim();
        let found = milestones.into_iter().find(|m| m.title == title);
        let milestone = found.unwrap_or_else(|| Milestone {
            title: title.to_owned(),
            description: params.add.clone().unwrap_or_default(),
            done: params.add.is_none(),
        });
        MilestoneView {
            board: board.clone(),
            version: receipt.board.unwrap_or(previous_version),
            milestone,
        }
    };
    request.retry_on_conflict(attempt, view).await
}
