//! Converts the loaded data of the boards tab to list rows (boards, versions, decisions and milestones) or
//! text lines (one board, the diff of a version). A board's Markdown is rendered earlier, when it is loaded.

use polis_core::board::{BoardDecision, BoardName, DecisionStatus, Milestone, VersionEntry};
use polis_i18n::msg;
use polis_ops::op::{BoardEntry, BoardView};
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::{labels, number_format};

use super::{
    ListCell, ListRow, RenderContext, Selection, TextPageBuilder, format_age, single_sentence,
};
use crate::app::Route;

/// Data of a board's page. The text is rendered when it is loaded, because a long one takes time.
#[derive(Debug)]
pub struct BoardPageData {
    /// The board as the operation returned it, with its unrendered text.
    pub view: BoardView,
    /// The rendered text, wrapped to the screen width.
    pub lines: StyledLines,
}

pub(super) fn board_rows(boards: &[BoardEntry], context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    let mut rows = Vec::with_capacity(boards.len());
    for entry in boards {
        let Ok(name) = entry.board.parse::<BoardName>() else {
            continue;
        };
        let version = match entry.version {
            0 => msg::board_template_mark(lang).to_owned(),
            version => format!("v{version}"),
        };
        let lock = match &entry.locked_by {
            Some(holder) => format!("{} {holder}", msg::tui_board_locked_by(lang)),
            None => String::new(),
        };
        rows.push(ListRow::new(
            [
                ListCell::plain(&entry.board),
                ListCell::dim(&version),
                ListCell::dim(&number_format::format_bytes(entry.bytes)),
                ListCell::plain(entry.last_modified_by.as_deref().unwrap_or("")),
                ListCell::new(&lock, TextStyle::Yellow),
                ListCell::dim(&format_age(entry.last_modified_at.as_ref(), context)),
            ],
            Selection::Board(name.clone()),
            Some(Route::Board(name)),
        ));
    }
    rows
}

pub(super) fn render_board(data: &BoardPageData, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let view = &data.view;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    let head = match (&view.last_modified_by, &view.last_modified_at) {
        (Some(author), at) => format!(
            "{} {}  {author}  {}",
            msg::tui_page_version(lang),
            view.version,
            format_age(at.as_ref(), context)
        ),
        _ => msg::tui_board_not_written(lang).to_owned(),
    };
    page.paragraph(&head, TextStyle::Dim);
    if let Some(holder) = &view.locked_by {
        let lock_text = msg::board_locked_by(lang, holder);
        page.paragraph(&lock_text, TextStyle::Yellow);
    }
    page.blank_line();
    page.append_lines(&data.lines);
    page.finish()
}

pub(super) fn version_rows(
    board: &BoardName,
    versions: &[VersionEntry],
    context: &RenderContext,
) -> Vec<ListRow> {
    if versions.is_empty() {
        let text = msg::tui_no_versions(context.lang);
        return vec![ListRow::heading(text)];
    }
    let newest = versions.iter().map(|entry| entry.version).max();
    let row = |entry: &VersionEntry| {
        ListRow::new(
            [
                ListCell::plain(&format!("v{}", entry.version)),
                ListCell::plain(&entry.by),
                ListCell::dim(labels::version_action_label(entry.action, context.lang)),
                ListCell::dim(&number_format::format_bytes(entry.bytes)),
                ListCell::dim(&format_age(Some(&entry.at), context)),
            ],
            Selection::Version {
                board: board.clone(),
                version: entry.version,
                newest,
            },
            Some(Route::VersionDiff(board.clone(), entry.version)),
        )
    };
    versions.iter().map(row).collect()
}

pub(super) fn render_diff(diff: &str, context: &RenderContext) -> StyledLines {
    if diff.trim().is_empty() {
        return single_sentence(msg::common_no_changes(context.lang));
    }
    let mut page = TextPageBuilder::new(context.width, context.lang);
    let lines = crate::app::styled_diff(diff);
    for n in 0..lines.len() {
        page.styled_line(lines.line_spans(n));
    }
    page.finish()
}

pub(super) fn decision_rows(
    decisions: &[BoardDecision],
    milestones: &[Milestone],
    context: &RenderContext,
) -> Vec<ListRow> {
    let lang = context.lang;
    let mut rows = vec![ListRow::heading(msg::tui_decisions_heading(lang))];
    for decision in decisions {
        let label = labels::decision_status_label(decision.status, lang);
        let style = match decision.status {
            DecisionStatus::Approved => TextStyle::Green,
            DecisionStatus::Rejected => TextStyle::Red,
            DecisionStatus::Appealing | DecisionStatus::Pending => TextStyle::Yellow,
        };
        rows.push(ListRow::new(
            [
                ListCell::new(&format!("#{}", decision.id), TextStyle::Cyan),
                ListCell::new(label, style),
                ListCell::plain(&decision.content),
                ListCell::dim(&decision.signers.join(" ")),
            ],
            Selection::Decision(decision.id.clone()),
            None,
        ));
    }
    let done = milestones.iter().filter(|one| one.done).count();
    rows.push(ListRow::heading(&format!(
        "{} {done}/{}",
        msg::tui_milestones_heading(lang),
        milestones.len()
    )));
    for milestone in milestones {
        let (mark, styles) = if milestone.done {
            ("✓", StyleSet::from(TextStyle::Green))
        } else {
            ("☐", StyleSet::from(TextStyle::Dim))
        };
        let label = if milestone.done {
            msg::board_milestone_reached(lang)
        } else {
            msg::board_milestone_open(lang)
        };
        rows.push(ListRow::new(
            [
                ListCell::new(mark, styles),
                ListCell::new(label, styles),
                ListCell::plain(&milestone.title),
                ListCell::dim(&milestone.description),
            ],
            Selection::Milestone(milestone.title.clone()),
            None,
        ));
    }
    rows
}
