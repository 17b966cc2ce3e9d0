//! Port [`WorkspaceFileAccess`]: confined access to the files of workspaces.

use polis_core::AgentId;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileList, FileOperationResult,
    FileSearchResult, ListFilesParams, MakeDirParams, MoveFileParams, ReadFileParams,
    SearchFilesParams, WorkspaceInfo, WriteFileParams, WriteFileResult,
};

use super::PortFuture;

/// Location of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceLocation {
    /// The agent it belongs to; the default directory is named after it.
    pub owner: AgentId,
    /// The directory it is bound to; the default directory if `None`.
    pub bound_directory: Option<String>,
}

/// Confined access to the files of a workspace.
///
/// No path leads out of the workspace, regardless of its spelling and of any symbolic links. No error message
/// contains an absolute path. A method fails with `path_traversal_blocked` if a path would lead out, and with
/// `invalid_workspace` if a bound directory was replaced.
pub trait WorkspaceFileAccess: Send + Sync + std::fmt::Debug {
    /// Returns a directory as [`bind`](Self::bind) would, without creating it; fails in the same cases.
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String>;

    /// Returns a directory in the form in which it is bound: created if missing, canonical and absolute.
    /// Fails if it is not writable, or is or contains polis's own data directory.
    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String>;

    /// Returns whether the workspace's directory exists; a default one is created by the first write.
    fn exists<'a>(&'a self, location: &'a WorkspaceLocation) -> PortFuture<'a, bool>;

    /// Returns the absolute location of the workspace, for people who own the machine.
    fn location(&self, location: &WorkspaceLocation) -> String;

    /// Returns a file's content. Fails with `file_not_found` if it does not exist, and with `file_too_large`
    /// or `not_text` if it cannot be returned as requested.
    fn read<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a ReadFileParams,
    ) -> PortFuture<'a, FileContent>;

    /// Writes a file atomically and durably; creates missing parent directories. Fails with `file_exists`,
    /// `hash_mismatch` or `quota_exceeded` if a condition of the request or the quota is not met.
    fn write<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a WriteFileParams,
    ) -> PortFuture<'a, WriteFileResult>;

    /// Replaces text in a file, with the guarantees of `write`. Fails with `file_not_found`,
    /// `text_not_found`, `text_not_unique` or `hash_mismatch` if the file is not as the request expects.
    fn edit<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a EditFileParams,
    ) -> PortFuture<'a, EditFileResult>;

    /// Deletes a file or directory; a symbolic link is deleted, never its target. Fails with `file_not_found`
    /// if it does not exist, and with `directory_not_empty` if it has contents and `recursive` is not set.
    fn delete<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a DeleteFileParams,
    ) -> PortFuture<'a, FileOperationResult>;

    /// Moves a file or directory within the workspace. Fails with `file_not_found` if the source does not
    /// exist, with `file_exists` if the target exists and `overwrite` is not set, with `directory_not_empty`,
    /// `is_a_directory` or `not_a_directory` if it cannot be replaced, and with `invalid_input` if a
    /// directory would be moved into itself.
    fn rename<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a MoveFileParams,
    ) -> PortFuture<'a, FileOperationResult>;

    /// Creates a directory and its missing parents; succeeds if it exists. Fails with `not_a_directory` if a
    /// part of the path is something else.
    fn make_dir<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a MakeDirParams,
    ) -> PortFuture<'a, FileOperationResult>;

    /// Lists a directory's entries by name, starting after a cursor, at most as many as the request's limit.
    /// Response and memory use are bounded regardless of the size of the tree. A workspace that was never
    /// written to is empty. Fails with `file_not_found` or `not_a_directory` if there is no such directory.
    fn list<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a ListFilesParams,
    ) -> PortFuture<'a, FileList>;

    /// Returns a summary of the workspace's contents.
    fn info<'a>(&'a self, location: &'a WorkspaceLocation) -> PortFuture<'a, WorkspaceInfo>;

    /// Returns the matching lines of files. Fails with `invalid_pattern` if the pattern or a glob is invalid,
    /// and with `file_not_found` if the path does not exist.
    fn search<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        params: &'a SearchFilesParams,
    ) -> PortFuture<'a, FileSearchResult>;
}
