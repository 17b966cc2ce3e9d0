//! Form actions on the items that need a person's attention. Each runs one operation and then shows the updated page.

use axum::response::{IntoResponse as _, Redirect, Response};
use polis_core::message::{Recipients, SendMessage};
use polis_core::token::{Access, Area};
use polis_core::{AgentId, Raw, RunId, TaskId};
use polis_ops::op::{
    self, DecideApproval, HoldSociety, ReadMail, TaskApprove, TaskRelease, TellRun,
};
use serde::Deserialize;

use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Form;
use crate::form_idempotency;
use crate::request_context::Visit;

#[derive(Debug, Deserialize)]
pub(super) struct Decision {
    id: String,
    decision: String,
    #[serde(default)]
    note: String,
}

/// Allows or denies a tool call.
pub(super) async fn decide(visit: Visit, Form(form): Form<Decision>) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let note = form.note.trim();
    let params = DecideApproval {
        id: form.id,
        allowed: form.decision == "allow",
        note: (!note.is_empty()).then(|| note.to_owned()),
    };
    let decided = op::decide_approval(&visit.polis, &visit.me, &params).await;
    decided.or_refuse(&visit)?;
    done(visit).await
}

#[derive(Debug, Deserialize)]
pub(super) struct HeldMember {
    run: RunId,
    agent: AgentId,
}

/// Resumes a member that is paused or whose model kept failing.
pub(super) async fn resume(
    visit: Visit,
    Form(form): Form<HeldMember>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let params = HoldSociety {
        task_id: Some(form.run),
        agent_id: Some(form.agent),
        subtree: false,
        reason: None,
    };
    let resumed = op::resume_society(&visit.polis, &visit.me, &params).await;
    resumed.or_refuse(&visit)?;
    done(visit).await
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    id: u64,
    #[serde(default)]
    text: String,
    #[serde(default)]
    once: String,
}

/// Replies to a message.
pub(super) async fn answer(visit: Visit, Form(form): Form<Answer>) -> Result<Response, Refused> {
    visit.check(Area::Messages, Access::Write)?;
    let text = form.text.replace("\r\n", "\n");
    let payload = Raw::of(&text.trim()).unwrap_or_else(|_| Raw::null());
    let letter = op::letter(&visit.polis, &visit.me, form.id).await;
    let letter = letter.or_refuse(&visit)?;
    let to = Recipients::One(letter.from.to_string());
    let sent = match letter.run {
        Some(run) => {
            let params = TellRun {
                task_id: run,
                to: Some(to),
                payload,
                reply_to: Some(form.id),
            };
            let told = async |polis| op::tell_run(&polis, &visit.me, &params).await;
            form_idempotency::done(&visit, &form.once, &params, told).await
        }
        None => {
            let params = SendMessage {
                to,
                payload,
                reply_to: Some(form.id),
                delay_ms: None,
            };
            let sent = async |polis| op::send_message(&polis, &visit.me, &params).await;
            form_idempotency::done(&visit, &form.once, &params, sent).await
        }
    };
    sent.or_refuse(&visit)?;
    done(visit).await
}

/// Dismisses a message without a reply.
pub(super) async fn aside(visit: Visit, Form(form): Form<Answer>) -> Result<Response, Refused> {
    visit.check(Area::Messages, Access::Write)?;
    let params = ReadMail { ids: vec![form.id] };
    let read = op::read_mail(&visit.polis, &visit.me, &params).await;
    read.or_refuse(&visit)?;
    done(visit).await
}

#[derive(Debug, Deserialize)]
pub(super) struct OfTask {
    id: TaskId,
    version: Option<u64>,
}

/// Releases a task whose owner let the lease expire.
pub(super) async fn release(visit: Visit, Form(form): Form<OfTask>) -> Result<Response, Refused> {
    visit.check(Area::Tasks, Access::Write)?;
    let params = TaskRelease {
        task_id: form.id,
        expected_version: form.version,
    };
    let released = op::release_task(&visit.polis, &visit.me, &params).await;
    released.or_refuse(&visit)?;
    done(visit).await
}

/// Approves a task's completion.
pub(super) async fn approve(visit: Visit, Form(form): Form<OfTask>) -> Result<Response, Refused> {
    visit.check(Area::Tasks, Access::Write)?;
    let params = TaskApprove {
        task_id: form.id,
        note: None,
        expected_version: form.version,
    };
    let approved = op::approve_task(&visit.polis, &visit.me, &params).await;
    approved.or_refuse(&visit)?;
    done(visit).await
}

/// Returns the updated page or fragment.
async fn done(visit: Visit) -> Result<Response, Refused> {
    if visit.part {
        return super::refresh(visit).await;
    }
    Ok(Redirect::to("/").into_response())
}
