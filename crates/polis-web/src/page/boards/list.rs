//! List of the boards that the reader may read.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::Timestamp;
use polis_core::board::BoardName;
use polis_ops::op::{self, BoardEntry, BoardList, ListBoards};
use polis_view::{Lang, number_format};
use serde::Deserialize;

use super::board_url;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::layout::{Tab, page, part_at};
use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::url::asking;

/// Maximum number of boards per page.
const MOST: u32 = 200;

/// Filter and pagination of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    /// Only boards with this text in their name.
    q: String,
    /// Only boards after this one (pagination).
    after: String,
}

impl Which {
    fn at(&self, page: &str) -> String {
        let fields = [("q", self.q.trim()), ("after", self.after.as_str())];
        asking(page, &fields)
    }
}

pub(super) async fn show(visit: Visit, Query(which): Query<Which>) -> Result<Response, Refused> {
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/boards" hx-get="/boards/list" hx-target="#boards" hx-swap="morph:outerHTML"
            hx-trigger="input delay:200ms, submit" hx-sync="#boards:replace" {
            div.grow {
                label for="q" { (visit.say("Search", "搜索")) }
                input #q type="search" name="q" value=(which.q) data-filter placeholder=(visit.say("a part of a name", "名称的一部分"));
            }
            button { (visit.say("Filter", "筛选")) }
        }
        (table(&visit, &which).await?)
    };
    Ok(page(
        &visit,
        Tab::Boards,
        visit.say("Boards", "白板"),
        "board~",
        &body,
    ))
}

pub(super) async fn refresh(visit: Visit, Query(which): Query<Which>) -> Result<Response, Refused> {
    Ok(part_at(&which.at("/boards"), table(&visit, &which).await?))
}

/// Returns a page of the boards and its next cursor.
async fn find(visit: &Visit, which: &Which) -> Result<BoardList, Refused> {
    let search = which.q.trim().to_lowercase();
    let after = Some(which.after.clone()).filter(|after| !after.is_empty());
    let asked = ListBoards {
        cursor: after,
        limit: search.is_empty().then_some(MOST),
    };
    let list = op::list_boards(&visit.polis, &visit.me, &asked).await;
    let mut list = list.or_refuse(visit)?;
    if !search.is_empty() {
        let most = usize::try_from(MOST).unwrap_or(usize::MAX);
        list.boards
            .retain(|board| board.board.to_lowercase().contains(&search));
        let more = list.boards.len() > most;
        list.boards.truncate(most);
        let last = list.boards.last().filter(|_| more);
        list.next = last.map(|last| last.board.clone());
    }
    Ok(list)
}

async fn table(visit: &Visit, which: &Which) -> Result<Markup, Refused> {
    let BoardList { boards, next } = find(visit, which).await?;
    let lang = visit.lang();
    let plain = which.q.trim().is_empty() && which.after.is_empty();
    let unwritten = plain && boards.iter().all(|board| board.version == 0);
    let next = next.map(|after| Which {
        q: which.q.clone(),
        after,
    });
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the meantime is
        // included.
        section #boards hx-get="/boards/list" hx-trigger="polis:board~ from:body" hx-swap="morph:outerHTML"
            hx-include="#filter, #boards > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if !which.after.is_empty() { input type="hidden" name="after" value=(which.after); }
            @if unwritten { (first(visit)) }
            @if boards.is_empty() { div.empty { p { (lang.say("No board is called so.", "没有这样的白板。")) } } }
            @else { div.scroll tabindex="0" {
                table.table.boards {
                    thead { tr {
                        th scope="col" { (lang.say("Board", "白板")) }
                        th scope="col" { (lang.say("What it is for", "用途")) }
                        th.num scope="col" { (lang.say("Version", "版本")) }
                        th.num scope="col" { (lang.say("Size", "大小")) }
                        th scope="col" { (lang.say("Last change", "最近修改")) }
                        th scope="col" { (lang.say("Locked by", "锁定者")) }
                    } }
                    tbody { @for board in &boards { (row(visit, board)) } }
                }
            } }
            @if !which.after.is_empty() || next.is_some() {
                nav.row.small aria-label=(lang.say("Pages of the list", "列表分页")) {
                    @if !which.after.is_empty() { a href=(asking("/boards", &[("q", which.q.trim())])) { (lang.say("to the first", "回到开头")) } }
                    @if let Some(next) = next { a href=(next.at("/boards")) rel="next" { (lang.say("more boards", "更多白板")) " →" } }
                }
            }
        }
    })
}

fn row(visit: &Visit, entry: &BoardEntry) -> Markup {
    let lang = visit.lang();
    let name = BoardName::from_stored(&entry.board);
    html! {
        tr data-row data-board=(entry.board) {
            td { @match &name {
                Some(name) => a href=(board_url::of(name)) { (entry.board) },
                None => (entry.board),
            } }
            td.muted { (name.as_ref().map_or("", |name| purpose(name, lang))) }
            td.num { @if entry.version == 0 { span.muted { (lang.say("new", "新")) } } @else { (entry.version) } }
            td.num.nowrap { @if entry.version > 0 { (number_format::bytes(entry.bytes)) } }
            td { (last(visit, entry.last_modified_by.as_deref(), entry.last_modified_at.as_ref())) }
            td { @if let Some(holder) = &entry.locked_by { span.pill.warn { (holder) } } }
        }
    }
}

/// Renders who changed a board last, and when.
pub(super) fn last(visit: &Visit, by: Option<&str>, at: Option<&Timestamp>) -> Markup {
    html! {
        @if let Some(by) = by { (by) " " }
        @if let Some(at) = at { (ago(visit, at)) }
    }
}

/// Returns the purpose of a board.
pub(super) fn purpose(name: &BoardName, lang: Lang) -> &'static str {
    match name {
        BoardName::Global => lang.say(
            "goals, decisions and milestones of everybody",
            "所有人的目标、决策与里程碑",
        ),
        BoardName::Top => lang.say("the top layer's strategy", "顶层的战略"),
        BoardName::Mid(_) => lang.say("the plans of a role", "某个角色的计划"),
        BoardName::Bottom(_) => lang.say("an agent's own log", "智能体自己的日志"),
        BoardName::Blackboard(_) => lang.say("a file of the blackboard", "黑板上的文件"),
    }
}

fn first(visit: &Visit) -> Markup {
    html! {
        div.empty {
            h2 { (visit.say("Nobody has written yet", "还没有人写过")) }
            p { (visit.say(
                "Boards are Markdown texts that all agents share. Open one and write, or in a terminal:",
                "白板是所有智能体共享的 Markdown 文本。打开任意一个即可书写，或在终端中：",
            )) }
            pre { code { "polis board append global --content \"" (visit.say("We begin.", "我们开始吧。")) "\"" } }
        }
    }
}
