//! Login throttle (rate limit of failed sign-in attempts by IP address): after too many, further invalid
//! attempts only get a "wait" error for a while. A valid key or token is still accepted.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use polis_core::Refusal;
use polis_core::number::saturating_cast;
use polis_serve::http::ConnectionPeer;
use polis_serve::http::rate_limit::{KeyedRateLimiter, RateQuota};

use crate::refusal_tables::PageRefusal;

/// Failed attempts per minute and address.
const MAX_FAILURES_PER_MINUTE: u32 = 20;
/// Maximum number of addresses tracked.
const MAX_TRACKED_ADDRESSES: usize = 10_000;

/// Failed sign-in attempts by address.
#[derive(Debug)]
pub(crate) struct LoginThrottle {
    failures: KeyedRateLimiter<IpAddr>,
    started_at: Instant,
}

impl LoginThrottle {
    pub(crate) fn new() -> Self {
        let quota = RateQuota::new(
            MAX_FAILURES_PER_MINUTE,
            Duration::from_secs(60),
            MAX_FAILURES_PER_MINUTE,
        );
        Self {
            failures: KeyedRateLimiter::new(quota, MAX_TRACKED_ADDRESSES),
            started_at: Instant::now(),
        }
    }

    /// Fails with `RateLimited` for an address with too many failed attempts.
    pub(crate) fn check_attempt(&self, peer: Option<&ConnectionPeer>) -> Result<(), Refusal> {
        match self
            .failures
            .retry_after(&client_address(peer), self.elapsed_nanos())
        {
            None => Ok(()),
            Some(wait) => Err(Refusal::from(PageRefusal::TooManyFailedSignIns {
                seconds: wait.as_secs().max(1),
            })),
        }
    }

    /// Counts a failed attempt.
    pub(crate) fn record_failure(&self, peer: Option<&ConnectionPeer>) {
        let _ = self
            .failures
            .try_acquire(&client_address(peer), self.elapsed_nanos());
    }

    fn elapsed_nanos(&self) -> u64 {
        saturating_cast::<u64>(self.started_at.elapsed().as_nanos())
    }
}

fn client_address(peer: Option<&ConnectionPeer>) -> IpAddr {
    peer.map_or(
        IpAddr::from([127, 0, 0, 1]),
        ConnectionPeer::rate_limit_address,
    )
}
