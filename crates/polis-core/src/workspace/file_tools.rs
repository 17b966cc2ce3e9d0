//! Parameters and results of the workspace tools: read, write, edit, delete, move, list and search files, and
//! get the size of a workspace.
//!
//! These types define the tool schemas. The file operations themselves are in `polis-workspace`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// Encoding of file content in a request or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileEncoding {
    /// UTF-8 text.
    #[default]
    Utf8,
    /// Arbitrary bytes in base64.
    Base64,
}

/// A request to read a file (`read_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFileParams {
    /// The file, relative to the workspace.
    pub path: String,
    /// The first line, from 1.
    #[serde(default)]
    pub start_line: Option<u64>,
    /// The last line.
    #[serde(default)]
    pub end_line: Option<u64>,
    /// Maximum number of bytes to return.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Encoding of the result; use base64 for a file that is not text.
    #[serde(default)]
    pub encoding: FileEncoding,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    /// The requested content.
    pub content: String,
    /// Encoding of the content, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<FileEncoding>,
    /// Size of the whole file, in bytes.
    pub size: u64,
    /// SHA-256 of the whole file, in hexadecimal; absent if only a part was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// First line of the content, if lines were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// Last line of the content, if lines were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Number of lines of the file, if lines were requested and its end was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Whether the result was truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A request to write a file (`write_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFileParams {
    /// The file, relative to the workspace; directories are created.
    pub path: String,
    /// The complete new content.
    pub content: String,
    /// Encoding of the content.
    #[serde(default)]
    pub encoding: FileEncoding,
    /// SHA-256 of the content you read; refused if the file has changed since.
    #[serde(default)]
    pub expected_hash: Option<String>,
    /// Refuse to overwrite an existing file.
    #[serde(default)]
    pub create_only: bool,
}

/// Result of `write_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileResult {
    /// Always true.
    pub ok: bool,
    /// New size of the file, in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub hash: String,
    /// Whether the file was created.
    pub created: bool,
}

/// A request to replace text in a file (`edit_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditFileParams {
    /// The file, relative to the workspace.
    pub path: String,
    /// The text to replace, exactly as it is in the file.
    pub old_text: String,
    /// The replacement.
    pub new_text: String,
    /// Replace every occurrence; otherwise there must be exactly one.
    #[serde(default)]
    pub replace_all: bool,
    /// SHA-256 of the content you read; refused if the file has changed since.
    #[serde(default)]
    pub expected_hash: Option<String>,
}

/// Result of `edit_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditFileResult {
    /// Always true.
    pub ok: bool,
    /// Number of replaced occurrences.
    pub replaced: u64,
    /// New size of the file, in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub hash: String,
}

/// A request to delete a file or directory (`delete_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteFileParams {
    /// The file or directory, relative to the workspace.
    pub path: String,
    /// Delete a directory with everything in it.
    #[serde(default)]
    pub recursive: bool,
}

/// A request to move or rename (`move_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveFileParams {
    /// The file or directory, relative to the workspace.
    pub from: String,
    /// The new path, relative to the workspace; directories are created.
    pub to: String,
    /// Replace an existing file.
    #[serde(default)]
    pub overwrite: bool,
}

/// A request to create a directory and its missing parents (`make_dir`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakeDirParams {
    /// The directory, relative to the workspace.
    pub path: String,
}

/// Result of a file tool that returns no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileOperationResult {
    /// Always true.
    pub ok: bool,
}

/// A request to list a directory (`list_files`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListFilesParams {
    /// The directory, relative to the workspace; default: the workspace itself.
    #[serde(default)]
    pub path: Option<String>,
    /// Also list the entries of all subdirectories.
    #[serde(default)]
    pub recursive: bool,
    /// The `next` value of the previous page (pagination).
    #[serde(default)]
    pub cursor: Option<String>,
    /// Maximum number of entries; default: as many as fit into one result.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileEntryType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; it is not followed for the listing.
    Symlink,
    /// A pipe, a socket or a device; tools refuse it.
    Other,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileEntry {
    /// Name of the entry.
    pub name: String,
    /// Type of the entry.
    #[serde(rename = "type")]
    pub kind: FileEntryType,
    /// Size in bytes; 0 if it is not a file.
    pub size: u64,
}

/// One page of a directory listing, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct FileList {
    /// The entries.
    pub files: Vec<FileEntry>,
    /// Whether there are more entries.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Size of a workspace (`get_workspace_info`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceInfo {
    /// Number of files, including links and special files.
    pub file_count: u64,
    /// Number of directories, excluding the workspace itself.
    pub dir_count: u64,
    /// Total size of the files, in bytes.
    pub total_size: u64,
    /// Time of the last change; null if nothing was ever written.
    pub last_modified: Option<Timestamp>,
    /// Whether the tree was too deep or too large to be counted completely.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A request to search the files' content (`search_files`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchFilesParams {
    /// A regular expression, or plain text with `fixed`.
    pub pattern: String,
    /// Directory or file to search, relative to the workspace; default: the whole workspace.
    #[serde(default)]
    pub path: Option<String>,
    /// Only files whose path matches one of these globs, as in .gitignore; `!` excludes.
    #[serde(default)]
    pub globs: Vec<String>,
    /// Treat the pattern as plain text.
    #[serde(default)]
    pub fixed: bool,
    /// Ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Also search hidden files and files ignored by .gitignore.
    #[serde(default)]
    pub all: bool,
    /// Maximum number of matches; default: 200.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileSearchMatch {
    /// The file, relative to the workspace.
    pub path: String,
    /// Line number, from 1.
    pub line: u64,
    /// Text of the line, truncated if it is long; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Result of a search, sorted by path and line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSearchResult {
    /// The matches.
    pub matches: Vec<FileSearchMatch>,
    /// Number of files that were searched.
    pub files_searched: u64,
    /// Whether there are more matches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}
