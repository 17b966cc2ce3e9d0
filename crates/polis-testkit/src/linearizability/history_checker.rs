//! Linearizability search by Wing and Gong, with memoization of visited states.

use std::collections::HashSet;

use super::task_model::{TaskModelRequest, TaskModelResponse, TaskModelState, apply_request};

/// One request of a history and its response. Times are positions in a single counter of all request starts
/// and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When the request was sent.
    pub sent_at: u64,
    /// When the response was received.
    pub received_at: u64,
    /// The request, as the client sent it.
    pub request: TaskModelRequest,
    /// The response, as the client received it.
    pub response: TaskModelResponse,
}

/// Returns whether a task's history is linearizable: in some order every response matches the model, and a
/// request that was answered before another was sent precedes it.
pub fn is_linearizable(first: &TaskModelState, history: &[HistoryEntry]) -> bool {
    let mut search = LinearizationSearch {
        history,
        is_placed: vec![false; history.len()],
        dead_ends: HashSet::new(),
    };
    search.can_complete_from(first)
}

struct LinearizationSearch<'a> {
    history: &'a [HistoryEntry],
    /// Which entries are in the order so far.
    is_placed: Vec<bool>,
    /// Visited combinations of placed entries and state from which no order could be completed.
    dead_ends: HashSet<(Vec<bool>, TaskModelState)>,
}

impl LinearizationSearch<'_> {
    /// Returns whether the remaining entries can follow in some order.
    fn can_complete_from(&mut self, state: &TaskModelState) -> bool {
        let open = || (0..self.history.len()).filter(|&n| !self.is_placed[n]);
        // The next request must have been sent before any other open request was answered.
        let Some(deadline) = open().map(|n| self.history[n].received_at).min() else {
            return true;
        };
        let position = (self.is_placed.clone(), state.clone());
        if self.dead_ends.contains(&position) {
            return false;
        }
        let candidates: Vec<usize> = open()
            .filter(|&n| self.history[n].sent_at < deadline)
            .collect();
        let mut steps = Vec::new();
        for n in candidates {
            let entry = &self.history[n];
            let (after, answer) = apply_request(state, &entry.request);
            if answer != entry.response {
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
            self.is_placed[n] = true;
            if self.can_complete_from(&after) {
                return true;
            }
            self.is_placed[n] = false;
        }
        self.dead_ends.insert(position);
        false
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{RefusalCode, TaskStatus};

    use super::super::task_model::TaskModelAction;
    use super::*;

    fn history_entry(
        sent_at: u64,
        answered: u64,
        caller: &str,
        action: TaskModelAction,
        answer: TaskModelResponse,
    ) -> HistoryEntry {
        HistoryEntry {
            sent_at,
            received_at: answered,
            request: TaskModelRequest {
                caller: caller.to_owned(),
                expected_version: None,
                action,
            },
            response: answer,
        }
    }

    fn accepted_state(version: u64, owner: &str, status: TaskStatus) -> TaskModelResponse {
        TaskModelResponse::Accepted(TaskModelState {
            version,
            owner: owner.to_owned(),
            status,
        })
    }

    fn claimed_by(owner: &str) -> TaskModelResponse {
        accepted_state(2, owner, TaskStatus::InProgress)
    }

    fn is_history_linearizable(history: &[HistoryEntry]) -> bool {
        is_linearizable(&TaskModelState::newly_created(), history)
    }

    #[test]
    fn overlapping_claims_with_one_refused_are_accepted() {
        let refused = TaskModelResponse::Refused(RefusalCode::ALREADY_CLAIMED);
        let a = history_entry(0, 3, "a", TaskModelAction::Claim, refused);
        let b = history_entry(1, 2, "b", TaskModelAction::Claim, claimed_by("b"));
        assert!(is_history_linearizable(&[a.clone(), b.clone()]));
        assert!(is_history_linearizable(&[b, a]));
    }

    #[test]
    fn double_claim_is_rejected() {
        let a = history_entry(0, 3, "a", TaskModelAction::Claim, claimed_by("a"));
        let b = history_entry(1, 2, "b", TaskModelAction::Claim, claimed_by("b"));
        assert!(!is_history_linearizable(&[a, b]));
    }

    #[test]
    fn refusal_without_cause_is_rejected() {
        let refused = TaskModelResponse::Refused(RefusalCode::ALREADY_CLAIMED);
        assert!(!is_history_linearizable(&[history_entry(
            0,
            1,
            "a",
            TaskModelAction::Claim,
            refused
        )]));
    }

    #[test]
    fn stale_read_is_rejected() {
        let claim = history_entry(0, 1, "a", TaskModelAction::Claim, claimed_by("a"));
        let old = accepted_state(1, "", TaskStatus::Pending);
        assert!(!is_history_linearizable(&[
            claim.clone(),
            history_entry(2, 3, "b", TaskModelAction::Get, old.clone())
        ]));
        // A read that overlaps may still have come first.
        let overlapping = HistoryEntry {
            received_at: 4,
            ..claim
        };
        assert!(is_history_linearizable(&[
            overlapping,
            history_entry(2, 3, "b", TaskModelAction::Get, old)
        ]));
    }

    #[test]
    fn reads_in_opposite_order_are_rejected() {
        let claim = history_entry(0, 9, "a", TaskModelAction::Claim, claimed_by("a"));
        let new = history_entry(1, 2, "b", TaskModelAction::Get, claimed_by("a"));
        let old = history_entry(
            3,
            4,
            "c",
            TaskModelAction::Get,
            accepted_state(1, "", TaskStatus::Pending),
        );
        assert!(!is_history_linearizable(&[claim, new, old]));
    }

    #[test]
    fn lost_update_is_rejected() {
        let begin = TaskModelAction::Update {
            owner: None,
            status: Some(TaskStatus::InProgress),
        };
        let in_progress = accepted_state(2, "", TaskStatus::InProgress);
        let one = history_entry(0, 2, "a", begin.clone(), in_progress.clone());
        let two = history_entry(1, 3, "b", begin, in_progress);
        assert!(!is_history_linearizable(&[one, two]));
    }

    #[test]
    fn success_with_stale_expected_version_is_rejected() {
        let claim = history_entry(0, 1, "a", TaskModelAction::Claim, claimed_by("a"));
        let action = TaskModelAction::Update {
            owner: Some("b".to_owned()),
            status: None,
        };
        let answer = accepted_state(3, "b", TaskStatus::InProgress);
        let mut steal = history_entry(2, 3, "b", action, answer);
        steal.request.expected_version = Some(1);
        assert!(!is_history_linearizable(&[claim.clone(), steal.clone()]));
        steal.request.expected_version = Some(2);
        assert!(is_history_linearizable(&[claim, steal]));
    }

    #[test]
    fn search_of_many_concurrent_requests_is_fast() {
        let mut history = vec![history_entry(
            0,
            1_000,
            "a",
            TaskModelAction::Claim,
            claimed_by("a"),
        )];
        for n in 1..60 {
            let old = accepted_state(1, "", TaskStatus::Pending);
            history.push(history_entry(n, 900 + n, "b", TaskModelAction::Get, old));
        }
        assert!(is_history_linearizable(&history));
        let wrong = TaskModelResponse::Refused(RefusalCode::NOT_OWNER);
        history.push(history_entry(
            61,
            62,
            "c",
            TaskModelAction::Release,
            wrong.clone(),
        ));
        history.push(history_entry(
            1_001,
            1_002,
            "a",
            TaskModelAction::Release,
            wrong,
        ));
        assert!(!is_history_linearizable(
            &history[..20]
                .iter()
                .chain(history.last())
                .cloned()
                .collect::<Vec<_>>()
        ));
    }
}
