//! Tests of the graph layout: invariants for any graph, examples, and linear time for hostile graphs.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Checks the invariants of a layout, for any graph.
fn check(nodes: &[u32], edges: &[(u32, u32)]) -> Layout<u32> {
    let layout = lay_out(nodes, edges);
    let wanted: BTreeSet<u32> = nodes.iter().copied().collect();
    let placed: Vec<u32> = layout.places.iter().map(|place| place.key).collect();
    assert_eq!(placed.len(), wanted.len(), "no node twice, none missing");
    assert_eq!(placed.iter().copied().collect::<BTreeSet<_>>(), wanted);
    let spots: HashSet<_> = layout.places.iter().map(|p| (p.layer, p.row)).collect();
    assert_eq!(spots.len(), layout.places.len(), "no two at one place");
    assert!(
        layout
            .places
            .iter()
            .all(|p| p.layer < layout.layers && p.row < layout.rows)
    );
    let drawn: BTreeSet<(u32, u32)> = layout
        .lines
        .iter()
        .map(|line| (placed[line.from], placed[line.to]))
        .collect();
    assert_eq!(drawn.len(), layout.lines.len(), "no edge twice");
    let known = |edge: &&(u32, u32)| wanted.contains(&edge.0) && wanted.contains(&edge.1);
    let all: BTreeSet<(u32, u32)> = edges.iter().filter(known).copied().collect();
    assert_eq!(drawn, all, "every edge is drawn");
    for line in &layout.lines {
        let (from, to) = (layout.places[line.from], layout.places[line.to]);
        assert_eq!(line.back, from.layer >= to.layer);
    }
    layout
}

proptest! {
    #[test]
    fn every_edge_of_any_graph_is_drawn_and_no_node_twice(
        nodes in prop::collection::vec(0_u32..40, 0..60),
        edges in prop::collection::vec((0_u32..44, 0_u32..44), 0..160),
    ) {
        check(&nodes, &edges);
    }

    #[test]
    fn without_a_circle_every_line_runs_to_the_right(
        edges in prop::collection::vec((0_u32..60, 1_u32..30), 0..200),
    ) {
        let nodes: Vec<u32> = (0..90).collect();
        let edges: Vec<(u32, u32)> = edges.into_iter().map(|(a, by)| (a, a + by)).collect();
        let layout = check(&nodes, &edges);
        prop_assert!(layout.lines.iter().all(|line| !line.back));
    }
}

#[test]
fn a_diamond_has_three_layers_and_does_not_cross() {
    let layout = check(&[1, 2, 3, 4], &[(1, 2), (1, 3), (2, 4), (3, 4)]);
    assert_eq!((layout.layers, layout.rows), (3, 2));
    let layer = |key| layout.places.iter().find(|p| p.key == key).map(|p| p.layer);
    assert_eq!(
        [1, 2, 3, 4].map(layer),
        [Some(0), Some(1), Some(1), Some(2)]
    );
}

#[test]
fn two_chains_that_were_named_crosswise_are_untangled() {
    let layout = check(&[1, 2, 3, 4], &[(1, 4), (2, 3)]);
    let row = |key| layout.places.iter().find(|p| p.key == key).map(|p| p.row);
    assert_eq!(row(1), row(4));
    assert_eq!(row(2), row(3));
}

#[test]
fn a_circle_is_cut_once() {
    let layout = check(&[1, 2, 3], &[(1, 2), (2, 3), (3, 1)]);
    assert_eq!(layout.lines.iter().filter(|line| line.back).count(), 1);
}

/// Returns the CPU time of this thread. Not the elapsed time: on a busy machine a long computation is
/// interrupted disproportionately often compared to a short one.
fn spent() -> Duration {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    let had = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    had.and_then(|text| text.split(' ').next()?.parse().ok())
        .map_or_else(|| BEGINNING.elapsed(), Duration::from_nanos)
}

/// The time per edge does not grow with the graph: an eightfold graph takes far less than 64 times as long.
#[test]
fn hostile_graphs_take_time_in_proportion() {
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
    let took = |edges: &[(u32, u32)], most: u32| {
        let nodes: Vec<u32> = (0..=2 * most).collect();
        // Repeated, because the system counts in steps of milliseconds.
        let begun = spent();
        for _ in 0..5 {
            std::hint::black_box(lay_out(&nodes, edges));
        }
        spent().saturating_sub(begun)
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
        let (short, long) = (took(&few, small), took(&many, large));
        let short = short.max(Duration::from_millis(10));
        assert!(
            long < short * 24,
            "{short:?} for {small}, {long:?} for {large}"
        );
    }
}
