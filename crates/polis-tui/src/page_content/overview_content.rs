//! Renders the overview: items that need the person's attention, working agents, running commands, tasks in
//! progress, the success figures and the latest events.

use polis_core::message::Message;
use polis_core::society::call_approval::CallApproval;
use polis_core::society::member::MemberStatus;
use polis_core::task::TaskSummary;
use polis_i18n::msg;
use polis_ops::op::{AgentActivity, OpenDecision, OverviewSnapshot, TaskStats};
use polis_view::labels;
use polis_view::style::TextStyle;

use super::{
    ListCell, ListRow, RenderContext, Selection, agent_content, command_content, event_content,
    format_age, task_content,
};
use crate::app::Route;

/// Number of days in the chart.
const CHART_DAYS: usize = 14;
/// Bar characters, from low to high.
const BAR_CHARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Data of the overview.
#[derive(Debug)]
pub struct OverviewData {
    /// Current activity, and items that need attention.
    pub now: OverviewSnapshot,
    /// Success figures in total and by day, once computed.
    pub stats: Option<TaskStats>,
}

pub(super) fn overview_rows(data: &OverviewData, context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    let now = &data.now;
    let mut rows = attention_rows(data, context);
    let working: Vec<ListRow> = (now.agents.iter())
        .filter(|one| !now.attention.blocked_members.contains(one))
        .filter(|one| one.task.is_some() || is_busy(one.status))
        .map(|one| agent_row(one, context))
        .collect();
    if !working.is_empty() {
        rows.push(ListRow::heading(msg::agent_status_working(lang)));
        rows.extend(working);
    }
    if !now.commands.is_empty() {
        rows.push(ListRow::heading(msg::overview_running_commands(lang)));
        rows.extend(
            now.commands
                .iter()
                .map(|one| command_content::command_row(one, context)),
        );
    }
    rows.push(ListRow::heading(&format!(
        "{} {}",
        msg::tui_tasks_in_progress(lang),
        now.counts.in_progress
    )));
    if now.tasks.is_empty() {
        let message = msg::tui_no_tasks_in_progress(lang);
        rows.push(hint_row(message));
    }
    rows.extend(now.tasks.iter().map(|task| task_row(task, context)));
    rows.push(ListRow::heading(&format_stats(data, context)));
    rows.push(ListRow::heading(msg::overview_latest_events(lang)));
    if now.events.is_empty() {
        rows.push(hint_row(msg::event_none(lang)));
    }
    let mut events: Vec<&polis_core::Event> = now.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.seq));
    rows.extend(
        events
            .into_iter()
            .map(|event| event_content::event_row(event, context)),
    );
    rows
}

/// Returns the items that need the person's attention, in groups.
fn attention_rows(data: &OverviewData, context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    let attention = &data.now.attention;
    let mut rows = Vec::new();
    let mut group = |name: &str, found: Vec<ListRow>| {
        if !found.is_empty() {
            let prefix = msg::tui_needs_attention(lang);
            rows.push(ListRow::heading(&format!("{prefix}{name}")));
            rows.extend(found);
        }
    };
    group(
        msg::tui_attention_calls(lang),
        attention
            .approvals
            .iter()
            .map(|one| approval_row(one, context))
            .collect(),
    );
    group(
        msg::tui_attention_paused_agents(lang),
        attention
            .blocked_members
            .iter()
            .map(|one| agent_row(one, context))
            .collect(),
    );
    group(
        msg::tui_attention_questions(lang),
        attention
            .questions
            .iter()
            .map(|one| question_row(one, context))
            .collect(),
    );
    group(
        msg::tui_attention_tasks(lang),
        attention
            .tasks_to_approve
            .iter()
            .map(|one| task_row(one, context))
            .collect(),
    );
    group(
        msg::tui_attention_stale_tasks(lang),
        attention
            .stale_tasks
            .iter()
            .map(|one| task_row(one, context))
            .collect(),
    );
    group(
        msg::tui_attention_decisions(lang),
        attention.decisions.iter().map(decision_row).collect(),
    );
    rows
}

/// Formats the success figures on one line, with a chart by day.
fn format_stats(data: &OverviewData, context: &RenderContext) -> String {
    let lang = context.lang;
    let Some(stats) = &data.stats else {
        return msg::tui_computing_statistics(lang).to_owned();
    };
    let all = &stats.figures;
    let percent = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}%"));
    let days = stats.periods.as_deref().unwrap_or_default();
    let last = days
        .get(days.len().saturating_sub(CHART_DAYS)..)
        .unwrap_or_default();
    let done: Vec<u64> = last.iter().map(|day| day.figures.completed).collect();
    let days = format_sparkline(&done);
    let line = format!(
        "{} {}  {} {}  {} {}  {} {}",
        msg::tui_health_role_match(lang),
        percent(all.role_match_rate),
        msg::tui_health_conflicts(lang),
        percent(all.conflict_rate),
        msg::tui_health_cross_role(lang),
        percent(all.cross_role_rate),
        msg::tui_health_invalid_transitions(lang),
        all.invalid_transitions,
    );
    if days.is_empty() {
        line
    } else {
        format!("{line}  {} {days}", msg::tui_health_completed_per_day(lang))
    }
}

/// Formats numbers as a bar chart (sparkline).
fn format_sparkline(counts: &[u64]) -> String {
    let max_count = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = BAR_CHARS.len() as u64 - 1;
    let bar = |count: &u64| {
        let height = usize::try_from(count * top / max_count).unwrap_or(0);
        BAR_CHARS.get(height).copied().unwrap_or(' ')
    };
    counts.iter().map(bar).collect()
}

fn hint_row(text: &str) -> ListRow {
    ListRow::new(
        [
            ListCell::dim(""),
            ListCell::dim(""),
            ListCell::dim(text),
            ListCell::dim(""),
        ],
        Selection::None,
        None,
    )
}

fn is_busy(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Working | MemberStatus::AwaitingApproval | MemberStatus::Parked
    )
}

fn approval_row(approval: &CallApproval, context: &RenderContext) -> ListRow {
    let call = format!("{} {}", approval.tool, approval.arguments.as_str());
    ListRow::new(
        [
            ListCell::new("!", TextStyle::Yellow),
            ListCell::plain(approval.agent.as_str()),
            ListCell::plain(&call),
            ListCell::dim(&format_age(Some(&approval.asked_at), context)),
        ],
        Selection::Approval(approval.id.clone()),
        Some(Route::Agent(
            approval.agent.clone(),
            Some(approval.run.clone()),
        )),
    )
}

fn question_row(message: &Message, context: &RenderContext) -> ListRow {
    ListRow::new(
        [
            ListCell::new("?", TextStyle::Yellow),
            ListCell::plain(message.from.as_str()),
            ListCell::plain(&agent_content::message_text(message)),
            ListCell::dim(&format_age(Some(&message.created_at), context)),
        ],
        Selection::Message {
            id: message.id,
            from: message.from.clone(),
            run: message.run.clone(),
        },
        Some(Route::Agent(message.from.clone(), message.run.clone())),
    )
}

fn decision_row(open: &OpenDecision) -> ListRow {
    ListRow::new(
        [
            ListCell::new(&format!("#{}", open.decision.id), TextStyle::Yellow),
            ListCell::plain(&open.board.to_string()),
            ListCell::plain(&open.decision.content),
            ListCell::dim(&open.decision.signers.join(" ")),
        ],
        Selection::None,
        Some(Route::Decisions(open.board.clone())),
    )
}

fn task_row(task: &TaskSummary, context: &RenderContext) -> ListRow {
    ListRow::new(
        [
            task_content::number_cell(task),
            task_content::owner_cell(task),
            ListCell::plain(&task_content::marked_subject(task, context.lang)),
            ListCell::dim(&format_age(task.updated_at.as_ref(), context)),
        ],
        task_content::task_selection(task),
        Some(Route::Task(task.id)),
    )
}

fn agent_row(agent: &AgentActivity, context: &RenderContext) -> ListRow {
    let lang = context.lang;
    let status = labels::member_status_label(agent.status, lang);
    let text = match (agent.running_tool.clone(), agent.task) {
        (Some(tool), _) => msg::tui_field_with_value(lang, status, tool),
        (None, task) => match (agent.reason_text(lang), task) {
            (Some(reason), _) => msg::tui_field_with_value(lang, status, reason),
            (None, Some(task)) => msg::tui_field_with_value(lang, status, format!("#{task}")),
            (None, None) => status.to_owned(),
        },
    };
    let style = match agent.status {
        MemberStatus::Working => TextStyle::Green,
        _ => TextStyle::Yellow,
    };
    ListRow::new(
        [
            ListCell::new("*", style),
            ListCell::plain(agent.id.as_str()),
            ListCell::plain(&text),
            ListCell::dim(&format_age(agent.since.as_ref(), context)),
        ],
        Selection::Agent {
            id: agent.id.clone(),
            run: agent.run.clone(),
        },
        Some(Route::Agent(agent.id.clone(), agent.run.clone())),
    )
}
