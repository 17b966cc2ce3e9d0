//! Login throttle: counts failed sign-in attempts by IP address. After too many, further invalid attempts only get a
//! "wait" error for a while. A valid key or token is still accepted.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use polis_core::{Code, Refusal};
use polis_serve::http::Peer;
use polis_serve::http::rate_limit::{Buckets, Quota};

/// Failed attempts per minute and address.
const A_MINUTE: u32 = 20;
/// Maximum number of addresses tracked.
const ADDRESSES: usize = 10_000;

/// Failed sign-in attempts by address.
#[derive(Debug)]
pub(crate) struct Guesses {
    wrong: Buckets<IpAddr>,
    begun: Instant,
}

impl Guesses {
    pub(crate) fn new() -> Self {
        let quota = Quota::new(A_MINUTE, Duration::from_secs(60), A_MINUTE);
        Self {
            wrong: Buckets::new(quota, ADDRESSES),
            begun: Instant::now(),
        }
    }

    /// Fails with `RateLimited` for an address with too many failed attempts.
    pub(crate) fn may_try(&self, peer: Option<&Peer>) -> Result<(), Refusal> {
        match self.wrong.is_empty(&address(peer), self.now()) {
            None => Ok(()),
            Some(wait) => Err(Refusal::new(
                Code::RateLimited,
                "Too many wrong keys and tokens came from this address.",
                format!("wait {} seconds", wait.as_secs().max(1)),
            )),
        }
    }

    /// Counts a failed attempt.
    pub(crate) fn failed(&self, peer: Option<&Peer>) {
        let _ = self.wrong.take(&address(peer), self.now());
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn address(peer: Option<&Peer>) -> IpAddr {
    peer.map_or(IpAddr::from([127, 0, 0, 1]), Peer::counted)
}
