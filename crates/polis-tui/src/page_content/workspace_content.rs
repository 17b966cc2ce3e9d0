//! Renders the workspaces tab of the terminal UI: the list of workspaces, a directory, and a file.

use polis_core::AgentId;
use polis_core::workspace::file_tools::{FileEntry, FileEntryType, FileList};
use polis_i18n::msg;
use polis_ops::op::WorkspaceEntry;
use polis_view::number_format;
use polis_view::style::{StyleSet, StyledLines, TextStyle};

use super::{ListCell, ListRow, RenderContext, Selection, TextPageBuilder};
use crate::app::Route;

/// Data of a file's page.
#[derive(Debug)]
pub struct FilePageData {
    /// Text of the file with syntax highlighting.
    pub lines: StyledLines,
    /// Size of the whole file in bytes.
    pub size: u64,
    /// Whether only the beginning was loaded.
    pub truncated: bool,
}

pub(super) fn workspace_rows(
    workspaces: &[WorkspaceEntry],
    context: &RenderContext,
) -> Vec<ListRow> {
    let lang = context.lang;
    if workspaces.is_empty() {
        let text = msg::tui_no_workspaces(lang);
        return vec![ListRow::heading(text)];
    }
    let row = |entry: &WorkspaceEntry| {
        let state = match (entry.created, entry.bound) {
            (false, _) => msg::tui_workspace_empty(lang),
            (true, true) => msg::tui_workspace_bound(lang),
            (true, false) => msg::tui_workspace_own(lang),
        };
        ListRow::new(
            [
                ListCell::plain(entry.workspace_id.as_str()),
                ListCell::dim(state),
                ListCell::dim(entry.workspace_path.as_deref().unwrap_or("")),
            ],
            Selection::File(entry.workspace_id.to_string()),
            Some(Route::Files(entry.workspace_id.clone(), String::new())),
        )
    };
    workspaces.iter().map(row).collect()
}

pub(super) fn file_rows(
    owner: &AgentId,
    path: &str,
    list: &FileList,
    context: &RenderContext,
) -> Vec<ListRow> {
    let lang = context.lang;
    if list.files.is_empty() {
        return vec![ListRow::heading(msg::tui_directory_empty(lang))];
    }
    let row = |entry: &FileEntry| {
        let full_path = match path {
            "" => entry.name.clone(),
            path => format!("{path}/{}", entry.name),
        };
        let (name, open) = match entry.kind {
            FileEntryType::Directory => (
                ListCell::new(&format!("{}/", entry.name), TextStyle::Cyan),
                Some(Route::Files(owner.clone(), full_path.clone())),
            ),
            FileEntryType::File => (
                ListCell::plain(&entry.name),
                Some(Route::File(owner.clone(), full_path.clone())),
            ),
            _ => (ListCell::dim(&entry.name), None),
        };
        let size = match entry.kind {
            FileEntryType::File => number_format::format_bytes(entry.size),
            _ => String::new(),
        };
        ListRow::new(
            [name, ListCell::dim(&size)],
            Selection::File(full_path),
            open,
        )
    };
    // Directories first, as in file managers.
    let mut entries: Vec<&FileEntry> = list.files.iter().collect();
    entries.sort_by_key(|entry| entry.kind != FileEntryType::Directory);
    entries.into_iter().map(row).collect()
}

pub(super) fn render_file(data: &FilePageData, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    let mut head = number_format::format_bytes(data.size);
    if data.truncated {
        head.push_str(msg::tui_file_beginning_only(lang));
    }
    page.paragraph(&head, TextStyle::Dim);
    page.blank_line();
    let digits = data.lines.len().max(1).to_string().len();
    for n in 0..data.lines.len() {
        let number = format!("{:>digits$} ", n + 1);
        let pieces = std::iter::once((StyleSet::from(TextStyle::Dim), number.as_str()))
            .chain(data.lines.line_spans(n));
        page.styled_line(pieces);
    }
    page.finish()
}
