//! Task board (kanban): a column each for pending, in progress and completed tasks, the open ones by priority and
//! then newest first, filtered by `task_filter`, with a limited number of cards per column. The page fetches the board again after every
//! event of a task.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::TaskStatus;
use polis_core::number::saturating_cast;
use polis_core::task::TaskSummary;
use polis_core::token::OperationArea;
use polis_i18n::msg;
use polis_ops::op;
use polis_view::labels;

use super::task_filter::{MAX_COLUMN_CARDS, TaskBoardFilter};
use super::{render_priority_pill, render_status_pill};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, html_fragment_with_url, tab_page};
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;

/// The columns, from left to right.
const BOARD_COLUMNS: [TaskStatus; 3] = [
    TaskStatus::Pending,
    TaskStatus::InProgress,
    TaskStatus::Completed,
];

/// Returns the whole page.
pub(super) async fn show_task_board(
    context: RequestContext,
    QueryParams(filter): QueryParams<TaskBoardFilter>,
) -> Result<Response, PageError> {
    let board = render_task_board(&context, &filter).await?;
    let body = html! { (filter.render_form(&context)) (board) };
    Ok(tab_page(
        &context,
        Tab::Tasks,
        msg::common_tab_tasks(context.lang()),
        "task",
        &body,
    ))
}

/// Returns the board fragment, for live updates.
pub(super) async fn refresh_task_board(
    context: RequestContext,
    QueryParams(filter): QueryParams<TaskBoardFilter>,
) -> Result<Response, PageError> {
    Ok(html_fragment(render_task_board(&context, &filter).await?))
}

/// Returns the board fragment after filtering, and updates the page's URL.
pub(super) async fn filter_task_board(
    context: RequestContext,
    QueryParams(filter): QueryParams<TaskBoardFilter>,
) -> Result<Response, PageError> {
    let address = filtered_url("/tasks", &filter);
    Ok(html_fragment_with_url(
        &address,
        render_task_board(&context, &filter).await?,
    ))
}

fn filtered_url(path: &str, filter: &TaskBoardFilter) -> String {
    match filter.query_string() {
        none if none.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

struct BoardColumn {
    status: TaskStatus,
    cards: Vec<TaskSummary>,
    total: u64,
    has_more: bool,
}

/// Renders the board: loads the tasks of each column and counts those that are not shown.
pub(super) async fn render_task_board(
    context: &RequestContext,
    filter: &TaskBoardFilter,
) -> Result<Markup, PageError> {
    let mut columns = Vec::with_capacity(BOARD_COLUMNS.len());
    for status in BOARD_COLUMNS {
        let mut column = BoardColumn {
            status,
            cards: Vec::new(),
            total: 0,
            has_more: false,
        };
        if let Some(list) = filter.list_params(status) {
            let found = op::list_tasks(&context.request, &list)
                .await
                .or_page_error(context)?;
            column.has_more = found.next.is_some();
            column.cards = found.tasks;
            // Counting costs as much as listing, so a column that is complete is counted by its cards.
            column.total = if column.has_more {
                op::count_tasks(&context.request, &list)
                    .await
                    .or_page_error(context)?
            } else {
                saturating_cast::<u64>(column.cards.len())
            };
        }
        columns.push(column);
    }
    let is_empty = columns.iter().all(|column| column.total == 0);
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the
        // meantime is included.
        section #board data-query=(filter.query_string()) hx-get="/tasks/board" hx-trigger="polis:task from:body" hx-swap="morph:outerHTML"
            hx-include="#filter, #board > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @for (name, count) in filter.set_card_limits() { input type="hidden" name=(name) value=(count); }
            @if is_empty && !filter.is_set() { (render_no_tasks(context)) }
            @else {
                @if is_empty { p.empty { (msg::task_no_matches(context.lang())) " "
                    a href="/tasks" { (msg::common_show_all(context.lang())) } } }
                div.columns { @for column in &columns { (render_column(context, filter, column)) } }
            }
        }
    })
}

fn render_column(
    context: &RequestContext,
    filter: &TaskBoardFilter,
    column: &BoardColumn,
) -> Markup {
    let name = labels::task_status_label(column.status, context.lang());
    let more = filter.with_more(column.status);
    html! {
        section.column data-column=(column.status.as_str()) aria-label=(name) {
            h2 { (render_status_pill(context, column.status)) " " span.count { (column.total) } }
            ol.cards { @for task in &column.cards { (render_task_card(context, task)) } }
            @if column.has_more {
                @if filter.card_limit(column.status) < MAX_COLUMN_CARDS {
                    a.button.small.more href=(filtered_url("/tasks", &more)) hx-get=(filtered_url("/tasks/filter", &more))
                        hx-target="#board" hx-swap="morph:outerHTML" hx-sync="#board:replace" { (msg::task_more(context.lang())) }
                } @else {
                    p.muted.small { (msg::task_list_incomplete(context.lang())) }
                }
            }
        }
    }
}

/// Renders a task as a card. It can be moved by drag and drop and by keyboard (see `board-drag.js`).
fn render_task_card(context: &RequestContext, task: &TaskSummary) -> Markup {
    let lang = context.lang();
    let since = task.created_at.as_ref().or(task.updated_at.as_ref());
    let open = task.status != TaskStatus::Completed;
    let moves = context.may_write(&[OperationArea::Tasks]).then_some("true");
    html! {
        li.card.task id={ "task-" (task.id) } data-row tabindex="0" data-task=(task.id) data-version=(task.version) draggable=[moves] {
            a.subject href={ "/tasks/" (task.id) } draggable="false" { span.muted { "#" (task.id) } " " (task.subject) }
            div.facts.small {
                (render_priority_pill(context, task.priority))
                @if open && task.open_blockers > 0 {
                    span.pill.status-blocked { (msg::task_blocked_by_prefix(lang)) (task.open_blockers) }
                }
                @if task.stale { span.pill.status-stale { (msg::task_stale_mark(lang)) } }
                @if let Some(role) = &task.required_role { span.pill { (labels::role_label(role, lang)) } }
                @if let Some(kind) = task.task_type { span.pill { (labels::task_type_label(kind, lang)) } }
                @if !task.owner.is_empty() { a.pill.accent href={ "/agents/" (task.owner) } { (task.owner) } }
                @if let Some(since) = since { (render_time_ago(context, since)) }
            }
        }
    }
}

/// Renders the empty state: how to create the first task.
fn render_no_tasks(context: &RequestContext) -> Markup {
    html! {
        div.empty {
            h2 { (msg::task_none_title(context.lang())) }
            p { (msg::task_none_explanation(context.lang())) }
            pre { code {
                "polis task create --subject \"" (msg::task_example_subject_design(context.lang())) "\" --required-role architect\n"
                "polis task create --subject \"" (msg::task_example_subject_implement(context.lang())) "\" --add-blocked-by 1\n"
                "polis task claim --as architect"
            } }
            @if context.may_write(&[OperationArea::Tasks]) { p { a.button.main href="/tasks/new" { (msg::task_new_title(context.lang())) } } }
        }
    }
}
