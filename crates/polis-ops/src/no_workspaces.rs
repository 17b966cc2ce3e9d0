//! Implementation of the file and terminal ports without a directory: every call that can fail is refused
//! with `NotInitialized`.
//!
//! [`App::new`](crate::App::new) starts with it, so that callers that need no files do not have to choose
//! a directory.

use std::sync::Arc;

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::CommandOutcome;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileList, FileOperationResult,
    FileSearchResult, ListFilesParams, MakeDirParams, MoveFileParams, ReadFileParams,
    SearchFilesParams, WorkspaceInfo, WriteFileParams, WriteFileResult,
};

use crate::port::{
    OutputWatcher, PortError, PortFuture, SandboxReport, SandboxedTerminal, WorkspaceFileAccess,
    WorkspaceLocation,
};
use crate::refusal_tables::OperationRefusal;

/// Null implementation of [`WorkspaceFileAccess`] and [`SandboxedTerminal`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkspaces;

fn not_initialized<'a, T: Send + 'a>() -> PortFuture<'a, T> {
    Box::pin(std::future::ready(Err(PortError::from(
        OperationRefusal::NoProjectDirectory,
    ))))
}

impl WorkspaceFileAccess for NoWorkspaces {
    fn resolve<'a>(&'a self, _: &'a str) -> PortFuture<'a, String> {
        not_initialized()
    }

    fn bind<'a>(&'a self, _: &'a str) -> PortFuture<'a, String> {
        not_initialized()
    }

    fn exists<'a>(&'a self, _: &'a WorkspaceLocation) -> PortFuture<'a, bool> {
        not_initialized()
    }

    fn location(&self, location: &WorkspaceLocation) -> String {
        location.bound_directory.clone().unwrap_or_default()
    }

    fn read<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a ReadFileParams,
    ) -> PortFuture<'a, FileContent> {
        not_initialized()
    }

    fn write<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a WriteFileParams,
    ) -> PortFuture<'a, WriteFileResult> {
        not_initialized()
    }

    fn edit<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a EditFileParams,
    ) -> PortFuture<'a, EditFileResult> {
        not_initialized()
    }

    fn delete<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a DeleteFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        not_initialized()
    }

    fn rename<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a MoveFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        not_initialized()
    }

    fn make_dir<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a MakeDirParams,
    ) -> PortFuture<'a, FileOperationResult> {
        not_initialized()
    }

    fn list<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a ListFilesParams,
    ) -> PortFuture<'a, FileList> {
        not_initialized()
    }

    fn info<'a>(&'a self, _: &'a WorkspaceLocation) -> PortFuture<'a, WorkspaceInfo> {
        not_initialized()
    }

    fn search<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: &'a SearchFilesParams,
    ) -> PortFuture<'a, FileSearchResult> {
        not_initialized()
    }
}

impl SandboxedTerminal for NoWorkspaces {
    fn run<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: CommandRequest,
        _: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome> {
        not_initialized()
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        not_initialized()
    }
}
