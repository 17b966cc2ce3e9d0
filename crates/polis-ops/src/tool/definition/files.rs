//! Tools for a workspace's files: definitions, and handlers that call the operation, shorten its result for a
//! model and render it as text.

use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileEncoding, FileEntryType,
    FileList, FileOperationResult, FileSearchResult, ListFilesParams, MakeDirParams,
    MoveFileParams, ReadFileParams, SearchFilesParams, WriteFileParams, WriteFileResult,
};

use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{self, LoggedResult, NoParams, WorkspaceReport};
use crate::tool::Tool;
use crate::tool::truncation::{
    DEFAULT_PAGE_SIZE, fit_entries, fit_entries_into, join_lines, limit_text_bytes, next_page_note,
};

/// Default number of directory entries in a result for a model: they are short.
const DEFAULT_LISTED_ENTRIES: u32 = 200;

/// Maximum number of directory entries in a result for a program.
const MAX_LISTED_ENTRIES: u32 = 10_000;

/// Maximum size of such a result in bytes of JSON: a result is in memory several times while it is built.
const MAX_LISTED_BYTES: usize = 2 * 1024 * 1024;

/// Definitions of the file tools.
pub(super) const FILE_TOOLS: &[Tool] = &[
    tool!("read_file", Files, ReadOnly, ReadFileParams => FileContent, read_file, { is_default, is_offered_to_agents, acts_outside_store }),
    tool!("write_file", Files, Destructive, WriteFileParams => LoggedResult<WriteFileResult>, write_file, { is_default, is_offered_to_agents, acts_outside_store, idempotent }),
    tool!("edit_file", Files, Destructive, EditFileParams => LoggedResult<EditFileResult>, edit_file, { is_default, is_offered_to_agents, acts_outside_store }),
    tool!("delete_file", Files, Destructive, DeleteFileParams => LoggedResult<FileOperationResult>, delete_file, { is_offered_to_agents, acts_outside_store, idempotent }),
    tool!("move_file", Files, Destructive, MoveFileParams => LoggedResult<FileOperationResult>, move_file, { is_offered_to_agents, acts_outside_store }),
    tool!("make_dir", Files, Additive, MakeDirParams => LoggedResult<FileOperationResult>, make_dir, { acts_outside_store, idempotent, is_offered_to_agents }),
    tool!("list_files", Files, ReadOnly, ListFilesParams => FileList, list_files, { is_default, is_offered_to_agents, acts_outside_store }),
    tool!("search_files", Files, ReadOnly, SearchFilesParams => FileSearchResult, search_files, { is_default, is_offered_to_agents, acts_outside_store }),
    tool!("get_workspace_info", Files, ReadOnly, NoParams => WorkspaceReport, get_workspace_info, { is_default, is_offered_to_agents, acts_outside_store }),
];

async fn read_file(call: ToolContext<'_>, mut params: ReadFileParams) -> ToolResult<FileContent> {
    if call.for_model {
        params.max_bytes = limit_text_bytes(params.max_bytes);
        if params.encoding == FileEncoding::Base64 {
            // Three bytes are four base64 characters.
            params.max_bytes = params.max_bytes.map(|max_bytes| max_bytes / 4 * 3);
        }
    }
    let mut file = op::read_file(call.request, None, &params).await?;
    let mut note = None;
    if file.truncated && params.encoding == FileEncoding::Utf8 {
        note = Some(truncate_to_whole_lines(&mut file, call.lang));
    } else if file.truncated {
        note = Some(msg::tool_workspace_read_with_command(call.lang).to_owned());
    }
    let continuation =
        note.map(|advice| msg::tool_workspace_file_truncated(call.lang, file.size, advice));
    let text = file.content.clone();
    Ok(ToolReply::new(file, text).with_continuation(continuation))
}

/// Truncates a part of a file to whole lines, and returns how to get the rest.
fn truncate_to_whole_lines(file: &mut FileContent, lang: UiLanguage) -> String {
    let Some(end) = file.content.rfind('\n') else {
        return msg::tool_workspace_line_too_long(lang).to_owned();
    };
    file.content.truncate(end + 1);
    let lines = file.content.bytes().filter(|byte| *byte == b'\n').count() as u64;
    let first = file.start_line.unwrap_or(1);
    let next = first.saturating_add(lines);
    file.start_line = Some(first);
    file.end_line = Some(next.saturating_sub(1));
    msg::tool_workspace_next_line(lang, next)
}

async fn write_file(
    call: ToolContext<'_>,
    params: WriteFileParams,
) -> ToolResult<LoggedResult<WriteFileResult>> {
    let logged_result = op::write_file(call.request, None, &params).await?;
    let bytes = logged_result.result.bytes;
    let text = msg::tool_workspace_written(call.lang, &params.path, bytes);
    Ok(ToolReply::new(logged_result, text))
}

async fn edit_file(
    call: ToolContext<'_>,
    params: EditFileParams,
) -> ToolResult<LoggedResult<EditFileResult>> {
    let logged_result = op::edit_file(call.request, None, &params).await?;
    let result = &logged_result.result;
    let text = msg::tool_workspace_edited(call.lang, &params.path, result.replaced, result.bytes);
    Ok(ToolReply::new(logged_result, text))
}

async fn delete_file(
    call: ToolContext<'_>,
    params: DeleteFileParams,
) -> ToolResult<LoggedResult<FileOperationResult>> {
    let logged_result = op::delete_file(call.request, None, &params).await?;
    Ok(ToolReply::new(
        logged_result,
        msg::tool_workspace_deleted(call.lang, &params.path),
    ))
}

async fn move_file(
    call: ToolContext<'_>,
    params: MoveFileParams,
) -> ToolResult<LoggedResult<FileOperationResult>> {
    let logged_result = op::move_file(call.request, None, &params).await?;
    Ok(ToolReply::new(
        logged_result,
        msg::tool_workspace_moved(call.lang, &params.from, &params.to),
    ))
}

async fn make_dir(
    call: ToolContext<'_>,
    params: MakeDirParams,
) -> ToolResult<LoggedResult<FileOperationResult>> {
    let logged_result = op::make_dir(call.request, None, &params).await?;
    Ok(ToolReply::new(
        logged_result,
        msg::tool_workspace_dir_created(call.lang, &params.path),
    ))
}

async fn list_files(call: ToolContext<'_>, mut params: ListFilesParams) -> ToolResult<FileList> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_LISTED_ENTRIES));
    }
    params.limit = Some(
        params
            .limit
            .unwrap_or(MAX_LISTED_ENTRIES)
            .min(MAX_LISTED_ENTRIES),
    );
    let mut all = op::list_files(call.request, None, &params).await?;
    let is_cut = if call.for_model {
        fit_entries(&mut all.files)
    } else {
        fit_entries_into(&mut all.files, MAX_LISTED_BYTES)
    };
    if is_cut {
        all.truncated = true;
        all.next = all.files.last().map(|file| file.name.clone());
    }
    let lines = all.files.iter().map(|one| match one.kind {
        FileEntryType::File => format!("{} {}", one.name, one.size),
        FileEntryType::Directory => format!("{}/", one.name),
        FileEntryType::Symlink => msg::tool_workspace_link(call.lang, &one.name),
        FileEntryType::Other => msg::tool_workspace_not_a_file(call.lang, &one.name),
    });
    let text = join_lines(lines, msg::tool_workspace_empty_dir(call.lang));
    let note = next_page_note(call.lang, all.files.len(), "cursor", all.next.as_ref());
    Ok(ToolReply::new(all, text).with_continuation(note))
}

async fn search_files(
    call: ToolContext<'_>,
    mut params: SearchFilesParams,
) -> ToolResult<FileSearchResult> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE.into()));
    }
    let mut found = op::search_files(call.request, None, &params).await?;
    if call.for_model && fit_entries(&mut found.matches) {
        found.truncated = true;
    }
    let lines = found
        .matches
        .iter()
        .map(|one| format!("{}:{}: {}", one.path, one.line, one.text));
    let text = join_lines(lines, msg::tool_workspace_no_match(call.lang));
    let count = found.matches.len();
    let note = (found.truncated).then(|| msg::tool_workspace_more_matches(call.lang, count));
    Ok(ToolReply::new(found, text).with_continuation(note))
}

async fn get_workspace_info(call: ToolContext<'_>, _: NoParams) -> ToolResult<WorkspaceReport> {
    let report = op::get_workspace_info(call.request, None).await?;
    let info = &report.info;
    let text = msg::tool_workspace_info(
        call.lang,
        &report.workspace_id,
        info.file_count,
        info.dir_count,
        info.total_size,
    );
    Ok(ToolReply::new(report, text))
}
