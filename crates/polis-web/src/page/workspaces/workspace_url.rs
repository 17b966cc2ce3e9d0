//! URL building for the pages of a workspace. File paths contain slashes and may be in any script.

use crate::url::{encode_path, encode_segment, url_with_query};

/// Returns the URL of a workspace's page.
pub(crate) fn workspace_url(workspace: &str) -> String {
    format!("/workspaces/{}", encode_segment(workspace))
}

/// Returns the URL of a file's page.
pub(crate) fn file_url(workspace: &str, file: &str) -> String {
    format!("{}/file/{}", workspace_url(workspace), encode_path(file))
}

/// Returns the URL of a file's download.
pub(super) fn download_url(workspace: &str, file: &str) -> String {
    format!("{}/raw/{}", workspace_url(workspace), encode_path(file))
}

/// Returns the URL of a directory's entries, optionally after a name (pagination).
pub(super) fn directory_url(workspace: &str, directory: &str, after: Option<&str>) -> String {
    let page = format!("{}/tree", workspace_url(workspace));
    url_with_query(
        &page,
        &[("path", directory), ("after", after.unwrap_or_default())],
    )
}

/// Returns the URL of the whole tree; `current` is the displayed file.
pub(super) fn file_tree_url(workspace: &str, current: Option<&str>) -> String {
    let page = format!("{}/files", workspace_url(workspace));
    url_with_query(&page, &[("at", current.unwrap_or_default())])
}

/// Returns the URL of a command's page.
pub(super) fn command_url(workspace: &str, id: &str) -> String {
    url_with_query(
        &format!("{}/command", workspace_url(workspace)),
        &[("id", id)],
    )
}

/// Returns the URL of the command list, optionally before a command (pagination).
pub(super) fn command_log_url(workspace: &str, before: Option<&str>) -> String {
    let page = format!("{}/commands", workspace_url(workspace));
    url_with_query(&page, &[("before", before.unwrap_or_default())])
}
