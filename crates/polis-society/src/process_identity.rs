//! Process identity: a name that identifies the process holding a lease or claim, so that another process on
//! the same machine can detect that it has ended without waiting for the lease to expire.
//!
//! `NAME@BOOT.NAMESPACE@PID.START` contains the boot id, the PID namespace (containers have their own), the
//! PID and the start time of the process: no other process ever has the same name. Processes of other
//! machines and namespaces have an unknown state.

use std::fs;
use std::path::Path;

use polis_core::agent_session::ProcessState;
use polis_ops::port::ProcessInspector;

/// Separates a name from the identity of its process.
const IDENTITY_SEPARATOR: char = '@';

/// Returns a name extended by the identity of this process. Where `/proc` does not provide the identity,
/// returns the name alone; then only the expiry of a lease shows that the process has ended.
pub fn with_process_identity(name: &str) -> String {
    match read_own_identity(Path::new("/proc/self")) {
        Some((machine, process)) => {
            format!("{name}{IDENTITY_SEPARATOR}{machine}{IDENTITY_SEPARATOR}{process}")
        }
        None => name.to_owned(),
    }
}

/// Returns whether the process identified by a name is still running; `Unknown` if the name contains no
/// identity, or one of another machine or PID namespace.
pub fn process_state(worker: &str) -> ProcessState {
    let mut parts = worker.rsplitn(3, IDENTITY_SEPARATOR);
    let (Some(process), Some(machine), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return ProcessState::Unknown;
    };
    let is_number = |text: &&str| text.bytes().all(|b| b.is_ascii_digit());
    let Some(number) = process.split('.').next().filter(is_number) else {
        return ProcessState::Unknown;
    };
    match read_own_identity(Path::new("/proc/self")) {
        Some((own_machine, _)) if own_machine == machine => {}
        _ => return ProcessState::Unknown,
    }
    let now = read_start_time(&Path::new("/proc").join(number))
        .map(|start_time| format!("{number}.{start_time}"));
    if now.as_deref() == Some(process) {
        ProcessState::Running
    } else {
        ProcessState::Ended
    }
}

/// Returns whether a name identifies a process of this machine that is no longer running.
pub fn has_ended(worker: &str) -> bool {
    process_state(worker) == ProcessState::Ended
}

/// The processes of this machine, looked up by their identity in `/proc`.
#[derive(Debug, Clone, Copy)]
pub struct LocalProcesses;

impl ProcessInspector for LocalProcesses {
    fn with_identity(&self, name: &str) -> String {
        with_process_identity(name)
    }

    fn process_state(&self, holder: &str) -> ProcessState {
        process_state(holder)
    }
}

/// Returns the identities of the machine and of this process, read from its directory in `/proc`.
fn read_own_identity(process_path: &Path) -> Option<(String, String)> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link(process_path.join("ns/pid")).ok()?;
    let space: String = space
        .to_str()?
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let boot = boot.trim().split('-').next()?.to_owned();
    let start_time = read_start_time(process_path)?;
    Some((
        format!("{boot}.{space}"),
        format!("{}.{start_time}", std::process::id()),
    ))
}

/// Returns the start time of a process, in clock ticks since boot; `None` for a zombie (ended and not yet
/// waited for).
fn read_start_time(process: &Path) -> Option<u64> {
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
    fn identity_of_running_process_is_running() {
        let name = with_process_identity("worker");
        assert!(name.starts_with("worker@"), "{name}");
        assert_eq!(process_state(&name), ProcessState::Running);
    }

    #[test]
    fn ended_process_is_detected_only_on_the_same_machine() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (machine, _) = read_own_identity(Path::new("/proc/self")).unwrap();
        let start_time = read_start_time(&Path::new("/proc").join(child.id().to_string())).unwrap();
        let name = format!("a@b@{machine}@{}.{start_time}", child.id());
        assert!(!has_ended(&name));
        assert!(has_ended(&format!(
            "a@{machine}@{}.{}",
            child.id(),
            start_time + 1
        )));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&name));
        assert!(!has_ended(&format!(
            "a@00000000.1@{}.{start_time}",
            child.id()
        )));
        for invalid in ["", "a", "@", "@@", "a@b@c", "a@b@-1.2", "a@b@../x.1"] {
            assert_eq!(process_state(invalid), ProcessState::Unknown, "{invalid}");
        }
    }
}
