//! Boards tab: the list of boards, and each board with its text, decisions and milestones, version history, and the
//! forms that change it.
//!
//! One wildcard route handles all URLs of a board (see `address`): the last path segment selects the view or action.

mod about;
mod actions;
pub(crate) mod board_url;
mod decisions;
mod edit;
mod history;
mod list;
mod render_cache;
mod show;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use polis_core::Refusal;
use polis_core::board::BoardName;
use polis_core::token::{Access, Area};
use polis_ops::op::{self, OfBoard};
use serde::Deserialize;

use self::board_url::Wish;
pub(crate) use self::render_cache::Shelf;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Form, Path, Query};
use crate::layout::part;
use crate::page::nothing;
use crate::request_context::Visit;
use crate::state::House;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/boards", get(list::show))
        .route("/boards/list", get(list::refresh))
        .route("/boards/{*path}", get(look).post(change))
}

/// Query parameters of the views of a board.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    /// Number of a part of the text.
    part: Option<usize>,
    /// Version whose text the page already has.
    have: Option<u64>,
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
struct Sent {
    /// The text.
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
    once: String,
}

/// A request about a board.
#[derive(Debug, Clone)]
struct Call {
    house: Arc<House>,
    visit: Visit,
    board: BoardName,
}

impl Call {
    /// Returns whether the session's scopes allow changing the board, regardless of the agent's rights. Actions that
    /// would be refused for the session are not offered.
    fn may_change(&self) -> bool {
        self.visit.allows(Area::Boards, Access::Write)
            && (self.board.is_whiteboard() || self.visit.allows(Area::Blackboard, Access::Write))
    }

    /// Returns whether the reader may write the board and append to it, considering both the session and its agent.
    async fn rights(&self) -> Result<(bool, bool), Refused> {
        let of = OfBoard {
            board: self.board.clone(),
        };
        let rights = op::board_rights(&self.visit.polis, &self.visit.me, &of).await;
        let rights = rights.or_refuse(&self.visit)?;
        Ok(match self.may_change() {
            true => (rights.write.allowed, rights.append.allowed),
            false => (false, false),
        })
    }
}

async fn look(
    State(house): State<Arc<House>>,
    visit: Visit,
    Path(path): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let (board, wish) = board_url::parse(&path).or_refuse(&visit)?;
    if !board.is_whiteboard() {
        visit.check(Area::Blackboard, Access::Read)?;
    }
    let call = Call {
        house,
        visit,
        board,
    };
    let deed = match wish {
        Wish::Edit | Wish::Restore => true,
        Wish::Decide => asked.act == "veto",
        _ => false,
    };
    if deed {
        call.visit.check(Area::Boards, Access::Write)?;
    }
    match wish {
        Wish::Show => show::page(&call, &asked).await,
        Wish::Text => show::refresh(&call, &asked).await,
        Wish::Part => show::one_part(&call, &asked).await,
        Wish::About => Ok(part(about::panel(&call).await?)),
        Wish::Edit => edit::ask(&call, &asked).await,
        Wish::History => history::show(&call, &asked).await,
        Wish::Restore => history::ask_restore(&call, &asked).await,
        Wish::Decide => decisions::alone(&call, &asked).await,
        Wish::Preview | Wish::Append | Wish::Lock | Wish::Unlock | Wish::Milestone => {
            Err(nothing(call.visit).await)
        }
    }
}

async fn change(
    State(house): State<Arc<House>>,
    visit: Visit,
    Path(path): Path<String>,
    Form(sent): Form<Sent>,
) -> Result<Response, Refused> {
    let (board, wish) = board_url::parse(&path).or_refuse(&visit)?;
    if !board.is_whiteboard() {
        visit.check(Area::Blackboard, Access::Write)?;
    }
    let call = Call {
        house,
        visit,
        board,
    };
    match wish {
        Wish::Edit => edit::save(&call, sent).await,
        Wish::Preview => edit::preview(&call, sent).await,
        Wish::Append => actions::append(&call, sent).await,
        Wish::Restore => actions::restore(&call, &sent).await,
        Wish::Lock => actions::lock(&call).await,
        Wish::Unlock => actions::unlock(&call).await,
        Wish::Decide => actions::decide(&call, sent).await,
        Wish::Milestone => actions::milestone(&call, sent).await,
        Wish::Show | Wish::Text | Wish::Part | Wish::About | Wish::History => {
            Err(nothing(call.visit).await)
        }
    }
}

/// Error for a form with a missing field.
fn lacks(call: &Call, what: &str) -> Refused {
    let refusal = Refusal::new(
        polis_core::Code::InvalidInput,
        call.visit
            .say(format!("`{what}` is missing."), format!("缺少 `{what}`。")),
        call.visit.say(
            "load the page again and repeat it there",
            "请重新加载页面后再试",
        ),
    );
    Refused::of(&call.visit, refusal.into())
}
