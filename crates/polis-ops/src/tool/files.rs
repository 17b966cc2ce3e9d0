//! Tools for a workspace's files: definitions and text rendering.

use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, Encoding, EntryType, FileContent, FileList, ListFiles,
    MakeDir, MoveFile, ReadFile, SearchFiles, SearchResult, WriteFile, Written,
};

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, at_most, fit, fit_bytes, join, more};
use crate::op::{self, Noted, Nothing, WorkspaceReport};

/// Default number of directory entries in a result for a model: they are short.
const LISTED: u32 = 200;

/// Maximum number of directory entries in a result for a program.
const MAX_LISTED: u32 = 10_000;

/// Maximum size of such a result in bytes of JSON: a result is in memory several times while it is built.
const MAX_LISTED_BYTES: usize = 2 * 1024 * 1024;

/// The file tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("read_file", Files, Look, ReadFile => FileContent, read, { usual, listed, outside },
        "Read a workspace file or a range of its lines."),
    tool!("write_file", Files, Change, WriteFile => Noted<Written>, write, { usual, listed, outside, idempotent },
        "Write a whole workspace file."),
    tool!("edit_file", Files, Change, EditFile => Noted<Edited>, edit, { usual, listed, outside },
        "Replace text in a workspace file."),
    tool!("delete_file", Files, Change, DeleteFile => Noted<Done>, delete, { listed, outside, idempotent },
        "Delete a workspace file or directory."),
    tool!("move_file", Files, Change, MoveFile => Noted<Done>, rename, { listed, outside },
        "Move or rename a workspace file."),
    tool!("make_dir", Files, Add, MakeDir => Noted<Done>, make, { outside, idempotent },
        "Make a workspace directory."),
    tool!("list_files", Files, Look, ListFiles => FileList, list, { usual, listed, outside },
        "List a workspace directory."),
    tool!("search_files", Files, Look, SearchFiles => SearchResult, search, { usual, listed, outside },
        "Search workspace files by regular expression."),
    tool!("get_workspace_info", Files, Look, Nothing => WorkspaceReport, info, { usual, listed, outside },
        "Size of your workspace."),
];

async fn read(call: Call<'_>, mut given: ReadFile) -> Told<FileContent> {
    if call.brief {
        given.max_bytes = at_most(given.max_bytes);
        if given.encoding == Encoding::Base64 {
            // Three bytes are four base64 characters.
            given.max_bytes = given.max_bytes.map(|most| most / 4 * 3);
        }
    }
    let mut file = op::read_file(call.polis, call.desk(), &given).await?;
    let mut note = None;
    if file.truncated && given.encoding == Encoding::Utf8 {
        note = Some(end_with_line(&mut file));
    } else if file.truncated {
        note = Some("read the rest with run_command".to_owned());
    }
    let cut = note.map(|how| format!("cut, the file has {} bytes; {how}", file.size));
    let text = file.content.clone();
    Ok(Reply::new(file, text).cut(cut))
}

/// Truncates a part of a file to whole lines, and returns how to get the rest.
fn end_with_line(file: &mut FileContent) -> String {
    let Some(end) = file.content.rfind('\n') else {
        return "one line is longer than what is answered at once: read it with run_command"
            .to_owned();
    };
    file.content.truncate(end + 1);
    let lines = file.content.bytes().filter(|byte| *byte == b'\n').count() as u64;
    let first = file.start_line.unwrap_or(1);
    let next = first.saturating_add(lines);
    file.start_line = Some(first);
    file.end_line = Some(next.saturating_sub(1));
    format!("for the rest pass startLine={next}")
}

async fn write(call: Call<'_>, given: WriteFile) -> Told<Noted<Written>> {
    let done = op::write_file(call.polis, call.desk(), &given).await?;
    let text = format!("{} written, {} bytes.", given.path, done.answer.bytes);
    Ok(Reply::new(done, text))
}

async fn edit(call: Call<'_>, given: EditFile) -> Told<Noted<Edited>> {
    let done = op::edit_file(call.polis, call.desk(), &given).await?;
    let places = match done.answer.replaced {
        1 => "1 place".to_owned(),
        many => format!("{many} places"),
    };
    let text = format!(
        "{} edited in {places}, {} bytes.",
        given.path, done.answer.bytes
    );
    Ok(Reply::new(done, text))
}

async fn delete(call: Call<'_>, given: DeleteFile) -> Told<Noted<Done>> {
    let done = op::delete_file(call.polis, call.desk(), &given).await?;
    Ok(Reply::new(done, format!("{} deleted.", given.path)))
}

async fn rename(call: Call<'_>, given: MoveFile) -> Told<Noted<Done>> {
    let done = op::move_file(call.polis, call.desk(), &given).await?;
    Ok(Reply::new(
        done,
        format!("{} is now {}.", given.from, given.to),
    ))
}

async fn make(call: Call<'_>, given: MakeDir) -> Told<Noted<Done>> {
    let done = op::make_dir(call.polis, call.desk(), &given).await?;
    Ok(Reply::new(done, format!("{} made.", given.path)))
}

async fn list(call: Call<'_>, mut given: ListFiles) -> Told<FileList> {
    if call.brief {
        given.limit = given.limit.or(Some(LISTED));
    }
    given.limit = Some(given.limit.unwrap_or(MAX_LISTED).min(MAX_LISTED));
    let mut all = op::list_files(call.polis, call.desk(), &given).await?;
    let is_cut = if call.brief {
        fit(&mut all.files)
    } else {
        fit_bytes(&mut all.files, MAX_LISTED_BYTES)
    };
    if is_cut {
        all.truncated = true;
        all.next = all.files.last().map(|file| file.name.clone());
    }
    let lines = all.files.iter().map(|one| match one.kind {
        EntryType::File => format!("{} {}", one.name, one.size),
        EntryType::Directory => format!("{}/", one.name),
        EntryType::Symlink => format!("{} (link)", one.name),
        EntryType::Other => format!("{} (not a file)", one.name),
    });
    let text = join(lines, "Nothing here.");
    let cut = more(all.files.len(), "cursor", all.next.as_ref());
    Ok(Reply::new(all, text).cut(cut))
}

async fn search(call: Call<'_>, mut given: SearchFiles) -> Told<SearchResult> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE.into()));
    }
    let mut found = op::search_files(call.polis, call.desk(), &given).await?;
    if call.brief && fit(&mut found.matches) {
        found.truncated = true;
    }
    let lines = found
        .matches
        .iter()
        .map(|one| format!("{}:{}: {}", one.path, one.line, one.text));
    let text = join(lines, "No match.");
    let shown = found.matches.len();
    let how = "narrow it with path, globs or the pattern, or pass limit";
    let cut = found.truncated.then(|| format!("{shown} shown; {how}"));
    Ok(Reply::new(found, text).cut(cut))
}

async fn info(call: Call<'_>, _: Nothing) -> Told<WorkspaceReport> {
    let report = op::get_workspace_info(call.polis, call.desk()).await?;
    let info = &report.info;
    let text = format!(
        "Workspace of {}: {} files, {} directories, {} bytes.",
        report.workspace_id, info.file_count, info.dir_count, info.total_size
    );
    Ok(Reply::new(report, text))
}
