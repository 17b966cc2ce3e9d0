//! Linux signals: converts between names, as used in results, and numbers, as used in exit codes.

/// The names of signals 1 to 31.
const SIGNAL_NAMES: [&str; 31] = [
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
pub fn signal_name(number: i32) -> String {
    usize::try_from(number)
        .ok()
        .and_then(|n| SIGNAL_NAMES.get(n.checked_sub(1)?))
        .map_or_else(|| format!("SIG{number}"), |&name| name.to_owned())
}

/// Returns the number of the signal with this name, or `None` for any other text.
pub fn signal_number(name: &str) -> Option<i32> {
    let index = SIGNAL_NAMES.iter().position(|&signal| signal == name);
    match index {
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
    fn signal_names_and_numbers_are_inverse() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(11), "SIGSEGV");
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(40), "SIG40");
        for n in 1..=64 {
            assert_eq!(signal_number(&signal_name(n)), Some(n));
        }
        for none in ["", "SIG", "SIG0", "SIG65", "KILL", "SIGNONE"] {
            assert_eq!(signal_number(none), None, "{none}");
        }
    }
}
