//! Result of a shell command as a label (exit code, signal, timeout), and its class for colouring.

use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::signal::signal_name;
use polis_i18n::msg;
use polis_ops::op::CommandEntry;

use crate::UiLanguage;

/// Class of a command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandResultClass {
    /// The command is still running.
    Running,
    /// Ended with exit code 0.
    Succeeded,
    /// Interrupted or cancelled, or with unknown result.
    Inconclusive,
    /// Ended with another exit code, by a signal, by its timeout, or out of memory.
    Failed,
}

/// Returns the class of a command's result and its label in the display language.
pub fn describe_command_result(
    entry: &CommandEntry,
    lang: UiLanguage,
) -> (CommandResultClass, String) {
    let ending = entry.outcome.as_ref().map(|outcome| outcome.ending);
    let (class, label) = match ending {
        _ if entry.running => (CommandResultClass::Running, msg::common_running(lang)),
        None if entry.interrupted => (
            CommandResultClass::Inconclusive,
            msg::common_interrupted(lang),
        ),
        Some(CommandEnding::TimedOut) => (CommandResultClass::Failed, msg::command_timed_out(lang)),
        Some(CommandEnding::Cancelled) => (
            CommandResultClass::Inconclusive,
            msg::command_cancelled(lang),
        ),
        Some(CommandEnding::OutOfMemory) => {
            (CommandResultClass::Failed, msg::command_out_of_memory(lang))
        }
        Some(CommandEnding::Killed(signal)) => {
            let signal = signal_name(signal);
            let description = msg::command_killed_by(lang, signal);
            return (CommandResultClass::Failed, description);
        }
        Some(CommandEnding::Exited(0)) => (CommandResultClass::Succeeded, msg::command_done(lang)),
        Some(CommandEnding::Exited(code)) => {
            let exit = msg::command_exit_code(lang, code);
            return (CommandResultClass::Failed, exit);
        }
        None => (
            CommandResultClass::Inconclusive,
            msg::command_no_exit_code(lang),
        ),
    };
    (class, label.to_owned())
}

#[cfg(test)]
mod tests {
    use polis_core::Timestamp;
    use polis_core::workspace::command_outcome::CommandOutcome;

    use super::*;

    fn command_entry() -> CommandEntry {
        CommandEntry {
            id: "lead/1".to_owned(),
            agent: "lead".parse().unwrap(),
            workspace: "lead".parse().unwrap(),
            command: "true".to_owned(),
            command_truncated: false,
            started_at: Timestamp::from_millis(0),
            running: false,
            interrupted: false,
            outcome: None,
            output_bytes: 0,
        }
    }

    #[test]
    fn only_exit_code_zero_is_success() {
        let entry_with = |change: fn(&mut CommandEntry)| {
            let mut entry = command_entry();
            change(&mut entry);
            describe_command_result(&entry, UiLanguage::En)
        };
        for (change, expected, text) in [
            (
                (|_| ()) as fn(&mut CommandEntry),
                CommandResultClass::Inconclusive,
                "No exit code",
            ),
            (
                |one| one.running = true,
                CommandResultClass::Running,
                "Running",
            ),
            (
                |one| one.interrupted = true,
                CommandResultClass::Inconclusive,
                "Interrupted",
            ),
        ] {
            assert_eq!(entry_with(change), (expected, text.to_owned()));
        }
        for (ending, expected, text) in [
            (
                CommandEnding::Exited(0),
                CommandResultClass::Succeeded,
                "Done",
            ),
            (
                CommandEnding::Exited(2),
                CommandResultClass::Failed,
                "Exit code 2",
            ),
            (
                CommandEnding::Cancelled,
                CommandResultClass::Inconclusive,
                "Cancelled",
            ),
            (
                CommandEnding::OutOfMemory,
                CommandResultClass::Failed,
                "Out of memory",
            ),
            (
                CommandEnding::TimedOut,
                CommandResultClass::Failed,
                "Timed out",
            ),
            (
                CommandEnding::Killed(9),
                CommandResultClass::Failed,
                "Killed by SIGKILL",
            ),
        ] {
            let mut entry = command_entry();
            entry.outcome = Some(CommandOutcome::without_output(ending, 1, None));
            let description = describe_command_result(&entry, UiLanguage::En);
            assert_eq!(description, (expected, text.to_owned()));
        }
    }
}
