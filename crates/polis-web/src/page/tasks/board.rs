//! Task board (kanban): a column per status, newest tasks first, with live updates.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::TaskStatus;
use polis_core::task::TaskSummary;
use polis_core::token::Area;
use polis_ops::op;
use polis_view::labels;

use super::filter::{Filter, MOST};
use super::status_pill;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::layout::{Tab, page, part, part_at};
use crate::request_context::Visit;
use crate::time_ago::ago;

/// The columns, from left to right.
const COLUMNS: [TaskStatus; 3] = [
    TaskStatus::Pending,
    TaskStatus::InProgress,
    TaskStatus::Completed,
];

/// Returns the whole page.
pub(super) async fn show(visit: Visit, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let board = board(&visit, &filter).await?;
    let body = html! { (filter.form(&visit)) (board) };
    Ok(page(
        &visit,
        Tab::Tasks,
        visit.say("Tasks", "任务"),
        "task",
        &body,
    ))
}

/// Returns the board fragment, for live updates.
pub(super) async fn refresh(
    visit: Visit,
    Query(filter): Query<Filter>,
) -> Result<Response, Refused> {
    Ok(part(board(&visit, &filter).await?))
}

/// Returns the board fragment after filtering, and updates the page's URL.
pub(super) async fn filtered(
    visit: Visit,
    Query(filter): Query<Filter>,
) -> Result<Response, Refused> {
    let address = address("/tasks", &filter);
    Ok(part_at(&address, board(&visit, &filter).await?))
}

fn address(path: &str, filter: &Filter) -> String {
    match filter.query() {
        none if none.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

struct Column {
    status: TaskStatus,
    cards: Vec<TaskSummary>,
    total: u64,
    more: bool,
}

/// Renders the board.
pub(super) async fn board(visit: &Visit, filter: &Filter) -> Result<Markup, Refused> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for status in COLUMNS {
        let mut column = Column {
            status,
            cards: Vec::new(),
            total: 0,
            more: false,
        };
        if let Some(list) = filter.list(status) {
            let found = op::list_tasks(&visit.polis, &list).await.or_refuse(visit)?;
            column.more = found.next.is_some();
            column.cards = found.tasks;
            // Counting costs as much as listing, so a column that is complete is counted by its cards.
            column.total = match column.more {
                true => op::count_tasks(&visit.polis, &list)
                    .await
                    .or_refuse(visit)?,
                false => u64::try_from(column.cards.len()).unwrap_or(u64::MAX),
            };
        }
        columns.push(column);
    }
    let nothing = columns.iter().all(|column| column.total == 0);
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the meantime is
        // included.
        section #board data-query=(filter.query()) hx-get="/tasks/board" hx-trigger="polis:task from:body" hx-swap="morph:outerHTML"
            hx-include="#filter, #board > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @for (name, count) in filter.counts() { input type="hidden" name=(name) value=(count); }
            @if nothing && !filter.is_set() { (first_task(visit)) }
            @else {
                @if nothing { p.empty { (visit.say("No task is like that.", "没有符合条件的任务。")) " "
                    a href="/tasks" { (visit.say("Show all", "显示全部")) } } }
                div.columns { @for column in &columns { (draw(visit, filter, column)) } }
            }
        }
    })
}

fn draw(visit: &Visit, filter: &Filter, column: &Column) -> Markup {
    let name = labels::status(column.status, visit.lang());
    let more = filter.with_more(column.status);
    html! {
        section.column data-column=(column.status.as_str()) aria-label=(name) {
            h2 { (status_pill(visit, column.status)) " " span.count { (column.total) } }
            ol.cards { @for task in &column.cards { (card(visit, task)) } }
            @if column.more {
                @if filter.shown(column.status) < MOST {
                    a.button.small.more href=(address("/tasks", &more)) hx-get=(address("/tasks/filter", &more))
                        hx-target="#board" hx-swap="morph:outerHTML" hx-sync="#board:replace" { (visit.say("More", "更多")) }
                } @else {
                    p.muted.small { (visit.say("Search or filter to see the others.", "其余任务请用搜索或筛选查看。")) }
                }
            }
        }
    }
}

/// Renders a task as a card. It can be moved by drag and drop and by keyboard (see `board-drag.js`).
fn card(visit: &Visit, task: &TaskSummary) -> Markup {
    let lang = visit.lang();
    let since = task.created_at.as_ref().or(task.updated_at.as_ref());
    let open = task.status != TaskStatus::Completed;
    let moves = visit.may_change(&[Area::Tasks]).then_some("true");
    html! {
        li.card.task id={ "task-" (task.id) } data-row tabindex="0" data-task=(task.id) data-version=(task.version) draggable=[moves] {
            a.subject href={ "/tasks/" (task.id) } draggable="false" { span.muted { "#" (task.id) } " " (task.subject) }
            div.facts.small {
                @if open && task.open_blockers > 0 {
                    span.pill.status-blocked { (lang.say("blocked by ", "被阻塞：")) (task.open_blockers) }
                }
                @if task.stale { span.pill.status-stale { (lang.say("stale", "已失联")) } }
                @if let Some(role) = &task.required_role { span.pill { (labels::role(role, lang)) } }
                @if let Some(kind) = task.task_type { span.pill { (labels::task_type(kind, lang)) } }
                @if !task.owner.is_empty() { a.pill.accent href={ "/agents/" (task.owner) } { (task.owner) } }
                @if let Some(since) = since { (ago(visit, since)) }
            }
        }
    }
}

/// Renders the empty state: how to create the first task.
fn first_task(visit: &Visit) -> Markup {
    html! {
        div.empty {
            h2 { (visit.say("No tasks yet", "还没有任务")) }
            p { (visit.say(
                "A task is what agents claim, work on and complete. Make the first one here, or in a terminal:",
                "任务由智能体认领、执行并完成。可以在此新建第一个任务，或在终端中：",
            )) }
            pre { code {
                "polis task create --subject \"" (visit.say("Draw up the API", "设计 API")) "\" --required-role architect\n"
                "polis task create --subject \"" (visit.say("Build it", "实现后端")) "\" --add-blocked-by 1\n"
                "polis task claim --as architect"
            } }
            @if visit.may_change(&[Area::Tasks]) { p { a.button.main href="/tasks/new" { (visit.say("New task", "新建任务")) } } }
        }
    }
}
