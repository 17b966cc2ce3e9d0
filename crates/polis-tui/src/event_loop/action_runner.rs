//! Executes the actions of the person ([`UserAction`]) by calling the operations as the acting agent, and
//! converts their results to messages. Drafts are saved by `draft_saver`.

use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::society::dismiss::TerminateAgentParams;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, RawJson, Refusal, RunId, TaskPriority};
use polis_ops::op::{self, DecisionAction};
use polis_ops::{OpError, PortError};
use polis_view::labels;

use super::{TuiConfig, draft_saver};
use crate::app::{AppMessage, DisplayError, UserAction};
use crate::refusal_tables::TerminalRefusal;

/// Executes an action. Returns the message with its result: `ActionFinished`, or `SaveConflict` if a draft is
/// based on an old version.
pub async fn execute_action(screen: &TuiConfig, action: UserAction) -> AppMessage {
    match action {
        UserAction::Save(draft) => draft_saver::save_draft(screen, draft).await,
        action => {
            let answer = execute_task_action(screen, &action).await;
            AppMessage::ActionFinished(
                action,
                answer.map_err(|error| DisplayError::from_error(&error, screen.lang)),
            )
        }
    }
}

fn non_empty(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

async fn execute_task_action(
    screen: &TuiConfig,
    action: &UserAction,
) -> Result<Option<String>, OpError> {
    match action {
        UserAction::Claim { task, version } => {
            let claim = TaskClaimParams {
                task_id: Some(*task),
                expected_version: Some(*version),
                ..TaskClaimParams::default()
            };
            op::claim_task(&screen.request(), &claim)
                .await
                .map(|_| None)
        }
        UserAction::Release { task, version } => {
            let release = op::TaskReleaseParams {
                task_id: *task,
                expected_version: Some(*version),
            };
            op::release_task(&screen.request(), &release)
                .await
                .map(|_| None)
        }
        UserAction::ChangeStatus { task, version, to } => {
            let change = TaskUpdateParams {
                status: Some(*to),
                expected_version: Some(*version),
                ..TaskUpdateParams::new(*task)
            };
            op::update_task(&screen.request(), &change)
                .await
                .map(|_| None)
        }
        UserAction::Comment { task, body } => {
            let comment = op::TaskCommentParams {
                task_id: *task,
                body: body.clone(),
                reply_to: None,
            };
            op::comment_task(&screen.request(), &comment)
                .await
                .map(|_| None)
        }
        UserAction::Create {
            subject,
            description,
            role,
            sort,
            priority,
        } => {
            let priority = non_empty(priority);
            let priority = priority.as_deref().map(TaskPriority::parse).transpose()?;
            let new = TaskCreateParams {
                subject: subject.clone(),
                description: description.clone(),
                // The screen shows display names, so they are accepted as well.
                required_role: non_empty(labels::role_from_label(role.trim())),
                task_type: non_empty(labels::task_type_from_label(sort.trim())),
                priority,
                ..TaskCreateParams::default()
            };
            let created = op::create_task(&screen.request(), &new).await?;
            Ok(Some(format!("#{}", created.task.id)))
        }
        UserAction::Approve {
            task,
            version,
            note,
        } => {
            let approve = op::TaskApproveParams {
                task_id: *task,
                note: non_empty(note),
                expected_version: Some(*version),
            };
            op::approve_task(&screen.request(), &approve)
                .await
                .map(|_| None)
        }
        UserAction::DecideCall { id, allowed, note } => {
            let decided = op::DecideApprovalParams {
                id: id.clone(),
                allowed: *allowed,
                note: non_empty(note),
            };
            op::decide_approval(&screen.request(), &decided)
                .await
                .map(|_| None)
        }
        other => execute_board_or_agent_action(screen, other).await,
    }
}

async fn execute_board_or_agent_action(
    screen: &TuiConfig,
    action: &UserAction,
) -> Result<Option<String>, OpError> {
    let decide = |board: &polis_core::board::BoardName, decision_action: DecisionAction| {
        op::DecisionChange {
            board: board.clone(),
            action: decision_action,
        }
    };
    match action {
        UserAction::Append { board, content } => {
            let params = op::BoardAppendParams {
                board: board.clone(),
                content: content.clone(),
            };
            let changed = op::append_board(&screen.request(), &params).await?;
            Ok(Some(changed.version.to_string()))
        }
        UserAction::Restore {
            board,
            version,
            newest,
        } => {
            let params = op::BoardRestoreParams {
                board: board.clone(),
                version: *version,
                expected_version: *newest,
            };
            let changed = op::restore_board(&screen.request(), &params).await?;
            Ok(Some(changed.version.to_string()))
        }
        UserAction::Propose(board, content) => {
            let propose = DecisionAction::Propose {
                content: content.clone(),
                milestone: None,
            };
            let created = op::change_decision(&screen.request(), &decide(board, propose)).await?;
            Ok(Some(format!("#{}", created.decision.id)))
        }
        UserAction::Sign(board, id) => {
            let sign = DecisionAction::Sign { id: id.clone() };
            op::change_decision(&screen.request(), &decide(board, sign))
                .await
                .map(|_| None)
        }
        UserAction::Veto { board, id, reason } => {
            let veto = DecisionAction::Veto {
                id: id.clone(),
                reason: reason.clone(),
            };
            op::change_decision(&screen.request(), &decide(board, veto))
                .await
                .map(|_| None)
        }
        UserAction::Appeal(board, id) => {
            let appeal = DecisionAction::Appeal { id: id.clone() };
            op::change_decision(&screen.request(), &decide(board, appeal))
                .await
                .map(|_| None)
        }
        UserAction::AddMilestone(board, title) | UserAction::ReachMilestone(board, title) => {
            let change = op::MilestoneChangeParams {
                board: board.clone(),
                title: title.clone(),
                add: matches!(action, UserAction::AddMilestone(..)).then(String::new),
            };
            op::change_milestone(&screen.request(), &change)
                .await
                .map(|_| None)
        }
        UserAction::DismissMessage(id) => {
            let read = op::MarkMailReadParams { ids: vec![*id] };
            op::mark_mail_read(&screen.request(), &read)
                .await
                .map(|_| None)
        }
        UserAction::SendMessage {
            to,
            run,
            text,
            reply_to,
        } => {
            let mut request = screen.request();
            if let Some(run) = run {
                request = request.in_run(run.clone());
            }
            let message = message_params(to, text, *reply_to)?;
            op::send_message(&request, &message).await.map(|_| None)
        }
        UserAction::Pause(agent, run) => {
            let params = pause_params(agent, run.as_ref());
            op::pause_society(&screen.request(), &params)
                .await
                .map(|_| None)
        }
        UserAction::Resume(agent, run) => {
            let params = pause_params(agent, run.as_ref());
            op::resume_society(&screen.request(), &params)
                .await
                .map(|_| None)
        }
        UserAction::Terminate(agent) => {
            let dismiss = TerminateAgentParams {
                agent_id: agent.clone(),
                reason: None,
            };
            op::terminate_agent(&screen.request(), &dismiss)
                .await
                .map(|_| None)
        }
        // These are handled elsewhere. All are listed, so that a new variant is not forgotten.
        UserAction::Claim { .. }
        | UserAction::Release { .. }
        | UserAction::ChangeStatus { .. }
        | UserAction::Comment { .. }
        | UserAction::Create { .. }
        | UserAction::Approve { .. }
        | UserAction::DecideCall { .. }
        | UserAction::Save(_) => {
            Err(PortError::internal("User action", "handled elsewhere").into())
        }
    }
}

fn pause_params(agent: &AgentId, run: Option<&RunId>) -> op::PauseSocietyParams {
    op::PauseSocietyParams {
        run_id: run.cloned(),
        agent_id: Some(agent.clone()),
        ..op::PauseSocietyParams::default()
    }
}

fn message_params(
    to: &AgentId,
    text: &str,
    reply_to: Option<u64>,
) -> Result<SendMessageParams, Refusal> {
    let payload =
        RawJson::from_value(&text).map_err(|error| TerminalRefusal::NotPlainText { error })?;
    Ok(SendMessageParams {
        to: MessageRecipients::One(to.to_string()),
        payload,
        reply_to,
        delay_ms: None,
    })
}
