//! Memory watch: the warden sums up the memory of a command's processes if no control group limits it.
//!
//! Runs in the warden, so it does not allocate. It counts what only these processes can have caused:
//! anonymous and shared memory, and page tables. Memory still shared by parent and child after a fork is
//! counted for each, so before a command is killed the kernel is asked for proportional shares
//! (`smaps_rollup`).
//!
//! Shared memory outlives the mappings of a process, and then no process shows it. Therefore the machine's
//! total is checked as well: if it has grown by more than a command may use, a command that has shared memory
//! is killed. Other programs may have contributed; exact accounting needs a control group.
//!
//! The limits of pipes and epoll watches (`descriptor_limits`) are checked at the same time. The functions
//! that find the warden's descendants in `/proc` are here too.

use std::ffi::CStr;
use std::os::fd::RawFd;

use crate::sandbox::kernel;
use crate::sandbox::limits::descriptor_limits;
use crate::sandbox::sandbox_plan::{MemoryLimits, ProcessReach};

/// Maximum number of processes that are inspected; limits keep commands far below.
const MAX_PROCESSES: usize = 4096;

/// List of process IDs in preallocated memory.
struct ProcessList {
    ids: [i32; MAX_PROCESSES],
    count: usize,
}

impl ProcessList {
    fn new() -> Self {
        Self {
            ids: [0; MAX_PROCESSES],
            count: 0,
        }
    }

    fn push(&mut self, id: i32) {
        if let Some(slot) = self.ids.get_mut(self.count) {
            *slot = id;
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = i32> + Clone {
        self.ids.iter().copied().take(self.count)
    }

    fn sum_by(&self, measure: impl Fn(i32) -> u64) -> u64 {
        self.iter().map(measure).fold(0, u64::saturating_add)
    }
}

/// Watches the memory of a command from its start.
pub(crate) struct MemoryWatch {
    proc: RawFd,
    limits: MemoryLimits,
    /// Shared memory of the machine at the start.
    initial_shared_bytes: u64,
}

impl MemoryWatch {
    /// Starts watching. Returns `None` without `/proc`.
    pub(crate) fn start(allowed: MemoryLimits) -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let proc = kernel::openat(libc::AT_FDCWD, c"/proc", flags).ok()?;
        Some(Self {
            proc,
            limits: allowed,
            initial_shared_bytes: machine_shared_bytes(proc),
        })
    }

    /// Returns whether the processes below the warden exceed their limits.
    pub(crate) fn is_over_limit(&self, reach: ProcessReach) -> bool {
        exceeds_memory_limits(self, reach)
    }
}

fn exceeds_memory_limits(watch: &MemoryWatch, reach: ProcessReach) -> bool {
    let &MemoryWatch {
        proc,
        limits: allowed,
        ..
    } = watch;
    let mut processes = ProcessList::new();
    match reach {
        ProcessReach::PidNamespace => collect_namespace_processes(proc, &mut processes),
        ProcessReach::Subreaper => collect_descendants(proc, &mut processes),
    }
    if processes.sum_by(|id| resident_bytes(proc, id)) > allowed.max_bytes
        && processes.sum_by(|id| proportional_bytes(proc, id)) > allowed.max_bytes
    {
        return true;
    }
    if let Some(limits) = allowed.descriptors
        && descriptor_limits::exceeds_descriptor_limits(proc, processes.iter(), limits)
    {
        return true;
    }
    let growth = machine_shared_bytes(proc).saturating_sub(watch.initial_shared_bytes);
    growth > allowed.max_bytes.saturating_add(allowed.max_tmp_bytes)
        && any_has_shared_memory(proc, &processes)
}

/// Returns the shared memory of this machine in bytes.
fn machine_shared_bytes(proc: RawFd) -> u64 {
    kernel::openat(proc, c"meminfo", libc::O_RDONLY)
        .map_or(0, |open| sum_kib_fields(open, &[b"Shmem:"]))
}

/// Returns whether a process has shared memory that is not a file.
fn any_has_shared_memory(proc: RawFd, processes: &ProcessList) -> bool {
    processes
        .iter()
        .any(|id| match open_process_file(proc, id, b"/maps") {
            Some(list) => lists_shared_memory(list),
            // The process hides its mappings, or has exited.
            None => resident_bytes(proc, id) > 0,
        })
}

/// Searches a list of mappings (`/proc/PID/maps`) for shared memory, and closes it.
fn lists_shared_memory(list: RawFd) -> bool {
    /// Names of such mappings; the second one if the process has named it.
    const SHARED_MAPPING_NAMES: [&[u8]; 2] = [b"/dev/zero (deleted)", b"[anon_shmem:"];
    /// A name may begin in one chunk and end in the next.
    const MAX_NAME_OVERLAP: usize = 32;
    let mut buffer = [0; MAX_NAME_OVERLAP + 4096];
    let mut found = false;
    while !found
        && let Some(rest) = buffer.get_mut(MAX_NAME_OVERLAP..)
        && let Ok(count) = kernel::read(list, rest)
        && count > 0
    {
        let text = buffer.get(..MAX_NAME_OVERLAP + count).unwrap_or_default();
        found = SHARED_MAPPING_NAMES
            .iter()
            .any(|name| text.windows(name.len()).any(|at| at == *name));
        buffer.copy_within(count..MAX_NAME_OVERLAP + count, 0);
    }
    kernel::close(list);
    found
}

/// Collects every process of the PID namespace except the first, which is the warden.
fn collect_namespace_processes(proc: RawFd, processes: &mut ProcessList) {
    if kernel::lseek_to_start(proc).is_ok() {
        for_each_numeric_entry(proc, |id| {
            if id > 1 {
                processes.push(id);
            }
        });
    }
}

/// Calls `with` for every descendant of the warden.
pub(crate) fn for_each_descendant(proc: RawFd, with: impl FnMut(i32)) {
    let mut processes = ProcessList::new();
    collect_descendants(proc, &mut processes);
    processes.iter().for_each(with);
}

/// Collects the warden's descendants.
fn collect_descendants(proc: RawFd, processes: &mut ProcessList) {
    collect_children(proc, b"self", processes);
    let mut next = 0;
    while let Some(&id) = processes.ids.get(next)
        && next < processes.count
    {
        let mut digits = [0; 12];
        collect_children(proc, format_decimal(id, &mut digits), processes);
        next += 1;
    }
}

/// Collects the children of all threads of a process.
fn collect_children(proc: RawFd, process: &[u8], processes: &mut ProcessList) {
    let mut path = ProcPathBuffer::new();
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let Some(tasks) = path
        .join(&[process, b"/task"])
        .and_then(|path| kernel::openat(proc, path, flags).ok())
    else {
        return;
    };
    for_each_numeric_entry(tasks, |thread| {
        let mut digits = [0; 12];
        let mut path = ProcPathBuffer::new();
        let Some(list) = path
            .join(&[format_decimal(thread, &mut digits), b"/children"])
            .and_then(|path| kernel::openat(tasks, path, libc::O_RDONLY).ok())
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
                        processes.push(number);
                    }
                    number = 0;
                }
            }
        }
        kernel::close(list);
    });
    kernel::close(tasks);
}

/// Calls `with` for every entry of an open directory whose name is a number.
pub(in crate::sandbox) fn for_each_numeric_entry(directory: RawFd, mut with: impl FnMut(i32)) {
    /// Offsets of the length and the name in a `linux_dirent64`.
    const DIRENT_LENGTH_OFFSET: usize = 16;
    const DIRENT_NAME_OFFSET: usize = 19;
    let mut buffer = [0; 8192];
    while let Ok(count) = kernel::getdents64(directory, &mut buffer)
        && count > 0
    {
        let mut rest = buffer.get(..count).unwrap_or_default();
        while let Some(&[low, high]) = rest.get(DIRENT_LENGTH_OFFSET..DIRENT_LENGTH_OFFSET + 2) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let name = rest.get(DIRENT_NAME_OFFSET..length).unwrap_or_default();
            let digits = name.iter().take_while(|&&byte| byte != 0);
            if let Some(number) = parse_decimal(digits) {
                with(number);
            }
            rest = match rest.get(length..) {
                Some(rest) if length > 0 => rest,
                _ => break,
            };
        }
    }
}

fn parse_decimal<'a>(digits: impl Iterator<Item = &'a u8>) -> Option<i32> {
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

/// Returns the resident memory of a process, with shared memory counted in full; 0 if it has exited.
fn resident_bytes(proc: RawFd, id: i32) -> u64 {
    let names: [&[u8]; 3] = [b"RssAnon:", b"RssShmem:", b"VmPTE:"];
    open_process_file(proc, id, b"/status").map_or(0, |open| sum_kib_fields(open, &names))
}

/// Returns the memory of a process with its proportional share of shared memory; the full amount if the
/// process hides it.
fn proportional_bytes(proc: RawFd, id: i32) -> u64 {
    let Some(open) = open_process_file(proc, id, b"/smaps_rollup") else {
        return resident_bytes(proc, id);
    };
    let tables = open_process_file(proc, id, b"/status")
        .map_or(0, |open| sum_kib_fields(open, &[b"VmPTE:"]));
    sum_kib_fields(open, &[b"Pss_Anon:", b"Pss_Shmem:"]).saturating_add(tables)
}

/// Opens a file of a process in `/proc`.
fn open_process_file(proc: RawFd, id: i32, file: &[u8]) -> Option<RawFd> {
    let mut digits = [0; 12];
    let mut path = ProcPathBuffer::new();
    let path = path.join(&[format_decimal(id, &mut digits), file])?;
    kernel::openat(proc, path, libc::O_RDONLY).ok()
}

/// Returns the sum in bytes of fields of an open file, where they are in KiB. Closes the file.
fn sum_kib_fields(open: RawFd, fields: &[&[u8]]) -> u64 {
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
        let kibibytes = parse_decimal(digits).unwrap_or(i32::MAX);
        total = total.saturating_add(u64::from(kibibytes.unsigned_abs()) * 1024);
    }
    total
}

/// Formats a number in decimal.
pub(in crate::sandbox) fn format_decimal(value: i32, buffer: &mut [u8; 12]) -> &[u8] {
    let mut value = value.unsigned_abs();
    let mut start = buffer.len();
    for slot in buffer.iter_mut().rev() {
        *slot = b'0' + u8::try_from(value % 10).unwrap_or_default();
        start -= 1;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}

/// Buffer for a short path, assembled without allocation.
pub(in crate::sandbox) struct ProcPathBuffer([u8; 64]);

impl ProcPathBuffer {
    pub(in crate::sandbox) fn new() -> Self {
        Self([0; 64])
    }

    pub(in crate::sandbox) fn join(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
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
    fn decimals_and_paths_are_formatted() {
        let mut digits = [0; 12];
        for value in [0, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(
                format_decimal(value, &mut digits),
                value.to_string().as_bytes()
            );
            assert_eq!(
                parse_decimal(value.to_string().as_bytes().iter()),
                Some(value)
            );
        }
        assert_eq!(parse_decimal(b"12a".iter()), None);
        assert_eq!(parse_decimal(b"".iter()), None);
        assert_eq!(parse_decimal(b"99999999999".iter()), None);
        let mut path = ProcPathBuffer::new();
        assert_eq!(path.join(&[b"12", b"/status"]), Some(c"12/status"));
        assert_eq!(path.join(&[&[b'x'; 64]]), None);
    }

    #[test]
    fn memory_of_a_process_is_counted() {
        let proc = std::fs::File::open("/proc").unwrap();
        let us = i32::try_from(std::process::id()).unwrap();
        let memory = vec![1_u8; 64 << 20];
        for used in [
            resident_bytes(proc.as_raw_fd(), us),
            proportional_bytes(proc.as_raw_fd(), us),
        ] {
            assert!(used > 64 << 20, "{used}");
            assert!(used < 4 << 30, "{used}");
        }
        assert_eq!(proportional_bytes(proc.as_raw_fd(), i32::MAX), 0);
        assert!(memory.iter().all(|&byte| byte == 1));
    }

    #[test]
    fn shared_memory_is_recognised_by_its_mapping_name() {
        let scratch = tempfile::tempdir().unwrap();
        let written = |text: &str| {
            let path = scratch.path().join("maps");
            std::fs::write(&path, text).unwrap();
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            kernel::openat(libc::AT_FDCWD, &path, libc::O_RDONLY).unwrap()
        };
        let line = "7f0-7f1 rw-s 00000000 00:01 1 ";
        assert!(!lists_shared_memory(written("")));
        assert!(!lists_shared_memory(written(
            "7f0-7f1 rw-p 0 00:05 4 /dev/zero\n"
        )));
        for name in ["/dev/zero (deleted)", "[anon_shmem:x]"] {
            // Also if the name spans two chunks.
            for before in 4050..4110 {
                let filler = "x".repeat(before);
                assert!(
                    lists_shared_memory(written(&format!("{filler}{line}{name}\n"))),
                    "{before}"
                );
            }
        }
        let proc = std::fs::File::open("/proc").unwrap();
        assert!(machine_shared_bytes(proc.as_raw_fd()) < 1 << 50);
    }

    #[test]
    fn descendants_are_found_through_all_threads() {
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
            let mut processes = ProcessList::new();
            collect_descendants(proc.as_raw_fd(), &mut processes);
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
                let _ = kernel::kill(id, libc::SIGKILL);
            }
        }
    }
}
