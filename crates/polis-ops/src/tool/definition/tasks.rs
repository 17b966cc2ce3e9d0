//! Task tools: definitions, and handlers that call the operation, shorten its result for a model and render it
//! as text.

use polis_core::number::saturating_cast;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::recommendation::{ScoreReason, ScoreReasonKind};
use polis_core::task::update::TaskUpdateParams;
use polis_core::task::{TaskPriority, TaskStatus, TaskSummary};
use polis_core::{TaskId, TaskType};
use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, CommentPage, CommentView, RecommendationList, TaskApproveParams, TaskCommentParams,
    TaskCommentsParams, TaskGetParams, TaskHeartbeatParams, TaskHistoryPage, TaskHistoryParams,
    TaskListParams, TaskPage, TaskRecommendParams, TaskReleaseParams, TaskStats, TaskStatsParams,
    TaskView,
};
use crate::text_range::{text_from_offset, truncate_text};
use crate::tool::Tool;
use crate::tool::truncation::{
    DEFAULT_PAGE_SIZE, RESULT_TEXT_BYTES, fit_entries, join_lines, next_page_note,
    truncate_with_note,
};

/// Definitions of the task tools.
pub(super) const TASK_TOOLS: &[Tool] = &[
    tool!("TaskCreate", Tasks, Additive, TaskCreateParams => TaskView, create_task, { is_default, is_offered_to_agents }),
    tool!("TaskList", Tasks, ReadOnly, TaskListParams => TaskPage, list_tasks, { is_default, is_offered_to_agents }),
    tool!("TaskGet", Tasks, ReadOnly, TaskGetParams => TaskView, get_task, { is_default, is_offered_to_agents }),
    tool!("TaskUpdate", Tasks, Additive, TaskUpdateParams => TaskView, update_task, { is_default, is_offered_to_agents }),
    tool!("TaskClaim", Tasks, Additive, TaskClaimParams => TaskView, claim_task, { is_default, is_offered_to_agents }),
    tool!("TaskRelease", Tasks, Additive, TaskReleaseParams => TaskView, release_task, { is_offered_to_agents }),
    tool!("TaskHeartbeat", Tasks, Additive, TaskHeartbeatParams => TaskView, heartbeat_task, { is_offered_to_agents }),
    tool!("TaskApprove", Tasks, Additive, TaskApproveParams => TaskView, approve_task, { is_offered_to_agents }),
    tool!("TaskRecommend", Tasks, ReadOnly, TaskRecommendParams => RecommendationList, recommend_tasks, { is_offered_to_agents }),
    tool!("TaskComment", Tasks, Additive, TaskCommentParams => CommentView, comment_task, { is_default, is_offered_to_agents }),
    tool!("TaskComments", Tasks, ReadOnly, TaskCommentsParams => CommentPage, list_task_comments, { is_offered_to_agents }),
    tool!("TaskHistory", Tasks, ReadOnly, TaskHistoryParams => TaskHistoryPage, task_history, { is_offered_to_agents }),
    tool!("TaskStats", Tasks, ReadOnly, TaskStatsParams => TaskStats, task_stats, {}),
];

async fn create_task(call: ToolContext<'_>, params: TaskCreateParams) -> ToolResult<TaskView> {
    let mut view = op::create_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let text = render_task_change(&view, call.lang, msg::tool_task_created);
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn list_tasks(call: ToolContext<'_>, mut params: TaskListParams) -> ToolResult<TaskPage> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::list_tasks(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.tasks) {
        let sort = params.sort.unwrap_or_default();
        page.next = page.tasks.last().map(|task| sort.cursor_after(task));
    }
    let lines = page
        .tasks
        .iter()
        .map(|task| render_listed_task(task, task.priority, call.lang));
    let text = join_lines(lines, msg::tool_task_none(call.lang));
    let note = next_page_note(call.lang, page.tasks.len(), "cursor", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn get_task(call: ToolContext<'_>, params: TaskGetParams) -> ToolResult<TaskView> {
    let mut view = op::get_task(call.request, params.task_id).await?;
    let note = truncate_description(&mut view, &call, params.offset);
    let text = render_task(&view, call.lang);
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn update_task(call: ToolContext<'_>, params: TaskUpdateParams) -> ToolResult<TaskView> {
    let mut view = op::update_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let change: TaskChangeText<'_> = match params.status {
        Some(TaskStatus::Completed) => msg::tool_task_completed,
        Some(TaskStatus::Deleted) => msg::tool_task_deleted,
        _ => msg::tool_task_updated,
    };
    let mut text = render_task_change(&view, call.lang, change);
    if !view.unblocked.is_empty() {
        text.push('\n');
        let ready = render_task_numbers(&view.unblocked, call.lang);
        text.push_str(&msg::tool_task_now_ready(call.lang, ready));
    }
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn claim_task(call: ToolContext<'_>, params: TaskClaimParams) -> ToolResult<TaskView> {
    let mut view = op::claim_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let task = &view.task;
    let mut text =
        msg::tool_task_claimed(call.lang, task.id, &task.owner, task.version, &task.subject);
    if params.task_id.is_none() && !view.task.description.is_empty() {
        text.push_str(&format!("\n\n{}", view.task.description));
    }
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn release_task(call: ToolContext<'_>, params: TaskReleaseParams) -> ToolResult<TaskView> {
    let mut view = op::release_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let text = render_task_change(&view, call.lang, msg::tool_task_released);
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn heartbeat_task(
    call: ToolContext<'_>,
    params: TaskHeartbeatParams,
) -> ToolResult<TaskView> {
    let mut view = op::heartbeat_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let id = view.task.id;
    let text = match &view.task.lease_expires_at {
        Some(until) => msg::tool_task_held_until(call.lang, id, until),
        None => msg::tool_task_held(call.lang, id),
    };
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn approve_task(call: ToolContext<'_>, params: TaskApproveParams) -> ToolResult<TaskView> {
    let mut view = op::approve_task(call.request, &params).await?;
    let note = truncate_description(&mut view, &call, None);
    let text = render_task_change(&view, call.lang, msg::tool_task_approved);
    Ok(ToolReply::new(view, text).with_continuation(note))
}

async fn recommend_tasks(
    call: ToolContext<'_>,
    params: TaskRecommendParams,
) -> ToolResult<RecommendationList> {
    let mut ranking = op::recommend_tasks(call.request, &params).await?;
    if call.for_model {
        fit_entries(&mut ranking.recommendations);
    }
    let lines = ranking.recommendations.iter().map(|one| {
        let reasons: Vec<String> = one
            .reasons
            .iter()
            .map(|reason| describe_score_reason(reason, call.lang))
            .collect();
        // The priority is one of the reasons.
        let task = render_listed_task(&one.task, None, call.lang);
        let reasons = reasons.join(msg::tool_result_list_separator(call.lang));
        msg::tool_task_recommended(call.lang, task, one.score, reasons)
    });
    let text = join_lines(lines, msg::tool_task_none_recommended(call.lang));
    Ok(ToolReply::new(ranking, text))
}

async fn comment_task(call: ToolContext<'_>, params: TaskCommentParams) -> ToolResult<CommentView> {
    let view = op::comment_task(call.request, &params).await?;
    let text = msg::tool_task_comment_added(call.lang, view.comment.id, view.task_id);
    Ok(ToolReply::new(view, text))
}

async fn list_task_comments(
    call: ToolContext<'_>,
    mut params: TaskCommentsParams,
) -> ToolResult<CommentPage> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::list_task_comments(call.request, &params).await?;
    if call.for_model {
        let task = params.task_id;
        for (n, one) in page.comments.iter_mut().enumerate() {
            let (offset, before) = (params.offset.filter(|_| n == 0), one.id.saturating_sub(1));
            truncate_with_note(call.lang, &mut one.body, offset.unwrap_or(0), |next| {
                format!("TaskComments taskId={task} cursor={before} limit=1 offset={next}")
            });
        }
    }
    if call.for_model && (params.newest || params.before.is_some()) {
        // The newest comments were requested, so the oldest of the page are dropped.
        page.comments.reverse();
        if fit_entries(&mut page.comments) {
            page.earlier = page.comments.last().map(|comment| comment.id);
        }
        page.comments.reverse();
    } else if call.for_model && fit_entries(&mut page.comments) {
        page.next = page.comments.last().map(|comment| comment.id);
    }
    let lines = page.comments.iter().map(|one| {
        let head = match one.reply_to {
            Some(other) => msg::tool_task_comment_reply(call.lang, one.id, other),
            None => one.id.to_string(),
        };
        msg::tool_task_comment_line(call.lang, head, &one.author, &one.at, &one.body)
    });
    let text = join_lines(lines, msg::tool_task_no_comments(call.lang));
    let count = page.comments.len();
    let note = next_page_note(call.lang, count, "cursor", page.next.as_ref())
        .or_else(|| next_page_note(call.lang, count, "before", page.earlier.as_ref()));
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn task_history(
    call: ToolContext<'_>,
    mut params: TaskHistoryParams,
) -> ToolResult<TaskHistoryPage> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::task_history(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.history) {
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
    let text = join_lines(lines, msg::tool_task_no_history(call.lang));
    let note = next_page_note(call.lang, page.history.len(), "cursor", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn task_stats(call: ToolContext<'_>, params: TaskStatsParams) -> ToolResult<TaskStats> {
    let stats = op::task_stats(call.request, &params).await?;
    let all = &stats.figures;
    let percent = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |r| format!("{r:.1}%"));
    let rates = msg::tool_task_rates(
        call.lang,
        percent(all.role_match_rate),
        percent(all.conflict_rate),
        percent(all.cross_role_rate),
        all.invalid_transitions,
    );
    let (created, completed, deleted) = (all.created, all.completed, all.deleted);
    let text = msg::tool_task_stats(call.lang, created, completed, deleted, rates);
    Ok(ToolReply::new(stats, text))
}

/// Truncates a task's description to the part that begins at `offset` and fits. Returns how to get the rest.
fn truncate_description(
    view: &mut TaskView,
    call: &ToolContext<'_>,
    offset: Option<u64>,
) -> Option<String> {
    let brief = call.for_model;
    let task = &mut view.task;
    let offset = offset.unwrap_or(0);
    if offset == 0 && !brief {
        return None;
    }
    let size = task.description.len() as u64;
    let left = text_from_offset(&task.description, offset);
    let max_bytes = if brief { RESULT_TEXT_BYTES } else { size };
    let part = truncate_text(left, saturating_cast::<usize>(max_bytes));
    let next = size - (left.len() - part.len()) as u64;
    if part.len() < task.description.len() {
        task.description = part.to_owned();
    }
    let id = task.id;
    (next < size).then(|| {
        let rest = format!("TaskGet taskId={id} offset={next}");
        msg::tool_task_description_truncated(call.lang, next, size, rest)
    })
}

/// A message about a changed task: its number, version and subject are inserted.
type TaskChangeText<'a> = fn(UiLanguage, TaskId, u64, &'a str) -> String;

/// Renders the result of a change on one line.
fn render_task_change<'a>(
    view: &'a TaskView,
    lang: UiLanguage,
    change: TaskChangeText<'a>,
) -> String {
    let task = &view.task;
    change(lang, task.id, task.version, &task.subject)
}

/// Describes a reason of a recommendation.
fn describe_score_reason(one: &ScoreReason, lang: UiLanguage) -> String {
    match &one.kind {
        ScoreReasonKind::Assigned => msg::tool_task_reason_assigned(lang).to_owned(),
        ScoreReasonKind::TypeMatchesRole { task_type, role } => {
            msg::tool_task_reason_type(lang, task_type.as_str(), role)
        }
        ScoreReasonKind::CompletedOfType(count) => msg::tool_task_reason_completed(lang, count),
        ScoreReasonKind::RequiresRole(role) => msg::tool_task_reason_role(lang, role),
        ScoreReasonKind::Priority(priority) => msg::tool_task_priority(lang, priority.as_str()),
        ScoreReasonKind::TasksWaiting(count) => msg::tool_task_reason_waiting(lang, count),
    }
}

/// Renders a task of a list on one line.
fn render_listed_task(
    task: &TaskSummary,
    priority: Option<TaskPriority>,
    lang: UiLanguage,
) -> String {
    let mut head = format!("{} {}", task.id, task.status.as_str());
    if !task.owner.is_empty() {
        head.push_str(&format!(" {}", task.owner));
    }
    let mut fields = vec![msg::tool_task_version_field(lang, task.version)];
    let role = task.required_role.as_deref();
    fields.extend(role.map(|role| msg::tool_task_role_field(lang, role)));
    let task_type = task.task_type.map(TaskType::as_str);
    fields.extend(task_type.map(|name| msg::tool_task_type_field(lang, name)));
    fields.extend(priority.map(|priority| msg::tool_task_priority(lang, priority.as_str())));
    let fields = fields.join(msg::tool_result_list_separator(lang));
    let mut text = msg::tool_task_line(lang, head, fields, &task.subject);
    if task.open_blockers > 0 {
        let blockers = render_task_numbers(&task.blocked_by, lang);
        text.push_str(&msg::tool_task_waits_for(lang, blockers));
    }
    if task.stale {
        text.push_str(msg::tool_task_stale(lang));
    }
    text
}

/// Renders a task with all its fields, under their names in the document.
fn render_task(view: &TaskView, lang: UiLanguage) -> String {
    let task = &view.task;
    let status = task.status.as_str();
    let mut text = msg::tool_task_head(lang, task.id, status, task.version, &task.subject);
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
    add("priority", task.priority.map_or("", TaskPriority::as_str));
    add("blockedBy", &render_task_numbers(&task.blocked_by, lang));
    add("blocks", &render_task_numbers(&task.blocks, lang));
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
fn render_task_numbers(ids: &[TaskId], lang: UiLanguage) -> String {
    const MAX_SHOWN: usize = 20;
    let first: Vec<String> = ids
        .iter()
        .take(MAX_SHOWN)
        .map(ToString::to_string)
        .collect();
    let first = first.join(msg::common_list_separator(lang));
    match ids.len().saturating_sub(MAX_SHOWN) {
        0 => first,
        more => msg::tool_result_and_more(lang, first, more),
    }
}
