//! Form handlers for the items on the overview that need the person's attention: allow or deny a call, resume
//! a member, reply to or dismiss a message, release a stale task, approve a task.
//!
//! Each handler performs one action and then shows the updated overview: as a fragment for htmx, otherwise by
//! a redirect. `attention_cards` renders the items with their forms.

use axum::response::{IntoResponse as _, Redirect, Response};
use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::{AgentId, RawJson, RunId, TaskId};
use polis_ops::op::{
    self, DecideApprovalParams, MarkMailReadParams, PauseSocietyParams, TaskApproveParams,
    TaskReleaseParams, TellRunParams,
};
use serde::Deserialize;

use crate::error_page::{OrPageError as _, PageError};
use crate::request::extract::FormFields;
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;

#[derive(Debug, Deserialize)]
pub(super) struct ApprovalDecisionForm {
    id: String,
    decision: String,
    #[serde(default)]
    note: String,
}

/// Allows or denies a tool call.
pub(super) async fn decide_approval(
    context: RequestContext,
    FormFields(form): FormFields<ApprovalDecisionForm>,
) -> Result<Response, PageError> {
    let note = form.note.trim();
    let params = DecideApprovalParams {
        id: form.id,
        allowed: form.decision == "allow",
        note: (!note.is_empty()).then(|| note.to_owned()),
    };
    let decided = op::decide_approval(&context.request, &params).await;
    decided.or_page_error(&context)?;
    show_updated_overview(context).await
}

#[derive(Debug, Deserialize)]
pub(super) struct ResumeMemberForm {
    run: RunId,
    agent: AgentId,
}

/// Resumes a member that is paused or parked.
pub(super) async fn resume_member(
    context: RequestContext,
    FormFields(form): FormFields<ResumeMemberForm>,
) -> Result<Response, PageError> {
    let params = PauseSocietyParams {
        run_id: Some(form.run),
        agent_id: Some(form.agent),
        subtree: false,
        reason: None,
    };
    let resumed = op::resume_society(&context.request, &params).await;
    resumed.or_page_error(&context)?;
    show_updated_overview(context).await
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageReplyForm {
    id: u64,
    #[serde(default)]
    text: String,
    #[serde(default)]
    idempotency_key: String,
}

/// Replies to a message.
pub(super) async fn reply_to_message(
    context: RequestContext,
    FormFields(form): FormFields<MessageReplyForm>,
) -> Result<Response, PageError> {
    let text = form.text.replace("\r\n", "\n");
    let payload = RawJson::from_value(&text.trim()).unwrap_or_else(|_| RawJson::null());
    let message = op::get_person_message(&context.request, form.id).await;
    let message = message.or_page_error(&context)?;
    let to = MessageRecipients::One(message.from.to_string());
    let sent = match message.run {
        Some(run) => {
            let params = TellRunParams {
                run_id: run,
                to: Some(to),
                payload,
                reply_to: Some(form.id),
            };
            let send = async |hooked| op::tell_run(&hooked, &params).await;
            form_idempotency::submit_once(&context, &form.idempotency_key, &params, send).await
        }
        None => {
            let params = SendMessageParams {
                to,
                payload,
                reply_to: Some(form.id),
                delay_ms: None,
            };
            let sent = async |hooked| op::send_message(&hooked, &params).await;
            form_idempotency::submit_once(&context, &form.idempotency_key, &params, sent).await
        }
    };
    sent.or_page_error(&context)?;
    show_updated_overview(context).await
}

/// Dismisses a message without a reply.
pub(super) async fn dismiss_message(
    context: RequestContext,
    FormFields(form): FormFields<MessageReplyForm>,
) -> Result<Response, PageError> {
    let params = MarkMailReadParams { ids: vec![form.id] };
    let read = op::mark_mail_read(&context.request, &params).await;
    read.or_page_error(&context)?;
    show_updated_overview(context).await
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskActionForm {
    id: TaskId,
    version: Option<u64>,
}

/// Releases a task whose owner let the lease expire.
pub(super) async fn release_stale_task(
    context: RequestContext,
    FormFields(form): FormFields<TaskActionForm>,
) -> Result<Response, PageError> {
    let params = TaskReleaseParams {
        task_id: form.id,
        expected_version: form.version,
    };
    let released = op::release_task(&context.request, &params).await;
    released.or_page_error(&context)?;
    show_updated_overview(context).await
}

/// Approves a task's completion.
pub(super) async fn approve_task(
    context: RequestContext,
    FormFields(form): FormFields<TaskActionForm>,
) -> Result<Response, PageError> {
    let params = TaskApproveParams {
        task_id: form.id,
        note: None,
        expected_version: form.version,
    };
    let approved = op::approve_task(&context.request, &params).await;
    approved.or_page_error(&context)?;
    show_updated_overview(context).await
}

/// Returns the updated page or fragment.
async fn show_updated_overview(context: RequestContext) -> Result<Response, PageError> {
    if context.is_fragment {
        return super::refresh_overview(context).await;
    }
    Ok(Redirect::to("/").into_response())
}
