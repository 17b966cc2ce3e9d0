//! Status block at the bottom of the terminal during a run: the organisation as a tree, each member's activity, and the
//! totals.

use polis_core::society::member::MemberStatus;
use unicode_width::UnicodeWidthStr as _;

use super::number_format::{count, elapsed, money, tokens};
use super::run_state::{Doing, Screen, Seat};
use crate::output::{Output, Style, clean, cut};

/// Maximum length of a reason or an argument in the block.
const GLANCE: usize = 200;

/// A styled part of a line.
#[derive(Debug, Clone)]
struct Piece(Option<Style>, String);

/// Renders the block for the given number of columns, with at most the given number of rows.
pub(crate) fn lines(
    screen: &Screen,
    now: i64,
    (columns, rows): (usize, usize),
    out: &Output,
) -> Vec<String> {
    let tree = screen.tree();
    let name_width = tree
        .iter()
        .map(|(branch, seat)| branch.width() + name(seat).width())
        .max()
        .unwrap_or(0)
        .min(columns / 2);
    // One row is for the head and, if not all members fit, one for the number of those left out.
    let room = rows.saturating_sub(1).max(1);
    let shown = if tree.len() > room {
        room.saturating_sub(1)
    } else {
        tree.len()
    };
    let mut lines = vec![paint(head(screen, now), columns, out)];
    // Busy members come first if there is no room for all.
    let busy_first = tree.len() > room;
    let mut picked: Vec<usize> = (0..tree.len()).collect();
    if busy_first {
        picked.sort_by_key(|n| {
            tree.get(*n)
                .is_some_and(|(_, seat)| seat.doing == Doing::Idle)
        });
        picked.truncate(shown);
        picked.sort_unstable();
    }
    for (branch, seat) in picked.iter().filter_map(|n| tree.get(*n)) {
        lines.push(paint(row(branch, seat, name_width, now), columns, out));
    }
    if tree.len() > shown {
        let more = format!("… and {} more", tree.len() - shown);
        lines.push(paint(vec![Piece(Some(Style::Dim), more)], columns, out));
    }
    lines
}

fn head(screen: &Screen, now: i64) -> Vec<Piece> {
    let taken = screen.taken;
    let mut facts = format!(
        "  {}  {}  {}  {} tokens",
        elapsed(now - screen.began),
        count(screen.seats.len(), "agent"),
        count(taken.turns, "turn"),
        tokens(taken.tokens),
    );
    if taken.micros > 0 {
        facts.push_str(&format!("  cost {}", money(taken.micros)));
    }
    vec![
        Piece(Some(Style::Bold), clean(&screen.title)),
        Piece(None, facts),
    ]
}

/// Returns the agent's name, followed by its role if that adds information.
pub(crate) fn name(seat: &Seat) -> String {
    // An agent that is named after its role already shows it.
    if seat.role.is_empty() || seat.agent.starts_with(&seat.role) {
        return clean(&seat.agent);
    }
    format!("{} ({})", clean(&seat.agent), clean(&seat.role))
}

fn row(branch: &str, seat: &Seat, name_width: usize, now: i64) -> Vec<Piece> {
    let name = cut(&name(seat), name_width.saturating_sub(branch.width()));
    let pad = name_width.saturating_sub(branch.width() + name.width());
    let (style, doing) = doing(seat, now);
    vec![
        Piece(Some(Style::Dim), branch.to_owned()),
        Piece(None, name),
        Piece(None, format!("{:pad$}  ", "")),
        Piece(style, doing),
    ]
}

fn doing(seat: &Seat, now: i64) -> (Option<Style>, String) {
    let lasts = elapsed(now - seat.since);
    match &seat.doing {
        Doing::Idle => (Some(Style::Dim), "waits for a message".to_owned()),
        Doing::Ready => (None, "is about to go on".to_owned()),
        Doing::Thinking => (Some(Style::Cyan), format!("thinks {lasts}")),
        Doing::Waiting(why) => (
            Some(Style::Yellow),
            format!("waits for its model {lasts}: {}", glance(why)),
        ),
        Doing::Calling(tool, about) => (
            Some(Style::Green),
            format!("{} {lasts} {}", clean(tool), glance(about))
                .trim_end()
                .to_owned(),
        ),
        Doing::Held(status, why) => {
            let mut text = held(*status).to_owned();
            if let Some(why) = why {
                text.push_str(": ");
                text.push_str(&glance(why));
            }
            (Some(Style::Red), text)
        }
    }
}

/// Describes the status of a member that was blocked or continues.
pub(crate) fn held(status: MemberStatus) -> &'static str {
    match status {
        MemberStatus::Asking => "asks for approval",
        MemberStatus::Paused => "is paused",
        MemberStatus::Parked => "is parked",
        MemberStatus::Idle => "waits for a message",
        MemberStatus::Working => "goes on",
        MemberStatus::Gone => "was dismissed",
    }
}

fn glance(text: &str) -> String {
    let line: String = text.chars().take(GLANCE).collect();
    clean(&line.replace(['\n', '\t'], " "))
}

/// Paints one line, cut to the terminal's width.
fn paint(pieces: Vec<Piece>, columns: usize, out: &Output) -> String {
    let mut line = String::new();
    let mut left = columns;
    for Piece(style, text) in pieces {
        if left == 0 {
            break;
        }
        let text = cut(&text, left);
        left = left.saturating_sub(text.width());
        match style {
            Some(style) if !text.is_empty() => line.push_str(&out.paint(style, &text)),
            _ => line.push_str(&text),
        }
    }
    line
}
