//! The files of workspaces.

use polis_core::AgentId;
use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, FileContent, FileList, ListFiles, MakeDir, MoveFile,
    ReadFile, SearchFiles, SearchResult, WorkspaceInfo, WriteFile, Written,
};

use super::PortFuture;

/// Where a workspace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The agent it belongs to; the default directory is named by it.
    pub workspace: AgentId,
    /// The directory it is bound to; the default one if there is none.
    pub bound: Option<String>,
}

/// Confined access to the files of a workspace.
///
/// No path leads out of the workspace, however it is written and whatever links are planted. No
/// message holds an absolute path.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// A directory as [`bind`](Self::bind) would answer it, without making it; refused as there.
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String>;

    /// A directory as it is bound: made if it is not there, canonical and absolute. Refused if it
    /// cannot be written, or is polis's own data or around it.
    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String>;

    /// Whether the workspace's directory is there; a default one is made by the first write.
    fn exists<'a>(&'a self, site: &'a Site) -> PortFuture<'a, bool>;

    /// Where the workspace is, for people who own the machine.
    fn location(&self, site: &Site) -> String;

    /// A file's content.
    fn read<'a>(&'a self, site: &'a Site, ask: &'a ReadFile) -> PortFuture<'a, FileContent>;

    /// Writes a file whole or not at all, durably; makes the directories on the way.
    fn write<'a>(&'a self, site: &'a Site, ask: &'a WriteFile) -> PortFuture<'a, Written>;

    /// Replaces text in a file, as `write` does.
    fn edit<'a>(&'a self, site: &'a Site, ask: &'a EditFile) -> PortFuture<'a, Edited>;

    /// Deletes a file or directory; a link is deleted, never what it points to.
    fn delete<'a>(&'a self, site: &'a Site, ask: &'a DeleteFile) -> PortFuture<'a, Done>;

    /// Moves a file or directory within the workspace.
    fn rename<'a>(&'a self, site: &'a Site, ask: &'a MoveFile) -> PortFuture<'a, Done>;

    /// Makes a directory and those on the way; one that is there is fine.
    fn make_dir<'a>(&'a self, site: &'a Site, ask: &'a MakeDir) -> PortFuture<'a, Done>;

    /// A directory's entries by name, from a cursor on and at most as many as the request's limit. However large the tree
    /// is, the answer and the memory it takes are bounded. A workspace never written to is empty.
    fn list<'a>(&'a self, site: &'a Site, ask: &'a ListFiles) -> PortFuture<'a, FileList>;

    /// How much is in the workspace.
    fn info<'a>(&'a self, site: &'a Site) -> PortFuture<'a, WorkspaceInfo>;

    /// The lines of files that match.
    fn search<'a>(&'a self, site: &'a Site, ask: &'a SearchFiles) -> PortFuture<'a, SearchResult>;
}
