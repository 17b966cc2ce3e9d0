//! Side-by-side diff of two texts as an HTML table; `polis_view::side_by_side` computes it.

use maud::{Markup, html};
use polis_i18n::msg;
use polis_view::side_by_side::{DiffLine, DiffRow, diff_side_by_side};

use crate::request::request_context::RequestContext;

/// Maximum number of rows of a table.
const MAX_DIFF_ROWS: usize = 1_500;

/// Renders the side-by-side diff of two texts, each given with its name, or a sentence if nothing changed.
pub(crate) fn render_diff_table(
    context: &RequestContext,
    old: (&str, &str),
    new: (&str, &str),
) -> Markup {
    let both = diff_side_by_side(old.1, new.1, MAX_DIFF_ROWS);
    if both.rows.is_empty() {
        return html! { p.muted { (msg::board_diff_no_changes(context.lang())) } };
    }
    html! {
        p.muted.small { ins.count-in { "+" (both.added) } " " del.count-out { "−" (both.removed) } }
        div.scroll tabindex="0" {
            table.diff.sides {
                colgroup { col.no; col; col.no; col; }
                thead { tr { th colspan="2" scope="col" { (old.0) } th colspan="2" scope="col" { (new.0) } } }
                tbody { @for row in &both.rows { (render_diff_row(context, row)) } }
            }
        }
        @if both.omitted_rows > 0 {
            p.muted { (msg::common_changed_lines_omitted(context.lang(), both.omitted_rows)) }
        }
    }
}

fn render_diff_row(context: &RequestContext, row: &DiffRow<'_>) -> Markup {
    match row {
        DiffRow::Folded(count) => html! {
            tr.gap { td colspan="4" { (msg::common_unchanged_lines(context.lang(), count)) } }
        },
        DiffRow::Unchanged { old, new, text } => html! {
            tr.same { td.no { (old) } td { (text) } td.no { (new) } td { (text) } }
        },
        DiffRow::Changed { old, new } => html! {
            tr { (render_diff_side(old.as_ref(), "del")) (render_diff_side(new.as_ref(), "ins")) }
        },
    }
}

fn render_diff_side(line: Option<&DiffLine<'_>>, class: &str) -> Markup {
    let Some(line) = line else {
        return html! { td.no.none {} td.none {} };
    };
    html! {
        td.no { (line.number) }
        td class=(class) {
            @for piece in &line.segments {
                @if !piece.is_changed { (piece.text) }
                @else if class == "del" { del { (piece.text) } }
                @else { ins { (piece.text) } }
            }
        }
    }
}
