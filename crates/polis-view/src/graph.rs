//! Where the nodes of a dependency graph stand: in layers, each to the right of all it waits for.
//!
//! Only places are decided here; how large a node is and how a line bends is the screen's matter. Every
//! edge among the given nodes is there, also one that closes a circle (the rules refuse those, files of
//! others may have had them). It takes time in proportion to nodes and edges, whatever they look like,
//! up to sorting each layer.

use std::collections::HashMap;
use std::hash::Hash;

/// How often the layers are put in order after each other's; more changes little.
const SWEEPS: usize = 4;

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<K> {
    /// Which node.
    pub key: K,
    /// Its layer, from the left.
    pub layer: usize,
    /// Its row, from above.
    pub row: usize,
}

/// An edge between two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Where in [`Layout::places`] it begins: at what is waited for.
    pub from: usize,
    /// Where it ends: at what waits.
    pub to: usize,
    /// Whether it runs against the order and so closes a circle.
    pub back: bool,
}

/// A graph with a place for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout<K> {
    /// The nodes, layer by layer from the left, row by row from above.
    pub places: Vec<Place<K>>,
    /// The edges, each once.
    pub lines: Vec<Line>,
    /// How many layers there are.
    pub layers: usize,
    /// How many rows the tallest layer has.
    pub rows: usize,
}

/// Gives each node a place. A node that is named twice counts once; an edge whose end is no node, or that
/// is named twice, is left out.
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
        // Shorter layers stand in the middle.
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

/// The nodes without repetitions, and the edges between their numbers, each once.
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

/// The layer of each node: one more than the last of those it waits for. Where everything left waits for
/// something left, there is a circle; it is cut at the first node.
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

/// Puts each layer in the order of the middle of its neighbours, there and back, so that few lines cross.
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

/// Where the neighbours of a node are on average; where it is itself if it has none.
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

/// Notes the rows of a layer's members, counted from its middle so that long and short ones compare.
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
