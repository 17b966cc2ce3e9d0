//! Tests of the graph layout: invariants for any graph, examples, and linear time for hostile graphs.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Checks the invariants of a layout, for any graph.
fn check_layout(nodes: &[u32], edges: &[(u32, u32)]) -> GraphLayout<u32> {
    let layout = layout_graph(nodes, edges);
    let expected: BTreeSet<u32> = nodes.iter().copied().collect();
    let keys: Vec<u32> = layout.nodes.iter().map(|node| node.key).collect();
    assert_eq!(keys.len(), expected.len(), "no node twice, none missing");
    assert_eq!(keys.iter().copied().collect::<BTreeSet<_>>(), expected);
    let positions: HashSet<_> = layout.nodes.iter().map(|p| (p.layer, p.row)).collect();
    assert_eq!(positions.len(), layout.nodes.len(), "no two at one place");
    assert!(
        layout
            .nodes
            .iter()
            .all(|p| p.layer < layout.layers && p.row < layout.rows)
    );
    let actual_edges: BTreeSet<(u32, u32)> = layout
        .edges
        .iter()
        .map(|line| (keys[line.from], keys[line.to]))
        .collect();
    assert_eq!(actual_edges.len(), layout.edges.len(), "no edge twice");
    let is_known = |edge: &&(u32, u32)| expected.contains(&edge.0) && expected.contains(&edge.1);
    let expected_edges: BTreeSet<(u32, u32)> = edges.iter().filter(is_known).copied().collect();
    assert_eq!(actual_edges, expected_edges, "every edge is drawn");
    for line in &layout.edges {
        let (from, to) = (layout.nodes[line.from], layout.nodes[line.to]);
        assert_eq!(line.is_back_edge, from.layer >= to.layer);
    }
    layout
}

proptest! {
    #[test]
    fn layout_contains_every_node_and_edge_once(
        nodes in prop::collection::vec(0_u32..40, 0..60),
        edges in prop::collection::vec((0_u32..44, 0_u32..44), 0..160),
    ) {
        check_layout(&nodes, &edges);
    }

    #[test]
    fn acyclic_graph_has_no_back_edges(
        edges in prop::collection::vec((0_u32..60, 1_u32..30), 0..200),
    ) {
        let nodes: Vec<u32> = (0..90).collect();
        let edges: Vec<(u32, u32)> = edges.into_iter().map(|(a, step)| (a, a + step)).collect();
        let layout = check_layout(&nodes, &edges);
        prop_assert!(layout.edges.iter().all(|line| !line.is_back_edge));
    }
}

#[test]
fn diamond_graph_has_three_layers() {
    let layout = check_layout(&[1, 2, 3, 4], &[(1, 2), (1, 3), (2, 4), (3, 4)]);
    assert_eq!((layout.layers, layout.rows), (3, 2));
    let layer = |key| layout.nodes.iter().find(|p| p.key == key).map(|p| p.layer);
    assert_eq!(
        [1, 2, 3, 4].map(layer),
        [Some(0), Some(1), Some(1), Some(2)]
    );
}

#[test]
fn crossing_chains_are_untangled() {
    let layout = check_layout(&[1, 2, 3, 4], &[(1, 4), (2, 3)]);
    let row = |key| layout.nodes.iter().find(|p| p.key == key).map(|p| p.row);
    assert_eq!(row(1), row(4));
    assert_eq!(row(2), row(3));
}

#[test]
fn cycle_has_one_back_edge() {
    let layout = check_layout(&[1, 2, 3], &[(1, 2), (2, 3), (3, 1)]);
    assert_eq!(
        layout.edges.iter().filter(|line| line.is_back_edge).count(),
        1
    );
}

/// Returns the CPU time of this thread. Not the elapsed time: on a busy machine a long computation is
/// interrupted disproportionately often compared to a short one.
fn thread_cpu_time() -> Duration {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    let contents = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    contents
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .map_or_else(|| BEGINNING.elapsed(), Duration::from_nanos)
}

/// The time per edge does not grow with the graph: an eightfold graph takes far less than 64 times as long.
#[test]
fn layout_of_hostile_graphs_takes_linear_time() {
    let chain = |n: u32| (0..n).map(|a| (a, a + 1)).collect::<Vec<_>>();
    let star = |n: u32| (1..=n).map(|a| (0, a)).collect::<Vec<_>>();
    let circle = |n: u32| (0..n).map(|a| (a, (a + 1) % n)).collect::<Vec<_>>();
    // Sixteen edges from each of the first `n / 16` nodes, at distances derived from powers of two.
    let dense = |n: u32| {
        let pairs =
            (0..n / 16).flat_map(|a| (0..16).map(move |k| (a, a + (1 << k) % (n / 16 + 1) + 1)));
        pairs.collect::<Vec<_>>()
    };
    // A chain, and a fan of nodes that all depend on the first one: many nodes in one layer with the same
    // dependency.
    let comb = |n: u32| {
        (0..n / 2)
            .flat_map(|a| [(a, a + 1), (0, n + a)])
            .collect::<Vec<_>>()
    };
    let measure = |edges: &[(u32, u32)], size: u32| {
        let nodes: Vec<u32> = (0..=2 * size).collect();
        // Repeated, because the system counts in steps of milliseconds.
        let started = thread_cpu_time();
        for _ in 0..5 {
            std::hint::black_box(layout_graph(&nodes, edges));
        }
        thread_cpu_time().saturating_sub(started)
    };
    for graph in [
        &chain as &dyn Fn(u32) -> Vec<(u32, u32)>,
        &star,
        &circle,
        &dense,
        &comb,
    ] {
        let (small, large) = (4_000, 32_000);
        let (few, many) = (graph(small), graph(large));
        let (short, long) = (measure(&few, small), measure(&many, large));
        let short = short.max(Duration::from_millis(10));
        assert!(
            long < short * 24,
            "{short:?} for {small}, {long:?} for {large}"
        );
    }
}
