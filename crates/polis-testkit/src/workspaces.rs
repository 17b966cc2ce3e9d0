//! In-memory implementations of the file and terminal ports, as far as tests of the operations need them.
//!
//! Paths are checked as text and nothing is sandboxed; `polis-workspace` does that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::workspace::command::{Captured, CommandRun, Ending};
use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, EntryType, FileContent, FileEntry, FileList, ListFiles,
    MakeDir, MoveFile, ReadFile, SearchFiles, SearchMatch, SearchResult, WorkspaceInfo, WriteFile,
    Written,
};
use polis_core::workspace::policy::Tier;
use polis_core::{AgentId, Code};
use polis_ops::port::{CommandOrder, Files, SandboxLayer, SandboxReport, Site, Terminal};
use polis_ops::{PortError, PortFuture};

/// Directory of polis's own data in this fake.
pub const DATA: &str = "/data";

/// Files in memory, by their directory, and commands that only echo themselves.
#[derive(Debug, Default)]
pub struct MemoryWorkspaces {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    directories: BTreeSet<String>,
    files: BTreeMap<(String, String), String>,
    orders: Vec<(Site, String)>,
    endings: Vec<Ending>,
}

impl MemoryWorkspaces {
    /// Returns every file: directory, path, content.
    pub fn all_files(&self) -> Vec<(String, String, String)> {
        let state = self.state();
        let all = state.files.iter();
        all.map(|((at, path), content)| (at.clone(), path.clone(), content.clone()))
            .collect()
    }

    /// Returns the directories that were created.
    pub fn directories(&self) -> Vec<String> {
        self.state().directories.iter().cloned().collect()
    }

    /// Returns the commands that were run, with their locations.
    pub fn orders(&self) -> Vec<(Site, String)> {
        self.state().orders.clone()
    }

    /// Sets how the next commands end, in reverse order; further commands end with exit code 0.
    pub fn end_with(&self, endings: Vec<Ending>) {
        self.state().endings = endings;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<'a, T: Send + 'a>(
        &self,
        site: &Site,
        path: &str,
        work: impl FnOnce(&mut State, (String, String)) -> Result<T, PortError>,
    ) -> PortFuture<'a, T> {
        let place = place(site);
        let done = check(path).and_then(|()| work(&mut self.state(), (place, path.to_owned())));
        Box::pin(std::future::ready(done))
    }
}

fn place(site: &Site) -> String {
    match &site.bound {
        Some(bound) => bound.clone(),
        None => format!("{DATA}/workspaces/{}", site.workspace),
    }
}

fn check(path: &str) -> Result<(), PortError> {
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(PortError::new(
            Code::PathTraversalBlocked,
            "The path leads out of the workspace.",
            "name a path inside of it",
        ));
    }
    Ok(())
}

fn missing() -> PortError {
    PortError::new(
        Code::FileNotFound,
        "There is no such file.",
        "look with list_files",
    )
}

/// Returns a simple hash of a content.
fn hash(content: &str) -> String {
    let sum = content.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    format!("{sum:064x}")
}

fn canonical(directory: &str) -> Result<String, PortError> {
    let refuse = |code, why: &str| Err(PortError::new(code, why, "choose another"));
    if !directory.starts_with('/') {
        return refuse(Code::InvalidWorkspace, "The directory is not absolute.");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    let whole = format!("/{}", parts.join("/"));
    if whole == "/" || whole == DATA || whole.starts_with(&format!("{DATA}/")) {
        return refuse(Code::WorkspaceOverlaps, "The directory is polis's own.");
    }
    Ok(whole)
}

impl Files for MemoryWorkspaces {
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        Box::pin(std::future::ready(canonical(directory)))
    }

    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        let bound = canonical(directory);
        if let Ok(whole) = &bound {
            self.state().directories.insert(whole.clone());
        }
        Box::pin(std::future::ready(bound))
    }

    fn exists<'a>(&'a self, site: &'a Site) -> PortFuture<'a, bool> {
        let there = self.state().directories.contains(&place(site));
        Box::pin(std::future::ready(Ok(there)))
    }

    fn location(&self, site: &Site) -> String {
        place(site)
    }

    fn read<'a>(&'a self, site: &'a Site, ask: &'a ReadFile) -> PortFuture<'a, FileContent> {
        self.change(site, &ask.path, |state, key| {
            let content = state.files.get(&key).ok_or_else(missing)?.clone();
            Ok(FileContent {
                size: content.len() as u64,
                hash: Some(hash(&content)),
                content,
                encoding: None,
                start_line: None,
                end_line: None,
                total_lines: None,
                truncated: false,
            })
        })
    }

    fn write<'a>(&'a self, site: &'a Site, ask: &'a WriteFile) -> PortFuture<'a, Written> {
        self.change(site, &ask.path, |state, key| {
            let there = state.files.get(&key).map(|content| hash(content));
            if ask.create_only && there.is_some() {
                return Err(PortError::new(
                    Code::FileExists,
                    "There is a file of this name.",
                    "",
                ));
            }
            if ask.expected_hash.is_some() && ask.expected_hash != there {
                return Err(PortError::new(
                    Code::HashMismatch,
                    "The file changed since it was read.",
                    "",
                ));
            }
            state.directories.insert(key.0.clone());
            let before = state.files.insert(key, ask.content.clone());
            Ok(Written {
                ok: true,
                bytes: ask.content.len() as u64,
                hash: hash(&ask.content),
                created: before.is_none(),
            })
        })
    }

    fn edit<'a>(&'a self, site: &'a Site, ask: &'a EditFile) -> PortFuture<'a, Edited> {
        self.change(site, &ask.path, |state, key| {
            let content = state.files.get_mut(&key).ok_or_else(missing)?;
            let replaced = content.matches(&ask.old_text).count() as u64;
            *content = content.replace(&ask.old_text, &ask.new_text);
            Ok(Edited {
                ok: true,
                replaced,
                bytes: content.len() as u64,
                hash: hash(content),
            })
        })
    }

    fn delete<'a>(&'a self, site: &'a Site, ask: &'a DeleteFile) -> PortFuture<'a, Done> {
        self.change(site, &ask.path, |state, key| {
            state.files.remove(&key).ok_or_else(missing)?;
            Ok(Done { ok: true })
        })
    }

    fn rename<'a>(&'a self, site: &'a Site, ask: &'a MoveFile) -> PortFuture<'a, Done> {
        self.change(site, &ask.from, |state, key| {
            check(&ask.to)?;
            let content = state.files.remove(&key).ok_or_else(missing)?;
            state.files.insert((key.0, ask.to.clone()), content);
            Ok(Done { ok: true })
        })
    }

    fn make_dir<'a>(&'a self, site: &'a Site, ask: &'a MakeDir) -> PortFuture<'a, Done> {
        self.change(site, &ask.path, |state, (at, path)| {
            state.directories.insert(format!("{at}/{path}"));
            state.directories.insert(at);
            Ok(Done { ok: true })
        })
    }

    fn list<'a>(&'a self, site: &'a Site, ask: &'a ListFiles) -> PortFuture<'a, FileList> {
        let path = ask.path.as_deref().unwrap_or(".");
        self.change(site, path, |state, (at, _)| {
            let here = state.files.iter().filter(|((place, _), _)| *place == at);
            let files = here.map(|((_, path), content)| FileEntry {
                name: path.clone(),
                kind: EntryType::File,
                size: content.len() as u64,
            });
            let after = |entry: &FileEntry| ask.cursor.as_ref().is_none_or(|c| entry.name > *c);
            let mut files: Vec<_> = files.filter(after).collect();
            let most = ask.limit.map_or(usize::MAX, |limit| limit.max(1) as usize);
            let truncated = files.len() > most;
            files.truncate(most);
            let next = files.last().filter(|_| truncated);
            Ok(FileList {
                next: next.map(|last| last.name.clone()),
                truncated,
                files,
            })
        })
    }

    fn info<'a>(&'a self, site: &'a Site) -> PortFuture<'a, WorkspaceInfo> {
        self.change(site, ".", |state, (at, _)| {
            let here = state.files.iter().filter(|((place, _), _)| *place == at);
            let sizes: Vec<u64> = here.map(|(_, content)| content.len() as u64).collect();
            Ok(WorkspaceInfo {
                file_count: sizes.len() as u64,
                total_size: sizes.iter().sum(),
                ..WorkspaceInfo::default()
            })
        })
    }

    fn search<'a>(&'a self, site: &'a Site, ask: &'a SearchFiles) -> PortFuture<'a, SearchResult> {
        let path = ask.path.as_deref().unwrap_or(".");
        self.change(site, path, |state, (at, _)| {
            let mut found = SearchResult::default();
            for ((_, path), content) in state.files.iter().filter(|((p, _), _)| *p == at) {
                found.files_searched += 1;
                for (line, text) in (1..).zip(content.lines()) {
                    if text.contains(&ask.pattern) {
                        let (path, text) = (path.clone(), text.to_owned());
                        found.matches.push(SearchMatch { path, line, text });
                    }
                }
            }
            Ok(found)
        })
    }
}

impl Terminal for MemoryWorkspaces {
    fn run<'a>(&'a self, site: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun> {
        let mut state = self.state();
        state.orders.push((site.clone(), order.command.clone()));
        let ending = state.endings.pop().unwrap_or(Ending::Exited(0));
        let said = |text: &str| Captured {
            text: text.to_owned(),
            bytes: text.len() as u64,
            omitted: 0,
        };
        let run = CommandRun {
            ending,
            stdout: said(&format!("ran {}\n", order.command)),
            stderr: said(""),
            duration_ms: 3,
            tier: Tier::Full,
            spool: None,
        };
        Box::pin(std::future::ready(Ok(run)))
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        let layer = SandboxLayer {
            name: "memory",
            active: true,
            detail: "nothing runs".to_owned(),
        };
        let report = SandboxReport {
            tier: Tier::Full,
            layers: vec![layer],
        };
        Box::pin(std::future::ready(Ok(report)))
    }
}

/// Returns the default directory of an agent's workspace.
pub fn default_place(agent: &AgentId) -> String {
    format!("{DATA}/workspaces/{agent}")
}
