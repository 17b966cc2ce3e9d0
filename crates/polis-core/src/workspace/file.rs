//! Parameters and results of the workspace file tools: read, write, edit, delete, move, list and search.
//!
//! These types define the tool schemas. The file operations themselves are in `polis-workspace`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How content stands in a request or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As text.
    #[default]
    Utf8,
    /// Any bytes, in base64.
    Base64,
}

/// A request to read a file (`read_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFile {
    /// The file, relative to the workspace.
    pub path: String,
    /// The first line, from 1.
    #[serde(default)]
    pub start_line: Option<u64>,
    /// The last line.
    #[serde(default)]
    pub end_line: Option<u64>,
    /// At most so many bytes.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// How to answer; base64 for a file that is not text.
    #[serde(default)]
    pub encoding: Encoding,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    /// What was asked for.
    pub content: String,
    /// How the content is to be read, where it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The whole file's size.
    pub size: u64,
    /// SHA-256 of the whole file, hexadecimal; absent if only a part was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The first line of the content, if lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// The last line of the content, if lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// How many lines the file has, if lines were asked for and its end was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Whether there is more of what was asked for than is answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A request to write a file (`write_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFile {
    /// The file, relative to the workspace; directories are created.
    pub path: String,
    /// Its whole new content.
    pub content: String,
    /// How the content is given.
    #[serde(default)]
    pub encoding: Encoding,
    /// SHA-256 of what you read; refused if the file has changed since.
    #[serde(default)]
    pub expected_hash: Option<String>,
    /// Refuse if the file exists.
    #[serde(default)]
    pub create_only: bool,
}

/// A file was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// Always true.
    pub ok: bool,
    /// How many bytes the file has.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub hash: String,
    /// Whether the file was not there before.
    pub created: bool,
}

/// A request to replace text in a file (`edit_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditFile {
    /// The file, relative to the workspace.
    pub path: String,
    /// The text to replace, exactly as it is in the file.
    pub old_text: String,
    /// What to put in its place.
    pub new_text: String,
    /// Replace every occurrence; otherwise there must be exactly one.
    #[serde(default)]
    pub replace_all: bool,
    /// SHA-256 of what you read; refused if the file has changed since.
    #[serde(default)]
    pub expected_hash: Option<String>,
}

/// A file was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edited {
    /// Always true.
    pub ok: bool,
    /// How many places were replaced.
    pub replaced: u64,
    /// How many bytes the file has.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub hash: String,
}

/// A request to delete a file or directory (`delete_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteFile {
    /// The file or directory, relative to the workspace.
    pub path: String,
    /// Delete a directory with everything in it.
    #[serde(default)]
    pub recursive: bool,
}

/// A request to move or rename (`move_file`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveFile {
    /// The file or directory, relative to the workspace.
    pub from: String,
    /// The new path, relative to the workspace; directories are created.
    pub to: String,
    /// Replace a file that exists.
    #[serde(default)]
    pub overwrite: bool,
}

/// A request to make a directory, and those on the way (`make_dir`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakeDir {
    /// The directory, relative to the workspace.
    pub path: String,
}

/// Something was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Done {
    /// Always true.
    pub ok: bool,
}

/// A request to list a directory (`list_files`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListFiles {
    /// The directory, relative to the workspace; the workspace itself if left out.
    #[serde(default)]
    pub path: Option<String>,
    /// Also list what is in directories below it.
    #[serde(default)]
    pub recursive: bool,
    /// The `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// At most so many; as many as one answer holds if left out.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryType {
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
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// Its size in bytes; 0 for what is not a file.
    pub size: u64,
}

/// A directory's entries, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct FileList {
    /// The entries.
    pub files: Vec<FileEntry>,
    /// Whether there are more than are answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What is in a workspace (`get_workspace_info`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceInfo {
    /// How many files, links and others included.
    pub file_count: u64,
    /// How many directories, the workspace itself not counted.
    pub dir_count: u64,
    /// The sum of the files' sizes.
    pub total_size: u64,
    /// When anything last changed; null if nothing was ever written.
    pub last_modified: Option<Timestamp>,
    /// Whether the tree is too deep or too wide to be counted whole; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A request to search the files' content (`search_files`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchFiles {
    /// A regular expression, or plain text with `fixed`.
    pub pattern: String,
    /// Where to search, relative to the workspace; everywhere if left out.
    #[serde(default)]
    pub path: Option<String>,
    /// Only files whose path matches one of these globs, as in .gitignore; `!` excludes.
    #[serde(default)]
    pub globs: Vec<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    pub fixed: bool,
    /// Ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Also hidden files and those in .gitignore.
    #[serde(default)]
    pub all: bool,
    /// The most matches answered; 200 if left out.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchMatch {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The line, cut when long; bytes that are not UTF-8 replaced.
    pub text: String,
}

/// What a search found, by path and line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The matches.
    pub matches: Vec<SearchMatch>,
    /// How many files were searched.
    pub files_searched: u64,
    /// Whether there are more matches than answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}
