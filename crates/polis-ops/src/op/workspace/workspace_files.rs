//! Operations on the files of a workspace: read, write, edit, delete, move, create a directory, list and search.
//! The files port does the work.
//!
//! Every change is logged as an event without the content, and so is every refused attempt to leave the workspace.
//! A change stands even if logging it fails; its result then has `logged: false`.
//!
//! All operations fail with `workspace_not_assigned` if there is no workspace, with `permission_denied` if the caller
//! may not use the one of `owner`, and with `path_traversal_blocked` if a path leads out of the workspace.

use polis_core::EventPayload;
use polis_core::event::{
    DirectoryMadeEvent, FileDeletedEvent, FileEditedEvent, FileMovedEvent, FileWrittenEvent,
};
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileList, FileOperationResult,
    FileSearchResult, ListFilesParams, MakeDirParams, MoveFileParams, ReadFileParams,
    SearchFilesParams, WriteFileParams, WriteFileResult,
};

use polis_core::AgentId;

use crate::error::OpError;
use crate::loading::workspace_resolution::LoggedResult;
use crate::loading::workspace_resolution::log_action;
use crate::loading::workspace_resolution::log_escape_attempt;
use crate::loading::workspace_resolution::resolve_workspace;
use crate::request::Request;

/// Returns a file's content. Fails with `file_not_found` if it does not exist, and with `file_too_large` or
/// `not_text` if it cannot be returned as requested.
pub async fn read_file(
    request: &Request,
    owner: Option<&AgentId>,
    params: &ReadFileParams,
) -> Result<FileContent, OpError> {
    const OP: &str = "read_file";
    let path = Some(params.path.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.read(&actor.location, params).await;
    log_escape_attempt(&request.app, &actor, OP, path, result).await
}

/// Writes a file atomically. Fails with `file_exists` if only a new file may be created, with `hash_mismatch` if
/// the file does not have the expected content, and with `quota_exceeded`.
pub async fn write_file(
    request: &Request,
    owner: Option<&AgentId>,
    params: &WriteFileParams,
) -> Result<LoggedResult<WriteFileResult>, OpError> {
    const OP: &str = "write_file";
    let path = Some(params.path.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.write(&actor.location, params).await;
    let result = log_escape_attempt(&request.app, &actor, OP, path, result).await?;
    let written = EventPayload::FileWritten(FileWrittenEvent {
        path: params.path.clone(),
        bytes: result.bytes,
        hash: result.hash.clone(),
        created: result.created,
    });
    let logged = log_action(&request.app, &actor, written).await;
    Ok(LoggedResult { result, logged })
}

/// Replaces text in a file. Fails with `file_not_found` if it does not exist, with `text_not_found` if the text
/// does not occur, with `text_not_unique` if it occurs several times and not all are to be replaced, and with
/// `hash_mismatch` if the file does not have the expected content.
pub async fn edit_file(
    request: &Request,
    owner: Option<&AgentId>,
    params: &EditFileParams,
) -> Result<LoggedResult<EditFileResult>, OpError> {
    const OP: &str = "edit_file";
    let path = Some(params.path.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.edit(&actor.location, params).await;
    let result = log_escape_attempt(&request.app, &actor, OP, path, result).await?;
    let edited = EventPayload::FileEdited(FileEditedEvent {
        path: params.path.clone(),
        bytes: result.bytes,
        hash: result.hash.clone(),
        replaced: result.replaced,
    });
    let logged = log_action(&request.app, &actor, edited).await;
    Ok(LoggedResult { result, logged })
}

/// Deletes a file or directory. Fails with `file_not_found` if it does not exist, and with `directory_not_empty`
/// if it has contents and `recursive` is not set.
pub async fn delete_file(
    request: &Request,
    owner: Option<&AgentId>,
    params: &DeleteFileParams,
) -> Result<LoggedResult<FileOperationResult>, OpError> {
    const OP: &str = "delete_file";
    let path = Some(params.path.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.delete(&actor.location, params).await;
    let result = log_escape_attempt(&request.app, &actor, OP, path, result).await?;
    let deleted = EventPayload::FileDeleted(FileDeletedEvent {
        path: params.path.clone(),
        recursive: params.recursive,
    });
    let logged = log_action(&request.app, &actor, deleted).await;
    Ok(LoggedResult { result, logged })
}

/// Moves or renames a file or directory. Fails with `file_not_found` if the source does not exist, with
/// `file_exists` if the target exists and `overwrite` is not set, with `directory_not_empty`, `is_a_directory` or
/// `not_a_directory` if it cannot be replaced, and with `invalid_input` if a directory would be moved into
/// itself.
pub async fn move_file(
    request: &Request,
    owner: Option<&AgentId>,
    params: &MoveFileParams,
) -> Result<LoggedResult<FileOperationResult>, OpError> {
    const OP: &str = "move_file";
    let path = Some(params.from.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.rename(&actor.location, params).await;
    let result = log_escape_attempt(&request.app, &actor, OP, path, result).await?;
    let moved = EventPayload::FileMoved(FileMovedEvent {
        path: params.from.clone(),
        to: params.to.clone(),
    });
    let logged = log_action(&request.app, &actor, moved).await;
    Ok(LoggedResult { result, logged })
}

/// Creates a directory and its missing parents. Fails with `not_a_directory` if a part of the path is something
/// else.
pub async fn make_dir(
    request: &Request,
    owner: Option<&AgentId>,
    params: &MakeDirParams,
) -> Result<LoggedResult<FileOperationResult>, OpError> {
    const OP: &str = "make_dir";
    let path = Some(params.path.as_str());
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.make_dir(&actor.location, params).await;
    let result = log_escape_attempt(&request.app, &actor, OP, path, result).await?;
    let made = EventPayload::FileDirectoryMade(DirectoryMadeEvent {
        path: params.path.clone(),
    });
    let logged = log_action(&request.app, &actor, made).await;
    Ok(LoggedResult { result, logged })
}

/// Lists a directory's entries. Fails with `file_not_found` or `not_a_directory` if there is no such directory.
pub async fn list_files(
    request: &Request,
    owner: Option<&AgentId>,
    params: &ListFilesParams,
) -> Result<FileList, OpError> {
    const OP: &str = "list_files";
    let path = params.path.as_deref();
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.list(&actor.location, params).await;
    log_escape_attempt(&request.app, &actor, OP, path, result).await
}

/// Returns the matching lines of files. Fails with `invalid_pattern` if the pattern or a glob is invalid, with
/// `invalid_input` if the limit is out of range, and with `file_not_found` if the path does not exist.
pub async fn search_files(
    request: &Request,
    owner: Option<&AgentId>,
    params: &SearchFilesParams,
) -> Result<FileSearchResult, OpError> {
    const OP: &str = "search_files";
    let path = params.path.as_deref();
    let actor = resolve_workspace(request, owner, OP, path).await?;
    let result = request.app.files.search(&actor.location, params).await;
    log_escape_attempt(&request.app, &actor, OP, path, result).await
}
