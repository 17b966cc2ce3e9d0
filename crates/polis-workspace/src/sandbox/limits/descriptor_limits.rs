//! Limits on the pipes and epoll watches of a command that runs as polis's own user.
//!
//! All pipes of a user share a budget of pages (`fs.pipe-user-pages-soft`); when it is exhausted, new pipes
//! are small. All epoll watches share another (`fs.epoll.max_user_watches`); when it is exhausted, programs
//! that wait for descriptors fail. The kernel has no limit per command, so
//! [`DescriptorLimits::from_user_limits`] derives one from these budgets before the command starts.
//!
//! The warden kills a command that [`exceeds_descriptor_limits`]. This counts pipes, and estimates the
//! watches of processes with unusually many epoll descriptors. It does not allocate.

use std::os::fd::RawFd;

use polis_core::number::saturating_cast;

use crate::sandbox::kernel;
use crate::sandbox::limits::memory_watch::{
    ProcPathBuffer, for_each_numeric_entry, format_decimal,
};

/// Number of pages of a new pipe.
const PAGES_PER_PIPE: usize = 16;

/// Default budget of a user.
const DEFAULT_PIPE_BUDGET_PAGES: usize = 16_384;

/// A process with at most this many epoll descriptors is ordinary: it watches each open descriptor once or
/// twice.
const MAX_UNCOUNTED_EPOLLS: usize = 16;

/// Number of distinguishable pipes: bits of a table that fits on the warden's stack.
const PIPE_TABLE_BITS: usize = 1 << 16;

/// Returns the maximum number of pipes of a command: half of the user's budget.
fn max_pipes() -> usize {
    let budget = std::fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft");
    let budget = budget.ok().and_then(|text| text.trim().parse().ok());
    match budget.unwrap_or(DEFAULT_PIPE_BUDGET_PAGES) {
        // 0 means unlimited.
        0 => usize::MAX,
        pages => (pages / PAGES_PER_PIPE / 2).max(1),
    }
}

/// Returns the maximum number of epoll watches of a command: a quarter of the user's budget.
fn max_watches() -> usize {
    let budget = std::fs::read_to_string("/proc/sys/fs/epoll/max_user_watches");
    let budget = budget
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok());
    budget.map_or(usize::MAX, |budget| (budget / 4).max(1))
}

/// Limits of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorLimits {
    /// Maximum number of pipes.
    pub(crate) pipes: usize,
    /// Maximum number of epoll watches.
    pub(crate) watches: usize,
}

impl DescriptorLimits {
    /// Returns the limits derived from the user's budgets on this machine.
    pub(crate) fn from_user_limits() -> Self {
        Self {
            pipes: max_pipes(),
            watches: max_watches(),
        }
    }
}

/// Returns whether processes exceed the limits together. Descriptors are examined only if there are enough
/// open files to exceed a limit. Watches are not counted, but estimated: each epoll descriptor of a process may
/// watch each of its open files.
pub(in crate::sandbox) fn exceeds_descriptor_limits(
    proc: RawFd,
    processes: impl Iterator<Item = i32> + Clone,
    limits: DescriptorLimits,
) -> bool {
    let max_pipes = limits.pipes;
    let files = processes.clone().map(|id| count_open_files(proc, id));
    let files = files.fold(0, usize::saturating_add);
    if files <= max_pipes && files.saturating_mul(files) <= limits.watches {
        return false;
    }
    let mut table = PipeSet {
        bits: [0; PIPE_TABLE_BITS / 64],
        count: 0,
    };
    let mut watches: usize = 0;
    for id in processes {
        let mut epolls: usize = 0;
        let is_readable = for_each_descriptor(proc, id, |directory, descriptor| {
            let mut digits = [0; 12];
            let mut path = ProcPathBuffer::new();
            let Some(path) = path.join(&[format_decimal(descriptor, &mut digits)]) else {
                return;
            };
            let mut link = [0; 40];
            let length = kernel::readlinkat(directory, path, &mut link).unwrap_or(0);
            let target = link.get(..length).unwrap_or_default();
            if let Some(inode) = target.strip_prefix(b"pipe:[") {
                table.add(inode);
            }
            epolls += usize::from(target == b"anon_inode:[eventpoll]");
        });
        if !is_readable {
            // Its program is unreadable, so its descriptors cannot be inspected: assume that all of them are
            // pipes, which have two ends each.
            table.count += count_open_files(proc, id) / 2;
        }
        if epolls > MAX_UNCOUNTED_EPOLLS {
            watches = watches.saturating_add(epolls.saturating_mul(count_open_files(proc, id)));
        }
        if table.count > max_pipes || watches > limits.watches {
            return true;
        }
    }
    false
}

/// Set of distinct pipes by a hash of their inode numbers. Two pipes with the same bit count once, so the
/// count is never too high.
struct PipeSet {
    bits: [u64; PIPE_TABLE_BITS / 64],
    count: usize,
}

impl PipeSet {
    fn add(&mut self, inode: &[u8]) {
        let digits = inode.iter().take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0_u64, |number, digit| {
            number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'))
        });
        let bit = usize::try_from(number % PIPE_TABLE_BITS as u64).unwrap_or_default();
        if let Some(word) = self.bits.get_mut(bit / 64) {
            let mask = 1 << (bit % 64);
            self.count += usize::from(*word & mask == 0);
            *word |= mask;
        }
    }
}

/// Returns the number of open files of a process.
fn count_open_files(proc: RawFd, id: i32) -> usize {
    let mut digits = [0; 12];
    let mut path = ProcPathBuffer::new();
    let size = path
        .join(&[format_decimal(id, &mut digits), b"/fd"])
        .and_then(|path| kernel::fstatat_size(proc, path).ok());
    match size {
        None => 0,
        // An older kernel does not report the number: count them.
        Some(0) => {
            let mut count = 0;
            let _ = for_each_descriptor(proc, id, |_, _| count += 1);
            count
        }
        Some(size) => saturating_cast::<usize>(size),
    }
}

/// Calls `with` for every open file of a process, with the open `/proc/PID/fd` directory. Returns whether
/// that could be read.
fn for_each_descriptor(proc: RawFd, id: i32, mut with: impl FnMut(RawFd, i32)) -> bool {
    let mut digits = [0; 12];
    let mut path = ProcPathBuffer::new();
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let directory = path
        .join(&[format_decimal(id, &mut digits), b"/fd"])
        .and_then(|path| kernel::openat(proc, path, flags).ok());
    let Some(directory) = directory else {
        return false;
    };
    for_each_numeric_entry(directory, |descriptor| with(directory, descriptor));
    kernel::close(directory);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_of_a_process_are_counted_once() {
        use std::os::fd::AsRawFd as _;
        let proc = std::fs::File::open("/proc").unwrap();
        let pipes: Vec<_> = (0..40).map(|_| rustix::pipe::pipe().unwrap()).collect();
        let own = i32::try_from(std::process::id()).unwrap();
        let exceeds = |pipes| {
            let watches = usize::MAX;
            let limits = DescriptorLimits { pipes, watches };
            exceeds_descriptor_limits(proc.as_raw_fd(), std::iter::once(own), limits)
        };
        assert!(exceeds(pipes.len() - 5));
        // Other tests of this process also have pipes, but fewer.
        assert!(!exceeds(pipes.len() + 400));
    }

    #[test]
    fn watches_are_limited_when_pipes_are_not() {
        use std::os::fd::AsRawFd as _;
        let proc = std::fs::File::open("/proc").unwrap();
        let flags = rustix::event::epoll::CreateFlags::CLOEXEC;
        let epolls: Vec<_> = (0..2 * MAX_UNCOUNTED_EPOLLS)
            .map(|_| rustix::event::epoll::create(flags).unwrap())
            .collect();
        let own = i32::try_from(std::process::id()).unwrap();
        let exceeds = |watches| {
            let pipes = usize::MAX;
            let limits = DescriptorLimits { pipes, watches };
            exceeds_descriptor_limits(proc.as_raw_fd(), std::iter::once(own), limits)
        };
        assert!(exceeds(epolls.len() * epolls.len() - 1));
        assert!(!exceeds(usize::MAX));
    }
}
