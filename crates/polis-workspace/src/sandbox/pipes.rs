//! How many pipes and epoll watches a command has, where the kernel charges them to polis's own user.
//!
//! All pipes of a user share a budget of pages (`fs.pipe-user-pages-soft`); when it is used up, new pipes of that user are
//! small. All watches share another (`fs.epoll.max_user_watches`); when it is used up, programs that wait for descriptors
//! fail. No limit of the kernel holds a command back, so the warden counts, and ends a command that has too many.
//! Runs in the warden: no allocation.

use std::os::fd::RawFd;

use super::kernel;
use super::memory::{PathBuffer, decimal, each_number};

/// How many pages a new pipe has.
const PIPE_PAGES: usize = 16;

/// The budget of a user, unless the machine says otherwise.
const USUAL_BUDGET_PAGES: usize = 16_384;

/// A process with no more epoll descriptors than this is a usual one: it watches what it has open once or twice.
const MANY_EPOLLS: usize = 16;

/// How many pipes can be distinguished: bits of a table that is small enough for the warden's stack.
const TABLE_BITS: usize = 1 << 16;

/// The most pipes a command may have: half of what its user may.
fn max_pipes() -> usize {
    let budget = std::fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft");
    let budget = budget.ok().and_then(|text| text.trim().parse().ok());
    match budget.unwrap_or(USUAL_BUDGET_PAGES) {
        // No budget at all.
        0 => usize::MAX,
        pages => (pages / PIPE_PAGES / 2).max(1),
    }
}

/// The most watches a command may have: a quarter of what its user may.
fn max_watches() -> usize {
    let budget = std::fs::read_to_string("/proc/sys/fs/epoll/max_user_watches");
    let budget = budget
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok());
    budget.map_or(usize::MAX, |budget| (budget / 4).max(1))
}

/// How many of each a command may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorLimits {
    /// Pipes.
    pub(crate) pipes: usize,
    /// Epoll watches.
    pub(crate) watches: usize,
}

impl DescriptorLimits {
    /// The share of this machine's user.
    pub(crate) fn of_user() -> Self {
        Self {
            pipes: max_pipes(),
            watches: max_watches(),
        }
    }
}

/// Whether processes have more than this together. They are counted only when there are enough open files for that: a
/// pipe has two ends. Watches are not counted, but bounded by what a process could watch with what it has open.
pub(super) fn exceed(
    proc: RawFd,
    processes: impl Iterator<Item = i32> + Clone,
    limits: DescriptorLimits,
) -> bool {
    let most = limits.pipes;
    let files = processes.clone().map(|id| open_files(proc, id));
    if files.fold(0, usize::saturating_add) <= most {
        return false;
    }
    let mut table = Pipes {
        bits: [0; TABLE_BITS / 64],
        count: 0,
    };
    let mut watches: usize = 0;
    for id in processes {
        let mut epolls: usize = 0;
        let is_readable = each_descriptor(proc, id, |directory, descriptor| {
            let mut digits = [0; 12];
            let mut path = PathBuffer::new();
            let Some(path) = path.of(&[decimal(descriptor, &mut digits)]) else {
                return;
            };
            let mut link = [0; 40];
            let length = kernel::read_link_at(directory, path, &mut link).unwrap_or(0);
            let target = link.get(..length).unwrap_or_default();
            if let Some(inode) = target.strip_prefix(b"pipe:[") {
                table.add(inode);
            }
            epolls += usize::from(target == b"anon_inode:[eventpoll]");
        });
        if !is_readable {
            // Its program may not be read, so what it has open may not be looked at: all of it counts.
            table.count += open_files(proc, id) / 2;
        }
        if epolls > MANY_EPOLLS {
            watches = watches.saturating_add(epolls.saturating_mul(open_files(proc, id)));
        }
        if table.count > most || watches > limits.watches {
            return true;
        }
    }
    false
}

/// Distinct pipes, by a hash of their numbers. Two that share a bit count once, so there are never fewer than counted.
struct Pipes {
    bits: [u64; TABLE_BITS / 64],
    count: usize,
}

impl Pipes {
    fn add(&mut self, inode: &[u8]) {
        let digits = inode.iter().take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0_u64, |number, digit| {
            number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'))
        });
        let bit = usize::try_from(number % TABLE_BITS as u64).unwrap_or_default();
        if let Some(word) = self.bits.get_mut(bit / 64) {
            let mask = 1 << (bit % 64);
            self.count += usize::from(*word & mask == 0);
            *word |= mask;
        }
    }
}

/// How many files a process has open.
fn open_files(proc: RawFd, id: i32) -> usize {
    let mut digits = [0; 12];
    let mut path = PathBuffer::new();
    let size = path
        .of(&[decimal(id, &mut digits), b"/fd"])
        .and_then(|path| kernel::size_at(proc, path).ok());
    match size {
        None => 0,
        // An older kernel does not say: they are counted.
        Some(0) => {
            let mut count = 0;
            let _ = each_descriptor(proc, id, |_, _| count += 1);
            count
        }
        Some(size) => usize::try_from(size).unwrap_or(usize::MAX),
    }
}

/// Calls for every open file of a process, with the directory that has it. Returns whether that could be read.
fn each_descriptor(proc: RawFd, id: i32, mut with: impl FnMut(RawFd, i32)) -> bool {
    let mut digits = [0; 12];
    let mut path = PathBuffer::new();
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let directory = path
        .of(&[decimal(id, &mut digits), b"/fd"])
        .and_then(|path| kernel::open_at(proc, path, flags).ok());
    let Some(directory) = directory else {
        return false;
    };
    each_number(directory, |descriptor| with(directory, descriptor));
    kernel::close(directory);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_of_a_process_are_counted_once_each() {
        use std::os::fd::AsRawFd as _;
        let proc = std::fs::File::open("/proc").unwrap();
        let pipes: Vec<_> = (0..40).map(|_| rustix::pipe::pipe().unwrap()).collect();
        let own = i32::try_from(std::process::id()).unwrap();
        let exceeds = |pipes| {
            let watches = usize::MAX;
            let limits = DescriptorLimits { pipes, watches };
            exceed(proc.as_raw_fd(), std::iter::once(own), limits)
        };
        assert!(exceeds(pipes.len() - 5));
        // Other tests of this process have pipes too, but not so many.
        assert!(!exceeds(pipes.len() + 400));
    }
}
