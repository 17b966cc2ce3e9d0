//! File tree of a workspace. Directories are loaded when they are expanded, and expanded ones are reloaded
//! when their content may have changed.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use maud::{Markup, html};
use polis_core::workspace::file_tools::{FileEntry, FileEntryType, FileList, ListFilesParams};
use polis_core::{AgentId, RefusalCode, RefusalKind};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self};
use polis_view::number_format;
use serde::Deserialize;

use super::{workspace_list, workspace_url};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::live_updates;
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;
use crate::url::encode_segment;

/// Number of directory entries per page.
const ENTRIES_PER_PAGE: u32 = 300;
/// Maximum number of expanded directories.
const MAX_EXPANDED_DIRECTORIES: usize = 32;

#[derive(Debug, Deserialize)]
pub(super) struct DirectoryQuery {
    #[serde(default)]
    path: String,
    after: Option<String>,
}

/// The expanded directories by path, with their entries. The root's path is empty.
type ExpandedDirectories = BTreeMap<String, FileList>;

/// Returns the trigger for changes of a workspace's content; commands change files without an event for each
/// file.
pub(super) fn content_change_trigger() -> String {
    [
        live_updates::htmx_trigger("file~"),
        live_updates::htmx_trigger("command~"),
    ]
    .join(", ")
}

/// Returns the entries of a directory as a fragment; if it was not requested by htmx, the page of the
/// workspace expanded to that directory.
pub(super) async fn refresh_directory(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    QueryParams(query): QueryParams<DirectoryQuery>,
) -> Result<Response, PageError> {
    if !context.is_fragment {
        // Opened as a page of its own: the workspace, expanded to this directory.
        let folder = query.path.trim_matches('/');
        let prefix = (!folder.is_empty()).then(|| format!("{folder}/"));
        return workspace_list::workspace_page(&context, &id, prefix.as_deref()).await;
    }
    let list = list_directory(&context, &id, &query.path, query.after).await;
    let opened = ExpandedDirectories::from([(query.path.clone(), list.or_page_error(&context)?)]);
    Ok(html_fragment(render_entries(
        &context,
        &id,
        &opened,
        &query.path,
        None,
    )))
}

/// Returns the whole tree as a fragment. In the query, `at` is the displayed file and each `open` an expanded
/// directory.
pub(super) async fn refresh_file_tree(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    QueryParams(query): QueryParams<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    if !context.is_fragment {
        return workspace_list::workspace_page(&context, &id, None).await;
    }
    let values_of = |key: &'static str| {
        let all = query.iter().filter(move |(name, _)| name == key);
        all.map(|(_, value)| value.as_str())
    };
    let open: BTreeSet<&str> = values_of("open").collect();
    let current = values_of("at").next();
    Ok(html_fragment(
        load_and_render_tree(&context, &id, current, &open).await?,
    ))
}

async fn list_directory(
    context: &RequestContext,
    id: &AgentId,
    path: &str,
    after: Option<String>,
) -> Result<FileList, OpError> {
    let request = ListFilesParams {
        path: Some(path.to_owned()).filter(|path| !path.is_empty()),
        cursor: after,
        limit: Some(ENTRIES_PER_PAGE),
        ..ListFilesParams::default()
    };
    op::list_files(&context.request, Some(id), &request).await
}

/// Returns the parent directories of a path.
fn parent_directories(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.match_indices('/').map(|(at, _)| at);
    slashes.filter_map(|at| path.get(..at))
}

/// Renders the tree from its root, expanded to a file, or to a directory whose path ends with a slash.
pub(super) async fn render_file_tree(
    context: &RequestContext,
    id: &AgentId,
    current: Option<&str>,
    exists: bool,
) -> Result<Markup, PageError> {
    if !exists {
        return Ok(render_tree_fragment(
            context,
            id,
            current,
            &ExpandedDirectories::new(),
        ));
    }
    let open = current
        .map(parent_directories)
        .into_iter()
        .flatten()
        .collect();
    load_and_render_tree(context, id, current, &open).await
}

/// Renders the tree with these directories expanded, as far as they exist.
async fn load_and_render_tree(
    context: &RequestContext,
    id: &AgentId,
    current: Option<&str>,
    open: &BTreeSet<&str>,
) -> Result<Markup, PageError> {
    let mut opened = ExpandedDirectories::new();
    let first = match list_directory(context, id, "", None).await {
        Ok(list) => list,
        // Nothing was written yet.
        Err(error) if error.code() == RefusalCode::FILE_NOT_FOUND => {
            return Ok(render_tree_fragment(context, id, current, &opened));
        }
        Err(error) => return Err(PageError::new(context, error)),
    };
    opened.insert(String::new(), first);
    // A directory precedes its content in this order. A path that no longer exists, or is not a directory, is
    // skipped.
    for path in open
        .iter()
        .filter(|path| !path.is_empty())
        .take(MAX_EXPANDED_DIRECTORIES)
    {
        let outer = path.rsplit_once('/').map_or("", |(outer, _)| outer);
        if !opened.contains_key(outer) {
            continue;
        }
        match list_directory(context, id, path, None).await {
            Ok(list) => _ = opened.insert((*path).to_owned(), list),
            Err(error)
                if matches!(
                    error.code().kind(),
                    RefusalKind::NotFound | RefusalKind::Invalid
                ) => {}
            Err(error) => return Err(PageError::new(context, error)),
        }
    }
    Ok(render_tree_fragment(context, id, current, &opened))
}

/// Renders the tree as a fragment. A refresh request includes the expanded directories.
fn render_tree_fragment(
    context: &RequestContext,
    id: &AgentId,
    current: Option<&str>,
    opened: &ExpandedDirectories,
) -> Markup {
    let empty = opened.get("").is_none_or(|list| list.files.is_empty());
    html! {
        nav.card.files #files aria-label=(msg::workspace_files_title(context.lang())) hx-get=(workspace_url::file_tree_url(id.as_str(), current))
            hx-trigger=(content_change_trigger()) hx-swap="morph:outerHTML" hx-include="#files details[open] > input" hx-sync="this:queue last"
            hx-disinherit="hx-include hx-sync" {
            @if empty {
                p.muted { (msg::workspace_no_files(context.lang())) }
            } @else { ul.tree { (render_entries(context, id, opened, "", current)) } }
        }
    }
}

/// Renders the entries of a directory, directories first.
fn render_entries(
    context: &RequestContext,
    id: &AgentId,
    opened: &ExpandedDirectories,
    path: &str,
    current: Option<&str>,
) -> Markup {
    let Some(list) = opened.get(path) else {
        return html! {};
    };
    let directory = |entry: &&FileEntry| entry.kind == FileEntryType::Directory;
    let (first, then) = (
        list.files.iter().filter(directory),
        list.files.iter().filter(|e| !directory(e)),
    );
    let child_path = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    };
    html! {
        @for entry in first { (render_directory(context, id, opened, &child_path(&entry.name), &entry.name, current)) }
        @for entry in then { (render_file_entry(context, id, &child_path(&entry.name), entry, current)) }
        @if let Some(next) = &list.next {
            li hx-get=(workspace_url::directory_url(id.as_str(), path, Some(next))) hx-trigger="intersect once" hx-swap="outerHTML" {
                span.muted { (msg::workspace_more_files(context.lang())) }
            }
        }
    }
}

fn render_directory(
    context: &RequestContext,
    id: &AgentId,
    opened: &ExpandedDirectories,
    path: &str,
    name: &str,
    current: Option<&str>,
) -> Markup {
    // With a stable id, so that the element and its expanded state survive changes of its siblings.
    let element_id = format!("dir-{}", encode_segment(path));
    let is_open = opened.contains_key(path);
    let address = workspace_url::directory_url(id.as_str(), path, None);
    let (get, trigger) = if is_open {
        (None, None)
    } else {
        (Some(&address), Some("toggle once"))
    };
    html! {
        li id=(element_id) { details open[is_open] hx-get=[get] hx-trigger=[trigger] hx-target="find ul" hx-swap="innerHTML" hx-sync="#files:queue all" {
            summary.folder { (name) }
            input type="hidden" name="open" value=(path);
            ul {
                @if is_open { (render_entries(context, id, opened, path, current)) }
                @else { li.muted { a href=(address) { "…" } } }
            }
        } }
    }
}

fn render_file_entry(
    context: &RequestContext,
    id: &AgentId,
    path: &str,
    entry: &FileEntry,
    current: Option<&str>,
) -> Markup {
    let aria_current = (current == Some(path)).then_some("page");
    html! {
        li.row {
            @match entry.kind {
                FileEntryType::File => {
                    a.cut.grow href=(workspace_url::file_url(id.as_str(), path)) aria-current=[aria_current] { (entry.name) }
                    span.muted.small.nowrap { (number_format::format_bytes(entry.size)) }
                },
                FileEntryType::Symlink => {
                    a.cut.grow href=(workspace_url::file_url(id.as_str(), path)) aria-current=[aria_current] { (entry.name) }
                    span.muted.small { (msg::workspace_file_link(context.lang())) }
                },
                FileEntryType::Directory | FileEntryType::Other => {
                    span.grow { (entry.name) } span.muted.small { (msg::workspace_file_not_regular(context.lang())) }
                },
            }
        }
    }
}
