//! Renders commands: those of a workspace, and one with its output.

use polis_core::Timestamp;
use polis_ops::op::{CommandEntry, CommandView};
use polis_view::command::{Ending, ending};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::{number_format, time};

use super::{Cell, Row, Thing, Ways, Writer, age};
use crate::app::Place;

pub(super) fn rows(commands: &[CommandEntry], ways: &Ways) -> Vec<Row> {
    if commands.is_empty() {
        let text = ways
            .lang
            .say("No command was run here yet.", "这里还没有运行过命令。");
        return vec![Row::heading(text)];
    }
    commands.iter().map(|entry| row(entry, ways)).collect()
}

/// Returns the row of a command.
pub(super) fn row(entry: &CommandEntry, ways: &Ways) -> Row {
    let (mark, style) = mark(ending(entry, ways.lang).0);
    Row::new(
        [
            Cell::new(mark, style),
            Cell::plain(entry.agent.as_str()),
            Cell::plain(&entry.command),
            Cell::dim(&took(entry, ways)),
        ],
        Thing::File(entry.id.clone()),
        Some(Place::Command(entry.workspace.clone(), entry.id.clone())),
    )
}

fn mark(ending: Ending) -> (&'static str, Style) {
    match ending {
        Ending::Running => (">", Style::Cyan),
        Ending::Good => ("✓", Style::Green),
        Ending::Open => ("?", Style::Yellow),
        Ending::Bad => ("✗", Style::Red),
    }
}

/// Returns how long it ran or has been running.
fn took(entry: &CommandEntry, ways: &Ways) -> String {
    let begun = Timestamp::millis(&entry.started_at).unwrap_or(ways.now);
    match entry.duration_ms {
        Some(ms) => time::span(i64::try_from(ms).unwrap_or(i64::MAX), ways.lang),
        // In whole seconds, so that it changes at most once a second.
        None if entry.running => time::span((ways.now - begun).max(0) / 1_000 * 1_000, ways.lang),
        None => ending(entry, ways.lang).1,
    }
}

pub(super) fn text(view: &CommandView, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let entry = &view.entry;
    let mut page = Writer::new(ways.width);
    page.words(&format!("$ {}", entry.command), Style::Bold);
    let (ended, how) = ending(entry, lang);
    let (_, style) = mark(ended);
    page.fact(lang.say("State", "状态"), &how, style);
    page.fact(lang.say("Time", "用时"), &took(entry, ways), Styles::NONE);
    let by = format!("{}  {}", entry.agent, age(Some(&entry.started_at), ways));
    page.fact(lang.say("By", "执行者"), &by, Styles::NONE);
    if let Some(tier) = entry.sandbox {
        page.fact(lang.say("Sandbox", "沙箱"), tier.as_str(), Styles::NONE);
    }
    page.heading(&format!(
        "{} ({})",
        lang.say("Output", "输出"),
        number_format::bytes(entry.output_bytes)
    ));
    if view.omitted > 0 {
        let omitted = number_format::bytes(view.omitted);
        let said = lang.say(
            format!("… {omitted} before this are left out"),
            format!("……前面省略 {omitted}"),
        );
        page.words(&said, Style::Dim);
    }
    page.verbatim(&view.output, Styles::NONE);
    page.finish()
}
