//! The files of a workspace as a tree. Directories are read when they are opened.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::AgentId;
use polis_core::workspace::file::{EntryType, FileEntry, FileList, ListFiles};
use polis_ops::op::{self, Desk};
use polis_view::amount;
use serde::Deserialize;

use super::{address, list};
use crate::given::{Path, Query};
use crate::layout::part;
use crate::refused::{OrRefuse as _, Refused};
use crate::visit::Visit;

/// How many entries of a directory are shown at once.
const AT_ONCE: u32 = 300;
/// How many directories on the way to a file are shown open.
const DEEPEST: usize = 24;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    path: String,
    after: Option<String>,
}

/// A directory that is open: its path, its entries, and what is open within it.
struct Level {
    path: String,
    list: FileList,
}

/// The entries of a directory.
pub(super) async fn refresh(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    if !visit.part {
        // Opened as a page of its own: the workspace, open down to there.
        let folder = asked.path.trim_matches('/');
        let within = (!folder.is_empty()).then(|| format!("{folder}/"));
        return list::at(&visit, &id, within.as_deref()).await;
    }
    let list = read(&visit, &id, &asked.path, asked.after).await?;
    let level = Level {
        path: asked.path,
        list,
    };
    Ok(part(entries(&visit, &id, &level, &[], None)))
}

async fn read(
    visit: &Visit,
    id: &AgentId,
    path: &str,
    after: Option<String>,
) -> Result<FileList, Refused> {
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
    let list = op::list_files(&visit.polis, desk, &request).await;
    list.or_refuse(visit)
}

/// The tree from its root, open on the way to a file, or to a directory whose path ends with a slash.
pub(super) async fn root(
    visit: &Visit,
    id: &AgentId,
    current: Option<&str>,
    there: bool,
) -> Result<Markup, Refused> {
    let mut levels = Vec::new();
    if there {
        let mut paths = vec![""];
        if let Some(current) = current {
            let ends = current.match_indices('/').map(|(at, _)| at);
            paths.extend(ends.filter_map(|at| current.get(..at)));
        }
        for path in paths.into_iter().take(DEEPEST) {
            levels.push(Level {
                path: path.to_owned(),
                list: read(visit, id, path, None).await?,
            });
        }
    }
    let empty = levels
        .first()
        .is_none_or(|level| level.list.files.is_empty());
    Ok(html! {
        nav.card.files aria-label=(visit.say("Files", "文件")) {
            @match levels.split_first() {
                Some((first, deeper)) if !empty => ul.tree { (entries(visit, id, first, deeper, current)) },
                _ => p.muted { (visit.say(
                    "No files yet: they appear as soon as an agent writes one.",
                    "还没有文件：智能体写入后会显示在这里。",
                )) },
            }
        }
    })
}

/// The entries of a directory, directories first; `deeper` are those open within it.
fn entries(
    visit: &Visit,
    id: &AgentId,
    level: &Level,
    deeper: &[Level],
    current: Option<&str>,
) -> Markup {
    let directory = |entry: &&FileEntry| entry.kind == EntryType::Directory;
    let files = &level.list.files;
    let (first, then) = (
        files.iter().filter(directory),
        files.iter().filter(|e| !directory(e)),
    );
    let within = |name: &str| match level.path.as_str() {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    };
    html! {
        @for entry in first { (folder(visit, id, &within(&entry.name), &entry.name, deeper, current)) }
        @for entry in then { (leaf(visit, id, &within(&entry.name), entry, current)) }
        @if let Some(next) = &level.list.next {
            li hx-get=(address::tree(id.as_str(), &level.path, Some(next))) hx-trigger="intersect once" hx-swap="outerHTML" {
                span.muted { (visit.say("more …", "更多……")) }
            }
        }
    }
}

fn folder(
    visit: &Visit,
    id: &AgentId,
    path: &str,
    name: &str,
    deeper: &[Level],
    current: Option<&str>,
) -> Markup {
    if let Some((level, deeper)) = deeper.split_first()
        && level.path == path
    {
        return html! {
            li { details open { summary.folder { (name) } ul { (entries(visit, id, level, deeper, current)) } } }
        };
    }
    let address = address::tree(id.as_str(), path, None);
    html! {
        li { details hx-get=(address) hx-trigger="toggle once" hx-target="find ul" hx-swap="innerHTML" {
            summary.folder { (name) }
            ul { li.muted { a href=(address) { "…" } } }
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
                    a.cut.grow href=(address::file(id.as_str(), path)) aria-current=[here] { (entry.name) }
                    span.muted.small.nowrap { (amount::bytes(entry.size)) }
                },
                EntryType::Symlink => {
                    a.cut.grow href=(address::file(id.as_str(), path)) aria-current=[here] { (entry.name) }
                    span.muted.small { (visit.say("link", "链接")) }
                },
                EntryType::Directory | EntryType::Other => {
                    span.grow { (entry.name) } span.muted.small { (visit.say("no file", "不是文件")) }
                },
            }
        }
    }
}
