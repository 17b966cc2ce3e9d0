//! Rate limiter: a sustained rate per key with a burst allowance.
//!
//! Implements the generic cell rate algorithm (GCRA): the only state per key is the time at which its bucket
//! is full again. Time is passed as an argument. `gate` decides what happens to requests over the limit.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A sustained rate and its burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Cost of one request in nanoseconds.
    each: u64,
    /// Burst tolerance in nanoseconds.
    ahead: u64,
}

impl Quota {
    /// Creates a quota of `many` requests per `within`, with up to `burst` of them at once. Both are at least
    /// one.
    pub fn new(many: u32, within: Duration, burst: u32) -> Self {
        let within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        let each = (within / u64::from(many.max(1))).max(1);
        Self {
            each,
            ahead: each.saturating_mul(u64::from(burst.max(1)) - 1),
        }
    }

    /// Takes one request from a bucket at time `now` (nanoseconds), or returns how long to wait.
    pub fn take(self, bucket: &mut u64, now: u64) -> Result<(), Duration> {
        let full_again = (*bucket).max(now);
        let ahead = full_again - now;
        if ahead > self.ahead {
            return Err(Duration::from_nanos(ahead - self.ahead));
        }
        *bucket = full_again.saturating_add(self.each);
        Ok(())
    }
}

/// A bucket per key. Full buckets are evicted when there are too many.
#[derive(Debug)]
pub struct Buckets<K> {
    quota: Quota,
    most: usize,
    kept: Mutex<HashMap<K, u64>>,
}

impl<K: Eq + Hash> Buckets<K> {
    /// Creates a limiter with at most `most` buckets. A new key beyond that has to wait.
    pub fn new(quota: Quota, most: usize) -> Self {
        Self {
            quota,
            most,
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one request for a key at time `now` (nanoseconds), or returns how long to wait.
    pub fn take<Q>(&self, key: &Q, now: u64) -> Result<(), Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = kept.get_mut(key) {
            return self.quota.take(bucket, now);
        }
        if kept.len() >= self.most {
            kept.retain(|_, full_again| *full_again > now);
        }
        if kept.len() >= self.most {
            return Err(Duration::from_secs(1));
        }
        let mut bucket = now;
        let taken = self.quota.take(&mut bucket, now);
        kept.insert(key.to_owned(), bucket);
        taken
    }

    /// Returns how long to wait if a key has no requests left at time `now`. Takes nothing from the bucket.
    pub fn is_empty<Q>(&self, key: &Q, now: u64) -> Option<Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bucket = *kept.get(key)?;
        self.quota.take(&mut bucket, now).err()
    }

    /// Returns whether there is a bucket for a key.
    pub fn knows<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let quota = Quota::new(10, Duration::from_secs(1), 3);
        let mut bucket = 0;
        let now = 5 * SECOND;
        for _ in 0..3 {
            assert_eq!(quota.take(&mut bucket, now), Ok(()));
        }
        assert_eq!(
            quota.take(&mut bucket, now),
            Err(Duration::from_millis(100))
        );
        // A refused request takes nothing.
        assert_eq!(
            quota.take(&mut bucket, now),
            Err(Duration::from_millis(100))
        );
        assert_eq!(quota.take(&mut bucket, now + SECOND / 10), Ok(()));
        assert!(quota.take(&mut bucket, now + SECOND / 10).is_err());
    }

    #[test]
    fn keys_do_not_share_and_full_ones_are_forgotten() {
        let buckets = Buckets::<String>::new(Quota::new(1, Duration::from_secs(1), 1), 2);
        assert!(buckets.take("a", 0).is_ok());
        assert!(buckets.take("b", 0).is_ok());
        assert!(buckets.take("a", 0).is_err());
        assert!(buckets.is_empty("a", 0).is_some());
        assert!(buckets.take("c", 0).is_err(), "no room for a third");
        assert!(!buckets.knows("c"));
        assert!(
            buckets.take("c", 2 * SECOND).is_ok(),
            "the first two are forgotten"
        );
        assert!(!buckets.knows("a"));
        assert!(buckets.is_empty("a", 2 * SECOND).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For any sequence of requests, no more pass than the rate and one burst allow.
        #[test]
        fn no_more_pass_than_allowed(
            many in 1_u32..1_000,
            burst in 1_u32..50,
            steps in proptest::collection::vec(0_u64..SECOND / 50, 1..300),
        ) {
            let quota = Quota::new(many, Duration::from_secs(1), burst);
            let (mut bucket, mut now, mut passed) = (0, 7 * SECOND, 0_u64);
            let begun = now;
            for step in steps {
                now += step;
                match quota.take(&mut bucket, now) {
                    Ok(()) => passed += 1,
                    Err(wait) => {
                        // The returned wait is exact: a request passes after it and not before.
                        let wait = u64::try_from(wait.as_nanos()).unwrap();
                        let (mut then, mut before) = (bucket, bucket);
                        prop_assert!(quota.take(&mut then, now + wait).is_ok());
                        prop_assert!(quota.take(&mut before, now + wait - 1).is_err());
                    }
                }
            }
            let each = SECOND / u64::from(many);
            prop_assert!(passed <= (now - begun) / each + u64::from(burst));
        }
    }
}
