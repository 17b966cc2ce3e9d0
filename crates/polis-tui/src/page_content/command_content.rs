//! Renders the shell commands that ran in a workspace, for the terminal UI: the list, and one command with
//! its output.

use polis_core::Timestamp;
use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_ops::op::{CommandEntry, CommandView};
use polis_view::command_result::{CommandResultClass, describe_command_result};
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::{number_format, relative_time};

use super::{ListCell, ListRow, RenderContext, Selection, TextPageBuilder, format_age};
use crate::app::Route;

pub(super) fn command_rows(commands: &[CommandEntry], context: &RenderContext) -> Vec<ListRow> {
    if commands.is_empty() {
        let text = msg::command_none_run(context.lang);
        return vec![ListRow::heading(text)];
    }
    commands
        .iter()
        .map(|entry| command_row(entry, context))
        .collect()
}

/// Returns the row of a command, for the list of commands and the overview.
pub(super) fn command_row(entry: &CommandEntry, context: &RenderContext) -> ListRow {
    let (mark, style) = status_mark(describe_command_result(entry, context.lang).0);
    ListRow::new(
        [
            ListCell::new(mark, style),
            ListCell::plain(entry.agent.as_str()),
            ListCell::plain(&entry.command),
            ListCell::dim(&format_run_time(entry, context)),
        ],
        Selection::File(entry.id.clone()),
        Some(Route::Command(entry.workspace.clone(), entry.id.clone())),
    )
}

fn status_mark(ending: CommandResultClass) -> (&'static str, TextStyle) {
    match ending {
        CommandResultClass::Running => (">", TextStyle::Cyan),
        CommandResultClass::Succeeded => ("✓", TextStyle::Green),
        CommandResultClass::Inconclusive => ("?", TextStyle::Yellow),
        CommandResultClass::Failed => ("✗", TextStyle::Red),
    }
}

/// Returns how long a command ran or has been running; its result if that is unknown.
fn format_run_time(entry: &CommandEntry, context: &RenderContext) -> String {
    let started = Timestamp::millis(&entry.started_at).unwrap_or(context.now);
    match entry.outcome.as_ref().map(|outcome| outcome.duration_ms) {
        Some(ms) => relative_time::format_duration(saturating_cast::<i64>(ms), context.lang),
        // In whole seconds, so that it changes at most once a second.
        None if entry.running => relative_time::format_duration(
            (context.now - started).max(0) / 1_000 * 1_000,
            context.lang,
        ),
        None => describe_command_result(entry, context.lang).1,
    }
}

pub(super) fn render_command(view: &CommandView, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let entry = &view.entry;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    page.paragraph(&format!("$ {}", entry.command), TextStyle::Bold);
    let (result, description) = describe_command_result(entry, lang);
    let (_, style) = status_mark(result);
    page.labelled_value(msg::common_status(lang), &description, style);
    page.labelled_value(
        msg::command_time_taken(lang),
        &format_run_time(entry, context),
        StyleSet::NONE,
    );
    let actor = format!(
        "{}  {}",
        entry.agent,
        format_age(Some(&entry.started_at), context)
    );
    page.labelled_value(msg::command_run_by(lang), &actor, StyleSet::NONE);
    if let Some(tier) = entry.outcome.as_ref().and_then(|outcome| outcome.tier) {
        page.labelled_value(msg::command_sandbox(lang), tier.as_str(), StyleSet::NONE);
    }
    page.heading(&format!(
        "{} ({})",
        msg::command_output(lang),
        number_format::format_bytes(entry.output_bytes)
    ));
    if view.omitted > 0 {
        let omitted = number_format::format_bytes(view.omitted);
        let notice = msg::command_beginning_omitted(lang, omitted);
        page.paragraph(&notice, TextStyle::Dim);
    }
    page.verbatim_lines(&view.output, StyleSet::NONE);
    page.finish()
}
