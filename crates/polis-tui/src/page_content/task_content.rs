//! Renders tasks: the list by status, and one task with its details, comments and history.

use polis_core::TaskStatus;
use polis_core::task::history::TaskHistoryEntry;
use polis_core::task::{TaskField, TaskPriority, TaskSummary};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{CommentPage, NewestTaskHistory, TaskView};
use polis_view::labels;
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::task_fields::{TaskValueStyle, list_task_fields};

use super::{ListCell, ListRow, RenderContext, Selection, TextPageBuilder, format_age};
use crate::app::Route;

/// Data of a task's page.
#[derive(Debug)]
pub struct TaskPageData {
    /// The task, and whether it is stale.
    pub view: TaskView,
    /// The newest comments on the task.
    pub comments: CommentPage,
    /// The newest entries of its history.
    pub history: NewestTaskHistory,
}

/// Tasks of one status.
#[derive(Debug)]
pub struct TaskGroup {
    /// Status of all tasks of the group.
    pub status: TaskStatus,
    /// The first tasks, as far as they are loaded: highest priority first if they are open, then newest.
    pub tasks: Vec<TaskSummary>,
    /// Number of tasks with this status that match the search.
    pub total: u64,
}

impl TaskGroup {
    /// Whether there are more than were loaded.
    pub fn has_more(&self) -> bool {
        u64::try_from(self.tasks.len()).is_ok_and(|count| count < self.total)
    }
}

pub(super) fn task_selection(task: &TaskSummary) -> Selection {
    Selection::Task {
        id: task.id,
        version: task.version,
        status: task.status,
        owner: task.owner.clone(),
    }
}

pub(super) fn owner_cell(task: &TaskSummary) -> ListCell {
    match task.owner.as_str() {
        "" => ListCell::dim("-"),
        owner if task.stale => ListCell::new(owner, TextStyle::Red),
        owner => ListCell::plain(owner),
    }
}

/// Returns the number of a task, coloured by its priority.
pub(super) fn number_cell(task: &TaskSummary) -> ListCell {
    let is_open = task.status != TaskStatus::Completed;
    let style = match task.priority.filter(|_| is_open) {
        Some(TaskPriority::Critical) => TextStyle::Red,
        Some(TaskPriority::High) => TextStyle::Yellow,
        Some(TaskPriority::Normal | TaskPriority::Low) | None => TextStyle::Cyan,
    };
    ListCell::new(&format!("#{}", task.id), style)
}

/// Returns the subject of a task after its priority, if that is not normal.
pub(super) fn marked_subject(task: &TaskSummary, lang: UiLanguage) -> String {
    match task.priority {
        Some(priority) => {
            let mark = labels::task_priority_label(priority, lang);
            format!("[{mark}] {}", task.subject)
        }
        None => task.subject.clone(),
    }
}

pub(super) fn task_rows(groups: &[TaskGroup], context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    if groups.iter().all(|group| group.tasks.is_empty()) {
        let text = msg::tui_no_tasks(lang);
        return vec![ListRow::heading(text)];
    }
    let mut rows = Vec::new();
    for group in groups.iter().filter(|group| !group.tasks.is_empty()) {
        let name = labels::task_status_label(group.status, lang);
        rows.push(ListRow::heading(&format!("{name} ({})", group.total)));
        rows.extend(group.tasks.iter().map(|task| task_row(task, context)));
    }
    rows
}

fn task_row(task: &TaskSummary, context: &RenderContext) -> ListRow {
    let lang = context.lang;
    let is_blocked = task.open_blockers > 0 && task.status != TaskStatus::Completed;
    let marked = marked_subject(task, lang);
    let subject = if is_blocked {
        let label = msg::tui_task_blocked_by(lang);
        let open: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
        format!("{marked} ({label} {})", open.join(" "))
    } else {
        marked
    };
    let styles = match task.status {
        TaskStatus::Completed => StyleSet::from(TextStyle::Dim),
        _ if is_blocked => StyleSet::from(TextStyle::Dim),
        _ => StyleSet::NONE,
    };
    let role = task.required_role.as_deref().unwrap_or("");
    let sort = task
        .task_type
        .map_or("", |sort| labels::task_type_label(sort, lang));
    ListRow::new(
        [
            number_cell(task),
            ListCell::new(&subject, styles),
            owner_cell(task),
            ListCell::dim(labels::role_label(role, lang)),
            ListCell::dim(sort),
            ListCell::dim(&format_age(task.updated_at.as_ref(), context)),
        ],
        task_selection(task),
        Some(Route::Task(task.id)),
    )
}

fn priority_style(priority: Option<TaskPriority>) -> StyleSet {
    match priority {
        Some(TaskPriority::Critical) => TextStyle::Red.into(),
        Some(TaskPriority::High) => TextStyle::Yellow.into(),
        Some(TaskPriority::Normal | TaskPriority::Low) | None => StyleSet::NONE,
    }
}

fn status_style(status: TaskStatus) -> TextStyle {
    match status {
        TaskStatus::Pending => TextStyle::Yellow,
        TaskStatus::InProgress => TextStyle::Cyan,
        TaskStatus::Completed => TextStyle::Green,
        TaskStatus::Deleted => TextStyle::Red,
    }
}

pub(super) fn render_task(data: &TaskPageData, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let task = &data.view.task;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    page.paragraph(&task.subject, TextStyle::Bold);
    let style = TaskValueStyle::Readable { now: context.now };
    for entry in list_task_fields(&data.view, style, lang) {
        let styles = match entry.field {
            TaskField::Status => status_style(task.status).into(),
            TaskField::Approval => TextStyle::Green.into(),
            TaskField::Priority => priority_style(task.priority),
            _ => StyleSet::NONE,
        };
        page.labelled_value(entry.label, &entry.value, styles);
    }
    if !task.description.trim().is_empty() {
        page.heading(msg::task_field_description(lang));
        page.markdown(&task.description);
    }
    let comments = &data.comments;
    if !comments.comments.is_empty() {
        page.heading(msg::task_comments_title(lang));
        if comments.earlier.is_some() {
            page.paragraph(msg::tui_earlier_comments_omitted(lang), TextStyle::Dim);
        }
        for comment in &comments.comments {
            let head = format!(
                "{}  {}",
                comment.author,
                format_age(Some(&comment.at), context)
            );
            page.paragraph(&head, TextStyle::Cyan);
            page.indented_paragraph(&comment.body, "  ", StyleSet::NONE);
        }
    }
    page.heading(msg::common_history(lang));
    for entry in &data.history.history {
        write_history_entry(&mut page, entry, context);
    }
    if data.history.has_earlier {
        page.paragraph(msg::tui_earlier_entries_omitted(lang), TextStyle::Dim);
    }
    page.finish()
}

fn write_history_entry(
    page: &mut TextPageBuilder,
    entry: &TaskHistoryEntry,
    context: &RenderContext,
) {
    let line = format!(
        "{}  {} {}",
        format_age(Some(&entry.at), context),
        entry.actor,
        polis_view::task_history::describe_history_entry(entry, context.lang)
    );
    page.paragraph(&line, TextStyle::Dim);
}
