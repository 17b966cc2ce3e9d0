//! Layered layout of a dependency graph: each node is placed to the right of all nodes it depends on.
//!
//! Only layers and rows are computed here; node sizes and curves are up to the screen. Every edge between the
//! given nodes is kept, including one that closes a cycle (the rules refuse cycles, but imported files may
//! contain them). The time is linear in nodes and edges for any graph, except for sorting each layer.

use std::collections::HashMap;
use std::hash::Hash;

/// Number of ordering passes over the layers; more passes change little.
const SWEEPS: usize = 4;

/// Position of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<K> {
    /// The node.
    pub key: K,
    /// Its layer, from the left.
    pub layer: usize,
    /// Its row, from the top.
    pub row: usize,
}

/// An edge between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Index in [`Layout::places`] of its start: the dependency.
    pub from: usize,
    /// Index of its end: the dependent node.
    pub to: usize,
    /// Whether it is a back edge, which closes a cycle.
    pub back: bool,
}

/// A graph with a position for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout<K> {
    /// The nodes, by layer from the left and by row from the top.
    pub places: Vec<Place<K>>,
    /// The edges, each once.
    pub lines: Vec<Line>,
    /// Number of layers.
    pub layers: usize,
    /// Number of rows of the tallest layer.
    pub rows: usize,
}

/// Computes the layout. Duplicate nodes and edges count once; edges to unknown nodes are omitted.
pub fn lay_out<K: Copy + Eq + Hash>(nodes: &[K], edges: &[(K, K)]) -> Layout<K> {
    let (keys, edges) = numbered(nodes, edges);
    let ahead = neighbours(keys.len(), edges.iter().copied());
    let behind = neighbours(keys.len(), edges.iter().map(|&(from, to)| (to, from)));
    let layer_of = layered(&ahead, &behind);
    let depth = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (node, layer) in layer_of.iter().enumerate() {
        if let Some(members) = layers.get_mut(*layer) {
            members.push(node);
        }
    }
    order(&mut layers, &ahead, &behind);
    let rows = layers.iter().map(Vec::len).max().unwrap_or(0);
    let mut places = Vec::with_capacity(keys.len());
    let mut place_of = vec![0; keys.len()];
    for (layer, members) in layers.iter().enumerate() {
        // Shorter layers are centred vertically.
        let above = (rows - members.len()) / 2;
        for (row, &node) in members.iter().enumerate() {
            if let (Some(&key), Some(at)) = (keys.get(node), place_of.get_mut(node)) {
                *at = places.len();
                places.push(Place {
                    key,
                    layer,
                    row: above + row,
                });
            }
        }
    }
    let at = |of: &[usize], node: usize| of.get(node).copied().unwrap_or(0);
    let lines = edges.iter().map(|&(from, to)| Line {
        from: at(&place_of, from),
        to: at(&place_of, to),
        back: at(&layer_of, from) >= at(&layer_of, to),
    });
    Layout {
        lines: lines.collect(),
        places,
        layers: depth,
        rows,
    }
}

/// Returns the nodes without duplicates, and the edges between their indices, each once.
fn numbered<K: Copy + Eq + Hash>(nodes: &[K], edges: &[(K, K)]) -> (Vec<K>, Vec<(usize, usize)>) {
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

fn neighbours(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(of) = found.get_mut(from) {
            of.push(to);
        }
    }
    found
}

/// Returns the layer of each node: one more than the maximum of its dependencies. If all remaining nodes
/// depend on remaining nodes, there is a cycle; it is broken at the first one.
fn layered(ahead: &[Vec<usize>], behind: &[Vec<usize>]) -> Vec<usize> {
    let count = ahead.len();
    let mut layer = vec![0; count];
    let mut done = vec![false; count];
    let mut waits: Vec<usize> = behind.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).filter(|n| waits.get(*n) == Some(&0)).collect();
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
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let next = layer.get(node).copied().unwrap_or(0) + 1;
        for &to in ahead.get(node).into_iter().flatten() {
            if done.get(to) != Some(&false) {
                continue;
            }
            if let Some(own) = layer.get_mut(to) {
                *own = next.max(*own);
            }
            if let Some(left) = waits.get_mut(to) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(to);
                }
            }
        }
    }
}

/// Orders each layer by the average row of its neighbours, alternating forwards and backwards (barycenter
/// heuristic), so that few edges cross.
fn order(layers: &mut [Vec<usize>], ahead: &[Vec<usize>], behind: &[Vec<usize>]) {
    let mut row: Vec<f64> = vec![0.0; ahead.len()];
    for members in layers.iter() {
        note(members, &mut row);
    }
    for sweep in 0..SWEEPS {
        let forth = sweep % 2 == 0;
        let towards = if forth { behind } else { ahead };
        let count = layers.len();
        for step in 0..count {
            let at = if forth { step } else { count - 1 - step };
            let Some(members) = layers.get_mut(at) else {
                continue;
            };
            let mut wanted: Vec<(f64, usize)> = members
                .iter()
                .map(|&node| (middle(node, towards, &row), node))
                .collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            *members = wanted.into_iter().map(|(_, node)| node).collect();
            note(members, &mut row);
        }
    }
}

/// Returns the average row of a node's neighbours; its own row if it has none.
fn middle(node: usize, towards: &[Vec<usize>], row: &[f64]) -> f64 {
    let near = towards.get(node).map_or(&[][..], Vec::as_slice);
    let (sum, count) = near.iter().fold((0.0, 0.0), |(sum, count), other| {
        (sum + row.get(*other).copied().unwrap_or(0.0), count + 1.0)
    });
    match count > 0.0 {
        true => sum / count,
        false => row.get(node).copied().unwrap_or(0.0),
    }
}

/// Records the rows of a layer's nodes relative to its middle, so that layers of different length are
/// comparable.
fn note(members: &[usize], row: &mut [f64]) {
    let mut at = members.iter().fold(0.5, |start, _| start - 0.5);
    for &node in members {
        if let Some(own) = row.get_mut(node) {
            *own = at;
        }
        at += 1.0;
    }
}

#[cfg(test)]
mod tests;
