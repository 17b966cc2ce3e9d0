//! Operations on the files of a workspace: read, write, edit, delete, move, create a directory, list and search.
//! The files port does the work.
//!
//! Every change is logged as an event without the content, and so is every refused attempt to leave the workspace.
//! A change stands even if logging it fails; its result then has `logged: false`.

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

/// Returns a file's content.
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

/// Writes a file atomically.
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

/// Replaces text in a file.
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

/// Deletes a file or directory.
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

/// Moves or renames a file or directory.
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

/// Creates a directory and its missing parents.
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

/// Lists a directory's entries.
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

/// Returns the matching lines of files.
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
