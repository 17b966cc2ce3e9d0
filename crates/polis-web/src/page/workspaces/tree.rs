//! File tree of a workspace. Directories are loaded when they are expanded, and expanded ones are reloaded when their
//! content may have changed.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use maud::{Markup, html};
use polis_core::workspace::file::{EntryType, FileEntry, FileList, ListFiles};
use polis_core::{AgentId, Code, Kind};
use polis_ops::OpError;
use polis_ops::op::{self, Desk};
use polis_view::number_format;
use serde::Deserialize;

use super::{list, workspace_url};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Path, Query};
use crate::layout::part;
use crate::live;
use crate::request_context::Visit;
use crate::url::segment;

/// Number of directory entries per page.
const AT_ONCE: u32 = 300;
/// Maximum number of expanded directories.
const MOST_OPEN: usize = 32;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    path: String,
    after: Option<String>,
}

/// The expanded directories by path, with their entries. The root's path is empty.
type Opened = BTreeMap<String, FileList>;

/// Returns the trigger for changes of a workspace's content; commands change files without an event for each file.
pub(super) fn changes() -> String {
    [live::on("file~"), live::on("command~")].join(", ")
}

/// Returns the entries of a directory.
pub(super) async fn refresh(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    if !visit.part {
        // Opened as a page of its own: the workspace, expanded to this directory.
        let folder = asked.path.trim_matches('/');
        let within = (!folder.is_empty()).then(|| format!("{folder}/"));
        return list::at(&visit, &id, within.as_deref()).await;
    }
    let list = read(&visit, &id, &asked.path, asked.after).await;
    let opened = Opened::from([(asked.path.clone(), list.or_refuse(&visit)?)]);
    Ok(part(entries(&visit, &id, &opened, &asked.path, None)))
}

/// Returns the whole tree; `at` is the displayed file, each `open` an expanded directory.
pub(super) async fn again(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(asked): Query<Vec<(String, String)>>,
) -> Result<Response, Refused> {
    if !visit.part {
        return list::at(&visit, &id, None).await;
    }
    let given = |wanted: &'static str| {
        let all = asked.iter().filter(move |(name, _)| name == wanted);
        all.map(|(_, value)| value.as_str())
    };
    let open: BTreeSet<&str> = given("open").collect();
    let current = given("at").next();
    Ok(part(drawn(&visit, &id, current, &open).await?))
}

async fn read(
    visit: &Visit,
    id: &AgentId,
    path: &str,
    after: Option<String>,
) -> Result<FileList, OpError> {
    let desk = Desk {
        by: &visit.me,
        of: Some(id),
    };
    let request = ListFiles {
        path: Some(path.to_owned()).filter(|path| !path.is_empty()),
        cursor: after,
        limit: Some(AT_ONCE),
        ..ListFiles::default()
    };
    op::list_files(&visit.polis, desk, &request).await
}

/// Returns the parent directories of a path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.filter_map(|at| path.get(..at))
}

/// Renders the tree from its root, expanded to a file, or to a directory whose path ends with a slash.
pub(super) async fn root(
    visit: &Visit,
    id: &AgentId,
    current: Option<&str>,
    there: bool,
) -> Result<Markup, Refused> {
    if !there {
        return Ok(part_of(visit, id, current, &Opened::new()));
    }
    let open = current.map(above).into_iter().flatten().collect();
    drawn(visit, id, current, &open).await
}

/// Renders the tree with these directories expanded, as far as they exist.
async fn drawn(
    visit: &Visit,
    id: &AgentId,
    current: Option<&str>,
    open: &BTreeSet<&str>,
) -> Result<Markup, Refused> {
    let mut opened = Opened::new();
    let first = match read(visit, id, "", None).await {
        Ok(list) => list,
        // Nothing was written yet.
        Err(error) if error.code() == Code::FileNotFound => {
            return Ok(part_of(visit, id, current, &opened));
        }
        Err(error) => return Err(Refused::of(visit, error)),
    };
    opened.insert(String::new(), first);
    // A directory precedes its content in this order. A path that no longer exists, or is not a directory, is skipped.
    for path in open.iter().filter(|path| !path.is_empty()).take(MOST_OPEN) {
        let outer = path.rsplit_once('/').map_or("", |(outer, _)| outer);
        if !opened.contains_key(outer) {
            continue;
        }
        match read(visit, id, path, None).await {
            Ok(list) => _ = opened.insert((*path).to_owned(), list),
            Err(error) if matches!(error.code().kind(), Kind::NotFound | Kind::Invalid) => {}
            Err(error) => return Err(Refused::of(visit, error)),
        }
    }
    Ok(part_of(visit, id, current, &opened))
}

/// Renders the tree as a fragment. A refresh request includes the expanded directories.
fn part_of(visit: &Visit, id: &AgentId, current: Option<&str>, opened: &Opened) -> Markup {
    let empty = opened.get("").is_none_or(|list| list.files.is_empty());
    html! {
        nav.card.files #files aria-label=(visit.say("Files", "文件")) hx-get=(workspace_url::files(id.as_str(), current))
            hx-trigger=(changes()) hx-swap="morph:outerHTML" hx-include="#files details[open] > input" hx-sync="this:queue last"
            hx-disinherit="hx-include hx-sync" {
            @if empty {
                p.muted { (visit.say(
                    "No files yet: they appear as soon as an agent writes one.",
                    "还没有文件：智能体写入后会显示在这里。",
                )) }
            } @else { ul.tree { (entries(visit, id, opened, "", current)) } }
        }
    }
}

/// Renders the entries of a directory, directories first.
fn entries(
    visit: &Visit,
    id: &AgentId,
    opened: &Opened,
    path: &str,
    current: Option<&str>,
) -> Markup {
    let Some(list) = opened.get(path) else {
        return html! {};
    };
    let directory = |entry: &&FileEntry| entry.kind == EntryType::Directory;
    let (first, then) = (
        list.files.iter().filter(directory),
        list.files.iter().filter(|e| !directory(e)),
    );
    let within = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    };
    html! {
        @for entry in first { (folder(visit, id, opened, &within(&entry.name), &entry.name, current)) }
        @for entry in then { (leaf(visit, id, &within(&entry.name), entry, current)) }
        @if let Some(next) = &list.next {
            li hx-get=(workspace_url::tree(id.as_str(), path, Some(next))) hx-trigger="intersect once" hx-swap="outerHTML" {
                span.muted { (visit.say("more …", "更多……")) }
            }
        }
    }
}

fn folder(
    visit: &Visit,
    id: &AgentId,
    opened: &Opened,
    path: &str,
    name: &str,
    current: Option<&str>,
) -> Markup {
    // With a stable id, so that the element and its expanded state survive changes of its siblings.
    let own = format!("dir-{}", segment(path));
    let is_open = opened.contains_key(path);
    let address = workspace_url::tree(id.as_str(), path, None);
    let (get, once) = match is_open {
        true => (None, None),
        false => (Some(&address), Some("toggle once")),
    };
    html! {
        li id=(own) { details open[is_open] hx-get=[get] hx-trigger=[once] hx-target="find ul" hx-swap="innerHTML" hx-sync="#files:queue all" {
            summary.folder { (name) }
            input type="hidden" name="open" value=(path);
            ul {
                @if is_open { (entries(visit, id, opened, path, current)) }
                @else { li.muted { a href=(address) { "…" } } }
            }
        } }
    }
}

fn leaf(
    visit: &Visit,
    id: &AgentId,
    path: &str,
    entry: &FileEntry,
    current: Option<&str>,
) -> Markup {
    let here = (current == Some(path)).then_some("page");
    html! {
        li.row {
            @match entry.kind {
                EntryType::File => {
                    a.cut.grow href=(workspace_url::file(id.as_str(), path)) aria-current=[here] { (entry.name) }
                    span.muted.small.nowrap { (number_format::bytes(entry.size)) }
                },
                EntryType::Symlink => {
                    a.cut.grow href=(workspace_url::file(id.as_str(), path)) aria-current=[here] { (entry.name) }
                    span.muted.small { (visit.say("link", "链接")) }
                },
                EntryType::Directory | EntryType::Other => {
                    span.grow { (entry.name) } span.muted.small { (visit.say("no file", "不是文件")) }
                },
            }
        }
    }
}
