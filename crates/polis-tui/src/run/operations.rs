//! Executes actions by calling the operations.

use polis_core::message::{Recipients, SendMessage};
use polis_core::society::dismiss::TerminateAgent;
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, Code, Raw, Refusal, RunId};
use polis_ops::op::{self, DecisionAct};
use polis_ops::{OpError, PortError};

use super::{Screen, save};
use crate::app::{Act, Message, Refused};

/// Executes an action and returns the resulting message.
pub async fn carry_out(screen: &Screen, act: Act) -> Message {
    match act {
        Act::Save(draft) => save::save(screen, draft).await,
        act => {
            let answer = deed(screen, &act).await;
            Message::Done(
                act,
                answer.map_err(|error| Refused::of(&error, screen.lang)),
            )
        }
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

async fn deed(screen: &Screen, act: &Act) -> Result<Option<String>, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    match act {
        Act::Claim { task, version } => {
            let claim = TaskClaim {
                task_id: Some(*task),
                expected_version: Some(*version),
                ..TaskClaim::default()
            };
            op::claim_task(polis, me, &claim).await.map(|_| None)
        }
        Act::Release { task, version } => {
            let release = op::TaskRelease {
                task_id: *task,
                expected_version: Some(*version),
            };
            op::release_task(polis, me, &release).await.map(|_| None)
        }
        Act::Move { task, version, to } => {
            let change = TaskUpdate {
                status: Some(*to),
                expected_version: Some(*version),
                ..TaskUpdate::of(*task)
            };
            op::update_task(polis, me, &change).await.map(|_| None)
        }
        Act::Comment { task, body } => {
            let comment = op::TaskComment {
                task_id: *task,
                body: body.clone(),
                reply_to: None,
            };
            op::comment_task(polis, me, &comment).await.map(|_| None)
        }
        Act::Create {
            subject,
            description,
            role,
            sort,
        } => {
            let new = TaskCreate {
                subject: subject.clone(),
                description: description.clone(),
                required_role: some(role),
                task_type: some(sort),
                ..TaskCreate::default()
            };
            let made = op::create_task(polis, me, &new).await?;
            Ok(Some(format!("#{}", made.task.id)))
        }
        Act::Approve {
            task,
            version,
            note,
        } => {
            let approve = op::TaskApprove {
                task_id: *task,
                note: some(note),
                expected_version: Some(*version),
            };
            op::approve_task(polis, me, &approve).await.map(|_| None)
        }
        Act::Decide { id, allowed, note } => {
            let decided = op::DecideApproval {
                id: id.clone(),
                allowed: *allowed,
                note: some(note),
            };
            op::decide_approval(polis, me, &decided).await.map(|_| None)
        }
        other => board_or_agent(screen, other).await,
    }
}

async fn board_or_agent(screen: &Screen, act: &Act) -> Result<Option<String>, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    let decide = |board: &polis_core::board::BoardName, act: DecisionAct| op::Decide {
        board: board.clone(),
        act,
    };
    match act {
        Act::Append { board, content } => {
            let added = op::BoardAppend {
                board: board.clone(),
                content: content.clone(),
            };
            let changed = op::append_board(polis, me, &added).await?;
            Ok(Some(changed.version.to_string()))
        }
        Act::Restore {
            board,
            version,
            newest,
        } => {
            let of = op::VersionRestore {
                board: board.clone(),
                version: *version,
                expected_version: *newest,
            };
            let changed = op::restore_board(polis, me, &of).await?;
            Ok(Some(changed.version.to_string()))
        }
        Act::Propose(board, content) => {
            let propose = DecisionAct::Propose {
                content: content.clone(),
                milestone: None,
            };
            let made = op::decide(polis, me, &decide(board, propose)).await?;
            Ok(Some(format!("#{}", made.decision.id)))
        }
        Act::Sign(board, id) => {
            let sign = DecisionAct::Sign { id: id.clone() };
            op::decide(polis, me, &decide(board, sign))
                .await
                .map(|_| None)
        }
        Act::Veto { board, id, reason } => {
            let veto = DecisionAct::Veto {
                id: id.clone(),
                reason: reason.clone(),
            };
            op::decide(polis, me, &decide(board, veto))
                .await
                .map(|_| None)
        }
        Act::Appeal(board, id) => {
            let appeal = DecisionAct::Appeal { id: id.clone() };
            op::decide(polis, me, &decide(board, appeal))
                .await
                .map(|_| None)
        }
        Act::AddMilestone(board, title) | Act::Reach(board, title) => {
            let change = op::MilestoneChange {
                board: board.clone(),
                title: title.clone(),
                add: matches!(act, Act::AddMilestone(..)).then(String::new),
            };
            op::change_milestone(polis, me, &change).await.map(|_| None)
        }
        Act::Aside(id) => {
            let read = op::ReadMail { ids: vec![*id] };
            op::read_mail(polis, me, &read).await.map(|_| None)
        }
        Act::Say {
            to,
            run,
            text,
            reply_to,
        } => {
            let run = run.as_ref().map(|run| polis.within(run.clone()));
            let polis = run.as_ref().unwrap_or(polis);
            let message = letter(to, text, *reply_to)?;
            op::send_message(polis, me, &message).await.map(|_| None)
        }
        Act::Pause(agent, run) => {
            let hold = hold(agent, run.as_ref());
            op::pause_society(polis, me, &hold).await.map(|_| None)
        }
        Act::Resume(agent, run) => {
            let hold = hold(agent, run.as_ref());
            op::resume_society(polis, me, &hold).await.map(|_| None)
        }
        Act::Terminate(agent) => {
            let dismiss = TerminateAgent {
                agent_id: agent.clone(),
                reason: None,
            };
            op::terminate_agent(polis, me, &dismiss).await.map(|_| None)
        }
        // These are handled elsewhere. All are listed, so that a new variant is not forgotten.
        Act::Claim { .. }
        | Act::Release { .. }
        | Act::Move { .. }
        | Act::Comment { .. }
        | Act::Create { .. }
        | Act::Approve { .. }
        | Act::Decide { .. }
        | Act::Save(_) => Err(PortError::internal("A deed", "no way leads here").into()),
    }
}

fn hold(agent: &AgentId, run: Option<&RunId>) -> op::HoldSociety {
    op::HoldSociety {
        task_id: run.cloned(),
        agent_id: Some(agent.clone()),
        ..op::HoldSociety::default()
    }
}

fn letter(to: &AgentId, text: &str, reply_to: Option<u64>) -> Result<SendMessage, Refusal> {
    let payload = Raw::of(&text)
        .map_err(|why| Refusal::new(Code::InvalidInput, why, "write the message in plain text"))?;
    Ok(SendMessage {
        to: Recipients::One(to.to_string()),
        payload,
        reply_to,
        delay_ms: None,
    })
}
