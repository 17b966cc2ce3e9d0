//! Error reporting of the command line: maps a refusal to an exit code, and prints its message and next step as text or
//! JSON.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use polis_core::{Code, Details, Kind, Refusal};
use polis_ops::{OpError, PortError};
use polis_view::labels;

use crate::output::Output;

/// Reason why a command ended without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Refused or failed, with code, message and next step.
    Op(OpError),
    /// The reader of stdout has closed the pipe; this is not an error.
    BrokenPipe,
    /// The result was already printed; only the exit code is left.
    Exit(u8),
}

impl Failure {
    /// The result could not be written to stdout, whatever the command did before.
    pub(crate) fn unheard(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        let failure = PortError::new(
            Code::Internal,
            "The answer could not be written to standard output; what was asked for has been done.",
            "look with `polis log` before you repeat it",
        );
        Self::Op(failure.because(error).into())
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        Self::Op(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Op(refusal.into())
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Self::Op(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Op(PortError::internal("Reading or writing", error).into())
    }
}

/// Creates a refusal of invalid command-line input.
pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Refusal::new(Code::InvalidInput, message, hint).into()
}

/// Returns the exit code of a class of refusals. Exit codes are part of the public contract.
pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Internal => 1,
        Kind::Invalid => 2,
        Kind::Forbidden => 3,
        Kind::NotFound => 4,
        Kind::Conflict => 5,
        Kind::Busy => 6,
    }
}

/// Prints the failure, as text or as a JSON document, and returns the exit code.
pub(crate) fn report(failure: &Failure, out: &Output) -> ExitCode {
    match failure {
        Failure::BrokenPipe => ExitCode::SUCCESS,
        Failure::Exit(code) => ExitCode::from(*code),
        Failure::Op(error) => {
            let mut document = error.document();
            let message = labels::command_line_message(document.error.message);
            document.error.message = &message;
            if out.is_json() {
                let text = serde_json::to_string(&document).unwrap_or_default();
                out.warn(&text);
            } else {
                out.warn(&format!(
                    "Error: {}",
                    crate::output::clean_lines(document.error.message)
                ));
                if !document.error.hint.is_empty() {
                    out.warn(&format!(
                        "Hint: {}",
                        crate::output::clean_lines(document.error.hint)
                    ));
                }
            }
            if !out.is_json()
                && let Some(text) = document.error.details.and_then(details_text)
            {
                out.warn(crate::output::clean_lines(&text).trim_end());
            }
            warn_of_causes(error, out);
            ExitCode::from(exit_code(error.kind()))
        }
    }
}

/// Prints the causes of an internal failure if the operator asked for them with `--verbose`.
pub(crate) fn warn_of_causes(error: &OpError, out: &Output) {
    let OpError::Failed(failed) = error else {
        return;
    };
    if out.is_verbose() && !out.is_json() {
        let mut cause = failed.source();
        while let Some(error) = cause {
            out.warn(&format!("Cause: {error}"));
            cause = error.source();
        }
    }
}

/// Returns the details printed after the error message: the concurrent change, or the outcome of a merge.
fn details_text(details: &Details) -> Option<String> {
    match details {
        Details::Version {
            merge: Some(merge), ..
        } => Some(format!("The merge, with its conflicts marked:\n{merge}")),
        Details::Version {
            diff: Some(diff), ..
        } => Some(format!("What changed since you read it:\n{diff}")),
        Details::Version { .. }
        | Details::Locked { .. }
        | Details::Blocked { .. }
        | Details::Hash { .. }
        | Details::TimedOut { .. } => None,
    }
}

/// Prints clap's output: help and version, or what is wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let json = crate::cli::is_typed("--json");
    if asked || !json {
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "a command is missing".to_owned()
    } else {
        // The first paragraph is the error, the rest is usage.
        let text = error.render().to_string();
        let lines = text.lines().take_while(|line| !line.is_empty());
        let said = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        said.trim_start_matches("error: ").to_owned()
    };
    let refusal = Refusal::new(Code::InvalidInput, message, "run the command with --help");
    report(&refusal.into(), &Output::new(true, false))
}
