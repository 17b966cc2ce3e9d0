//! List of all workspaces, and the page of one workspace, which combines its file tree (`file_tree`) and its
//! commands (`command_log`).
//!
//! The size of a workspace is determined by walking its directory tree, so the page does not wait for it:
//! each size is loaded separately when it scrolls into view, and refreshed (throttled) after file changes and
//! commands.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::{AgentId, Refusal};
use polis_i18n::msg;
use polis_ops::op::{self, WorkspaceEntry};
use polis_view::number_format;
use serde::Deserialize;

use super::{command_log, file_tree, workspace_url};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, html_fragment_with_url, tab_page};
use crate::refusal_tables::PageRefusal;
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;
use crate::url::url_with_query;

/// Maximum number of workspaces per page.
const MAX_LISTED_WORKSPACES: usize = 200;

/// Filter of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkspaceListQuery {
    /// Only workspaces with this text in their name or path.
    q: String,
}

pub(super) async fn show_workspaces(
    context: RequestContext,
    QueryParams(query): QueryParams<WorkspaceListQuery>,
) -> Result<Response, PageError> {
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/workspaces" hx-get="/workspaces/list" hx-target="#workspaces"
            hx-swap="morph:outerHTML" hx-trigger="input delay:200ms, submit" hx-sync="#workspaces:replace" {
            div.grow {
                label for="q" { (msg::common_search(context.lang())) }
                input #q type="search" name="q" value=(query.q) data-filter placeholder=(msg::workspace_search_placeholder(context.lang()));
            }
            button { (msg::common_filter(context.lang())) }
        }
        (render_workspace_table(&context, &query).await?)
    };
    let title = msg::common_tab_workspaces(context.lang());
    let live = "workspace~,file~,command~";
    Ok(tab_page(&context, Tab::Workspaces, title, live, &body))
}

pub(super) async fn refresh_workspaces(
    context: RequestContext,
    QueryParams(query): QueryParams<WorkspaceListQuery>,
) -> Result<Response, PageError> {
    let address = url_with_query("/workspaces", &[("q", query.q.trim())]);
    Ok(html_fragment_with_url(
        &address,
        render_workspace_table(&context, &query).await?,
    ))
}

async fn load_workspaces(context: &RequestContext) -> Result<Vec<WorkspaceEntry>, PageError> {
    let list = op::list_workspaces(&context.request).await;
    Ok(list.or_page_error(context)?.workspaces)
}

async fn render_workspace_table(
    context: &RequestContext,
    query: &WorkspaceListQuery,
) -> Result<Markup, PageError> {
    let mut workspaces = load_workspaces(context).await?;
    let is_empty = workspaces.is_empty();
    let search = query.q.trim().to_lowercase();
    let matches = |text: &str| text.to_lowercase().contains(&search);
    workspaces.retain(|one| {
        matches(one.workspace_id.as_str()) || one.workspace_path.as_deref().is_some_and(matches)
    });
    let more = workspaces.len() > MAX_LISTED_WORKSPACES;
    workspaces.truncate(MAX_LISTED_WORKSPACES);
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the
        // meantime is included.
        section #workspaces hx-get="/workspaces/list" hx-trigger="polis:workspace~ from:body" hx-swap="morph:outerHTML"
            hx-include="#filter" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if is_empty { (render_no_workspaces(context)) }
            @else if workspaces.is_empty() { div.empty { p { (msg::workspace_no_matches(context.lang())) } } }
            @else {
                div.scroll tabindex="0" { table.table {
                    thead { tr {
                        th scope="col" { (msg::workspace_agent_column(context.lang())) }
                        th scope="col" { (msg::workspace_directory_column(context.lang())) }
                        th scope="col" { (msg::common_size(context.lang())) }
                        th scope="col" { (msg::workspace_assigned_column(context.lang())) }
                    } }
                    tbody { @for one in &workspaces { (render_workspace_row(context, one)) } }
                } }
                @if more { p.muted { (msg::workspace_list_incomplete(context.lang())) } }
            }
        }
    })
}

fn render_workspace_row(context: &RequestContext, one: &WorkspaceEntry) -> Markup {
    let id = one.workspace_id.as_str();
    html! {
        tr data-row data-workspace=(id) {
            td { a href=(workspace_url::workspace_url(id)) { (id) } }
            td {
                @if let Some(path) = &one.workspace_path { span.mono { (path) } " " }
                @if one.bound { span.pill.calm { (msg::workspace_bound_mark(context.lang())) } }
            }
            td.nowrap { @if one.created { (render_size_placeholder(context, id)) } @else { span.muted { (msg::workspace_not_created(context.lang())) } } }
            td { (render_time_ago(context, &one.created_at)) }
        }
    }
}

/// Renders the placeholder of a workspace's size.
fn render_size_placeholder(context: &RequestContext, id: &str) -> Markup {
    let measuring = html! { a.muted href=(workspace_url::workspace_url(id)) { (msg::workspace_measuring(context.lang())) } };
    // Load each size when it scrolls into view, not all at once: a page may have hundreds.
    render_size(id, "intersect once", &measuring)
}

/// Renders a workspace's size with its refresh trigger.
fn render_size(id: &str, trigger: &str, content: &Markup) -> Markup {
    html! {
        span.size id={ "size-" (id) } hx-get={ (workspace_url::workspace_url(id)) "/size" } hx-trigger=(trigger) hx-swap="outerHTML" { (content) }
    }
}

/// Returns the size fragment of a workspace.
pub(super) async fn refresh_size(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    let report = op::get_workspace_info(&context.request, Some(&id)).await;
    let info = report.or_page_error(&context)?.info;
    let files = msg::workspace_file_count(
        context.lang(),
        info.file_count,
        number_format::format_count(info.file_count),
    );
    let content = html! {
        b { (number_format::format_bytes(info.total_size)) } " "
        span.muted { (files) @if let Some(at) = &info.last_modified { " · " (render_time_ago(&context, at)) } }
    };
    Ok(html_fragment(render_size(
        id.as_str(),
        &file_tree::content_change_trigger(),
        &content,
    )))
}

/// Returns the page of a workspace: its files and commands.
pub(super) async fn show_workspace(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    workspace_page(&context, &id, None).await
}

/// Returns the page of a workspace with the tree expanded to a path.
pub(super) async fn workspace_page(
    context: &RequestContext,
    id: &AgentId,
    prefix: Option<&str>,
) -> Result<Response, PageError> {
    let all = load_workspaces(context).await?;
    let Some(entry) = all.iter().find(|one| one.workspace_id == *id) else {
        let refusal = Refusal::from(PageRefusal::NoOwnWorkspace {
            agent: id.to_string(),
        });
        return Err(PageError::new(context, refusal.into()));
    };
    let body = html! {
        p { a href="/workspaces" { "← " (msg::common_tab_workspaces(context.lang())) }
            @if let Some(path) = &entry.workspace_path { " · " span.mono { (path) } }
            @if entry.created { " · " (render_size_placeholder(context, id.as_str())) } }
        div.side {
            (file_tree::render_file_tree(context, id, prefix, entry.created).await?)
            (command_log::render_command_log(context, id).await?)
        }
    };
    Ok(tab_page(
        context,
        Tab::Workspaces,
        id.as_str(),
        "file~,command,command~",
        &body,
    ))
}

fn render_no_workspaces(context: &RequestContext) -> Markup {
    html! {
        div.empty {
            h2 { (msg::workspace_none_title(context.lang())) }
            p { (msg::workspace_none_explanation(context.lang())) }
            pre { code { "polis agent add backend-1 --role backend-leader\npolis ws bind --of backend-1 ./project" } }
        }
    }
}
