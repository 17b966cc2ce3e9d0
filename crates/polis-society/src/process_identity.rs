//! Process identity: a name that identifies the process holding a lease or claim, so that another process on the same
//! machine can detect that it has ended without waiting for the lease to expire.
//!
//! The name contains the boot id, the PID namespace (containers have their own), the PID and the start time of the
//! process: no other process ever has the same name.

use std::fs;
use std::path::Path;

use polis_core::session::ProcessState;
use polis_ops::port::Processes;

/// Separates a name from the identity of its process.
const AT: char = '@';

/// Returns a name extended by the identity of this process. Where `/proc` does not provide the identity, returns the
/// name alone; then only the expiry of a lease shows that the process has ended.
pub fn with_process(name: &str) -> String {
    match place(Path::new("/proc/self")) {
        Some((machine, process)) => format!("{name}{AT}{machine}{AT}{process}"),
        None => name.to_owned(),
    }
}

/// Returns whether the process identified by a name is still running.
pub fn state_of(worker: &str) -> ProcessState {
    let mut parts = worker.rsplitn(3, AT);
    let (Some(process), Some(machine), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return ProcessState::Unknown;
    };
    let is_number = |text: &&str| text.bytes().all(|b| b.is_ascii_digit());
    let Some(number) = process.split('.').next().filter(is_number) else {
        return ProcessState::Unknown;
    };
    match place(Path::new("/proc/self")) {
        Some((here, _)) if here == machine => {}
        _ => return ProcessState::Unknown,
    }
    let now = began(&Path::new("/proc").join(number)).map(|began| format!("{number}.{began}"));
    match now.as_deref() == Some(process) {
        true => ProcessState::Running,
        false => ProcessState::Ended,
    }
}

/// Returns whether a name identifies a process of this machine that is no longer running.
pub fn is_gone(worker: &str) -> bool {
    state_of(worker) == ProcessState::Ended
}

/// The processes of this machine, looked up by their identity in `/proc`.
#[derive(Debug, Clone, Copy)]
pub struct LocalProcesses;

impl Processes for LocalProcesses {
    fn with_identity(&self, name: &str) -> String {
        with_process(name)
    }

    fn state_of(&self, holder: &str) -> ProcessState {
        state_of(holder)
    }
}

/// Returns the identities of the machine and of this process, read from its directory in `/proc`.
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

/// Returns the start time of a process, in clock ticks since boot; `None` for a zombie (ended and not yet waited for).
fn began(process: &Path) -> Option<u64> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The command name in parentheses may contain any character. The fields that are needed come after it.
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
        let name = with_process("worker");
        assert!(name.starts_with("worker@"), "{name}");
        assert_eq!(state_of(&name), ProcessState::Running);
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
            assert_eq!(state_of(odd), ProcessState::Unknown, "{odd}");
        }
    }
}
