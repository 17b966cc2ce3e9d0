//! Pool of inotify instances and watches: each command takes a share, which returns to the pool on drop.
//!
//! The kernel also charges what a user namespace uses to the user who created it, and a user has few instances
//! (usually 128). The pool is therefore half of the user's limits, for all commands of this process together.
//! The sandbox blueprint sets a command's share as the limits of its namespace. When nothing remains, commands
//! run without inotify.

use parking_lot::Mutex;

/// Inotify limits of a command, or what remains of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InotifyLimits {
    pub(crate) instances: u32,
    pub(crate) watches: u32,
}

impl InotifyLimits {
    const NONE: Self = Self {
        instances: 0,
        watches: 0,
    };

    /// Maximum share of one command: enough for a few programs that watch a source tree.
    const MAX_SHARE: Self = Self {
        instances: 8,
        watches: 16_384,
    };
}

/// Inotify resources that all commands share.
#[derive(Debug)]
pub(crate) struct InotifyPool(Mutex<InotifyLimits>);

impl InotifyPool {
    /// Creates a pool with half of the user's limits on this machine.
    pub(crate) fn from_user_limits() -> Self {
        let setting = |name: &str, usual: u32| {
            let text = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"));
            let number = text.ok().and_then(|text| text.trim().parse().ok());
            number.unwrap_or(usual) / 2
        };
        Self::new(InotifyLimits {
            instances: setting("max_user_instances", 128),
            watches: setting("max_user_watches", 8_192),
        })
    }

    fn new(limits: InotifyLimits) -> Self {
        Self(Mutex::new(limits))
    }

    /// Reserves a share for a command. Each gets at most half of the remainder, so that the first few do not
    /// take everything; when nothing remains, commands run without inotify.
    pub(crate) fn take_share(&self) -> InotifyShare<'_> {
        let mut left = self.0.lock();
        let limits = InotifyLimits {
            instances: left.instances.div_ceil(2),
            watches: left.watches.div_ceil(2),
        };
        let limits = InotifyLimits {
            instances: limits.instances.min(InotifyLimits::MAX_SHARE.instances),
            watches: limits.watches.min(InotifyLimits::MAX_SHARE.watches),
        };
        left.instances -= limits.instances;
        left.watches -= limits.watches;
        InotifyShare { pool: self, limits }
    }
}

/// A command's share; returned to the pool on drop.
#[derive(Debug)]
pub(crate) struct InotifyShare<'a> {
    pool: &'a InotifyPool,
    pub(crate) limits: InotifyLimits,
}

impl Drop for InotifyShare<'_> {
    fn drop(&mut self) {
        let mut left = self.pool.0.lock();
        let share = std::mem::replace(&mut self.limits, InotifyLimits::NONE);
        left.instances += share.instances;
        left.watches += share.watches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_pool_and_are_returned() {
        let all = InotifyLimits {
            instances: 64,
            watches: 4_096,
        };
        let pool = InotifyPool::new(all);
        let shares: Vec<_> = (0..50).map(|_| pool.take_share()).collect();
        let sum = |limit: fn(&InotifyLimits) -> u32| {
            shares.iter().map(|share| limit(&share.limits)).sum::<u32>()
        };
        assert_eq!(shares[0].limits.instances, 8);
        assert_eq!(shares[49].limits.instances, 0);
        assert_eq!(sum(|limits| limits.instances), all.instances);
        assert_eq!(sum(|limits| limits.watches), all.watches);
        drop(shares);
        assert_eq!(*pool.0.lock(), all);
    }
}
