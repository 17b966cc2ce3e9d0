//! List of all workspaces, and the page of one workspace.
//!
//! The size of a workspace is determined by walking its directory tree, so the page does not wait for it: each size is
//! loaded separately when it scrolls into view, and refreshed (throttled) after file changes and commands.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::{self, Desk, WorkspaceEntry};
use polis_view::number_format;
use serde::Deserialize;

use super::{commands, tree, workspace_url};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Path, Query};
use crate::layout::{Tab, page, part, part_at};
use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::url::asking;

/// Maximum number of workspaces per page.
const MOST: usize = 200;

/// Filter of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    /// Only workspaces with this text in their name or path.
    q: String,
}

pub(super) async fn show(visit: Visit, Query(which): Query<Which>) -> Result<Response, Refused> {
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/workspaces" hx-get="/workspaces/list" hx-target="#workspaces"
            hx-swap="morph:outerHTML" hx-trigger="input delay:200ms, submit" hx-sync="#workspaces:replace" {
            div.grow {
                label for="q" { (visit.say("Search", "搜索")) }
                input #q type="search" name="q" value=(which.q) data-filter placeholder=(visit.say("name or directory", "名称或目录"));
            }
            button { (visit.say("Filter", "筛选")) }
        }
        (table(&visit, &which).await?)
    };
    let title = visit.say("Workspaces", "工作区");
    let live = "workspace~,file~,command~";
    Ok(page(&visit, Tab::Workspaces, title, live, &body))
}

pub(super) async fn refresh(visit: Visit, Query(which): Query<Which>) -> Result<Response, Refused> {
    let address = asking("/workspaces", &[("q", which.q.trim())]);
    Ok(part_at(&address, table(&visit, &which).await?))
}

async fn entries(visit: &Visit) -> Result<Vec<WorkspaceEntry>, Refused> {
    let list = op::list_workspaces(&visit.polis, &visit.me).await;
    Ok(list.or_refuse(visit)?.workspaces)
}

async fn table(visit: &Visit, which: &Which) -> Result<Markup, Refused> {
    let mut workspaces = entries(visit).await?;
    let nothing = workspaces.is_empty();
    let search = which.q.trim().to_lowercase();
    let meant = |text: &str| text.to_lowercase().contains(&search);
    workspaces.retain(|one| {
        meant(one.workspace_id.as_str()) || one.workspace_path.as_deref().is_some_and(meant)
    });
    let more = workspaces.len() > MOST;
    workspaces.truncate(MOST);
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the meantime is
        // included.
        section #workspaces hx-get="/workspaces/list" hx-trigger="polis:workspace~ from:body" hx-swap="morph:outerHTML"
            hx-include="#filter" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if nothing { (first(visit)) }
            @else if workspaces.is_empty() { div.empty { p { (visit.say("No workspace is called so.", "没有这样的工作区。")) } } }
            @else {
                div.scroll tabindex="0" { table.table {
                    thead { tr {
                        th scope="col" { (visit.say("Workspace of", "所属智能体")) }
                        th scope="col" { (visit.say("Directory", "目录")) }
                        th scope="col" { (visit.say("In use", "占用")) }
                        th scope="col" { (visit.say("Assigned", "分配时间")) }
                    } }
                    tbody { @for one in &workspaces { (row(visit, one)) } }
                } }
                @if more { p.muted { (visit.say("Not all are shown; search for others.", "未显示全部，请搜索其他工作区。")) } }
            }
        }
    })
}

fn row(visit: &Visit, one: &WorkspaceEntry) -> Markup {
    let id = one.workspace_id.as_str();
    html! {
        tr data-row data-workspace=(id) {
            td { a href=(workspace_url::of(id)) { (id) } }
            td {
                @if let Some(path) = &one.workspace_path { span.mono { (path) } " " }
                @if one.bound { span.pill.calm { (visit.say("bound", "绑定")) } }
            }
            td.nowrap { @if one.created { (later(visit, id)) } @else { span.muted { (visit.say("not made yet", "尚未创建")) } } }
            td { (ago(visit, &one.created_at)) }
        }
    }
}

/// Renders the placeholder of a workspace's size.
fn later(visit: &Visit, id: &str) -> Markup {
    let measuring =
        html! { a.muted href=(workspace_url::of(id)) { (visit.say("measuring …", "正在统计……")) } };
    // Load each size when it scrolls into view, not all at once: a page may have hundreds.
    sized(id, "intersect once", &measuring)
}

/// Renders a workspace's size with its refresh trigger.
fn sized(id: &str, when: &str, told: &Markup) -> Markup {
    html! {
        span.size id={ "size-" (id) } hx-get={ (workspace_url::of(id)) "/size" } hx-trigger=(when) hx-swap="outerHTML" { (told) }
    }
}

/// Returns the size fragment of a workspace.
pub(super) async fn size(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    let desk = Desk {
        by: &visit.me,
        of: Some(&id),
    };
    let report = op::get_workspace_info(&visit.polis, desk).await;
    let info = report.or_refuse(&visit)?.info;
    let files = visit.say(
        match info.file_count {
            1 => "1 file".to_owned(),
            many => format!("{} files", number_format::count(many)),
        },
        format!("{} 个文件", number_format::count(info.file_count)),
    );
    let told = html! {
        b { (number_format::bytes(info.total_size)) } " "
        span.muted { (files) @if let Some(at) = &info.last_modified { " · " (ago(&visit, at)) } }
    };
    Ok(part(sized(id.as_str(), &tree::changes(), &told)))
}

/// Returns the page of a workspace: its files and commands.
pub(super) async fn one(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    at(&visit, &id, None).await
}

/// Returns the page of a workspace with the tree expanded to a path.
pub(super) async fn at(
    visit: &Visit,
    id: &AgentId,
    within: Option<&str>,
) -> Result<Response, Refused> {
    let all = entries(visit).await?;
    let Some(entry) = all.iter().find(|one| one.workspace_id == *id) else {
        let refusal = Refusal::new(
            Code::WorkspaceNotAssigned,
            visit.say(
                format!("{id} has no workspace of its own."),
                format!("{id} 没有自己的工作区。"),
            ),
            visit.say("choose one of the list", "请从列表中选择"),
        );
        return Err(Refused::of(visit, refusal.into()));
    };
    let body = html! {
        p { a href="/workspaces" { "← " (visit.say("Workspaces", "工作区")) }
            @if let Some(path) = &entry.workspace_path { " · " span.mono { (path) } }
            @if entry.created { " · " (later(visit, id.as_str())) } }
        div.side {
            (tree::root(visit, id, within, entry.created).await?)
            (commands::log(visit, id).await?)
        }
    };
    Ok(page(
        visit,
        Tab::Workspaces,
        id.as_str(),
        "file~,command,command~",
        &body,
    ))
}

fn first(visit: &Visit) -> Markup {
    html! {
        div.empty {
            h2 { (visit.say("No workspaces yet", "还没有工作区")) }
            p { (visit.say(
                "A workspace is the directory an agent's files and commands are confined to. Give an agent one:",
                "工作区是智能体的文件与命令所限定的目录。给智能体分配一个：",
            )) }
            pre { code { "polis agent add backend-1 --role backend-leader\npolis ws bind --of backend-1 ./project" } }
        }
    }
}
