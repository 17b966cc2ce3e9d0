//! Where the pages of a workspace are. Paths have slashes and may be of any script.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');
/// The same for a single name, and for a value in a query.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The page of a workspace.
pub(crate) fn of(workspace: &str) -> String {
    format!("/workspaces/{}", utf8_percent_encode(workspace, NAME))
}

/// The page of a file.
pub(crate) fn file(workspace: &str, path: &str) -> String {
    format!("{}/file/{}", of(workspace), utf8_percent_encode(path, KEPT))
}

/// Where a file is got as it is.
pub(super) fn raw(workspace: &str, path: &str) -> String {
    format!("{}/raw/{}", of(workspace), utf8_percent_encode(path, KEPT))
}

/// Where the entries of a directory are got, after a name if it is given.
pub(super) fn tree(workspace: &str, path: &str, after: Option<&str>) -> String {
    let path = utf8_percent_encode(path, NAME);
    let base = format!("{}/tree?path={path}", of(workspace));
    match after {
        None => base,
        Some(after) => format!("{base}&after={}", utf8_percent_encode(after, NAME)),
    }
}

/// A file's name as a header has it, of any script.
pub(super) fn in_header(name: &str) -> String {
    utf8_percent_encode(name, NAME).to_string()
}
