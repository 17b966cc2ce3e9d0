//! All boards somebody may read.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::Timestamp;
use polis_core::board::BoardName;
use polis_ops::op::{self, BoardEntry, ListBoards};
use polis_view::{Lang, amount};

use super::address;
use crate::layout::{Tab, page, part};
use crate::moment::ago;
use crate::refused::{OrRefuse as _, Refused};
use crate::visit::Visit;

pub(super) async fn show(visit: Visit) -> Result<Response, Refused> {
    let body = table(&visit).await?;
    Ok(page(
        &visit,
        Tab::Boards,
        visit.say("Boards", "白板"),
        "board",
        &body,
    ))
}

pub(super) async fn refresh(visit: Visit) -> Result<Response, Refused> {
    Ok(part(table(&visit).await?))
}

async fn table(visit: &Visit) -> Result<Markup, Refused> {
    let all = ListBoards::default();
    let list = op::list_boards(&visit.polis, &visit.me, &all).await;
    let boards = list.or_refuse(visit)?.boards;
    let lang = visit.lang();
    let written = boards.iter().any(|board| board.version > 0);
    Ok(html! {
        section #boards hx-get="/boards/list" hx-trigger="polis:board from:body" hx-swap="morph:outerHTML" {
            @if !written { (first(visit)) }
            div.scroll tabindex="0" {
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
                Some(name) => a href=(address::of(name)) { (entry.board) },
                None => (entry.board),
            } }
            td.muted { (name.as_ref().map_or("", |name| purpose(name, lang))) }
            td.num { @if entry.version == 0 { span.muted { (lang.say("new", "新")) } } @else { (entry.version) } }
            td.num.nowrap { @if entry.version > 0 { (amount::bytes(entry.bytes)) } }
            td { (last(visit, entry.last_modified_by.as_deref(), entry.last_modified_at.as_ref())) }
            td { @if let Some(holder) = &entry.locked_by { span.pill.warn { (holder) } } }
        }
    }
}

/// Who changed a board last, and when.
pub(super) fn last(visit: &Visit, by: Option<&str>, at: Option<&Timestamp>) -> Markup {
    html! {
        @if let Some(by) = by { (by) " " }
        @if let Some(at) = at { (ago(visit, at)) }
    }
}

/// What a board is for.
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
