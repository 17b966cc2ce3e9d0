//! Organization tree as indented rows: each member with its depth and the number of omitted subordinates.
//!
//! The number of rows is limited; those nearest to the top are kept, and a row shows how many direct
//! subordinates were omitted. Cycles of supervisors (imported files may contain them) are broken.

use std::collections::HashMap;

/// A row of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Index of the member in the input.
    pub at: usize,
    /// Depth below the top.
    pub depth: usize,
    /// Number of omitted direct subordinates.
    pub left_out: usize,
}

/// Returns the rows of a tree in depth-first order; siblings keep the order of the input. Each member is
/// given as its name and the name of its supervisor. `top` is the root. If it is `None` or unknown, all
/// members without a known supervisor are roots. At most `most` rows are returned.
pub fn rows<'a>(
    people: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    top: Option<&str>,
    most: usize,
) -> Vec<Row> {
    let people: Vec<_> = people.into_iter().collect();
    let places: HashMap<&str, usize> = (people.iter().enumerate())
        .map(|(at, (name, _))| (*name, at))
        .collect();
    let above: Vec<Option<usize>> = (people.iter())
        .map(|(_, over)| places.get((*over)?).copied())
        .collect();
    placed(&above, top.and_then(|top| places.get(top).copied()), most)
}

/// Like [`rows`], by index: `above` contains the index of each member's supervisor.
fn placed(above: &[Option<usize>], top: Option<usize>, most: usize) -> Vec<Row> {
    let count = above.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, over) in above.iter().enumerate() {
        if let Some(of) = over.and_then(|over| below.get_mut(over)) {
            of.push(at);
        }
    }
    let mut tops: Vec<usize> = match top {
        Some(top) => vec![top],
        None => (0..count).filter(|at| is_top(above, *at)).collect(),
    };
    let mut chosen = vec![false; count];
    let mut left = most;
    choose(&tops, &below, &mut chosen, &mut left);
    if top.is_none() {
        // Members not reachable from any root are in a cycle or below one.
        let mut reached = vec![false; count];
        let mut all = usize::MAX;
        choose(&tops, &below, &mut reached, &mut all);
        for at in 0..count {
            if reached.get(at) == Some(&false) {
                choose(&[at], &below, &mut reached, &mut all);
                choose(&[at], &below, &mut chosen, &mut left);
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
        if let Some(seen) = done.get_mut(at) {
            *seen = true;
        }
        let under = below.get(at).map_or(&[][..], Vec::as_slice);
        let out = under.iter().filter(|at| chosen.get(**at) == Some(&false));
        rows.push(Row {
            at,
            depth,
            left_out: out.count(),
        });
        stack.extend(under.iter().rev().map(|at| (*at, depth + 1)));
    }
    rows
}

/// Returns whether a member has no known supervisor.
fn is_top(above: &[Option<usize>], at: usize) -> bool {
    let over = above.get(at).copied().flatten();
    over.is_none_or(|over| over >= above.len())
}

/// Marks members level by level from the top until the limit is reached (breadth-first).
fn choose(tops: &[usize], below: &[Vec<usize>], chosen: &mut [bool], left: &mut usize) {
    let mut level: Vec<usize> = tops.to_vec();
    while !level.is_empty() {
        let mut next = Vec::new();
        for at in level {
            match chosen.get_mut(at) {
                Some(mark) if !*mark && *left > 0 => {
                    *mark = true;
                    *left -= 1;
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

    fn told(
        above: &[Option<usize>],
        top: Option<usize>,
        most: usize,
    ) -> Vec<(usize, usize, usize)> {
        let rows = placed(above, top, most);
        rows.iter().map(|r| (r.at, r.depth, r.left_out)).collect()
    }

    #[test]
    fn everybody_stands_below_the_one_it_is_under() {
        let above = [None, Some(0), Some(1), Some(0), None];
        let all = [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 1, 0), (4, 0, 0)];
        assert_eq!(told(&above, None, 99), all);
        assert_eq!(told(&above, Some(1), 99), [(1, 0, 0), (2, 1, 0)]);
        assert_eq!(told(&above, None, 3), [(0, 0, 1), (1, 1, 1), (4, 0, 0)]);
    }

    #[test]
    fn the_one_above_is_found_by_name() {
        let people = [("b", Some("a")), ("a", None), ("c", Some("nobody"))];
        let at = |top| {
            rows(people, top, 9)
                .iter()
                .map(|r| r.at)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(None), [1, 0, 2]);
        assert_eq!(at(Some("b")), [0]);
        assert_eq!(at(Some("")), [1, 0, 2]);
    }

    #[test]
    fn a_circle_is_cut() {
        assert_eq!(told(&[Some(1), Some(0)], None, 9), [(0, 0, 0), (1, 1, 0)]);
        assert_eq!(told(&[Some(0)], None, 9), [(0, 0, 0)]);
    }

    proptest! {
        #[test]
        fn nobody_is_lost_and_nobody_is_there_twice(
            above in prop::collection::vec(prop::option::of(0_usize..30), 0..30),
            most in 0_usize..40,
        ) {
            let rows = placed(&above, None, most);
            let there: BTreeSet<usize> = rows.iter().map(|row| row.at).collect();
            prop_assert_eq!(there.len(), rows.len());
            prop_assert_eq!(rows.len(), most.min(above.len()));
        }
    }
}
