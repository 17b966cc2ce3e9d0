//! Form actions on a board, except editing its text: append, restore, lock, unlock, and changes of decisions
//! and milestones.
//!
//! Each redirects to the board's page. If the board has changed since a restore was confirmed, the
//! confirmation page is shown again. Forms that add something are idempotent (see `form_idempotency`).

use axum::response::{IntoResponse as _, Redirect, Response};
use polis_core::{Refusal, RefusalCode};
use polis_ops::op::{
    self, BoardAppendParams, BoardLockParams, BoardRestoreParams, BoardUnlockParams,
    DecisionAction, DecisionChange, MilestoneChangeParams,
};
use polis_serve::http::problem;

use super::{BoardForm, BoardRequest, board_editor, board_history, board_url, missing_field_error};
use crate::error_page::{OrPageError as _, PageError};
use crate::refusal_tables::PageRefusal;
use crate::request::form_idempotency;

/// Duration of a lock taken from a page, in milliseconds.
const LOCK_MS: u64 = 10 * 60 * 1000;

fn redirect_to_board(call: &BoardRequest) -> Response {
    Redirect::to(&board_url::board_url(&call.board)).into_response()
}

pub(super) async fn append_entry(
    call: &BoardRequest,
    sent: BoardForm,
) -> Result<Response, PageError> {
    let context = &call.context;
    let request = BoardAppendParams {
        board: call.board.clone(),
        content: board_editor::normalize_line_breaks(sent.content, ""),
    };
    let append = async |hooked| op::append_board(&hooked, &request).await;
    let done =
        form_idempotency::submit_once(context, &sent.idempotency_key, &request, append).await;
    done.or_page_error(context)?;
    Ok(redirect_to_board(call))
}

pub(super) async fn restore_version(
    call: &BoardRequest,
    sent: &BoardForm,
) -> Result<Response, PageError> {
    let context = &call.context;
    let version = sent
        .version
        .ok_or_else(|| missing_field_error(call, "version"))?;
    let request = BoardRestoreParams {
        board: call.board.clone(),
        version,
        expected_version: Some(sent.now.ok_or_else(|| missing_field_error(call, "now"))?),
    };
    match op::restore_board(&context.request, &request).await {
        Ok(_) => Ok(redirect_to_board(call)),
        // The board changed after the confirmation page was rendered, so its diff is outdated: ask again.
        Err(error) if error.code() == RefusalCode::VERSION_CONFLICT => {
            let mut response =
                board_history::restore_confirmation_page(call, version, Some(&error)).await?;
            *response.status_mut() = problem::status_for_code(error.code());
            Ok(response)
        }
        Err(error) => Err(PageError::new(context, error)),
    }
}

pub(super) async fn lock_board(call: &BoardRequest) -> Result<Response, PageError> {
    let context = &call.context;
    let request = BoardLockParams {
        board: call.board.clone(),
        ttl_ms: Some(LOCK_MS),
        token: None,
    };
    let done = op::lock_board(&context.request, &request).await;
    done.or_page_error(context)?;
    Ok(redirect_to_board(call))
}

pub(super) async fn unlock_board(call: &BoardRequest) -> Result<Response, PageError> {
    let context = &call.context;
    let request = BoardUnlockParams {
        board: call.board.clone(),
        token: None,
    };
    let done = op::unlock_board(&context.request, &request).await;
    done.or_page_error(context)?;
    Ok(redirect_to_board(call))
}

pub(super) async fn submit_decision(
    call: &BoardRequest,
    sent: BoardForm,
) -> Result<Response, PageError> {
    let context = &call.context;
    let BoardForm {
        act,
        id,
        reason,
        content,
        title,
        idempotency_key: key,
        ..
    } = sent;
    let submitted = [&act, &id, &reason, &content, &title].map(String::clone);
    let action = match act.as_str() {
        "propose" => DecisionAction::Propose {
            content: board_editor::normalize_line_breaks(content, ""),
            milestone: Some(title.trim().to_owned()).filter(|title| !title.is_empty()),
        },
        "sign" => DecisionAction::Sign { id },
        "veto" => DecisionAction::Veto {
            id,
            reason: board_editor::normalize_line_breaks(reason, ""),
        },
        "appeal" => DecisionAction::Appeal { id },
        _ => {
            let refusal = Refusal::from(PageRefusal::UnknownDecisionAction);
            return Err(PageError::new(context, refusal.into()));
        }
    };
    let request = DecisionChange {
        board: call.board.clone(),
        action,
    };
    let decide = async |hooked| op::change_decision(&hooked, &request).await;
    let done = form_idempotency::submit_once(context, &key, &submitted, decide).await;
    done.or_page_error(context)?;
    Ok(redirect_to_board(call))
}

pub(super) async fn change_milestone(
    call: &BoardRequest,
    sent: BoardForm,
) -> Result<Response, PageError> {
    let context = &call.context;
    let request = MilestoneChangeParams {
        board: call.board.clone(),
        title: sent.title,
        add: (!sent.add.is_empty()).then_some(sent.content),
    };
    let change = async |hooked| op::change_milestone(&hooked, &request).await;
    let done =
        form_idempotency::submit_once(context, &sent.idempotency_key, &request, change).await;
    done.or_page_error(context)?;
    Ok(redirect_to_board(call))
}
