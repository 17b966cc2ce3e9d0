//! Dependency graph of a task as SVG: its blockers on the left, the tasks it blocks on the right.
//!
//! `polis_view::graph` computes the layout; this module adds sizes and curves. A line across several layers runs
//! between the rows, so that it never passes behind a task as if it ended there.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::TaskId;
use polis_core::task::graph::Node;
use polis_ops::op::{self, Near};
use polis_view::graph::{Layout, Line, Place, lay_out};
use polis_view::{labels, width};

use super::status_pill;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Path;
use crate::layout::part;
use crate::request_context::Visit;

/// Maximum number of tasks drawn.
const MOST: usize = 60;
/// Size of a task.
const WIDE: usize = 200;
const TALL: usize = 44;
/// Space between layers, and between rows.
const GAP: usize = 52;
const LANE: usize = 24;
/// Outer margin.
const RIM: usize = 14;
/// Maximum width of a task's text, in columns.
const LETTERS: usize = 23;

/// Returns the graph fragment, for live updates.
pub(super) async fn refresh(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    Ok(part(section(&visit, id).await?))
}

/// Renders the graph, and the same data as lists.
pub(super) async fn section(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let near = op::graph_near(&visit.polis, id, MOST)
        .await
        .or_refuse(visit)?;
    let (before, after) = beside(&near, id);
    Ok(html! {
        section.card #graph hx-get={ "/tasks/" (id) "/graph" } hx-trigger="polis:task~ from:body" hx-swap="morph:outerHTML" {
            h2 { (visit.say("Dependencies", "依赖关系")) }
            @if near.tasks.len() < 2 {
                p.muted { (visit.say("It waits for nothing, and nothing waits for it.", "没有前置任务，也没有后续任务。")) }
            } @else {
                div.scroll { (drawing(visit, &near, id)) }
                @if near.more { p.muted.small { (visit.say("Only the nearest tasks are drawn; more are connected.", "仅绘出最近的任务，还有更多相连任务。")) } }
                div.grid {
                    (list(visit, visit.say("Waits for", "前置任务"), &before))
                    (list(visit, visit.say("Others wait for it", "后续任务"), &after))
                }
            }
        }
    })
}

/// Returns the tasks that a task waits for, and the tasks that wait for it.
fn beside(near: &Near, id: TaskId) -> (Vec<&Node>, Vec<&Node>) {
    let own = near.tasks.iter().find(|task| task.id == id);
    let waits = |other: &&Node| own.is_some_and(|own| own.blocks.contains(&other.id));
    let before = near.tasks.iter().filter(|task| task.blocks.contains(&id));
    (before.collect(), near.tasks.iter().filter(waits).collect())
}

fn list(visit: &Visit, title: &str, tasks: &[&Node]) -> Markup {
    html! {
        div {
            h3 { (title) }
            @if tasks.is_empty() { p.muted { (visit.say("nothing", "无")) } }
            ul.list { @for task in tasks { li {
                (status_pill(visit, task.status)) " " a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
            } } }
        }
    }
}

fn drawing(visit: &Visit, near: &Near, id: TaskId) -> Markup {
    let ids: Vec<TaskId> = near.tasks.iter().map(|task| task.id).collect();
    let edges: Vec<(TaskId, TaskId)> = near
        .tasks
        .iter()
        .flat_map(|task| task.blocks.iter().map(|to| (task.id, *to)))
        .collect();
    let layout = lay_out(&ids, &edges);
    let wide = 2 * RIM + layout.layers * (WIDE + GAP) - GAP;
    let tall = 2 * RIM + layout.rows * (TALL + LANE);
    let title = visit.say(
        "Dependencies as a graph; the lists below say the same",
        "依赖关系图，下方列表内容相同",
    );
    html! {
        svg.graph width=(wide) height=(tall) viewBox={ "0 0 " (wide) " " (tall) } role="group" aria-label=(title) {
            defs {
                marker #tip viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                    path d="M0 0 8 4 0 8z" {}
                }
            }
            @for (at, line) in layout.lines.iter().enumerate() {
                @if let Some(path) = path(&layout, line, at) {
                    path.edge.back[line.back] d=(path) marker-end="url(#tip)" {}
                }
            }
            @for place in &layout.places {
                @if let Some(task) = near.tasks.iter().find(|task| task.id == place.key) {
                    (node(visit, task, place, id))
                }
            }
        }
    }
}

fn node(visit: &Visit, task: &Node, place: &Place<TaskId>, own: TaskId) -> Markup {
    let (x, y) = corner(place);
    let state = labels::status(task.status, visit.lang());
    let holder = match task.owner.is_empty() {
        true => String::new(),
        false => format!(" · {}", task.owner),
    };
    html! {
        a.node.own[task.id == own] href={ "/tasks/" (task.id) } aria-current=[(task.id == own).then_some("true")] {
            title { "#" (task.id) " " (task.subject) " (" (state) ")" }
            rect class={ "of-" (task.status.as_str()) } x=(x) y=(y) width=(WIDE) height=(TALL) rx="7" {}
            text x=(x + 10) y=(y + 18) { (width::cut(&format!("#{} {}", task.id, task.subject), LETTERS)) }
            text.state x=(x + 10) y=(y + 35) { (width::cut(&format!("{state}{holder}"), LETTERS + 4)) }
        }
    }
}

/// Returns the upper left corner of a task.
fn corner(place: &Place<TaskId>) -> (usize, usize) {
    let x = RIM + place.layer * (WIDE + GAP);
    (x, RIM + place.row * (TALL + LANE))
}

/// Returns the path of a line, from the right side of one task to the left side of another.
fn path(layout: &Layout<TaskId>, line: &Line, number: usize) -> Option<String> {
    let (from, to) = (layout.places.get(line.from)?, layout.places.get(line.to)?);
    let ((x1, y1), (x2, y2)) = (corner(from), corner(to));
    let (x1, y1, y2) = (x1 + WIDE, y1 + TALL / 2, y2 + TALL / 2);
    if !line.back && to.layer == from.layer + 1 {
        let half = x1 + GAP / 2;
        return Some(format!("M{x1} {y1}C{half} {y1} {half} {y2} {x2} {y2}"));
    }
    // Below the row of the higher end; parallel lines are offset so that they do not overlap.
    let row = from.row.min(to.row);
    let lane = RIM + row * (TALL + LANE) + TALL + 4 + number % 6 * 3;
    let (out, into) = (x1 + GAP / 2, x2.saturating_sub(GAP / 2));
    let (a, b) = (x1 + GAP / 4, x2.saturating_sub(GAP / 4));
    Some(format!(
        "M{x1} {y1}C{a} {y1} {a} {lane} {out} {lane}L{into} {lane}C{b} {lane} {b} {y2} {x2} {y2}"
    ))
}
