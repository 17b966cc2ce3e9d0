//! How much of inotify commands may use.
//!
//! The kernel charges instances and watches of a user namespace to the user who made it as well, and a user has few
//! instances (128, usually). A namespace can have lower limits of its own, so each command gets a share, and all commands of
//! this process together get at most half of what the user has.

use std::sync::{Mutex, PoisonError};

/// What a command may use, or what is left to be given out.
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

    /// The most one command gets: enough for a few programs that watch a source tree.
    const MAX_SHARE: Self = Self {
        instances: 8,
        watches: 16_384,
    };
}

/// What commands may use together.
#[derive(Debug)]
pub(crate) struct InotifyPool(Mutex<InotifyLimits>);

impl InotifyPool {
    /// Half of what this machine gives a user.
    pub(crate) fn of_user() -> Self {
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

    /// Takes a share for a command. Each takes at most half of what is left, so that the first few do not take all; when
    /// nothing is left, commands run without inotify.
    pub(crate) fn share(&self) -> InotifyShare<'_> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A command's share; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct InotifyShare<'a> {
    pool: &'a InotifyPool,
    pub(crate) limits: InotifyLimits,
}

impl Drop for InotifyShare<'_> {
    fn drop(&mut self) {
        let mut left = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::replace(&mut self.limits, InotifyLimits::NONE);
        left.instances += taken.instances;
        left.watches += taken.watches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_pool_and_are_given_back() {
        let all = InotifyLimits {
            instances: 64,
            watches: 4_096,
        };
        let pool = InotifyPool::new(all);
        let shares: Vec<_> = (0..50).map(|_| pool.share()).collect();
        let sum = |of: fn(&InotifyLimits) -> u32| {
            shares.iter().map(|share| of(&share.limits)).sum::<u32>()
        };
        assert_eq!(shares[0].limits.instances, 8);
        assert_eq!(shares[49].limits.instances, 0);
        assert_eq!(sum(|limits| limits.instances), all.instances);
        assert_eq!(sum(|limits| limits.watches), all.watches);
        drop(shares);
        assert_eq!(*pool.0.lock().unwrap(), all);
    }
}
