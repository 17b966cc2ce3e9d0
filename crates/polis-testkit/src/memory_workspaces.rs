//! In-memory implementations of the file and terminal ports, as far as tests of the operations need them.
//!
//! Paths are checked as text and nothing is sandboxed; `polis-workspace` does that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use polis_core::Refusal;
use polis_core::refusal::Reason;
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome, StreamOutput};
use polis_core::workspace::command_policy::SandboxTier;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileEntry, FileEntryType,
    FileList, FileOperationResult, FileSearchMatch, FileSearchResult, ListFilesParams,
    MakeDirParams, MoveFileParams, ReadFileParams, SearchFilesParams, WorkspaceInfo,
    WriteFileParams, WriteFileResult,
};
use polis_core::{AgentId, RefusalCode};
use polis_ops::port::{
    OutputWatcher, SandboxLayer, SandboxLayerDetail, SandboxReport, SandboxedTerminal,
    WorkspaceFileAccess, WorkspaceLocation,
};
use polis_ops::{PortError, PortFuture};

/// Directory of polis's own data in this fake.
pub const DATA_DIRECTORY: &str = "/data";

/// Files in memory, by their directory, and commands that only echo themselves.
#[derive(Debug, Default)]
pub struct MemoryWorkspaces {
    state: Mutex<MemoryWorkspacesState>,
}

#[derive(Debug, Default)]
struct MemoryWorkspacesState {
    directories: BTreeSet<String>,
    files: BTreeMap<(String, String), String>,
    commands: Vec<(WorkspaceLocation, String)>,
    command_endings: Vec<CommandEnding>,
}

impl MemoryWorkspaces {
    /// Returns every file: directory, path, content.
    pub fn all_files(&self) -> Vec<(String, String, String)> {
        let state = self.state.lock();
        let all = state.files.iter();
        all.map(|((at, path), content)| (at.clone(), path.clone(), content.clone()))
            .collect()
    }

    /// Returns the directories that were created.
    pub fn directories(&self) -> Vec<String> {
        self.state.lock().directories.iter().cloned().collect()
    }

    /// Returns the commands that were run, with their locations.
    pub fn executed_commands(&self) -> Vec<(WorkspaceLocation, String)> {
        self.state.lock().commands.clone()
    }

    /// Sets how the next commands end, in reverse order; further commands end with exit code 0.
    pub fn set_command_endings(&self, endings: Vec<CommandEnding>) {
        self.state.lock().command_endings = endings;
    }

    fn with_checked_path<'a, T: Send + 'a>(
        &self,
        site: &WorkspaceLocation,
        path: &str,
        work: impl FnOnce(&mut MemoryWorkspacesState, (String, String)) -> Result<T, PortError>,
    ) -> PortFuture<'a, T> {
        let directory = workspace_directory(site);
        let done = check_relative_path(path)
            .and_then(|()| work(&mut self.state.lock(), (directory, path.to_owned())));
        Box::pin(std::future::ready(done))
    }
}

fn workspace_directory(site: &WorkspaceLocation) -> String {
    match &site.bound_directory {
        Some(bound) => bound.clone(),
        None => format!("{DATA_DIRECTORY}/workspaces/{}", site.owner),
    }
}

fn check_relative_path(path: &str) -> Result<(), PortError> {
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(PortError::from(Refusal::new(
            RefusalCode::PATH_TRAVERSAL_BLOCKED,
            Reason::new("test-failure"),
        )));
    }
    Ok(())
}

fn file_not_found() -> PortError {
    PortError::from(Refusal::new(
        RefusalCode::FILE_NOT_FOUND,
        Reason::new("test-failure"),
    ))
}

/// Returns a simple hash of a content.
fn content_hash(content: &str) -> String {
    let sum = content.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    format!("{sum:064x}")
}

fn canonicalize_directory(directory: &str) -> Result<String, PortError> {
    let refuse = |code, problem: &str| {
        let reason = Reason::new("test-failure").with_arg("problem", problem);
        Err(PortError::from(Refusal::new(code, reason)))
    };
    if !directory.starts_with('/') {
        return refuse(
            RefusalCode::INVALID_WORKSPACE,
            "The directory is not absolute.",
        );
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
    if whole == "/" || whole == DATA_DIRECTORY || whole.starts_with(&format!("{DATA_DIRECTORY}/")) {
        return refuse(
            RefusalCode::WORKSPACE_OVERLAPS,
            "The directory is polis's own.",
        );
    }
    Ok(whole)
}

impl WorkspaceFileAccess for MemoryWorkspaces {
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        Box::pin(std::future::ready(canonicalize_directory(directory)))
    }

    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        let bound = canonicalize_directory(directory);
        if let Ok(whole) = &bound {
            self.state.lock().directories.insert(whole.clone());
        }
        Box::pin(std::future::ready(bound))
    }

    fn exists<'a>(&'a self, site: &'a WorkspaceLocation) -> PortFuture<'a, bool> {
        let exists = self
            .state
            .lock()
            .directories
            .contains(&workspace_directory(site));
        Box::pin(std::future::ready(Ok(exists)))
    }

    fn location(&self, site: &WorkspaceLocation) -> String {
        workspace_directory(site)
    }

    fn read<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a ReadFileParams,
    ) -> PortFuture<'a, FileContent> {
        self.with_checked_path(site, &params.path, |state, key| {
            let content = state.files.get(&key).ok_or_else(file_not_found)?.clone();
            Ok(FileContent {
                size: content.len() as u64,
                hash: Some(content_hash(&content)),
                content,
                encoding: None,
                start_line: None,
                end_line: None,
                total_lines: None,
                truncated: false,
            })
        })
    }

    fn write<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a WriteFileParams,
    ) -> PortFuture<'a, WriteFileResult> {
        self.with_checked_path(site, &params.path, |state, key| {
            let current_hash = state.files.get(&key).map(|content| content_hash(content));
            if params.create_only && current_hash.is_some() {
                return Err(PortError::from(Refusal::new(
                    RefusalCode::FILE_EXISTS,
                    Reason::new("test-failure"),
                )));
            }
            if params.expected_hash.is_some() && params.expected_hash != current_hash {
                return Err(PortError::from(Refusal::new(
                    RefusalCode::HASH_MISMATCH,
                    Reason::new("test-failure"),
                )));
            }
            state.directories.insert(key.0.clone());
            let before = state.files.insert(key, params.content.clone());
            Ok(WriteFileResult {
                ok: true,
                bytes: params.content.len() as u64,
                hash: content_hash(&params.content),
                created: before.is_none(),
            })
        })
    }

    fn edit<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a EditFileParams,
    ) -> PortFuture<'a, EditFileResult> {
        self.with_checked_path(site, &params.path, |state, key| {
            let content = state.files.get_mut(&key).ok_or_else(file_not_found)?;
            let replaced = content.matches(&params.old_text).count() as u64;
            *content = content.replace(&params.old_text, &params.new_text);
            Ok(EditFileResult {
                ok: true,
                replaced,
                bytes: content.len() as u64,
                hash: content_hash(content),
            })
        })
    }

    fn delete<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a DeleteFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.with_checked_path(site, &params.path, |state, key| {
            state.files.remove(&key).ok_or_else(file_not_found)?;
            Ok(FileOperationResult { ok: true })
        })
    }

    fn rename<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a MoveFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.with_checked_path(site, &params.from, |state, key| {
            check_relative_path(&params.to)?;
            let content = state.files.remove(&key).ok_or_else(file_not_found)?;
            state.files.insert((key.0, params.to.clone()), content);
            Ok(FileOperationResult { ok: true })
        })
    }

    fn make_dir<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a MakeDirParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.with_checked_path(site, &params.path, |state, (at, path)| {
            state.directories.insert(format!("{at}/{path}"));
            state.directories.insert(at);
            Ok(FileOperationResult { ok: true })
        })
    }

    fn list<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a ListFilesParams,
    ) -> PortFuture<'a, FileList> {
        let path = params.path.as_deref().unwrap_or(".");
        self.with_checked_path(site, path, |state, (at, _)| {
            let entries = state
                .files
                .iter()
                .filter(|((directory, _), _)| *directory == at);
            let files = entries.map(|((_, path), content)| FileEntry {
                name: path.clone(),
                kind: FileEntryType::File,
                size: content.len() as u64,
            });
            let after = |entry: &FileEntry| params.cursor.as_ref().is_none_or(|c| entry.name > *c);
            let mut files: Vec<_> = files.filter(after).collect();
            let max_files = params
                .limit
                .map_or(usize::MAX, |limit| limit.max(1) as usize);
            let truncated = files.len() > max_files;
            files.truncate(max_files);
            let next = files.last().filter(|_| truncated);
            Ok(FileList {
                next: next.map(|last| last.name.clone()),
                truncated,
                files,
            })
        })
    }

    fn info<'a>(&'a self, site: &'a WorkspaceLocation) -> PortFuture<'a, WorkspaceInfo> {
        self.with_checked_path(site, ".", |state, (at, _)| {
            let entries = state
                .files
                .iter()
                .filter(|((directory, _), _)| *directory == at);
            let sizes: Vec<u64> = entries.map(|(_, content)| content.len() as u64).collect();
            Ok(WorkspaceInfo {
                file_count: sizes.len() as u64,
                total_size: sizes.iter().sum(),
                ..WorkspaceInfo::default()
            })
        })
    }

    fn search<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a SearchFilesParams,
    ) -> PortFuture<'a, FileSearchResult> {
        let path = params.path.as_deref().unwrap_or(".");
        self.with_checked_path(site, path, |state, (at, _)| {
            let mut found = FileSearchResult::default();
            for ((_, path), content) in state.files.iter().filter(|((p, _), _)| *p == at) {
                found.files_searched += 1;
                for (line, text) in (1..).zip(content.lines()) {
                    if text.contains(&params.pattern) {
                        let (path, text) = (path.clone(), text.to_owned());
                        found.matches.push(FileSearchMatch { path, line, text });
                    }
                }
            }
            Ok(found)
        })
    }
}

impl SandboxedTerminal for MemoryWorkspaces {
    fn run<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        request: CommandRequest,
        _: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome> {
        let mut state = self.state.lock();
        state.commands.push((site.clone(), request.command.clone()));
        let ending = state
            .command_endings
            .pop()
            .unwrap_or(CommandEnding::Exited(0));
        let output = |text: &str| StreamOutput {
            text: text.to_owned(),
            bytes: text.len() as u64,
            ..StreamOutput::default()
        };
        let tier = (ending != CommandEnding::Cancelled).then_some(SandboxTier::Full);
        let run = CommandOutcome {
            stdout: output(&format!("ran {}\n", request.command)),
            stderr: output(""),
            ..CommandOutcome::without_output(ending, 3, tier)
        };
        Box::pin(std::future::ready(Ok(run)))
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        let layer = SandboxLayer {
            name: "memory",
            active: true,
            detail: SandboxLayerDetail::SystemError("nothing runs".to_owned()),
        };
        let report = SandboxReport {
            tier: SandboxTier::Full,
            layers: vec![layer],
        };
        Box::pin(std::future::ready(Ok(report)))
    }
}

/// Returns the default directory of an agent's workspace.
pub fn default_workspace_directory(agent: &AgentId) -> String {
    format!("{DATA_DIRECTORY}/workspaces/{agent}")
}
