//! How much memory a command's processes have together, where no control group counts it.
//!
//! Runs in the warden: no allocation. Counted is what only these processes can have caused:
//! anonymous and shared memory, and the tables that lead there. Memory that parent and child still
//! share is counted once for each, so before anybody is ended the kernel is asked for the exact
//! shares (`smaps_rollup`).
//!
//! Shared memory stays when the pages of a process that lead to it go, and then no process shows it.
//! So this machine's sum of it is looked at too: if that has grown by more than a command may have,
//! a command that has such memory is ended. Others may have had a part in it; to be counted alone a
//! command needs a control group.

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::kernel;
use super::pipes;
use super::plan::{Memory, Reach};

/// The most processes looked at; limits keep commands far below.
const MOST: usize = 4096;

/// Processes, in memory that is there already.
struct Processes {
    ids: [i32; MOST],
    count: usize,
}

impl Processes {
    fn none() -> Self {
        Self {
            ids: [0; MOST],
            count: 0,
        }
    }

    fn add(&mut self, id: i32) {
        if let Some(place) = self.ids.get_mut(self.count) {
            *place = id;
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = i32> + Clone {
        self.ids.iter().copied().take(self.count)
    }

    fn sum(&self, of: impl Fn(i32) -> u64) -> u64 {
        self.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// The memory of a command, watched from its beginning.
pub(crate) struct Watch {
    proc: RawFd,
    allowed: Memory,
    /// What this machine had of shared memory then.
    shared_before: u64,
}

impl Watch {
    /// Begins to watch, if there is a `/proc`.
    pub(crate) fn begin(allowed: Memory) -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let proc = kernel::open_at(libc::AT_FDCWD, c"/proc", flags).ok()?;
        Some(Self {
            proc,
            allowed,
            shared_before: shared(proc),
        })
    }

    /// Whether the processes below the warden use more than they may.
    pub(crate) fn exceeds(&self, reach: Reach) -> bool {
        exceeds(self, reach)
    }
}

fn exceeds(watch: &Watch, reach: Reach) -> bool {
    let &Watch { proc, allowed, .. } = watch;
    let mut processes = Processes::none();
    match reach {
        Reach::Namespace => all(proc, &mut processes),
        Reach::Adoption => below(proc, &mut processes),
    }
    if processes.sum(|id| rough(proc, id)) > allowed.most
        && processes.sum(|id| exact(proc, id)) > allowed.most
    {
        return true;
    }
    if let Some(limits) = allowed.descriptors
        && pipes::exceed(proc, processes.iter(), limits)
    {
        return true;
    }
    let grown = shared(proc).saturating_sub(watch.shared_before);
    grown > allowed.most.saturating_add(allowed.files) && any_shares(proc, &processes)
}

/// What this machine has of shared memory, in bytes.
fn shared(proc: RawFd) -> u64 {
    kernel::open_at(proc, c"meminfo", libc::O_RDONLY).map_or(0, |open| fields(open, &[b"Shmem:"]))
}

/// Whether a process has shared memory that is no file.
fn any_shares(proc: RawFd, processes: &Processes) -> bool {
    processes
        .iter()
        .any(|id| match open_of(proc, id, b"/maps") {
            Some(list) => maps_share(list),
            // It hides them, or it is gone.
            None => rough(proc, id) > 0,
        })
}

/// Looks through a list of mappings, and closes it.
fn maps_share(list: RawFd) -> bool {
    /// What such memory is called, the second if the process has given it a name.
    const NAMES: [&[u8]; 2] = [b"/dev/zero (deleted)", b"[anon_shmem:"];
    /// A name may begin in one piece and end in the next.
    const KEPT: usize = 32;
    let mut buffer = [0; KEPT + 4096];
    let mut found = false;
    while !found
        && let Some(rest) = buffer.get_mut(KEPT..)
        && let Ok(count) = kernel::read(list, rest)
        && count > 0
    {
        let text = buffer.get(..KEPT + count).unwrap_or_default();
        found = NAMES
            .iter()
            .any(|name| text.windows(name.len()).any(|at| at == *name));
        buffer.copy_within(count..KEPT + count, 0);
    }
    kernel::close(list);
    found
}

/// Every process but the first: it is the warden.
fn all(proc: RawFd, processes: &mut Processes) {
    if kernel::rewind(proc).is_ok() {
        each_number(proc, |id| {
            if id > 1 {
                processes.add(id);
            }
        });
    }
}

/// Calls for every process below the warden.
pub(crate) fn each_below(proc: RawFd, with: impl FnMut(i32)) {
    let mut processes = Processes::none();
    below(proc, &mut processes);
    processes.iter().for_each(with);
}

/// The warden's children, and theirs.
fn below(proc: RawFd, processes: &mut Processes) {
    children_of(proc, b"self", processes);
    let mut next = 0;
    while let Some(&id) = processes.ids.get(next)
        && next < processes.count
    {
        let mut digits = [0; 12];
        children_of(proc, decimal(id, &mut digits), processes);
        next += 1;
    }
}

/// The children of all threads of a process.
fn children_of(proc: RawFd, process: &[u8], processes: &mut Processes) {
    let mut path = PathBuffer::new();
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let Some(tasks) = path
        .of(&[process, b"/task"])
        .and_then(|path| kernel::open_at(proc, path, flags).ok())
    else {
        return;
    };
    each_number(tasks, |thread| {
        let mut digits = [0; 12];
        let mut path = PathBuffer::new();
        let Some(list) = path
            .of(&[decimal(thread, &mut digits), b"/children"])
            .and_then(|path| kernel::open_at(tasks, path, libc::O_RDONLY).ok())
        else {
            return;
        };
        let mut buffer = [0; 512];
        let mut number = 0_i32;
        while let Ok(count) = kernel::read(list, &mut buffer)
            && count > 0
        {
            for &byte in buffer.iter().take(count) {
                if byte.is_ascii_digit() {
                    number = number
                        .saturating_mul(10)
                        .saturating_add(i32::from(byte - b'0'));
                } else {
                    if number > 0 {
                        processes.add(number);
                    }
                    number = 0;
                }
            }
        }
        kernel::close(list);
    });
    kernel::close(tasks);
}

/// Calls for every entry of an open directory whose name is a number.
pub(super) fn each_number(directory: RawFd, mut with: impl FnMut(i32)) {
    /// Where a packed entry has its length, and where its name begins.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut buffer = [0; 8192];
    while let Ok(count) = kernel::directory_entries(directory, &mut buffer)
        && count > 0
    {
        let mut rest = buffer.get(..count).unwrap_or_default();
        while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let name = rest.get(NAME..length).unwrap_or_default();
            let digits = name.iter().take_while(|&&byte| byte != 0);
            if let Some(number) = number(digits) {
                with(number);
            }
            rest = match rest.get(length..) {
                Some(rest) if length > 0 => rest,
                _ => break,
            };
        }
    }
}

fn number<'a>(digits: impl Iterator<Item = &'a u8>) -> Option<i32> {
    let mut value: Option<i32> = None;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        let so_far = value.unwrap_or(0).checked_mul(10)?;
        value = Some(so_far.checked_add(i32::from(digit - b'0'))?);
    }
    value
}

/// What a process has, memory that it shares with others in full; 0 if it is gone.
fn rough(proc: RawFd, id: i32) -> u64 {
    let names: [&[u8]; 3] = [b"RssAnon:", b"RssShmem:", b"VmPTE:"];
    open_of(proc, id, b"/status").map_or(0, |open| fields(open, &names))
}

/// What a process has, its part of memory that it shares with others; all of it if it hides that.
fn exact(proc: RawFd, id: i32) -> u64 {
    let Some(open) = open_of(proc, id, b"/smaps_rollup") else {
        return rough(proc, id);
    };
    let tables = open_of(proc, id, b"/status").map_or(0, |open| fields(open, &[b"VmPTE:"]));
    fields(open, &[b"Pss_Anon:", b"Pss_Shmem:"]).saturating_add(tables)
}

/// Opens a file of a process.
fn open_of(proc: RawFd, id: i32, file: &[u8]) -> Option<RawFd> {
    let mut digits = [0; 12];
    let mut path = PathBuffer::new();
    let path = path.of(&[decimal(id, &mut digits), file])?;
    kernel::open_at(proc, path, libc::O_RDONLY).ok()
}

/// The sum of fields (in KiB there) of an open file, which is closed.
fn fields(open: RawFd, fields: &[&[u8]]) -> u64 {
    let mut total: u64 = 0;
    let mut buffer = [0; 4096];
    let count = kernel::read(open, &mut buffer).unwrap_or(0);
    kernel::close(open);
    let text = buffer.get(..count).unwrap_or_default();
    for line in text.split(|&byte| byte == b'\n') {
        let Some(value) = fields.iter().find_map(|field| line.strip_prefix(*field)) else {
            continue;
        };
        let digits = value.trim_ascii_start();
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        let kibibytes = number(digits).unwrap_or(i32::MAX);
        total = total.saturating_add(u64::from(kibibytes.unsigned_abs()) * 1024);
    }
    total
}

/// A number in decimal.
pub(super) fn decimal(value: i32, buffer: &mut [u8; 12]) -> &[u8] {
    let mut value = value.unsigned_abs();
    let mut start = buffer.len();
    for place in buffer.iter_mut().rev() {
        *place = b'0' + u8::try_from(value % 10).unwrap_or_default();
        start -= 1;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}

/// A short path, put together without allocating.
pub(super) struct PathBuffer([u8; 64]);

impl PathBuffer {
    pub(super) fn new() -> Self {
        Self([0; 64])
    }

    pub(super) fn of(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        let mut length = 0;
        for part in parts {
            let end = length + part.len();
            self.0.get_mut(length..end)?.copy_from_slice(part);
            length = end;
        }
        CStr::from_bytes_with_nul(self.0.get(..=length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn numbers_and_paths_are_made_without_allocating() {
        let mut digits = [0; 12];
        for value in [0, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(decimal(value, &mut digits), value.to_string().as_bytes());
            assert_eq!(number(value.to_string().as_bytes().iter()), Some(value));
        }
        assert_eq!(number(b"12a".iter()), None);
        assert_eq!(number(b"".iter()), None);
        assert_eq!(number(b"99999999999".iter()), None);
        let mut path = PathBuffer::new();
        assert_eq!(path.of(&[b"12", b"/status"]), Some(c"12/status"));
        assert_eq!(path.of(&[&[b'x'; 64]]), None);
    }

    #[test]
    fn what_a_process_has_is_counted() {
        let proc = std::fs::File::open("/proc").unwrap();
        let us = i32::try_from(std::process::id()).unwrap();
        let held = vec![1_u8; 64 << 20];
        for used in [rough(proc.as_raw_fd(), us), exact(proc.as_raw_fd(), us)] {
            assert!(used > 64 << 20, "{used}");
            assert!(used < 4 << 30, "{used}");
        }
        assert_eq!(exact(proc.as_raw_fd(), i32::MAX), 0);
        assert!(held.iter().all(|&byte| byte == 1));
    }

    #[test]
    fn shared_memory_is_known_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let written = |text: &str| {
            let path = place.path().join("maps");
            std::fs::write(&path, text).unwrap();
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            kernel::open_at(libc::AT_FDCWD, &path, libc::O_RDONLY).unwrap()
        };
        let line = "7f0-7f1 rw-s 00000000 00:01 1 ";
        assert!(!maps_share(written("")));
        assert!(!maps_share(written("7f0-7f1 rw-p 0 00:05 4 /dev/zero\n")));
        for name in ["/dev/zero (deleted)", "[anon_shmem:x]"] {
            // Wherever it lies between two pieces.
            for before in 4050..4110 {
                let filler = "x".repeat(before);
                assert!(
                    maps_share(written(&format!("{filler}{line}{name}\n"))),
                    "{before}"
                );
            }
        }
        let proc = std::fs::File::open("/proc").unwrap();
        assert!(shared(proc.as_raw_fd()) < 1 << 50);
    }

    #[test]
    fn children_are_found_through_every_thread() {
        let mut child = std::thread::spawn(|| {
            std::process::Command::new("sh")
                .args(["-c", "sleep 60 & wait"])
                .spawn()
                .unwrap()
        })
        .join()
        .unwrap();
        let proc = std::fs::File::open("/proc").unwrap();
        let found = || {
            let mut processes = Processes::none();
            below(proc.as_raw_fd(), &mut processes);
            let shell = i32::try_from(child.id()).unwrap();
            let ids = processes.ids.get(..processes.count).unwrap().to_vec();
            (ids.contains(&shell), ids)
        };
        while !found().0 || found().1.len() < 2 {
            std::thread::yield_now();
        }
        let grandchildren = found().1;
        child.kill().unwrap();
        child.wait().unwrap();
        for id in grandchildren {
            if id != i32::try_from(child.id()).unwrap() {
                let _ = kernel::send_signal(id, libc::SIGKILL);
            }
        }
    }
}
