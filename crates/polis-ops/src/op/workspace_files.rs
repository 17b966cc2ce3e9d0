//! Operations on the files of a workspace: read, write, edit, delete, move, list and search. Every change is logged.

use polis_core::event::kind;
use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, FileContent, FileList, ListFiles, MakeDir, MoveFile,
    ReadFile, SearchFiles, SearchResult, WriteFile, Written,
};
use serde::Serialize;

use super::workspace_resolution::{Desk, Noted};
use crate::error::OpError;
use crate::polis::Polis;

/// Event payload of a change; never includes the file's content.
#[derive(Debug, Default, Serialize)]
struct Change<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    created: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recursive: bool,
}

impl<'a> Change<'a> {
    fn of(path: &'a str) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }
}

/// Returns a file's content.
pub async fn read_file(
    polis: &Polis,
    desk: Desk<'_>,
    params: &ReadFile,
) -> Result<FileContent, OpError> {
    const OP: &str = "read_file";
    let path = Some(params.path.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.read(&worker.site, params).await;
    polis.guarded(&worker, OP, path, answer).await
}

/// Writes a file atomically.
pub async fn write_file(
    polis: &Polis,
    desk: Desk<'_>,
    params: &WriteFile,
) -> Result<Noted<Written>, OpError> {
    const OP: &str = "write_file";
    let path = Some(params.path.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.write(&worker.site, params).await;
    let answer = polis.guarded(&worker, OP, path, answer).await?;
    let change = Change {
        bytes: Some(answer.bytes),
        hash: Some(&answer.hash),
        created: answer.created,
        ..Change::of(&params.path)
    };
    let logged = polis.note(&worker, kind::FILE_WRITTEN, &change).await;
    Ok(Noted { answer, logged })
}

/// Replaces text in a file.
pub async fn edit_file(
    polis: &Polis,
    desk: Desk<'_>,
    params: &EditFile,
) -> Result<Noted<Edited>, OpError> {
    const OP: &str = "edit_file";
    let path = Some(params.path.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.edit(&worker.site, params).await;
    let answer = polis.guarded(&worker, OP, path, answer).await?;
    let change = Change {
        bytes: Some(answer.bytes),
        hash: Some(&answer.hash),
        replaced: Some(answer.replaced),
        ..Change::of(&params.path)
    };
    let logged = polis.note(&worker, kind::FILE_EDITED, &change).await;
    Ok(Noted { answer, logged })
}

/// Deletes a file or directory.
pub async fn delete_file(
    polis: &Polis,
    desk: Desk<'_>,
    params: &DeleteFile,
) -> Result<Noted<Done>, OpError> {
    const OP: &str = "delete_file";
    let path = Some(params.path.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.delete(&worker.site, params).await;
    let answer = polis.guarded(&worker, OP, path, answer).await?;
    let change = Change {
        recursive: params.recursive,
        ..Change::of(&params.path)
    };
    let logged = polis.note(&worker, kind::FILE_DELETED, &change).await;
    Ok(Noted { answer, logged })
}

/// Moves or renames a file or directory.
pub async fn move_file(
    polis: &Polis,
    desk: Desk<'_>,
    params: &MoveFile,
) -> Result<Noted<Done>, OpError> {
    const OP: &str = "move_file";
    let path = Some(params.from.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.rename(&worker.site, params).await;
    let answer = polis.guarded(&worker, OP, path, answer).await?;
    let change = Change {
        to: Some(&params.to),
        ..Change::of(&params.from)
    };
    let logged = polis.note(&worker, kind::FILE_MOVED, &change).await;
    Ok(Noted { answer, logged })
}

/// Creates a directory and its missing parents.
pub async fn make_dir(
    polis: &Polis,
    desk: Desk<'_>,
    params: &MakeDir,
) -> Result<Noted<Done>, OpError> {
    const OP: &str = "make_dir";
    let path = Some(params.path.as_str());
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.make_dir(&worker.site, params).await;
    let answer = polis.guarded(&worker, OP, path, answer).await?;
    let change = Change::of(&params.path);
    let logged = polis
        .note(&worker, kind::FILE_DIRECTORY_MADE, &change)
        .await;
    Ok(Noted { answer, logged })
}

/// Lists a directory's entries.
pub async fn list_files(
    polis: &Polis,
    desk: Desk<'_>,
    params: &ListFiles,
) -> Result<FileList, OpError> {
    const OP: &str = "list_files";
    let path = params.path.as_deref();
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.list(&worker.site, params).await;
    polis.guarded(&worker, OP, path, answer).await
}

/// Returns the matching lines of files.
pub async fn search_files(
    polis: &Polis,
    desk: Desk<'_>,
    params: &SearchFiles,
) -> Result<SearchResult, OpError> {
    const OP: &str = "search_files";
    let path = params.path.as_deref();
    let worker = polis.at_desk(desk, OP, path).await?;
    let answer = polis.files.search(&worker.site, params).await;
    polis.guarded(&worker, OP, path, answer).await
}
