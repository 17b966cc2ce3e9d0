//! Layered layout of a dependency graph: each node is placed to the right of all nodes it depends on.
//!
//! Only layers and rows are computed here; node sizes and curves are up to the screen. Every edge between the
//! given nodes is kept, including one that closes a cycle (the rules refuse cycles, but imported files may
//! contain them). The time is linear in nodes and edges for any graph, except for sorting the edges and
//! each layer.

use std::collections::HashMap;
use std::hash::Hash;

/// Number of ordering passes over the layers; more passes change little.
const ORDERING_PASSES: usize = 4;

/// Position of a node in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodePosition<K> {
    /// The node, as given by the caller.
    pub key: K,
    /// Its layer, from the left.
    pub layer: usize,
    /// Its row, from the top.
    pub row: usize,
}

/// An edge between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphEdge {
    /// Index in [`GraphLayout::nodes`] of its start: the dependency.
    pub from: usize,
    /// Index of its end: the dependent node.
    pub to: usize,
    /// Whether it is a back edge, which closes a cycle.
    pub is_back_edge: bool,
}

/// A graph with a position for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphLayout<K> {
    /// The nodes, by layer from the left and by row from the top.
    pub nodes: Vec<NodePosition<K>>,
    /// The edges, each once.
    pub edges: Vec<GraphEdge>,
    /// Number of layers (columns).
    pub layers: usize,
    /// Number of rows of the tallest layer.
    pub rows: usize,
}

/// Computes the layout; an edge leads from a dependency to the node that depends on it. Duplicate nodes and
/// edges count once; edges from or to unknown nodes are omitted.
pub fn layout_graph<K: Copy + Eq + Hash>(nodes: &[K], edges: &[(K, K)]) -> GraphLayout<K> {
    let (keys, edges) = index_graph(nodes, edges);
    let successors = adjacency_lists(keys.len(), edges.iter().copied());
    let predecessors = adjacency_lists(keys.len(), edges.iter().map(|&(from, to)| (to, from)));
    let layer_of = assign_layers(&successors, &predecessors);
    let depth = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (node, layer) in layer_of.iter().enumerate() {
        if let Some(members) = layers.get_mut(*layer) {
            members.push(node);
        }
    }
    order_layers(&mut layers, &successors, &predecessors);
    let rows = layers.iter().map(Vec::len).max().unwrap_or(0);
    let mut positions = Vec::with_capacity(keys.len());
    let mut index_of = vec![0; keys.len()];
    for (layer, members) in layers.iter().enumerate() {
        // Shorter layers are centred vertically.
        let offset = (rows - members.len()) / 2;
        for (row, &node) in members.iter().enumerate() {
            if let (Some(&key), Some(at)) = (keys.get(node), index_of.get_mut(node)) {
                *at = positions.len();
                positions.push(NodePosition {
                    key,
                    layer,
                    row: offset + row,
                });
            }
        }
    }
    let at = |indices: &[usize], node: usize| indices.get(node).copied().unwrap_or(0);
    let lines = edges.iter().map(|&(from, to)| GraphEdge {
        from: at(&index_of, from),
        to: at(&index_of, to),
        is_back_edge: at(&layer_of, from) >= at(&layer_of, to),
    });
    GraphLayout {
        edges: lines.collect(),
        nodes: positions,
        layers: depth,
        rows,
    }
}

/// Returns the nodes without duplicates, and the edges between their indices, each once.
fn index_graph<K: Copy + Eq + Hash>(
    nodes: &[K],
    edges: &[(K, K)],
) -> (Vec<K>, Vec<(usize, usize)>) {
    let mut number: HashMap<K, usize> = HashMap::with_capacity(nodes.len());
    let mut keys = Vec::with_capacity(nodes.len());
    for &key in nodes {
        number.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len() - 1
        });
    }
    let mut found: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|(from, to)| Some((*number.get(from)?, *number.get(to)?)))
        .collect();
    found.sort_unstable();
    found.dedup();
    (keys, found)
}

fn adjacency_lists(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(neighbours) = found.get_mut(from) {
            neighbours.push(to);
        }
    }
    found
}

/// Returns the layer of each node: one more than the maximum of its dependencies. If all remaining nodes
/// depend on remaining nodes, there is a cycle; it is broken at the first one.
fn assign_layers(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<usize> {
    let count = successors.len();
    let mut layer = vec![0; count];
    let mut done = vec![false; count];
    let mut pending: Vec<usize> = predecessors.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).filter(|n| pending.get(*n) == Some(&0)).collect();
    let mut first_left = 0;
    loop {
        let Some(node) = ready.pop() else {
            while done.get(first_left) == Some(&true) {
                first_left += 1;
            }
            if first_left >= count {
                return layer;
            }
            ready.push(first_left);
            continue;
        };
        match done.get_mut(node) {
            Some(is_done) if !*is_done => *is_done = true,
            _ => continue,
        }
        let next = layer.get(node).copied().unwrap_or(0) + 1;
        for &to in successors.get(node).into_iter().flatten() {
            if done.get(to) != Some(&false) {
                continue;
            }
            if let Some(target_layer) = layer.get_mut(to) {
                *target_layer = next.max(*target_layer);
            }
            if let Some(remaining) = pending.get_mut(to) {
                *remaining = remaining.saturating_sub(1);
                if *remaining == 0 {
                    ready.push(to);
                }
            }
        }
    }
}

/// Orders each layer by the average row of its neighbours, alternating forwards and backwards (barycenter
/// heuristic), so that few edges cross.
fn order_layers(layers: &mut [Vec<usize>], successors: &[Vec<usize>], predecessors: &[Vec<usize>]) {
    let mut row: Vec<f64> = vec![0.0; successors.len()];
    for members in layers.iter() {
        record_rows(members, &mut row);
    }
    for sweep in 0..ORDERING_PASSES {
        let is_forward = sweep % 2 == 0;
        let adjacency = if is_forward { predecessors } else { successors };
        let count = layers.len();
        for step in 0..count {
            let at = if is_forward { step } else { count - 1 - step };
            let Some(members) = layers.get_mut(at) else {
                continue;
            };
            let mut ordered: Vec<(f64, usize)> = members
                .iter()
                .map(|&node| (mean_neighbour_row(node, adjacency, &row), node))
                .collect();
            ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
            *members = ordered.into_iter().map(|(_, node)| node).collect();
            record_rows(members, &mut row);
        }
    }
}

/// Returns the average row of a node's neighbours; its own row if it has none.
fn mean_neighbour_row(node: usize, adjacency: &[Vec<usize>], row: &[f64]) -> f64 {
    let neighbours = adjacency.get(node).map_or(&[][..], Vec::as_slice);
    let (sum, count) = neighbours
        .iter()
        .fold((0.0, 0.0), |(sum, count), neighbour| {
            (
                sum + row.get(*neighbour).copied().unwrap_or(0.0),
                count + 1.0,
            )
        });
    if count > 0.0 {
        sum / count
    } else {
        row.get(node).copied().unwrap_or(0.0)
    }
}

/// Records the rows of a layer's nodes relative to its middle, so that layers of different length are
/// comparable.
fn record_rows(members: &[usize], row: &mut [f64]) {
    let mut at = members.iter().fold(0.5, |start, _| start - 0.5);
    for &node in members {
        if let Some(node_row) = row.get_mut(node) {
            *node_row = at;
        }
        at += 1.0;
    }
}

#[cfg(test)]
mod tests;
