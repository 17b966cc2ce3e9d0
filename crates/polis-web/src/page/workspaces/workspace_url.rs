//! URLs of a workspace's pages. Paths contain slashes and may be in any script.

use crate::url::{asking, path, segment};

/// Returns the URL of a workspace's page.
pub(crate) fn of(workspace: &str) -> String {
    format!("/workspaces/{}", segment(workspace))
}

/// Returns the URL of a file's page.
pub(crate) fn file(workspace: &str, file: &str) -> String {
    format!("{}/file/{}", of(workspace), path(file))
}

/// Returns the URL of a file's download.
pub(super) fn raw(workspace: &str, file: &str) -> String {
    format!("{}/raw/{}", of(workspace), path(file))
}

/// Returns the URL of a directory's entries, optionally after a name (pagination).
pub(super) fn tree(workspace: &str, directory: &str, after: Option<&str>) -> String {
    let page = format!("{}/tree", of(workspace));
    asking(
        &page,
        &[("path", directory), ("after", after.unwrap_or_default())],
    )
}

/// Returns the URL of the whole tree; `current` is the displayed file.
pub(super) fn files(workspace: &str, current: Option<&str>) -> String {
    let page = format!("{}/files", of(workspace));
    asking(&page, &[("at", current.unwrap_or_default())])
}

/// Returns the URL of a command's page.
pub(super) fn command(workspace: &str, id: &str) -> String {
    asking(&format!("{}/command", of(workspace)), &[("id", id)])
}

/// Returns the URL of the command list, optionally before a command (pagination).
pub(super) fn commands(workspace: &str, before: Option<&str>) -> String {
    let page = format!("{}/commands", of(workspace));
    asking(&page, &[("before", before.unwrap_or_default())])
}
