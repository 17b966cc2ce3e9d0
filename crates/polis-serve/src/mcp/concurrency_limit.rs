//! Concurrency limit per caller: permits for simultaneous calls, commands and streams, by token or agent.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use polis_core::Refusal;

use crate::caller_identity::CallerIdentity;
use crate::refusal_tables::McpRefusal;

/// Permit pool that limits the concurrent uses of each caller.
#[derive(Debug)]
pub(crate) struct CallerConcurrencyLimit {
    max_per_caller: usize,
    /// What is counted, as the refusal names it.
    counted_noun: &'static str,
    in_use: Mutex<HashMap<String, usize>>,
}

/// Permit of one use; released when dropped.
#[derive(Debug)]
pub(crate) struct CallerPermit {
    limit: Arc<CallerConcurrencyLimit>,
    caller: String,
}

impl CallerConcurrencyLimit {
    pub(crate) fn new(limit: usize, noun: &'static str) -> Arc<Self> {
        Arc::new(Self {
            max_per_caller: limit,
            counted_noun: noun,
            in_use: Mutex::default(),
        })
    }

    /// Returns whether no permit is in use.
    pub(crate) fn is_unused(&self) -> bool {
        let counts = self.in_use.lock();
        counts.is_empty()
    }

    /// Returns a permit. Fails with `RateLimited` if the caller is at its limit.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        identity: &CallerIdentity,
    ) -> Result<CallerPermit, Refusal> {
        let caller = identity
            .token
            .clone()
            .unwrap_or_else(|| identity.agent.to_string());
        let mut counts = self.in_use.lock();
        let count = counts.entry(caller.clone()).or_default();
        if *count >= self.max_per_caller {
            return Err(Refusal::from(McpRefusal::TooManyConcurrent {
                count: self.max_per_caller,
                what: self.counted_noun.to_owned(),
            }));
        }
        *count += 1;
        drop(counts);
        Ok(CallerPermit {
            limit: Arc::clone(self),
            caller,
        })
    }
}

impl Drop for CallerPermit {
    fn drop(&mut self) {
        let mut counts = self.limit.in_use.lock();
        if let Some(count) = counts.get_mut(&self.caller) {
            *count = count.saturating_sub(1);
            // Only callers with permits in use are kept.
            if *count == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_core::RefusalCode;

    #[test]
    fn caller_over_concurrency_limit_is_refused() {
        let limit = CallerConcurrencyLimit::new(2, "calls");
        let identity = |name: &str| CallerIdentity::from_trusted_agent(name.parse().unwrap());
        let first = limit.acquire(&identity("a")).unwrap();
        let second = limit.acquire(&identity("a")).unwrap();
        let refusal = limit.acquire(&identity("a")).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::RATE_LIMITED);
        assert!(limit.acquire(&identity("b")).is_ok());
        drop(first);
        assert!(limit.acquire(&identity("a")).is_ok());
        drop(second);
        assert!(limit.in_use.lock().is_empty());
    }
}
