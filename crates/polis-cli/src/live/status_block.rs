//! Status block at the bottom of the terminal during a run: the organisation as a tree, each member's
//! activity, and the totals.

use polis_core::society::member::MemberStatus;
use polis_i18n::{UiLanguage, msg};
use unicode_width::UnicodeWidthStr as _;

use super::number_format::{format_elapsed, format_money, format_tokens};
use super::run_state::{LiveMember, LiveRun, MemberActivity};
use crate::output::{CliOutput, TextStyle, sanitize_line, truncate_to_width};

/// Maximum length of a reason or an argument in the block.
const MAX_REASON_CHARS: usize = 200;

/// A styled part of a line.
#[derive(Debug, Clone)]
struct StyledText(Option<TextStyle>, String);

/// Renders the block for the given number of columns, with at most the given number of rows.
pub(crate) fn render_block(
    screen: &LiveRun,
    now: i64,
    (columns, rows): (usize, usize),
    out: &CliOutput,
) -> Vec<String> {
    let lang = out.lang();
    let tree = screen.member_tree();
    let name_width = tree
        .iter()
        .map(|(branch, member)| branch.width() + display_name(member).width())
        .max()
        .unwrap_or(0)
        .min(columns / 2);
    // One row is for the head and, if not all members fit, one for the number of those left out.
    let member_rows = rows.saturating_sub(1).max(1);
    let visible_count = if tree.len() > member_rows {
        member_rows.saturating_sub(1)
    } else {
        tree.len()
    };
    let mut lines = vec![paint_line(render_head(screen, now, lang), columns, out)];
    // Busy members come first if there is no room for all.
    let busy_first = tree.len() > member_rows;
    let mut selected: Vec<usize> = (0..tree.len()).collect();
    if busy_first {
        selected.sort_by_key(|n| {
            tree.get(*n)
                .is_some_and(|(_, member)| member.activity == MemberActivity::Idle)
        });
        selected.truncate(visible_count);
        selected.sort_unstable();
    }
    for (branch, member) in selected.iter().filter_map(|n| tree.get(*n)) {
        lines.push(paint_line(
            render_member(branch, member, name_width, now, lang),
            columns,
            out,
        ));
    }
    if tree.len() > visible_count {
        let more = msg::cli_run_more_members(lang, tree.len() - visible_count);
        lines.push(paint_line(
            vec![StyledText(Some(TextStyle::Dim), more)],
            columns,
            out,
        ));
    }
    lines
}

fn render_head(screen: &LiveRun, now: i64, lang: UiLanguage) -> Vec<StyledText> {
    let usage = screen.usage;
    let mut facts = format!(
        "  {}  {}  {}  {}",
        format_elapsed(now - screen.began_ms, lang),
        msg::run_agent_count(lang, screen.members.len()),
        msg::cli_run_turn_count(lang, usage.turns),
        msg::cli_run_token_count(lang, format_tokens(usage.tokens)),
    );
    if usage.micros > 0 {
        facts.push_str("  ");
        facts.push_str(&msg::cli_run_cost(lang, format_money(usage.micros)));
    }
    vec![
        StyledText(Some(TextStyle::Bold), sanitize_line(&screen.title)),
        StyledText(None, facts),
    ]
}

/// Returns the agent's name, followed by its role if that adds information.
pub(crate) fn display_name(member: &LiveMember) -> String {
    // An agent that is named after its role already shows it.
    if member.role.is_empty() || member.agent.starts_with(&member.role) {
        return sanitize_line(&member.agent);
    }
    format!(
        "{} ({})",
        sanitize_line(&member.agent),
        sanitize_line(&member.role)
    )
}

fn render_member(
    branch: &str,
    member: &LiveMember,
    name_width: usize,
    now: i64,
    lang: UiLanguage,
) -> Vec<StyledText> {
    let name = truncate_to_width(
        &display_name(member),
        name_width.saturating_sub(branch.width()),
    );
    let pad = name_width.saturating_sub(branch.width() + name.width());
    let (style, activity) = describe_activity(member, now, lang);
    vec![
        StyledText(Some(TextStyle::Dim), branch.to_owned()),
        StyledText(None, name),
        StyledText(None, format!("{:pad$}  ", "")),
        StyledText(style, activity),
    ]
}

fn describe_activity(
    member: &LiveMember,
    now: i64,
    lang: UiLanguage,
) -> (Option<TextStyle>, String) {
    let elapsed = format_elapsed(now - member.since_ms, lang);
    match &member.activity {
        MemberActivity::Idle => (Some(TextStyle::Dim), msg::cli_run_idle(lang).to_owned()),
        MemberActivity::Ready => (None, msg::cli_run_ready(lang).to_owned()),
        MemberActivity::Thinking => (Some(TextStyle::Cyan), msg::cli_run_thinking(lang, elapsed)),
        MemberActivity::Waiting(reason) => (
            Some(TextStyle::Yellow),
            msg::cli_run_waiting_for_model(lang, elapsed, shorten_reason(reason)),
        ),
        MemberActivity::Calling(tool, about) => (
            Some(TextStyle::Green),
            format!(
                "{} {elapsed} {}",
                sanitize_line(tool),
                shorten_reason(about)
            )
            .trim_end()
            .to_owned(),
        ),
        MemberActivity::Blocked(status, reason) => {
            let reason = reason.as_deref().map(shorten_reason);
            let text = describe_status_and_reason(*status, reason.as_deref(), lang);
            (Some(TextStyle::Red), text)
        }
    }
}

/// Describes the status of a member that was blocked or continues.
pub(crate) fn describe_status(status: MemberStatus, lang: UiLanguage) -> &'static str {
    match status {
        MemberStatus::AwaitingApproval => msg::cli_run_member_needs_approval(lang),
        MemberStatus::Paused => msg::cli_run_member_paused(lang),
        MemberStatus::Parked => msg::cli_run_member_parked(lang),
        MemberStatus::Idle => msg::cli_run_member_idle(lang),
        MemberStatus::Working => msg::cli_run_member_continues(lang),
        MemberStatus::Dismissed => msg::cli_run_member_dismissed(lang),
    }
}

/// Describes the status of a member, followed by its reason if there is one.
pub(crate) fn describe_status_and_reason(
    status: MemberStatus,
    reason: Option<&str>,
    lang: UiLanguage,
) -> String {
    let status = describe_status(status, lang);
    match reason {
        Some(reason) => msg::cli_run_status_with_reason(lang, status, reason),
        None => status.to_owned(),
    }
}

fn shorten_reason(text: &str) -> String {
    let line: String = text.chars().take(MAX_REASON_CHARS).collect();
    sanitize_line(&line.replace(['\n', '\t'], " "))
}

/// Paints one line, cut to the terminal's width.
fn paint_line(pieces: Vec<StyledText>, columns: usize, out: &CliOutput) -> String {
    let mut line = String::new();
    let mut left = columns;
    for StyledText(style, text) in pieces {
        if left == 0 {
            break;
        }
        let text = truncate_to_width(&text, left);
        left = left.saturating_sub(text.width());
        match style {
            Some(style) if !text.is_empty() => line.push_str(&out.paint(style, &text)),
            _ => line.push_str(&text),
        }
    }
    line
}
