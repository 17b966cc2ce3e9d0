//! Side-by-side diff of two texts as an HTML table.

use maud::{Markup, html};
use polis_view::side_by_side::{Line, Row, sides};

use crate::request_context::Visit;

/// Maximum number of rows.
const MOST: usize = 1_500;

/// Renders the side-by-side diff, or a sentence if nothing changed.
pub(crate) fn table(visit: &Visit, old: (&str, &str), new: (&str, &str)) -> Markup {
    let both = sides(old.1, new.1, MOST);
    if both.rows.is_empty() {
        return html! { p.muted { (visit.say("Nothing changed.", "没有变化。")) } };
    }
    html! {
        p.muted.small { ins.count-in { "+" (both.added) } " " del.count-out { "−" (both.removed) } }
        div.scroll tabindex="0" {
            table.diff.sides {
                colgroup { col.no; col; col.no; col; }
                thead { tr { th colspan="2" scope="col" { (old.0) } th colspan="2" scope="col" { (new.0) } } }
                tbody { @for row in &both.rows { (drawn(visit, row)) } }
            }
        }
        @if both.left_out > 0 {
            p.muted { (visit.say(
                format!("{} more changed lines are not shown.", both.left_out),
                format!("另有 {} 行变化未显示。", both.left_out),
            )) }
        }
    }
}

fn drawn(visit: &Visit, row: &Row<'_>) -> Markup {
    match row {
        Row::Folded(count) => html! {
            tr.gap { td colspan="4" { (visit.say(format!("{count} lines without a change"), format!("{count} 行没有变化"))) } }
        },
        Row::Same { old, new, text } => html! {
            tr.same { td.no { (old) } td { (text) } td.no { (new) } td { (text) } }
        },
        Row::Changed { old, new } => html! {
            tr { (half(old.as_ref(), "del")) (half(new.as_ref(), "ins")) }
        },
    }
}

fn half(line: Option<&Line<'_>>, class: &str) -> Markup {
    let Some(line) = line else {
        return html! { td.no.none {} td.none {} };
    };
    html! {
        td.no { (line.number) }
        td class=(class) {
            @for piece in &line.pieces {
                @if !piece.changed { (piece.text) }
                @else if class == "del" { del { (piece.text) } }
                @else { ins { (piece.text) } }
            }
        }
    }
}
