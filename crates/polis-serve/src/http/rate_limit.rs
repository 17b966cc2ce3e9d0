//! How many requests somebody may send: a steady rate with a burst on top.
//!
//! The generic cell rate algorithm: all that is kept for a key is one number, the moment at which its
//! bucket is full again. Time comes in as an argument. What happens to a request that is one too many is
//! said elsewhere (`gate`).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A rate, and how much of it may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// What one request takes, in nanoseconds of the bucket.
    each: u64,
    /// How far ahead of time the bucket may be, in nanoseconds.
    ahead: u64,
}

impl Quota {
    /// So many in a length of time, and up to `burst` of them at once. Neither is less than one.
    pub fn new(many: u32, within: Duration, burst: u32) -> Self {
        let within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        let each = (within / u64::from(many.max(1))).max(1);
        Self {
            each,
            ahead: each.saturating_mul(u64::from(burst.max(1)) - 1),
        }
    }

    /// Takes one out of a bucket at this moment (nanoseconds), or says how long to wait for it.
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

/// A bucket for each key. Buckets that are full again are forgotten when there are many.
#[derive(Debug)]
pub struct Buckets<K> {
    quota: Quota,
    most: usize,
    kept: Mutex<HashMap<K, u64>>,
}

impl<K: Eq + Hash> Buckets<K> {
    /// At most so many buckets at a time; a new key beyond them has to wait.
    pub fn new(quota: Quota, most: usize) -> Self {
        Self {
            quota,
            most,
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one for a key at this moment (nanoseconds), or says how long to wait.
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

    /// Whether a key has nothing left at this moment, without taking anything.
    pub fn is_empty<Q>(&self, key: &Q, now: u64) -> Option<Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bucket = *kept.get(key)?;
        self.quota.take(&mut bucket, now).err()
    }

    /// Whether there is a bucket for a key.
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
        // What is refused takes nothing.
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

        /// However requests come, never more pass than the rate and one burst allow.
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
                        // The time that is told is right: then it passes, and not before.
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
