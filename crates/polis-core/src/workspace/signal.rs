//! Signal names, as used in results, and their numbers, as used in exit codes (Linux).

/// The names of signals 1 to 31.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// Returns a signal's name; one without a name is called by its number, such as `SIG40`.
pub fn name(number: i32) -> String {
    usize::try_from(number)
        .ok()
        .and_then(|n| NAMES.get(n.checked_sub(1)?))
        .map_or_else(|| format!("SIG{number}"), |&known| known.to_owned())
}

/// Returns the number of the signal with this [`name`].
pub fn number(name: &str) -> Option<i32> {
    let known = NAMES.iter().position(|&known| known == name);
    match known {
        Some(at) => i32::try_from(at + 1).ok(),
        None => name
            .strip_prefix("SIG")?
            .parse()
            .ok()
            .filter(|n| (1..=64).contains(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_each_others_inverse() {
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(11), "SIGSEGV");
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(31), "SIGSYS");
        assert_eq!(name(40), "SIG40");
        for n in 1..=64 {
            assert_eq!(number(&name(n)), Some(n));
        }
        for none in ["", "SIG", "SIG0", "SIG65", "KILL", "SIGNONE"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
