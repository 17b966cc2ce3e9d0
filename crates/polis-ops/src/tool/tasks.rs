//! Tools for tasks: definitions and text rendering.

use polis_core::TaskId;
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::task::{TaskStatus, TaskSummary};

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, TEXT, fit, join, more, shorten};
use crate::op::{
    self, CommentView, Comments, History, Recommendations, StatsQuery, TaskApprove, TaskComment,
    TaskComments, TaskGet, TaskHeartbeat, TaskHistory, TaskList, TaskPage, TaskRecommend,
    TaskRelease, TaskStats, TaskView, cut_text, text_from,
};

/// The task tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("TaskCreate", Tasks, Add, TaskCreate => TaskView, create, { usual, listed },
        "Create a task."),
    tool!("TaskList", Tasks, Look, TaskList => TaskPage, list, { usual, listed },
        "List tasks, by number."),
    tool!("TaskGet", Tasks, Look, TaskGet => TaskView, get, { usual, listed },
        "Read a task."),
    tool!("TaskUpdate", Tasks, Add, TaskUpdate => TaskView, update, { usual, listed },
        "Change a task's status, owner, fields or dependencies."),
    tool!("TaskClaim", Tasks, Add, TaskClaim => TaskView, claim, { usual, listed },
        "Take a task and start it; without taskId the best ready one."),
    tool!("TaskRelease", Tasks, Add, TaskRelease => TaskView, release, {},
        "Give a task back."),
    tool!("TaskHeartbeat", Tasks, Add, TaskHeartbeat => TaskView, heartbeat, {},
        "Keep a leased claim alive."),
    tool!("TaskApprove", Tasks, Add, TaskApprove => TaskView, approve, { listed },
        "Approve a task's completion."),
    tool!("TaskRecommend", Tasks, Look, TaskRecommend => Recommendations, recommend, { listed },
        "Rank what you could claim, with reasons."),
    tool!("TaskComment", Tasks, Add, TaskComment => CommentView, comment, { usual, listed },
        "Comment on a task."),
    tool!("TaskComments", Tasks, Look, TaskComments => Comments, comments, { listed },
        "Read a task's comments."),
    tool!("TaskHistory", Tasks, Look, TaskHistory => History, history, { listed },
        "Read who changed what of a task."),
    tool!("TaskStats", Tasks, Look, StatsQuery => TaskStats, stats, {},
        "Success figures of the team."),
];

async fn create(call: Call<'_>, given: TaskCreate) -> Told<TaskView> {
    let mut view = op::create_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let text = done(&view, "created");
    Ok(Reply::new(view, text).cut(cut))
}

async fn list(call: Call<'_>, mut given: TaskList) -> Told<TaskPage> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::list_tasks(call.polis, &given).await?;
    if call.brief && fit(&mut page.tasks) {
        page.next = page.tasks.last().map(|task| task.id);
    }
    let text = join(page.tasks.iter().map(line), "No tasks.");
    let cut = more(page.tasks.len(), "cursor", page.next.as_ref());
    Ok(Reply::new(page, text).cut(cut))
}

async fn get(call: Call<'_>, given: TaskGet) -> Told<TaskView> {
    let mut view = op::get_task(call.polis, given.task_id).await?;
    let cut = cut_description(&mut view, call.brief, given.offset);
    let text = whole(&view);
    Ok(Reply::new(view, text).cut(cut))
}

async fn update(call: Call<'_>, given: TaskUpdate) -> Told<TaskView> {
    let mut view = op::update_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let did = match given.status {
        Some(TaskStatus::Completed) => "completed",
        Some(TaskStatus::Deleted) => "deleted",
        _ => "updated",
    };
    let mut text = done(&view, did);
    if !view.unblocked.is_empty() {
        text.push_str(&format!("\nReady now: {}", numbers(&view.unblocked)));
    }
    Ok(Reply::new(view, text).cut(cut))
}

async fn claim(call: Call<'_>, given: TaskClaim) -> Told<TaskView> {
    let mut view = op::claim_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let mut text = done(&view, &format!("claimed by {}", view.task.owner));
    if given.task_id.is_none() && !view.task.description.is_empty() {
        text.push_str(&format!("\n\n{}", view.task.description));
    }
    Ok(Reply::new(view, text).cut(cut))
}

async fn release(call: Call<'_>, given: TaskRelease) -> Told<TaskView> {
    let mut view = op::release_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let text = done(&view, "released");
    Ok(Reply::new(view, text).cut(cut))
}

async fn heartbeat(call: Call<'_>, given: TaskHeartbeat) -> Told<TaskView> {
    let mut view = op::heartbeat_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let until = view.task.lease_expires_at.as_ref();
    let until = until.map_or_else(String::new, |at| format!(" until {at}"));
    let text = format!("Task {} is yours{until}.", view.task.id);
    Ok(Reply::new(view, text).cut(cut))
}

async fn approve(call: Call<'_>, given: TaskApprove) -> Told<TaskView> {
    let mut view = op::approve_task(call.polis, call.by, &given).await?;
    let cut = cut_description(&mut view, call.brief, None);
    let text = done(&view, "approved");
    Ok(Reply::new(view, text).cut(cut))
}

async fn recommend(call: Call<'_>, given: TaskRecommend) -> Told<Recommendations> {
    let mut ranking = op::recommend_tasks(call.polis, call.by, &given).await?;
    if call.brief {
        fit(&mut ranking.recommendations);
    }
    let lines = ranking.recommendations.iter().map(|one| {
        let reasons: Vec<&str> = one
            .reasons
            .iter()
            .map(|reason| reason.why.as_str())
            .collect();
        format!(
            "{} ({}: {})",
            line(&one.task),
            one.score,
            reasons.join(", ")
        )
    });
    let text = join(lines, "Nothing is ready for you.");
    Ok(Reply::new(ranking, text))
}

async fn comment(call: Call<'_>, given: TaskComment) -> Told<CommentView> {
    let view = op::comment_task(call.polis, call.by, &given).await?;
    let text = format!(
        "Comment {} added to task {}.",
        view.comment.id, view.task_id
    );
    Ok(Reply::new(view, text))
}

async fn comments(call: Call<'_>, mut given: TaskComments) -> Told<Comments> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::task_comments(call.polis, &given).await?;
    if call.brief {
        let task = given.task_id;
        for (n, one) in page.comments.iter_mut().enumerate() {
            let (offset, before) = (given.offset.filter(|_| n == 0), one.id.saturating_sub(1));
            shorten(&mut one.body, offset.unwrap_or(0), |next| {
                format!("TaskComments taskId={task} cursor={before} limit=1 offset={next}")
            });
        }
    }
    if call.brief && (given.newest || given.before.is_some()) {
        // The newest comments were requested, so the oldest of the page are dropped.
        page.comments.reverse();
        if fit(&mut page.comments) {
            page.earlier = page.comments.last().map(|comment| comment.id);
        }
        page.comments.reverse();
    } else if call.brief && fit(&mut page.comments) {
        page.next = page.comments.last().map(|comment| comment.id);
    }
    let lines = page.comments.iter().map(|one| {
        let answers = one
            .reply_to
            .map_or_else(String::new, |to| format!(" to {to}"));
        format!(
            "[{}{answers}] {} {}: {}",
            one.id, one.author, one.at, one.body
        )
    });
    let text = join(lines, "No comments.");
    let shown = page.comments.len();
    let cut = more(shown, "cursor", page.next.as_ref())
        .or_else(|| more(shown, "before", page.earlier.as_ref()));
    Ok(Reply::new(page, text).cut(cut))
}

async fn history(call: Call<'_>, mut given: TaskHistory) -> Told<History> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::task_history(call.polis, &given).await?;
    if call.brief && fit(&mut page.history) {
        page.next = page.history.last().map(|entry| entry.seq);
    }
    let lines = page.history.iter().map(|entry| {
        let fields: Vec<&str> = entry.changes.iter().map(|c| c.field.as_str()).collect();
        format!(
            "{} {} {} {}",
            entry.at,
            entry.actor,
            entry.kind,
            fields.join(",")
        )
    });
    let text = join(lines, "No history.");
    let cut = more(page.history.len(), "cursor", page.next.as_ref());
    Ok(Reply::new(page, text).cut(cut))
}

async fn stats(call: Call<'_>, given: StatsQuery) -> Told<TaskStats> {
    let stats = op::task_stats(call.polis, &given).await?;
    let all = &stats.figures;
    let percent = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |r| format!("{r:.1}%"));
    let text = format!(
        "{} created, {} completed, {} deleted; role match {}, version conflicts {}, cross-role {}, invalid transitions {}",
        all.created,
        all.completed,
        all.deleted,
        percent(all.role_match_rate),
        percent(all.conflict_rate),
        percent(all.cross_role_rate),
        all.invalid_transitions
    );
    Ok(Reply::new(stats, text))
}

/// Truncates a task's description to the part that begins at `offset` and fits. Returns how to get the rest.
fn cut_description(view: &mut TaskView, brief: bool, offset: Option<u64>) -> Option<String> {
    let task = &mut view.task;
    let offset = offset.unwrap_or(0);
    if offset == 0 && !brief {
        return None;
    }
    let size = task.description.len() as u64;
    let left = text_from(&task.description, offset);
    let most = if brief { TEXT } else { size };
    let part = cut_text(left, usize::try_from(most).unwrap_or(usize::MAX));
    let next = size - (left.len() - part.len()) as u64;
    if part.len() < task.description.len() {
        task.description = part.to_owned();
    }
    let id = task.id;
    (next < size).then(|| {
        format!("the description is cut at byte {next} of {size}; for the rest: TaskGet taskId={id} offset={next}")
    })
}

/// Renders the result of a change on one line.
fn done(view: &TaskView, did: &str) -> String {
    let task = &view.task;
    format!(
        "Task {} {did}, version {}: {}",
        task.id, task.version, task.subject
    )
}

/// Renders a task of a list on one line.
fn line(task: &TaskSummary) -> String {
    let mut text = format!("{} {}", task.id, task.status.as_str());
    if !task.owner.is_empty() {
        text.push_str(&format!(" {}", task.owner));
    }
    text.push_str(&format!(": {}", task.subject));
    if task.open_blockers > 0 {
        text.push_str(&format!(" (waits for {})", numbers(&task.blocked_by)));
    }
    if task.stale {
        text.push_str(" (stale)");
    }
    text
}

/// Renders a task with all its fields.
fn whole(view: &TaskView) -> String {
    let task = &view.task;
    let mut text = format!(
        "Task {} {}, version {}: {}",
        task.id,
        task.status.as_str(),
        task.version,
        task.subject
    );
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("\n{name}: {value}"));
        }
    };
    add("owner", &task.owner);
    add(
        "requiredRole",
        task.required_role.as_deref().unwrap_or_default(),
    );
    add("taskType", task.task_type.map_or("", |kind| kind.as_str()));
    add("blockedBy", &numbers(&task.blocked_by));
    add("blocks", &numbers(&task.blocks));
    if let Some(metadata) = &task.metadata
        && let Ok(metadata) = serde_json::to_string(metadata)
    {
        add("metadata", &metadata);
    }
    if !task.description.is_empty() {
        text.push_str(&format!("\n\n{}", task.description));
    }
    text
}

/// Renders task numbers; a long list is abbreviated with a count.
fn numbers(ids: &[TaskId]) -> String {
    const SHOWN: usize = 20;
    let first: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = ids.len().saturating_sub(SHOWN);
    let first = first.join(", ");
    if more == 0 {
        first
    } else {
        format!("{first} and {more} more")
    }
}
