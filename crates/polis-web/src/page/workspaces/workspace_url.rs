//! Where the pages of a workspace are. Paths have slashes and may be of any script.

use crate::url::{asking, path, segment};

/// The page of a workspace.
pub(crate) fn of(workspace: &str) -> String {
    format!("/workspaces/{}", segment(workspace))
}

/// The page of a file.
pub(crate) fn file(workspace: &str, file: &str) -> String {
    format!("{}/file/{}", of(workspace), path(file))
}

/// Where a file is got as it is.
pub(super) fn raw(workspace: &str, file: &str) -> String {
    format!("{}/raw/{}", of(workspace), path(file))
}

/// Where the entries of a directory are got, after a name if it is given.
pub(super) fn tree(workspace: &str, directory: &str, after: Option<&str>) -> String {
    let page = format!("{}/tree", of(workspace));
    asking(
        &page,
        &[("path", directory), ("after", after.unwrap_or_default())],
    )
}

/// Where the whole tree is got, while a file is looked at or none.
pub(super) fn files(workspace: &str, current: Option<&str>) -> String {
    let page = format!("{}/files", of(workspace));
    asking(&page, &[("at", current.unwrap_or_default())])
}

/// The page of a command.
pub(super) fn command(workspace: &str, id: &str) -> String {
    asking(&format!("{}/command", of(workspace)), &[("id", id)])
}

/// Where the commands before one are got, or the newest.
pub(super) fn commands(workspace: &str, before: Option<&str>) -> String {
    let page = format!("{}/commands", of(workspace));
    asking(&page, &[("before", before.unwrap_or_default())])
}
