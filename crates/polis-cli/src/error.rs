//! Errors of the command line ([`CliError`]): their exit codes, and printing of message, details and next
//! step as text or JSON. `usage_error` prints those of clap.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use polis_core::json::to_json_text;
use polis_core::{Refusal, RefusalDetails, RefusalKind};
use polis_i18n::{Surface, UiLanguage, msg};
use polis_ops::{OpError, PortError};

use crate::output::{CliOutput, sanitize_lines};
use crate::refusal_tables::{CommandRefusal, InstallRefusal, ProjectRefusal};

/// Reason why a command ended without success.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Refused or failed, with code, message and next step.
    Op(OpError),
    /// The reader of stdout has closed the pipe; this is not an error.
    BrokenPipe,
    /// The result was already printed; only the exit code is left.
    Exit(u8),
}

impl CliError {
    /// Creates the error for a result that could not be written to stdout.
    pub(crate) fn stdout_failed(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        let failure = PortError::from(CommandRefusal::OutputNotWritten);
        Self::Op(failure.with_source(error).into())
    }
}

impl From<OpError> for CliError {
    fn from(error: OpError) -> Self {
        Self::Op(error)
    }
}

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        Self::Op(refusal.into())
    }
}

impl From<PortError> for CliError {
    fn from(error: PortError) -> Self {
        Self::Op(error.into())
    }
}

impl From<ProjectRefusal> for CliError {
    fn from(refusal: ProjectRefusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<CommandRefusal> for CliError {
    fn from(refusal: CommandRefusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<InstallRefusal> for CliError {
    fn from(refusal: InstallRefusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Op(PortError::internal("Reading or writing", error).into())
    }
}

/// Returns the exit code of a class of refusals. Exit codes are part of the public contract.
pub(crate) fn exit_code(kind: RefusalKind) -> u8 {
    match kind {
        RefusalKind::Internal => 1,
        RefusalKind::Invalid => 2,
        RefusalKind::Forbidden => 3,
        RefusalKind::NotFound => 4,
        RefusalKind::Conflict => 5,
        RefusalKind::Busy => 6,
    }
}

/// Prints the failure, as text or as a JSON document, and returns the exit code.
pub(crate) fn report_error(failure: &CliError, out: &CliOutput) -> ExitCode {
    match failure {
        CliError::BrokenPipe => ExitCode::SUCCESS,
        CliError::Exit(code) => ExitCode::from(*code),
        CliError::Op(error) => {
            let document = error.error_document(Surface::Cli, out.lang());
            if out.is_json() {
                let text = to_json_text(&document);
                out.print_stderr(&text);
            } else {
                let message = sanitize_lines(&document.error.message);
                out.print_stderr(&msg::cli_error_message(out.lang(), message));
                if !document.error.hint.is_empty() {
                    let hint = sanitize_lines(&document.error.hint);
                    out.print_stderr(&msg::cli_error_hint(out.lang(), hint));
                }
            }
            if !out.is_json()
                && let Some(details) = document.error.details
                && let Some(text) = render_details(details, out.lang())
            {
                out.print_stderr(sanitize_lines(&text).trim_end());
            }
            print_causes(error, out);
            ExitCode::from(exit_code(error.kind()))
        }
    }
}

/// Prints the causes of an internal failure if the operator asked for them with `--verbose`.
pub(crate) fn print_causes(error: &OpError, out: &CliOutput) {
    let OpError::Failed(failed) = error else {
        return;
    };
    if out.is_verbose() && !out.is_json() {
        let mut cause = failed.source();
        while let Some(error) = cause {
            out.print_stderr(&msg::cli_error_cause(out.lang(), error));
            cause = error.source();
        }
    }
}

/// Returns the details printed after the error message: the concurrent change, or the outcome of a merge.
fn render_details(details: &RefusalDetails, lang: UiLanguage) -> Option<String> {
    let (heading, text) = match details {
        RefusalDetails::Version {
            merge: Some(merge), ..
        } => (msg::cli_error_merge_result(lang), merge),
        RefusalDetails::Version {
            diff: Some(diff), ..
        } => (msg::cli_error_changes(lang), diff),
        RefusalDetails::Version { .. }
        | RefusalDetails::Locked { .. }
        | RefusalDetails::Blocked { .. }
        | RefusalDetails::Hash { .. }
        | RefusalDetails::TimedOut { .. } => return None,
    };
    Some(format!("{heading}\n{text}"))
}
