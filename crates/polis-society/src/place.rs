//! Which process a worker is, so that another on the same machine can tell that it is gone.
//!
//! A lease lasts some seconds, and nobody wants to wait for one whose worker was killed a moment ago. A worker's name
//! tells the machine since its last start, the space of process numbers (containers have their own), the number
//! and when the process began: no other process ever has the same.

use std::fs;
use std::path::Path;

/// Between a worker's own name and its place.
const AT: char = '@';

/// A worker's name in this process. Where the system does not say what we need, the name tells of no place, and nobody
/// can tell that it is gone but by its lease.
pub(crate) fn named(name: &str) -> String {
    match place(Path::new("/proc/self")) {
        Some((machine, process)) => format!("{name}{AT}{machine}{AT}{process}"),
        None => name.to_owned(),
    }
}

/// Whether a worker was a process of this machine that is not there any more.
pub(crate) fn is_gone(worker: &str) -> bool {
    let mut parts = worker.rsplitn(3, AT);
    let (Some(process), Some(machine), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Some(number) = process
        .split('.')
        .next()
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
    else {
        return false;
    };
    let Some((here, _)) = place(Path::new("/proc/self")) else {
        return false;
    };
    let now = began(&Path::new("/proc").join(number)).map(|began| format!("{number}.{began}"));
    machine == here && now.as_deref() != Some(process)
}

/// The machine and the process of a directory of /proc.
fn place(own: &Path) -> Option<(String, String)> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link(own.join("ns/pid")).ok()?;
    let space: String = space
        .to_str()?
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let boot = boot.trim().split('-').next()?.to_owned();
    let began = began(own)?;
    Some((
        format!("{boot}.{space}"),
        format!("{}.{began}", std::process::id()),
    ))
}

/// When a process began, in ticks since the machine's start. One that has ended and is not yet waited for is gone.
fn began(process: &Path) -> Option<u64> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name in brackets may hold anything; what counts comes after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_is_there_is_not_gone() {
        let name = named("worker");
        assert!(name.starts_with("worker@"), "{name}");
        assert!(!is_gone(&name));
    }

    #[test]
    fn one_that_ended_is_gone_and_one_elsewhere_is_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (machine, _) = place(Path::new("/proc/self")).unwrap();
        let began = began(&Path::new("/proc").join(child.id().to_string())).unwrap();
        let name = format!("a@b@{machine}@{}.{began}", child.id());
        assert!(!is_gone(&name));
        assert!(is_gone(&format!(
            "a@{machine}@{}.{}",
            child.id(),
            began + 1
        )));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(&name));
        assert!(!is_gone(&format!("a@00000000.1@{}.{began}", child.id())));
        for odd in ["", "a", "@", "@@", "a@b@c", "a@b@-1.2", "a@b@../x.1"] {
            assert!(!is_gone(odd), "{odd}");
        }
    }
}
