//! Concurrency limit per caller, counted by token or agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polis_core::{Code, Refusal};

use crate::identity::Identity;

/// Counts the concurrent uses of each caller.
#[derive(Debug)]
pub(crate) struct Gate {
    most: usize,
    /// Plural noun for what is counted, used in the refusal.
    what: &'static str,
    inside: Mutex<HashMap<String, usize>>,
}

/// Permit of one use; released when dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
    whose: String,
}

impl Gate {
    pub(crate) fn new(most: usize, what: &'static str) -> Arc<Self> {
        Arc::new(Self {
            most,
            what,
            inside: Mutex::default(),
        })
    }

    /// Returns whether no permit is in use.
    pub(crate) fn is_free(&self) -> bool {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.is_empty()
    }

    /// Returns a permit. Fails with `RateLimited` if the caller is at its limit.
    pub(crate) fn enter(self: &Arc<Self>, identity: &Identity) -> Result<Pass, Refusal> {
        let whose = identity
            .token
            .clone()
            .unwrap_or_else(|| identity.agent.to_string());
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let count = inside.entry(whose.clone()).or_default();
        if *count >= self.most {
            return Err(Refusal::new(
                Code::RateLimited,
                format!(
                    "You have {} {} at the same time already.",
                    self.most, self.what
                ),
                "wait until one of them has ended",
            ));
        }
        *count += 1;
        drop(inside);
        Ok(Pass {
            gate: Arc::clone(self),
            whose,
        })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut inside = self
            .gate
            .inside
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = inside.get_mut(&self.whose) {
            *count = count.saturating_sub(1);
            // Only callers with permits in use are kept.
            if *count == 0 {
                inside.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_so_many_and_no_more() {
        let gate = Gate::new(2, "calls");
        let of = |name: &str| Identity::trusted(name.parse().unwrap());
        let first = gate.enter(&of("a")).unwrap();
        let second = gate.enter(&of("a")).unwrap();
        let refusal = gate.enter(&of("a")).unwrap_err();
        assert_eq!(refusal.code, Code::RateLimited);
        assert!(gate.enter(&of("b")).is_ok());
        drop(first);
        assert!(gate.enter(&of("a")).is_ok());
        drop(second);
        assert!(gate.inside.lock().unwrap().is_empty());
    }
}
