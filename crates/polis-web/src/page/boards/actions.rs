//! Form actions on a board other than editing: append, restore, lock, unlock, decisions and milestones. Each redirects
//! to the board's page.

use axum::response::{IntoResponse as _, Redirect, Response};
use polis_core::{Code, Refusal};
use polis_ops::op::{
    self, BoardAppend, BoardLock, BoardUnlock, Decide, DecisionAct, MilestoneChange, VersionRestore,
};
use polis_serve::http::problem;

use super::{Call, Sent, board_url, edit, history, lacks};
use crate::error_page::{OrRefuse as _, Refused};
use crate::form_idempotency;

/// Duration of a lock taken from a page, in milliseconds.
const LOCK_MS: u64 = 10 * 60 * 1000;

fn back(call: &Call) -> Response {
    Redirect::to(&board_url::of(&call.board)).into_response()
}

pub(super) async fn append(call: &Call, sent: Sent) -> Result<Response, Refused> {
    let visit = &call.visit;
    let request = BoardAppend {
        board: call.board.clone(),
        content: edit::typed(sent.content, ""),
    };
    let append = async |polis| op::append_board(&polis, &visit.me, &request).await;
    let done = form_idempotency::done(visit, &sent.once, &request, append).await;
    done.or_refuse(visit)?;
    Ok(back(call))
}

pub(super) async fn restore(call: &Call, sent: &Sent) -> Result<Response, Refused> {
    let visit = &call.visit;
    let version = sent.version.ok_or_else(|| lacks(call, "version"))?;
    let request = VersionRestore {
        board: call.board.clone(),
        version,
        expected_version: Some(sent.now.ok_or_else(|| lacks(call, "now"))?),
    };
    match op::restore_board(&visit.polis, &visit.me, &request).await {
        Ok(_) => Ok(back(call)),
        // The board changed after the confirmation page was rendered, so its diff is outdated: ask again.
        Err(error) if error.code() == Code::VersionConflict => {
            let mut asked = history::question(call, version, Some(&error)).await?;
            *asked.status_mut() = problem::status_of(error.code());
            Ok(asked)
        }
        Err(error) => Err(Refused::of(visit, error)),
    }
}

pub(super) async fn lock(call: &Call) -> Result<Response, Refused> {
    let visit = &call.visit;
    let request = BoardLock {
        board: call.board.clone(),
        ttl_ms: Some(LOCK_MS),
        token: None,
    };
    let done = op::lock_board(&visit.polis, &visit.me, &request).await;
    done.or_refuse(visit)?;
    Ok(back(call))
}

pub(super) async fn unlock(call: &Call) -> Result<Response, Refused> {
    let visit = &call.visit;
    let request = BoardUnlock {
        board: call.board.clone(),
        token: None,
    };
    let done = op::unlock_board(&visit.polis, &visit.me, &request).await;
    done.or_refuse(visit)?;
    Ok(back(call))
}

pub(super) async fn decide(call: &Call, sent: Sent) -> Result<Response, Refused> {
    let visit = &call.visit;
    let Sent {
        act,
        id,
        reason,
        content,
        title,
        once: key,
        ..
    } = sent;
    let asked = [&act, &id, &reason, &content, &title].map(String::clone);
    let act = match act.as_str() {
        "propose" => DecisionAct::Propose {
            content: edit::typed(content, ""),
            milestone: Some(title.trim().to_owned()).filter(|title| !title.is_empty()),
        },
        "sign" => DecisionAct::Sign { id },
        "veto" => DecisionAct::Veto {
            id,
            reason: edit::typed(reason, ""),
        },
        "appeal" => DecisionAct::Appeal { id },
        _ => {
            let refusal = Refusal::new(
                Code::InvalidInput,
                visit.say(
                    "It is not said what to do about the decision.",
                    "没有说明对决策做什么。",
                ),
                "propose, sign, veto, appeal",
            );
            return Err(Refused::of(visit, refusal.into()));
        }
    };
    let request = Decide {
        board: call.board.clone(),
        act,
    };
    let decide = async |polis| op::decide(&polis, &visit.me, &request).await;
    let done = form_idempotency::done(visit, &key, &asked, decide).await;
    done.or_refuse(visit)?;
    Ok(back(call))
}

pub(super) async fn milestone(call: &Call, sent: Sent) -> Result<Response, Refused> {
    let visit = &call.visit;
    let request = MilestoneChange {
        board: call.board.clone(),
        title: sent.title,
        add: (!sent.add.is_empty()).then_some(sent.content),
    };
    let change = async |polis| op::change_milestone(&polis, &visit.me, &request).await;
    let done = form_idempotency::done(visit, &sent.once, &request, change).await;
    done.or_refuse(visit)?;
    Ok(back(call))
}
