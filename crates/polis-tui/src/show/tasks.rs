//! Renders tasks: the list by status, and one task with its details, comments and history.

use polis_core::TaskStatus;
use polis_core::task::TaskSummary;
use polis_core::task::history::HistoryEntry;
use polis_ops::op::{Comments, NewestHistory, TaskView};
use polis_view::labels;
use polis_view::style::{Style, StyledLines, Styles};

use super::{Cell, Row, Thing, Ways, Writer, age};
use crate::app::Place;

/// A task.
#[derive(Debug)]
pub struct TaskSheet {
    /// The task.
    pub view: TaskView,
    /// Its latest comments.
    pub comments: Comments,
    /// Its latest history entries.
    pub history: NewestHistory,
}

/// Tasks of one status.
#[derive(Debug)]
pub struct TaskGroup {
    /// The status.
    pub status: TaskStatus,
    /// The newest of them.
    pub tasks: Vec<TaskSummary>,
    /// Their total number.
    pub total: u64,
}

impl TaskGroup {
    /// Whether there are more than were loaded.
    pub fn has_more(&self) -> bool {
        u64::try_from(self.tasks.len()).is_ok_and(|count| count < self.total)
    }
}

pub(super) fn thing(task: &TaskSummary) -> Thing {
    Thing::Task {
        id: task.id,
        version: task.version,
        status: task.status,
        owner: task.owner.clone(),
    }
}

pub(super) fn owner(task: &TaskSummary) -> Cell {
    match task.owner.as_str() {
        "" => Cell::dim("-"),
        owner if task.stale => Cell::new(owner, Style::Red),
        owner => Cell::plain(owner),
    }
}

pub(super) fn rows(groups: &[TaskGroup], ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    if groups.iter().all(|group| group.tasks.is_empty()) {
        let text = lang.say(
            "No tasks here. Press a to create one, or Esc to end a filter.",
            "这里没有任务。按 a 新建，按 Esc 取消过滤。",
        );
        return vec![Row::heading(text)];
    }
    let mut rows = Vec::new();
    for group in groups.iter().filter(|group| !group.tasks.is_empty()) {
        let name = labels::status(group.status, lang);
        rows.push(Row::heading(&format!("{name} ({})", group.total)));
        rows.extend(group.tasks.iter().map(|task| row(task, ways)));
    }
    rows
}

fn row(task: &TaskSummary, ways: &Ways) -> Row {
    let lang = ways.lang;
    let waits = task.open_blockers > 0 && task.status != TaskStatus::Completed;
    let subject = if waits {
        let waits = lang.say("waits for", "等待");
        let open: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
        format!("{} ({waits} {})", task.subject, open.join(" "))
    } else {
        task.subject.clone()
    };
    let styles = match task.status {
        TaskStatus::Completed => Styles::from(Style::Dim),
        _ if waits => Styles::from(Style::Dim),
        _ => Styles::NONE,
    };
    let role = task.required_role.as_deref().unwrap_or("");
    let sort = task
        .task_type
        .map_or("", |sort| labels::task_type(sort, lang));
    Row::new(
        [
            Cell::new(&format!("#{}", task.id), Style::Cyan),
            Cell::new(&subject, styles),
            owner(task),
            Cell::dim(labels::role(role, lang)),
            Cell::dim(sort),
            Cell::dim(&age(task.updated_at.as_ref(), ways)),
        ],
        thing(task),
        Some(Place::Task(task.id)),
    )
}

fn status_style(status: TaskStatus) -> Style {
    match status {
        TaskStatus::Pending => Style::Yellow,
        TaskStatus::InProgress => Style::Cyan,
        TaskStatus::Completed => Style::Green,
        TaskStatus::Deleted => Style::Red,
    }
}

pub(super) fn text(sheet: &TaskSheet, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let task = &sheet.view.task;
    let mut page = Writer::new(ways.width);
    page.words(&task.subject, Style::Bold);
    page.fact(
        lang.say("Status", "状态"),
        labels::status(task.status, lang),
        status_style(task.status),
    );
    let owner = match (task.owner.as_str(), sheet.view.stale) {
        ("", _) => lang.say("nobody", "无").to_owned(),
        (owner, true) => format!(
            "{owner} ({})",
            lang.say("silent: lease ran out", "租约已过期")
        ),
        (owner, false) => owner.to_owned(),
    };
    page.fact(lang.say("Owner", "负责人"), &owner, Styles::NONE);
    if let Some(role) = &task.required_role {
        let role = labels::role(role, lang);
        page.fact(lang.say("Role", "角色"), role, Styles::NONE);
    }
    if let Some(sort) = task.task_type {
        let sort = labels::task_type(sort, lang);
        page.fact(lang.say("Type", "类型"), sort, Styles::NONE);
    }
    let ids = |ids: &[polis_core::TaskId]| {
        let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
        ids.join(" ")
    };
    if !task.blocked_by.is_empty() {
        let name = labels::field("blockedBy", lang);
        page.fact(name, &ids(&task.blocked_by), Styles::NONE);
    }
    if !task.blocks.is_empty() {
        page.fact(
            labels::field("blocks", lang),
            &ids(&task.blocks),
            Styles::NONE,
        );
    }
    if let Some(approval) = &task.approval {
        let name = lang.say("Approved by", "批准人");
        page.fact(name, approval.by.as_str(), Style::Green);
    }
    let changed = format!(
        "{} ({} {})",
        age(task.updated_at.as_ref(), ways),
        lang.say("version", "版本"),
        task.version
    );
    page.fact(lang.say("Changed", "更新"), &changed, Styles::NONE);
    let created = age(task.created_at.as_ref(), ways);
    page.fact(lang.say("Created", "创建"), &created, Styles::NONE);
    if !task.description.trim().is_empty() {
        page.heading(lang.say("Description", "描述"));
        page.markdown(&task.description);
    }
    let comments = &sheet.comments;
    if !comments.comments.is_empty() {
        page.heading(lang.say("Comments", "评论"));
        if comments.earlier.is_some() {
            page.words(
                lang.say("… what was said before is left out", "……更早的已省略"),
                Style::Dim,
            );
        }
        for comment in &comments.comments {
            let head = format!("{}  {}", comment.author, age(Some(&comment.at), ways));
            page.words(&head, Style::Cyan);
            page.indented(&comment.body, "  ", Styles::NONE);
        }
    }
    page.heading(lang.say("History", "历史"));
    for entry in &sheet.history.history {
        history(&mut page, entry, ways);
    }
    if sheet.history.earlier {
        page.words(
            lang.say("… what was before is left out", "……更早的已省略"),
            Style::Dim,
        );
    }
    page.finish()
}

fn history(page: &mut Writer, entry: &HistoryEntry, ways: &Ways) {
    let line = format!(
        "{}  {} {}",
        age(Some(&entry.at), ways),
        entry.actor,
        polis_view::history::sentence(entry, ways.lang)
    );
    page.words(&line, Style::Dim);
}
