//! Organization tree of agents or members as indented rows: each agent with its depth below its root,
//! followed by the agents below it.
//!
//! The number of rows is limited; those nearest to the top are kept, and a row counts the agents directly
//! below it that were omitted. Cycles of supervisors (imported files may contain them) are broken.

use std::collections::HashMap;

/// A row of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgTreeRow {
    /// Index of the agent in the input.
    pub index: usize,
    /// Depth below its root; 0 for a root.
    pub depth: usize,
    /// Number of agents directly below it that have no row, because of the limit.
    pub omitted: usize,
}

/// Returns the rows of a tree in depth-first order; siblings keep the order of the input. Each agent is given
/// as its name and the name of its supervisor. With `top`, only that agent and those below it have rows; if
/// it is `None` or unknown, all agents without a known supervisor are roots. At most `limit` rows are
/// returned.
pub fn org_tree_rows<'a>(
    people: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    top: Option<&str>,
    limit: usize,
) -> Vec<OrgTreeRow> {
    let people: Vec<_> = people.into_iter().collect();
    let index_of: HashMap<&str, usize> = (people.iter().enumerate())
        .map(|(at, (name, _))| (*name, at))
        .collect();
    let supervisors: Vec<Option<usize>> = (people.iter())
        .map(|(_, supervisor)| index_of.get((*supervisor)?).copied())
        .collect();
    org_tree_rows_by_index(
        &supervisors,
        top.and_then(|top| index_of.get(top).copied()),
        limit,
    )
}

/// Like [`org_tree_rows`], by index: `supervisors` contains the index of each agent's supervisor.
fn org_tree_rows_by_index(
    supervisors: &[Option<usize>],
    top: Option<usize>,
    limit: usize,
) -> Vec<OrgTreeRow> {
    let count = supervisors.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, supervisor) in supervisors.iter().enumerate() {
        if let Some(children) = supervisor.and_then(|supervisor| below.get_mut(supervisor)) {
            children.push(at);
        }
    }
    let mut tops: Vec<usize> = match top {
        Some(top) => vec![top],
        None => (0..count).filter(|at| is_root(supervisors, *at)).collect(),
    };
    let mut chosen = vec![false; count];
    let mut remaining = limit;
    mark_breadth_first(&tops, &below, &mut chosen, &mut remaining);
    if top.is_none() {
        // Agents that no root reaches are in a cycle of supervisors or below one.
        let mut reached = vec![false; count];
        let mut all = usize::MAX;
        mark_breadth_first(&tops, &below, &mut reached, &mut all);
        for at in 0..count {
            if reached.get(at) == Some(&false) {
                mark_breadth_first(&[at], &below, &mut reached, &mut all);
                mark_breadth_first(&[at], &below, &mut chosen, &mut remaining);
                tops.push(at);
            }
        }
    }
    let mut rows = Vec::new();
    let mut done = vec![false; count];
    let mut stack: Vec<(usize, usize)> = tops.into_iter().rev().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = stack.pop() {
        if chosen.get(at) != Some(&true) || done.get(at) != Some(&false) {
            continue;
        }
        if let Some(is_done) = done.get_mut(at) {
            *is_done = true;
        }
        let children = below.get(at).map_or(&[][..], Vec::as_slice);
        let hidden = children
            .iter()
            .filter(|at| chosen.get(**at) == Some(&false));
        rows.push(OrgTreeRow {
            index: at,
            depth,
            omitted: hidden.count(),
        });
        stack.extend(children.iter().rev().map(|at| (*at, depth + 1)));
    }
    rows
}

/// Returns whether an agent has no known supervisor.
fn is_root(supervisors: &[Option<usize>], at: usize) -> bool {
    let supervisor = supervisors.get(at).copied().flatten();
    supervisor.is_none_or(|supervisor| supervisor >= supervisors.len())
}

/// Marks agents in `chosen`, level by level from the top (breadth-first), until `remaining` is used up.
fn mark_breadth_first(
    tops: &[usize],
    below: &[Vec<usize>],
    chosen: &mut [bool],
    remaining: &mut usize,
) {
    let mut level: Vec<usize> = tops.to_vec();
    while !level.is_empty() {
        let mut next = Vec::new();
        for at in level {
            match chosen.get_mut(at) {
                Some(is_chosen) if !*is_chosen && *remaining > 0 => {
                    *is_chosen = true;
                    *remaining -= 1;
                    next.extend(below.get(at).into_iter().flatten().copied());
                }
                _ => {}
            }
        }
        level = next;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn row_tuples(
        supervisors: &[Option<usize>],
        top: Option<usize>,
        limit: usize,
    ) -> Vec<(usize, usize, usize)> {
        let rows = org_tree_rows_by_index(supervisors, top, limit);
        rows.iter().map(|r| (r.index, r.depth, r.omitted)).collect()
    }

    #[test]
    fn members_are_placed_below_their_supervisor() {
        let supervisors = [None, Some(0), Some(1), Some(0), None];
        let all = [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 1, 0), (4, 0, 0)];
        assert_eq!(row_tuples(&supervisors, None, 99), all);
        assert_eq!(
            row_tuples(&supervisors, Some(1), 99),
            [(1, 0, 0), (2, 1, 0)]
        );
        assert_eq!(
            row_tuples(&supervisors, None, 3),
            [(0, 0, 1), (1, 1, 1), (4, 0, 0)]
        );
    }

    #[test]
    fn supervisor_is_found_by_name() {
        let people = [("b", Some("a")), ("a", None), ("c", Some("nobody"))];
        let at = |top| {
            org_tree_rows(people, top, 9)
                .iter()
                .map(|r| r.index)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(None), [1, 0, 2]);
        assert_eq!(at(Some("b")), [0]);
        assert_eq!(at(Some("")), [1, 0, 2]);
    }

    #[test]
    fn supervisor_cycle_is_broken() {
        assert_eq!(
            row_tuples(&[Some(1), Some(0)], None, 9),
            [(0, 0, 0), (1, 1, 0)]
        );
        assert_eq!(row_tuples(&[Some(0)], None, 9), [(0, 0, 0)]);
    }

    proptest! {
        #[test]
        fn every_agent_has_one_row(
            supervisors in prop::collection::vec(prop::option::of(0_usize..30), 0..30),
            limit in 0_usize..40,
        ) {
            let rows = org_tree_rows_by_index(&supervisors, None, limit);
            let indices: BTreeSet<usize> = rows.iter().map(|row| row.index).collect();
            prop_assert_eq!(indices.len(), rows.len());
            prop_assert_eq!(rows.len(), limit.min(supervisors.len()));
        }
    }
}
