//! Renders workspaces: the list, directories and files.

use polis_core::AgentId;
use polis_core::workspace::file::{EntryType, FileEntry, FileList};
use polis_ops::op::WorkspaceEntry;
use polis_view::number_format;
use polis_view::style::{Style, StyledLines, Styles};

use super::{Cell, Row, Thing, Ways, Writer};
use crate::app::Place;

/// A file.
#[derive(Debug)]
pub struct FileSheet {
    /// Its text with syntax highlighting.
    pub lines: StyledLines,
    /// Its total size.
    pub size: u64,
    /// Whether only a part is shown.
    pub truncated: bool,
}

pub(super) fn rows(workspaces: &[WorkspaceEntry], ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    if workspaces.is_empty() {
        let text = lang.say(
            "No workspace yet: an agent that reports to nobody gets one.",
            "还没有工作区：没有上级的智能体会获得一个。",
        );
        return vec![Row::heading(text)];
    }
    let row = |entry: &WorkspaceEntry| {
        let state = match (entry.created, entry.bound) {
            (false, _) => lang.say("empty", "空"),
            (true, true) => lang.say("bound directory", "绑定目录"),
            (true, false) => lang.say("own directory", "自有目录"),
        };
        Row::new(
            [
                Cell::plain(entry.workspace_id.as_str()),
                Cell::dim(state),
                Cell::dim(entry.workspace_path.as_deref().unwrap_or("")),
            ],
            Thing::File(entry.workspace_id.to_string()),
            Some(Place::Files(entry.workspace_id.clone(), String::new())),
        )
    };
    workspaces.iter().map(row).collect()
}

pub(super) fn files(of: &AgentId, path: &str, list: &FileList, ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    if list.files.is_empty() {
        return vec![Row::heading(lang.say("Nothing is here.", "这里没有文件。"))];
    }
    let row = |entry: &FileEntry| {
        let whole = match path {
            "" => entry.name.clone(),
            path => format!("{path}/{}", entry.name),
        };
        let (name, open) = match entry.kind {
            EntryType::Directory => (
                Cell::new(&format!("{}/", entry.name), Style::Cyan),
                Some(Place::Files(of.clone(), whole.clone())),
            ),
            EntryType::File => (
                Cell::plain(&entry.name),
                Some(Place::File(of.clone(), whole.clone())),
            ),
            _ => (Cell::dim(&entry.name), None),
        };
        let size = match entry.kind {
            EntryType::File => number_format::bytes(entry.size),
            _ => String::new(),
        };
        Row::new([name, Cell::dim(&size)], Thing::File(whole), open)
    };
    // Directories first, as users expect.
    let mut entries: Vec<&FileEntry> = list.files.iter().collect();
    entries.sort_by_key(|entry| entry.kind != EntryType::Directory);
    entries.into_iter().map(row).collect()
}

pub(super) fn file(sheet: &FileSheet, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let mut page = Writer::new(ways.width);
    let mut head = number_format::bytes(sheet.size);
    if sheet.truncated {
        head.push_str(lang.say(", only its beginning is shown", "，仅显示开头"));
    }
    page.words(&head, Style::Dim);
    page.gap();
    let digits = sheet.lines.len().max(1).to_string().len();
    for n in 0..sheet.lines.len() {
        let number = format!("{:>digits$} ", n + 1);
        let pieces =
            std::iter::once((Styles::from(Style::Dim), number.as_str())).chain(sheet.lines.line(n));
        page.pieces(pieces);
    }
    page.finish()
}
