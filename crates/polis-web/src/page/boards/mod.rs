//! Boards tab: the list of boards, and each board with its text, decisions and milestones, version history,
//! and the forms that change it.
//!
//! One wildcard route handles all URLs of a board (see `board_url`): the last path segment selects the view
//! or action.

mod board_actions;
mod board_decisions;
mod board_editor;
mod board_history;
mod board_list;
mod board_page;
mod board_panel;
pub(crate) mod board_url;
mod render_cache;

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use polis_core::Refusal;
use polis_core::board::BoardName;
use polis_core::token::{AccessLevel, OperationArea};
use polis_ops::op::{self, BoardNameParams};
use serde::Deserialize;

use self::board_url::BoardViewKind;

pub(crate) use self::render_cache::RenderCache;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::page::page_not_found;
use crate::refusal_tables::PageRefusal;
use crate::request::extract::{FormFields, PathParams, QueryParams};
use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};
use crate::state::WebState;

const READ: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Boards, AccessLevel::Read)]);
const WRITE: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Boards, AccessLevel::Write)]);

/// The path of a board names its kind and the view. The handlers therefore check further scopes themselves:
/// those of blackboard files, and write access for a view that exists only to change the board.
pub(crate) fn board_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/boards", READ, board_list::show_boards),
        WebRoute::get("/boards/list", READ, board_list::refresh_boards),
        WebRoute::get("/boards/{*path}", READ, show_board_view),
        WebRoute::post("/boards/{*path}", WRITE, submit_board_action),
    ]
}

/// Query parameters of the views of a board.
#[derive(Debug, Default, Deserialize)]
struct BoardQuery {
    /// Number of a part of the text.
    part: Option<usize>,
    /// Version whose text the page already has.
    loaded: Option<u64>,
    /// Version that a part belongs to, or the version to restore.
    version: Option<u64>,
    /// Title of a section.
    section: Option<String>,
    /// Which of several sections with this title.
    nth: Option<usize>,
    /// Older version of a diff.
    from: Option<u64>,
    /// Newer version of a diff.
    to: Option<u64>,
    /// Id of a decision, or of a part of the text.
    id: Option<String>,
    /// Action on the decision.
    #[serde(default)]
    act: String,
}

/// Form fields of the actions on a board.
#[derive(Debug, Default, Deserialize)]
struct BoardForm {
    /// Text of the board, section, entry or decision, or description of a milestone.
    #[serde(default)]
    content: String,
    /// Version that the form was created from; for a restore, the version to restore.
    version: Option<u64>,
    /// For a restore: the current version when the confirmation page was shown.
    now: Option<u64>,
    /// Title of the section.
    section: Option<String>,
    /// Which of several sections with this title.
    nth: Option<usize>,
    /// Whether to merge with concurrent changes of others; any non-empty text means yes.
    #[serde(default)]
    merge: String,
    /// Whether the board uses CRLF line breaks; any non-empty text means yes.
    #[serde(default)]
    crlf: String,
    /// Action on a decision.
    #[serde(default)]
    act: String,
    /// Id of the decision.
    #[serde(default)]
    id: String,
    /// Reason of a veto.
    #[serde(default)]
    reason: String,
    /// Title of a milestone.
    #[serde(default)]
    title: String,
    /// Whether to add the milestone; any non-empty text means yes.
    #[serde(default)]
    add: String,
    /// Idempotency key of a form that adds something.
    #[serde(default)]
    idempotency_key: String,
}

/// A request about a board.
#[derive(Debug, Clone)]
struct BoardRequest {
    state: Arc<WebState>,
    context: RequestContext,
    board: BoardName,
}

impl BoardRequest {
    /// Returns whether the session's scopes allow changing the board, regardless of the agent's rights.
    /// Actions that would be refused for the session are not offered.
    fn scopes_allow_write(&self) -> bool {
        self.context
            .may_access(OperationArea::Boards, AccessLevel::Write)
            && (self.board.is_whiteboard()
                || self
                    .context
                    .may_access(OperationArea::Blackboard, AccessLevel::Write))
    }

    /// Returns whether the reader may write the board and append to it, considering both the session and its
    /// agent.
    async fn write_and_append_rights(&self) -> Result<(bool, bool), PageError> {
        let params = BoardNameParams {
            board: self.board.clone(),
        };
        let rights = op::explain_board_rights(&self.context.request, &params).await;
        let rights = rights.or_page_error(&self.context)?;
        Ok(if self.scopes_allow_write() {
            (rights.write.allowed, rights.append.allowed)
        } else {
            (false, false)
        })
    }
}

async fn show_board_view(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    PathParams(path): PathParams<String>,
    QueryParams(query): QueryParams<BoardQuery>,
) -> Result<Response, PageError> {
    let (board, view) = board_url::parse_board_path(&path).or_page_error(&context)?;
    if !board.is_whiteboard() {
        context.check_access(OperationArea::Blackboard, AccessLevel::Read)?;
    }
    let call = BoardRequest {
        state,
        context,
        board,
    };
    let Some(needed) = view.page_access(query.act == "veto") else {
        return Err(page_not_found(call.context).await);
    };
    call.context.check_access(OperationArea::Boards, needed)?;
    match view {
        BoardViewKind::Show => board_page::show_board(&call, &query).await,
        BoardViewKind::Text => board_page::refresh_board_text(&call, &query).await,
        BoardViewKind::Part => board_page::show_board_part(&call, &query).await,
        BoardViewKind::About => Ok(html_fragment(board_panel::render_panel(&call).await?)),
        BoardViewKind::Edit => board_editor::show_editor(&call, &query).await,
        BoardViewKind::History => board_history::show_history(&call, &query).await,
        BoardViewKind::Restore => board_history::confirm_restore(&call, &query).await,
        BoardViewKind::Decide => board_decisions::show_decision(&call, &query).await,
        BoardViewKind::Preview
        | BoardViewKind::Append
        | BoardViewKind::Lock
        | BoardViewKind::Unlock
        | BoardViewKind::Milestone => Err(page_not_found(call.context).await),
    }
}

async fn submit_board_action(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    PathParams(path): PathParams<String>,
    FormFields(sent): FormFields<BoardForm>,
) -> Result<Response, PageError> {
    let (board, view) = board_url::parse_board_path(&path).or_page_error(&context)?;
    if !board.is_whiteboard() {
        context.check_access(OperationArea::Blackboard, AccessLevel::Write)?;
    }
    let call = BoardRequest {
        state,
        context,
        board,
    };
    match view {
        BoardViewKind::Edit => board_editor::save_edit(&call, sent).await,
        BoardViewKind::Preview => board_editor::preview_edit(&call, sent).await,
        BoardViewKind::Append => board_actions::append_entry(&call, sent).await,
        BoardViewKind::Restore => board_actions::restore_version(&call, &sent).await,
        BoardViewKind::Lock => board_actions::lock_board(&call).await,
        BoardViewKind::Unlock => board_actions::unlock_board(&call).await,
        BoardViewKind::Decide => board_actions::submit_decision(&call, sent).await,
        BoardViewKind::Milestone => board_actions::change_milestone(&call, sent).await,
        BoardViewKind::Show
        | BoardViewKind::Text
        | BoardViewKind::Part
        | BoardViewKind::About
        | BoardViewKind::History => Err(page_not_found(call.context).await),
    }
}

/// Returns the error for a request in which the field `field` is missing.
fn missing_field_error(call: &BoardRequest, field: &str) -> PageError {
    let refusal = Refusal::from(PageRefusal::FieldMissing {
        field: field.to_owned(),
    });
    PageError::new(&call.context, refusal.into())
}
