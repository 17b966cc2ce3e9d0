//! Renders the overview: what needs the user's attention, who works on what, the latest events and the
//! success figures.

use polis_core::message::Message;
use polis_core::society::approval::Approval;
use polis_core::society::member::MemberStatus;
use polis_core::task::TaskSummary;
use polis_ops::op::{AgentNow, Now, OpenDecision, TaskStats};
use polis_view::labels;
use polis_view::style::Style;

use super::{Cell, Row, Thing, Ways, age, agents, commands, events, tasks};
use crate::app::Place;

/// Number of days in the chart.
const DAYS: usize = 14;
/// Bar characters, from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Data of the overview.
#[derive(Debug)]
pub struct NowSheet {
    /// Current activity.
    pub now: Now,
    /// Success figures by day, once computed.
    pub stats: Option<TaskStats>,
}

pub(super) fn rows(sheet: &NowSheet, ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    let now = &sheet.now;
    let mut rows = waiting(sheet, ways);
    let working: Vec<Row> = (now.agents.iter())
        .filter(|one| !now.waiting.held.contains(one))
        .filter(|one| one.task.is_some() || is_busy(one.status))
        .map(|one| agent_row(one, ways))
        .collect();
    if !working.is_empty() {
        rows.push(Row::heading(lang.say("At work", "正在工作")));
        rows.extend(working);
    }
    if !now.commands.is_empty() {
        rows.push(Row::heading(lang.say("Running commands", "正在运行的命令")));
        rows.extend(now.commands.iter().map(|one| commands::row(one, ways)));
    }
    rows.push(Row::heading(&format!(
        "{} {}",
        lang.say("Tasks in progress:", "进行中的任务："),
        now.counts.in_progress
    )));
    if now.tasks.is_empty() {
        let nothing = lang.say(
            "None. Tasks: press 2, then a to create one, c to claim one.",
            "没有。按 2 看任务，a 新建，c 认领。",
        );
        rows.push(hint(nothing));
    }
    rows.extend(now.tasks.iter().map(|task| task_row(task, ways)));
    rows.push(Row::heading(&figures(sheet, ways)));
    rows.push(Row::heading(lang.say("Last events", "最近事件")));
    if now.events.is_empty() {
        rows.push(hint(
            lang.say("Nothing has happened yet.", "还没有任何事件。"),
        ));
    }
    let mut events: Vec<&polis_core::Event> = now.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.seq));
    rows.extend(events.into_iter().map(|event| events::row(event, ways)));
    rows
}

/// Returns what needs the user's attention, in groups.
fn waiting(sheet: &NowSheet, ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    let waiting = &sheet.now.waiting;
    let mut rows = Vec::new();
    let mut group = |name: &str, found: Vec<Row>| {
        if !found.is_empty() {
            let waits = lang.say("Waits for you: ", "等待您：");
            rows.push(Row::heading(&format!("{waits}{name}")));
            rows.extend(found);
        }
    };
    group(
        lang.say("calls to allow (y) or deny (d)", "允许 (y) 或拒绝 (d) 调用"),
        waiting
            .approvals
            .iter()
            .map(|one| approval_row(one, ways))
            .collect(),
    );
    group(
        lang.say(
            "paused or failing agents (r resumes)",
            "已暂停或失败的智能体（r 恢复）",
        ),
        waiting
            .held
            .iter()
            .map(|one| agent_row(one, ways))
            .collect(),
    );
    group(
        lang.say(
            "questions (m answers, x lays aside)",
            "提问（m 回复，x 搁置）",
        ),
        waiting
            .questions
            .iter()
            .map(|one| question_row(one, ways))
            .collect(),
    );
    group(
        lang.say("tasks to approve (A)", "待批准的任务 (A)"),
        waiting
            .to_approve
            .iter()
            .map(|one| task_row(one, ways))
            .collect(),
    );
    group(
        lang.say("tasks whose owner is silent", "负责人无响应的任务"),
        waiting
            .stale
            .iter()
            .map(|one| task_row(one, ways))
            .collect(),
    );
    group(
        lang.say("decisions without enough signatures", "签名不足的决策"),
        waiting.decisions.iter().map(decision_row).collect(),
    );
    rows
}

/// Formats the success figures on one line, with a chart by day.
fn figures(sheet: &NowSheet, ways: &Ways) -> String {
    let lang = ways.lang;
    let Some(stats) = &sheet.stats else {
        return lang
            .say("The figures are being counted…", "正在统计指标……")
            .to_owned();
    };
    let all = &stats.figures;
    let percent = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}%"));
    let days = stats.periods.as_deref().unwrap_or_default();
    let last = days
        .get(days.len().saturating_sub(DAYS)..)
        .unwrap_or_default();
    let done: Vec<u64> = last.iter().map(|day| day.figures.completed).collect();
    let days = bars(&done);
    let line = format!(
        "{} {}  {} {}  {} {}  {} {}",
        lang.say("role match", "角色匹配"),
        percent(all.role_match_rate),
        lang.say("conflicts", "冲突"),
        percent(all.conflict_rate),
        lang.say("cross-role", "跨角色"),
        percent(all.cross_role_rate),
        lang.say("bad steps", "非法转换"),
        all.invalid_transitions,
    );
    match days.is_empty() {
        true => line,
        false => format!("{line}  {} {days}", lang.say("done by day", "每日完成")),
    }
}

/// Formats numbers as a bar chart (sparkline).
fn bars(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = BARS.len() as u64 - 1;
    let bar = |count: &u64| {
        let height = usize::try_from(count * top / most).unwrap_or(0);
        BARS.get(height).copied().unwrap_or(' ')
    };
    counts.iter().map(bar).collect()
}

fn hint(text: &str) -> Row {
    Row::new(
        [Cell::dim(""), Cell::dim(""), Cell::dim(text), Cell::dim("")],
        Thing::None,
        None,
    )
}

fn is_busy(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Working | MemberStatus::Asking | MemberStatus::Parked
    )
}

fn approval_row(approval: &Approval, ways: &Ways) -> Row {
    let what = format!("{} {}", approval.tool, approval.arguments.text());
    Row::new(
        [
            Cell::new("!", Style::Yellow),
            Cell::plain(approval.agent.as_str()),
            Cell::plain(&what),
            Cell::dim(&age(Some(&approval.asked_at), ways)),
        ],
        Thing::Approval(approval.id.clone()),
        Some(Place::Agent(
            approval.agent.clone(),
            Some(approval.run.clone()),
        )),
    )
}

fn question_row(message: &Message, ways: &Ways) -> Row {
    Row::new(
        [
            Cell::new("?", Style::Yellow),
            Cell::plain(message.from.as_str()),
            Cell::plain(&agents::payload(message)),
            Cell::dim(&age(Some(&message.created_at), ways)),
        ],
        Thing::Message {
            id: message.id,
            from: message.from.clone(),
            run: message.run.clone(),
        },
        Some(Place::Agent(message.from.clone(), message.run.clone())),
    )
}

fn decision_row(open: &OpenDecision) -> Row {
    Row::new(
        [
            Cell::new(&format!("#{}", open.decision.id), Style::Yellow),
            Cell::plain(&open.board.to_string()),
            Cell::plain(&open.decision.content),
            Cell::dim(&open.decision.signers.join(" ")),
        ],
        Thing::None,
        Some(Place::Rulings(open.board.clone())),
    )
}

fn task_row(task: &TaskSummary, ways: &Ways) -> Row {
    Row::new(
        [
            Cell::new(&format!("#{}", task.id), Style::Cyan),
            tasks::owner(task),
            Cell::plain(&task.subject),
            Cell::dim(&age(task.updated_at.as_ref(), ways)),
        ],
        tasks::thing(task),
        Some(Place::Task(task.id)),
    )
}

fn agent_row(agent: &AgentNow, ways: &Ways) -> Row {
    let status = labels::member(agent.status, ways.lang);
    let text = match (&agent.doing, &agent.why, agent.task) {
        (Some(what), _, _) | (None, Some(what), _) => format!("{status}: {what}"),
        (None, None, Some(task)) => format!("{status}: #{task}"),
        (None, None, None) => status.to_owned(),
    };
    let style = match agent.status {
        MemberStatus::Working => Style::Green,
        _ => Style::Yellow,
    };
    Row::new(
        [
            Cell::new("*", style),
            Cell::plain(agent.id.as_str()),
            Cell::plain(&text),
            Cell::dim(&age(agent.since.as_ref(), ways)),
        ],
        Thing::Agent {
            id: agent.id.clone(),
            run: agent.run.clone(),
        },
        Some(Place::Agent(agent.id.clone(), agent.run.clone())),
    )
}
