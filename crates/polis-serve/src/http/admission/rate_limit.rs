//! Rate limiter (throttle, token bucket): a sustained rate per key, such as a token or an address, with a
//! burst allowance.
//!
//! Implements the generic cell rate algorithm (GCRA): the only state per key is the time at which its bucket
//! is full again. The current time is passed in by the caller. The number of keys is bounded: full buckets
//! are evicted, and a new key beyond the limit has to wait. Used by `admission` and by the login throttle of
//! polis-web.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::number::saturating_cast;

/// A sustained rate and its burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuota {
    /// Cost of one request in nanoseconds.
    request_cost_nanos: u64,
    /// Burst tolerance in nanoseconds.
    burst_nanos: u64,
}

impl RateQuota {
    /// Creates a quota of `requests` per `period`, with up to `burst` of them at once. Both numbers are at
    /// least one.
    pub fn new(requests: u32, period: Duration, burst: u32) -> Self {
        let period_nanos = saturating_cast::<u64>(period.as_nanos());
        let request_cost_nanos = (period_nanos / u64::from(requests.max(1))).max(1);
        Self {
            request_cost_nanos,
            burst_nanos: request_cost_nanos.saturating_mul(u64::from(burst.max(1)) - 1),
        }
    }

    /// Takes one request from a bucket at time `now` (nanoseconds). Fails with the time to wait if the bucket
    /// is empty.
    pub fn try_acquire(self, bucket: &mut u64, now: u64) -> Result<(), Duration> {
        let full_again = (*bucket).max(now);
        let ahead = full_again - now;
        if ahead > self.burst_nanos {
            return Err(Duration::from_nanos(ahead - self.burst_nanos));
        }
        *bucket = full_again.saturating_add(self.request_cost_nanos);
        Ok(())
    }
}

/// A bucket per key. Full buckets are evicted when there are too many.
#[derive(Debug)]
pub struct KeyedRateLimiter<K> {
    quota: RateQuota,
    max_keys: usize,
    buckets: Mutex<HashMap<K, u64>>,
}

impl<K: Eq + Hash> KeyedRateLimiter<K> {
    /// Creates a limiter with at most `max_keys` buckets. A new key beyond that has to wait.
    pub fn new(quota: RateQuota, max_keys: usize) -> Self {
        Self {
            quota,
            max_keys,
            buckets: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one request for a key at time `now` (nanoseconds). Fails with the time to wait if none is left.
    pub fn try_acquire<Q>(&self, key: &Q, now: u64) -> Result<(), Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get_mut(key) {
            return self.quota.try_acquire(bucket, now);
        }
        if buckets.len() >= self.max_keys {
            buckets.retain(|_, full_again| *full_again > now);
        }
        if buckets.len() >= self.max_keys {
            return Err(Duration::from_secs(1));
        }
        let mut bucket = now;
        let result = self.quota.try_acquire(&mut bucket, now);
        buckets.insert(key.to_owned(), bucket);
        result
    }

    /// Returns how long to wait if a key has no requests left at time `now`. Takes nothing from the bucket.
    pub fn retry_after<Q>(&self, key: &Q, now: u64) -> Option<Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let buckets = self.buckets.lock();
        let mut bucket = *buckets.get(key)?;
        self.quota.try_acquire(&mut bucket, now).err()
    }

    /// Returns whether there is a bucket for a key, that is, whether it was used recently.
    pub fn has_bucket<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let buckets = self.buckets.lock();
        buckets.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NANOS: u64 = 1_000_000_000;

    #[test]
    fn requests_after_burst_wait_for_rate() {
        let quota = RateQuota::new(10, Duration::from_secs(1), 3);
        let mut bucket = 0;
        let now = 5 * SECOND_NANOS;
        for _ in 0..3 {
            assert_eq!(quota.try_acquire(&mut bucket, now), Ok(()));
        }
        assert_eq!(
            quota.try_acquire(&mut bucket, now),
            Err(Duration::from_millis(100))
        );
        // A refused request takes nothing.
        assert_eq!(
            quota.try_acquire(&mut bucket, now),
            Err(Duration::from_millis(100))
        );
        assert_eq!(
            quota.try_acquire(&mut bucket, now + SECOND_NANOS / 10),
            Ok(())
        );
        assert!(
            quota
                .try_acquire(&mut bucket, now + SECOND_NANOS / 10)
                .is_err()
        );
    }

    #[test]
    fn buckets_are_per_key_and_full_ones_are_evicted() {
        let buckets =
            KeyedRateLimiter::<String>::new(RateQuota::new(1, Duration::from_secs(1), 1), 2);
        assert!(buckets.try_acquire("a", 0).is_ok());
        assert!(buckets.try_acquire("b", 0).is_ok());
        assert!(buckets.try_acquire("a", 0).is_err());
        assert!(buckets.retry_after("a", 0).is_some());
        assert!(
            buckets.try_acquire("c", 0).is_err(),
            "no bucket for a third key"
        );
        assert!(!buckets.has_bucket("c"));
        assert!(
            buckets.try_acquire("c", 2 * SECOND_NANOS).is_ok(),
            "full buckets are evicted"
        );
        assert!(!buckets.has_bucket("a"));
        assert!(buckets.retry_after("a", 2 * SECOND_NANOS).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For any sequence of requests, no more pass than the rate and one burst allow.
        #[test]
        fn requests_never_exceed_rate_and_burst(
            many in 1_u32..1_000,
            burst in 1_u32..50,
            steps in proptest::collection::vec(0_u64..SECOND_NANOS / 50, 1..300),
        ) {
            let quota = RateQuota::new(many, Duration::from_secs(1), burst);
            let (mut bucket, mut now, mut admitted) = (0, 7 * SECOND_NANOS, 0_u64);
            let start = now;
            for step in steps {
                now += step;
                match quota.try_acquire(&mut bucket, now) {
                    Ok(()) => admitted += 1,
                    Err(wait) => {
                        // The returned wait is exact: a request passes after it and not before.
                        let wait = u64::try_from(wait.as_nanos()).unwrap();
                        let (mut then, mut before) = (bucket, bucket);
                        prop_assert!(quota.try_acquire(&mut then, now + wait).is_ok());
                        prop_assert!(quota.try_acquire(&mut before, now + wait - 1).is_err());
                    }
                }
            }
            let cost = SECOND_NANOS / u64::from(many);
            prop_assert!(admitted <= (now - start) / cost + u64::from(burst));
        }
    }
}
