//! Boards: all of them, and each with its text, its decisions and milestones, its versions, and the forms
//! that change it.
//!
//! One address serves a board whole (see `address`): what is wanted is its last word.

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

/// What may be asked about a board.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    /// Which part of the text.
    part: Option<usize>,
    /// The version whose text is on the page already.
    have: Option<u64>,
    /// The version a part is of.
    version: Option<u64>,
    /// A section's title.
    section: Option<String>,
    /// Which of several.
    nth: Option<usize>,
    /// An older version.
    from: Option<u64>,
    /// A newer version.
    to: Option<u64>,
    /// A decision.
    id: Option<String>,
    /// What is to be done about it.
    #[serde(default)]
    act: String,
}

/// What a form about a board may send.
#[derive(Debug, Default, Deserialize)]
struct Sent {
    /// A text.
    #[serde(default)]
    content: String,
    /// The version the form was made from; of one that brings a version back, that one.
    version: Option<u64>,
    /// The version that was there when it was asked whether to bring one back.
    now: Option<u64>,
    /// The section's title.
    section: Option<String>,
    /// Which of several.
    nth: Option<usize>,
    /// Whether what others changed meanwhile is to be merged: any text.
    #[serde(default)]
    merge: String,
    /// Whether the board's lines end as Windows' do: any text.
    #[serde(default)]
    crlf: String,
    /// What to do about a decision.
    #[serde(default)]
    act: String,
    /// Which decision.
    #[serde(default)]
    id: String,
    /// Why.
    #[serde(default)]
    reason: String,
    /// A milestone's title.
    #[serde(default)]
    title: String,
    /// Whether the milestone is to be added: any text.
    #[serde(default)]
    add: String,
    /// The key of a form that adds something.
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
    /// Whether the session is good for changes of the board, whatever its agent's rights are: what would
    /// be refused for the session is not offered.
    fn may_change(&self) -> bool {
        self.visit.allows(Area::Boards, Access::Write)
            && (self.board.is_whiteboard() || self.visit.allows(Area::Blackboard, Access::Write))
    }

    /// Whether the reader may write the board, and add to it: the session and its agent.
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

/// The refusal of a form that lacks something.
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
