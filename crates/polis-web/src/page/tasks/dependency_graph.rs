//! Dependency section of a task's page: the nearest tasks connected to it as SVG, with blockers to the left of the
//! tasks they block, and its direct neighbours as lists. Live updates load it alone.
//!
//! `polis_view::graph_layout` computes the layout; this module adds sizes and curves. A line across several
//! layers runs between the rows, so that it never seems to end at a task that it passes.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::TaskId;
use polis_core::task::graph::DependencyNode;
use polis_i18n::msg;
use polis_ops::op::{self, TaskNeighbourhood};
use polis_view::graph_layout::{GraphEdge, GraphLayout, NodePosition, layout_graph};
use polis_view::{display_width, labels};

use super::render_status_pill;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::request::extract::PathParams;
use crate::request::request_context::RequestContext;

/// Maximum number of tasks drawn.
const MAX_GRAPH_TASKS: usize = 60;
/// Width and height of a task's box.
const NODE_WIDTH: usize = 200;
const NODE_HEIGHT: usize = 44;
/// Space between layers, and between rows.
const LAYER_GAP: usize = 52;
const ROW_GAP: usize = 24;
/// Outer margin of the drawing.
const GRAPH_MARGIN: usize = 14;
/// Maximum width of a task's text, in columns.
const MAX_NODE_TEXT_COLUMNS: usize = 23;

/// Returns the graph fragment, for live updates.
pub(super) async fn refresh_graph(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    Ok(html_fragment(render_graph_section(&context, id).await?))
}

/// Renders the graph, and the same data as lists.
pub(super) async fn render_graph_section(
    context: &RequestContext,
    id: TaskId,
) -> Result<Markup, PageError> {
    let neighbourhood = op::task_neighbourhood(&context.request, id, MAX_GRAPH_TASKS)
        .await
        .or_page_error(context)?;
    let (before, after) = direct_neighbours(&neighbourhood, id);
    Ok(html! {
        section.card #graph hx-get={ "/tasks/" (id) "/graph" } hx-trigger="polis:task~ from:body" hx-swap="morph:outerHTML" {
            h2 { (msg::task_dependencies_title(context.lang())) }
            @if neighbourhood.tasks.len() < 2 {
                p.muted { (msg::task_no_dependencies(context.lang())) }
            } @else {
                div.scroll { (render_graph(context, &neighbourhood, id)) }
                @if neighbourhood.has_more { p.muted.small { (msg::task_graph_incomplete(context.lang())) } }
                div.grid {
                    (render_task_list(context, msg::task_field_blocked_by(context.lang()), &before))
                    (render_task_list(context, msg::task_field_blocks(context.lang()), &after))
                }
            }
        }
    })
}

/// Returns the tasks that a task waits for, and the tasks that wait for it.
fn direct_neighbours(
    neighbourhood: &TaskNeighbourhood,
    id: TaskId,
) -> (Vec<&DependencyNode>, Vec<&DependencyNode>) {
    let node = neighbourhood.tasks.iter().find(|task| task.id == id);
    let is_blocked =
        |other: &&DependencyNode| node.is_some_and(|node| node.blocks.contains(&other.id));
    let before = neighbourhood
        .tasks
        .iter()
        .filter(|task| task.blocks.contains(&id));
    (
        before.collect(),
        neighbourhood.tasks.iter().filter(is_blocked).collect(),
    )
}

fn render_task_list(context: &RequestContext, title: &str, tasks: &[&DependencyNode]) -> Markup {
    html! {
        div {
            h3 { (title) }
            @if tasks.is_empty() { p.muted { (msg::common_none(context.lang())) } }
            ul.list { @for task in tasks { li {
                (render_status_pill(context, task.status)) " " a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
            } } }
        }
    }
}

fn render_graph(context: &RequestContext, neighbourhood: &TaskNeighbourhood, id: TaskId) -> Markup {
    let ids: Vec<TaskId> = neighbourhood.tasks.iter().map(|task| task.id).collect();
    let edges: Vec<(TaskId, TaskId)> = neighbourhood
        .tasks
        .iter()
        .flat_map(|task| task.blocks.iter().map(|to| (task.id, *to)))
        .collect();
    let layout = layout_graph(&ids, &edges);
    let width = 2 * GRAPH_MARGIN + layout.layers * (NODE_WIDTH + LAYER_GAP) - LAYER_GAP;
    let height = 2 * GRAPH_MARGIN + layout.rows * (NODE_HEIGHT + ROW_GAP);
    let title = msg::task_graph_description(context.lang());
    html! {
        svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label=(title) {
            defs {
                marker #tip viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                    path d="M0 0 8 4 0 8z" {}
                }
            }
            @for (at, line) in layout.edges.iter().enumerate() {
                @if let Some(path) = edge_path(&layout, line, at) {
                    path.edge.back[line.is_back_edge] d=(path) marker-end="url(#tip)" {}
                }
            }
            @for node in &layout.nodes {
                @if let Some(task) = neighbourhood.tasks.iter().find(|task| task.id == node.key) {
                    (render_node(context, task, node, id))
                }
            }
        }
    }
}

fn render_node(
    context: &RequestContext,
    task: &DependencyNode,
    node: &NodePosition<TaskId>,
    current: TaskId,
) -> Markup {
    let (x, y) = node_corner(node);
    let state = labels::task_status_label(task.status, context.lang());
    let owner = if task.owner.is_empty() {
        String::new()
    } else {
        format!(" · {}", task.owner)
    };
    html! {
        a.node.own[task.id == current] href={ "/tasks/" (task.id) } aria-current=[(task.id == current).then_some("true")] {
            title { "#" (task.id) " " (task.subject) " (" (state) ")" }
            rect class={ "of-" (task.status.as_str()) } x=(x) y=(y) width=(NODE_WIDTH) height=(NODE_HEIGHT) rx="7" {}
            text x=(x + 10) y=(y + 18) { (display_width::truncate_to_width(&format!("#{} {}", task.id, task.subject), MAX_NODE_TEXT_COLUMNS)) }
            text.state x=(x + 10) y=(y + 35) { (display_width::truncate_to_width(&format!("{state}{owner}"), MAX_NODE_TEXT_COLUMNS + 4)) }
        }
    }
}

/// Returns the upper left corner of a task.
fn node_corner(node: &NodePosition<TaskId>) -> (usize, usize) {
    let x = GRAPH_MARGIN + node.layer * (NODE_WIDTH + LAYER_GAP);
    (x, GRAPH_MARGIN + node.row * (NODE_HEIGHT + ROW_GAP))
}

/// Returns the path of a line, from the right side of one task to the left side of another.
fn edge_path(layout: &GraphLayout<TaskId>, line: &GraphEdge, number: usize) -> Option<String> {
    let (from, to) = (layout.nodes.get(line.from)?, layout.nodes.get(line.to)?);
    let ((x1, y1), (x2, y2)) = (node_corner(from), node_corner(to));
    let (x1, y1, y2) = (x1 + NODE_WIDTH, y1 + NODE_HEIGHT / 2, y2 + NODE_HEIGHT / 2);
    if !line.is_back_edge && to.layer == from.layer + 1 {
        let middle = x1 + LAYER_GAP / 2;
        return Some(format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"));
    }
    // Below the row of the higher end; parallel lines are offset so that they do not overlap.
    let row = from.row.min(to.row);
    let lane = GRAPH_MARGIN + row * (NODE_HEIGHT + ROW_GAP) + NODE_HEIGHT + 4 + number % 6 * 3;
    let (lane_start, lane_end) = (x1 + LAYER_GAP / 2, x2.saturating_sub(LAYER_GAP / 2));
    let (a, b) = (x1 + LAYER_GAP / 4, x2.saturating_sub(LAYER_GAP / 4));
    Some(format!(
        "M{x1} {y1}C{a} {y1} {a} {lane} {lane_start} {lane}L{lane_end} {lane}C{b} {lane} {b} {y2} {x2} {y2}"
    ))
}
