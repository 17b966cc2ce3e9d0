//! Renders boards: the list, one board, its versions, its decisions and milestones.

use polis_core::board::{BoardName, Decision, DecisionStatus, Milestone, VersionEntry};
use polis_ops::op::{BoardEntry, BoardView};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::{labels, number_format};

use super::{Cell, Row, Thing, Ways, Writer, age, sentence};
use crate::app::Place;

/// A board, rendered when it is loaded because a long one takes time.
#[derive(Debug)]
pub struct BoardSheet {
    /// The board.
    pub view: BoardView,
    /// Its text, wrapped to the screen width.
    pub lines: StyledLines,
}

pub(super) fn rows(boards: &[BoardEntry], ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    let mut rows = Vec::with_capacity(boards.len());
    for entry in boards {
        let Ok(name) = entry.board.parse::<BoardName>() else {
            continue;
        };
        let version = match entry.version {
            0 => lang.say("template", "模板").to_owned(),
            version => format!("v{version}"),
        };
        let lock = match &entry.locked_by {
            Some(by) => format!("{} {by}", lang.say("held by", "占用：")),
            None => String::new(),
        };
        rows.push(Row::new(
            [
                Cell::plain(&entry.board),
                Cell::dim(&version),
                Cell::dim(&number_format::bytes(entry.bytes)),
                Cell::plain(entry.last_modified_by.as_deref().unwrap_or("")),
                Cell::new(&lock, Style::Yellow),
                Cell::dim(&age(entry.last_modified_at.as_ref(), ways)),
            ],
            Thing::Board(name.clone()),
            Some(Place::Board(name)),
        ));
    }
    rows
}

pub(super) fn text(sheet: &BoardSheet, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let view = &sheet.view;
    let mut page = Writer::new(ways.width);
    let head = match (&view.last_modified_by, &view.last_modified_at) {
        (Some(by), at) => format!(
            "{} {}  {by}  {}",
            lang.say("version", "版本"),
            view.version,
            age(at.as_ref(), ways)
        ),
        _ => lang
            .say(
                "The template: nobody has written to it yet.",
                "模板：还没有人写过。",
            )
            .to_owned(),
    };
    page.words(&head, Style::Dim);
    if let Some(by) = &view.locked_by {
        let held = lang.say(format!("Held by {by}"), format!("由 {by} 占用"));
        page.words(&held, Style::Yellow);
    }
    page.gap();
    page.extend(&sheet.lines);
    page.finish()
}

pub(super) fn versions(board: &BoardName, versions: &[VersionEntry], ways: &Ways) -> Vec<Row> {
    if versions.is_empty() {
        let text = ways.lang.say("No version is kept yet.", "还没有历史版本。");
        return vec![Row::heading(text)];
    }
    let newest = versions.iter().map(|entry| entry.version).max();
    let row = |entry: &VersionEntry| {
        Row::new(
            [
                Cell::plain(&format!("v{}", entry.version)),
                Cell::plain(&entry.by),
                Cell::dim(labels::version(entry.action, ways.lang)),
                Cell::dim(&number_format::bytes(entry.bytes)),
                Cell::dim(&age(Some(&entry.at), ways)),
            ],
            Thing::Version {
                board: board.clone(),
                version: entry.version,
                newest,
            },
            Some(Place::Change(board.clone(), entry.version)),
        )
    };
    versions.iter().map(row).collect()
}

pub(super) fn change(diff: &str, ways: &Ways) -> StyledLines {
    if diff.trim().is_empty() {
        return sentence(ways.lang.say("No line was changed.", "没有改动任何行。"));
    }
    let mut page = Writer::new(ways.width);
    let lines = crate::app::coloured(diff);
    for n in 0..lines.len() {
        page.pieces(lines.line(n));
    }
    page.finish()
}

pub(super) fn rulings(decisions: &[Decision], milestones: &[Milestone], ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    let mut rows = vec![Row::heading(
        lang.say("Decisions (p proposes one)", "决策（p 提议）"),
    )];
    for decision in decisions {
        let word = labels::decision(decision.status, lang);
        let style = match decision.status {
            DecisionStatus::Approved => Style::Green,
            DecisionStatus::Rejected => Style::Red,
            DecisionStatus::Appealing | DecisionStatus::Pending => Style::Yellow,
        };
        rows.push(Row::new(
            [
                Cell::new(&format!("#{}", decision.id), Style::Cyan),
                Cell::new(word, style),
                Cell::plain(&decision.content),
                Cell::dim(&decision.signers.join(" ")),
            ],
            Thing::Decision(decision.id.clone()),
            None,
        ));
    }
    let done = milestones.iter().filter(|one| one.done).count();
    rows.push(Row::heading(&format!(
        "{} {done}/{}",
        lang.say("Milestones (a adds one)", "里程碑（a 新增）"),
        milestones.len()
    )));
    for milestone in milestones {
        let (mark, styles) = match milestone.done {
            true => ("✓", Styles::from(Style::Green)),
            false => ("☐", Styles::from(Style::Dim)),
        };
        let word = match milestone.done {
            true => lang.say("reached", "已达成"),
            false => lang.say("open", "未达成"),
        };
        rows.push(Row::new(
            [
                Cell::new(mark, styles),
                Cell::new(word, styles),
                Cell::plain(&milestone.title),
                Cell::dim(&milestone.description),
            ],
            Thing::Milestone(milestone.title.clone()),
            None,
        ));
    }
    rows
}
