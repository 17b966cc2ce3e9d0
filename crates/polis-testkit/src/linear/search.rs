//! Linearizability search by Wing and Gong, with memoization of visited states.

use std::collections::HashSet;

use super::model::{Answer, Request, State, apply};

/// One request of a history and its response. Times are positions in a single counter of all request starts
/// and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When the request was sent.
    pub asked: u64,
    /// When the response was received.
    pub answered: u64,
    /// The request.
    pub request: Request,
    /// The response.
    pub answer: Answer,
}

/// Whether a task's history is linearizable: in some order every response matches the model, and a request
/// that was answered before another was sent precedes it.
pub fn is_linearisable(first: &State, history: &[Entry]) -> bool {
    let mut search = Search {
        history,
        placed: vec![false; history.len()],
        dead_ends: HashSet::new(),
    };
    search.goes_on_from(first)
}

struct Search<'a> {
    history: &'a [Entry],
    /// Which entries are in the order so far.
    placed: Vec<bool>,
    /// Visited combinations of placed entries and state from which no order could be completed.
    dead_ends: HashSet<(Vec<bool>, State)>,
}

impl Search<'_> {
    /// Whether the remaining entries can follow in some order.
    fn goes_on_from(&mut self, state: &State) -> bool {
        let open = || (0..self.history.len()).filter(|&n| !self.placed[n]);
        // The next request must have been sent before any other open request was answered.
        let Some(deadline) = open().map(|n| self.history[n].answered).min() else {
            return true;
        };
        let here = (self.placed.clone(), state.clone());
        if self.dead_ends.contains(&here) {
            return false;
        }
        let candidates: Vec<usize> = open()
            .filter(|&n| self.history[n].asked < deadline)
            .collect();
        let mut steps = Vec::new();
        for n in candidates {
            let entry = &self.history[n];
            let (after, answer) = apply(state, &entry.request);
            if answer != entry.answer {
                continue;
            }
            if after == *state {
                // A possible next request that changes nothing can be placed immediately: later it could only
                // be an obstacle.
                steps = vec![(n, after)];
                break;
            }
            steps.push((n, after));
        }
        for (n, after) in steps {
            self.placed[n] = true;
            if self.goes_on_from(&after) {
                return true;
            }
            self.placed[n] = false;
        }
        self.dead_ends.insert(here);
        false
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{Code, TaskStatus};

    use super::super::model::Action;
    use super::*;

    fn entry(asked: u64, answered: u64, caller: &str, action: Action, answer: Answer) -> Entry {
        Entry {
            asked,
            answered,
            request: Request {
                caller: caller.to_owned(),
                expected: None,
                action,
            },
            answer,
        }
    }

    fn seen(version: u64, owner: &str, status: TaskStatus) -> Answer {
        Answer::Seen(State {
            version,
            owner: owner.to_owned(),
            status,
        })
    }

    fn claimed(owner: &str) -> Answer {
        seen(2, owner, TaskStatus::InProgress)
    }

    fn fits(history: &[Entry]) -> bool {
        is_linearisable(&State::created(), history)
    }

    #[test]
    fn one_of_two_overlapping_claims_is_refused() {
        let refused = Answer::Refused(Code::AlreadyClaimed);
        let a = entry(0, 3, "a", Action::Claim, refused);
        let b = entry(1, 2, "b", Action::Claim, claimed("b"));
        assert!(fits(&[a.clone(), b.clone()]));
        assert!(fits(&[b, a]));
    }

    #[test]
    fn a_double_claim_is_rejected() {
        let a = entry(0, 3, "a", Action::Claim, claimed("a"));
        let b = entry(1, 2, "b", Action::Claim, claimed("b"));
        assert!(!fits(&[a, b]));
    }

    #[test]
    fn a_refusal_without_a_cause_is_rejected() {
        let refused = Answer::Refused(Code::AlreadyClaimed);
        assert!(!fits(&[entry(0, 1, "a", Action::Claim, refused)]));
    }

    #[test]
    fn a_read_of_the_past_is_rejected() {
        let claim = entry(0, 1, "a", Action::Claim, claimed("a"));
        let old = seen(1, "", TaskStatus::Pending);
        assert!(!fits(&[
            claim.clone(),
            entry(2, 3, "b", Action::Get, old.clone())
        ]));
        // A read that overlaps may still have come first.
        let overlapping = Entry {
            answered: 4,
            ..claim
        };
        assert!(fits(&[overlapping, entry(2, 3, "b", Action::Get, old)]));
    }

    #[test]
    fn two_reads_in_opposite_order_are_rejected() {
        let claim = entry(0, 9, "a", Action::Claim, claimed("a"));
        let new = entry(1, 2, "b", Action::Get, claimed("a"));
        let old = entry(3, 4, "c", Action::Get, seen(1, "", TaskStatus::Pending));
        assert!(!fits(&[claim, new, old]));
    }

    #[test]
    fn a_lost_update_is_rejected() {
        let begin = Action::Update {
            owner: None,
            status: Some(TaskStatus::InProgress),
        };
        let begun = seen(2, "", TaskStatus::InProgress);
        let one = entry(0, 2, "a", begin.clone(), begun.clone());
        let two = entry(1, 3, "b", begin, begun);
        assert!(!fits(&[one, two]));
    }

    #[test]
    fn a_stale_expected_version_that_succeeds_is_rejected() {
        let claim = entry(0, 1, "a", Action::Claim, claimed("a"));
        let action = Action::Update {
            owner: Some("b".to_owned()),
            status: None,
        };
        let answer = seen(3, "b", TaskStatus::InProgress);
        let mut steal = entry(2, 3, "b", action, answer);
        steal.request.expected = Some(1);
        assert!(!fits(&[claim.clone(), steal.clone()]));
        steal.request.expected = Some(2);
        assert!(fits(&[claim, steal]));
    }

    #[test]
    fn many_requests_at_once_are_searched_quickly() {
        let mut history = vec![entry(0, 1_000, "a", Action::Claim, claimed("a"))];
        for n in 1..60 {
            let old = seen(1, "", TaskStatus::Pending);
            history.push(entry(n, 900 + n, "b", Action::Get, old));
        }
        assert!(fits(&history));
        let wrong = Answer::Refused(Code::NotOwner);
        history.push(entry(61, 62, "c", Action::Release, wrong.clone()));
        history.push(entry(1_001, 1_002, "a", Action::Release, wrong));
        assert!(!fits(
            &history[..20]
                .iter()
                .chain(history.last())
                .cloned()
                .collect::<Vec<_>>()
        ));
    }
}
