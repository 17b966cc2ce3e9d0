//! Text rendering of tasks and task lists.

use polis_core::task::TaskSummary;
use polis_core::task::recommend::priority;
use polis_ops::op::TaskView;

use crate::output::{Output, Style, Table, clean, clean_lines};

/// Renders a task at length.
pub(super) fn task(view: &TaskView, out: &Output) -> String {
    let task = &view.task;
    let mut text = out.paint(
        Style::Bold,
        &format!("#{} {}", task.id, clean(&task.subject)),
    );
    text.push('\n');
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<13} {value}\n"));
        }
    };
    let stale = if view.stale {
        " (stale: the lease has run out)"
    } else {
        ""
    };
    field("status", format!("{}{stale}", task.status.as_str()));
    field("owner", clean(&task.owner));
    field(
        "required role",
        task.required_role.as_deref().map(clean).unwrap_or_default(),
    );
    field(
        "type",
        task.task_type
            .map(|t| t.as_str().to_owned())
            .unwrap_or_default(),
    );
    if task
        .metadata
        .as_ref()
        .is_some_and(|m| m.get("priority").is_some())
    {
        field("priority", priority(task).1);
    }
    field("version", task.version.to_string());
    field("blocks", numbers(&task.blocks));
    field("blocked by", numbers(&task.blocked_by));
    field(
        "doing",
        task.active_form.as_deref().map(clean).unwrap_or_default(),
    );
    let time = |t: &Option<polis_core::Timestamp>| {
        t.as_ref().map(|t| clean(t.as_str())).unwrap_or_default()
    };
    field("created", time(&task.created_at));
    field("claimed", time(&task.claimed_at));
    field("started", time(&task.started_at));
    field("completed", time(&task.completed_at));
    field("lease until", time(&task.lease_expires_at));
    if let Some(approval) = &task.approval {
        field("approved by", format!("{} at {}", approval.by, approval.at));
    }
    if let Some(metadata) = &task.metadata {
        let shown: Vec<_> = metadata
            .iter()
            .map(|(key, value)| format!("{key}={}", value.text()))
            .collect();
        field("metadata", clean(&shown.join(" ")));
    }
    if !task.description.is_empty() {
        text.push('\n');
        for line in clean_lines(&task.description).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

/// Joins task numbers with spaces.
pub(super) fn numbers(ids: &[polis_core::TaskId]) -> String {
    ids.iter()
        .map(|id| format!("#{id}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns a line with the tasks that became ready.
pub(super) fn unblocked(view: &TaskView) -> String {
    if view.unblocked.is_empty() {
        String::new()
    } else {
        format!("Now ready: {}\n", numbers(&view.unblocked))
    }
}

/// Column headers of a task list.
pub(super) const HEADS: [&str; 7] = [
    "ID",
    "STATUS",
    "OWNER",
    "ROLE",
    "TYPE",
    "BLOCKED BY",
    "SUBJECT",
];

/// Renders a page of tasks; only the first page has the headers.
pub(super) fn list(tasks: &[TaskSummary], first: bool, out: &Output) -> String {
    let mut table = Table::new(&HEADS);
    for task in tasks {
        let dash = |text: &str| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text.to_owned()
            }
        };
        let status = if task.stale {
            "stale".to_owned()
        } else {
            task.status.as_str().to_owned()
        };
        let blocked = if task.open_blockers == 0 {
            String::new()
        } else {
            numbers(&task.blocked_by)
        };
        table.row([
            task.id.to_string(),
            status,
            dash(&task.owner),
            dash(task.required_role.as_deref().unwrap_or_default()),
            dash(task.task_type.map_or("", polis_core::TaskType::as_str)),
            dash(&blocked),
            task.subject.clone(),
        ]);
    }
    let text = table.render(out);
    if first {
        return text;
    }
    text.split_once('\n')
        .map_or(String::new(), |(_, rows)| rows.to_owned())
}
