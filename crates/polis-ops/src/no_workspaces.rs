//! Implementation of the file and terminal ports that refuses every call with `NotInitialized`.
//!
//! [`Polis::new`](crate::Polis::new) starts with it, so that callers that need no files do not have to choose a
//! directory.

use polis_core::Code;
use polis_core::workspace::command::CommandRun;
use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, FileContent, FileList, ListFiles, MakeDir, MoveFile,
    ReadFile, SearchFiles, SearchResult, WorkspaceInfo, WriteFile, Written,
};

use crate::port::{CommandOrder, Files, PortError, PortFuture, SandboxReport, Site, Terminal};

/// Null implementation of [`Files`] and [`Terminal`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkspaces;

fn none<'a, T: Send + 'a>() -> PortFuture<'a, T> {
    Box::pin(std::future::ready(Err(PortError::new(
        Code::NotInitialized,
        "There is no directory here that workspaces could be in.",
        "run `polis init` in your project, or name its directory with --dir",
    ))))
}

impl Files for NoWorkspaces {
    fn resolve<'a>(&'a self, _: &'a str) -> PortFuture<'a, String> {
        none()
    }

    fn bind<'a>(&'a self, _: &'a str) -> PortFuture<'a, String> {
        none()
    }

    fn exists<'a>(&'a self, _: &'a Site) -> PortFuture<'a, bool> {
        none()
    }

    fn location(&self, site: &Site) -> String {
        site.bound.clone().unwrap_or_default()
    }

    fn read<'a>(&'a self, _: &'a Site, _: &'a ReadFile) -> PortFuture<'a, FileContent> {
        none()
    }

    fn write<'a>(&'a self, _: &'a Site, _: &'a WriteFile) -> PortFuture<'a, Written> {
        none()
    }

    fn edit<'a>(&'a self, _: &'a Site, _: &'a EditFile) -> PortFuture<'a, Edited> {
        none()
    }

    fn delete<'a>(&'a self, _: &'a Site, _: &'a DeleteFile) -> PortFuture<'a, Done> {
        none()
    }

    fn rename<'a>(&'a self, _: &'a Site, _: &'a MoveFile) -> PortFuture<'a, Done> {
        none()
    }

    fn make_dir<'a>(&'a self, _: &'a Site, _: &'a MakeDir) -> PortFuture<'a, Done> {
        none()
    }

    fn list<'a>(&'a self, _: &'a Site, _: &'a ListFiles) -> PortFuture<'a, FileList> {
        none()
    }

    fn info<'a>(&'a self, _: &'a Site) -> PortFuture<'a, WorkspaceInfo> {
        none()
    }

    fn search<'a>(&'a self, _: &'a Site, _: &'a SearchFiles) -> PortFuture<'a, SearchResult> {
        none()
    }
}

impl Terminal for NoWorkspaces {
    fn run<'a>(&'a self, _: &'a Site, _: CommandOrder) -> PortFuture<'a, CommandRun> {
        none()
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        none()
    }
}
