//! `polis exec`: runs a command in a workspace, confined by the sandbox.
//!
//! In text mode, output is streamed and the command's exit code becomes that of `polis`. In JSON mode one
//! document with output and exit code is printed, and `polis` itself exits with 0 even if the command failed.
//! A termination signal stops the command first and, in text mode, so does a reader that closes the pipe. The
//! exit code is then 128 plus the signal number (SIGPIPE for the reader).

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::OsStringValueParser;
use polis_core::number::saturating_cast;
use polis_core::workspace::command::{RunCommandParams, effective_timeout_ms};
use polis_core::workspace::command_outcome::OutputStream;
use polis_core::{Refusal, RefusalCode};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, CommandObservers};
use polis_ops::port::OutputWatcher;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::signal::unix::SignalKind;
use tokio::sync::Notify;

use super::ws::{WorkspaceArg, warn_unlogged};
use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Exit code after SIGPIPE: 128 plus the signal number, the convention of shells.
const SIGPIPE_EXIT_CODE: u8 = 128 + 13;

/// Run a command in a workspace, inside the sandbox. Its output and exit code are the command's
/// own; with --json they are in one document.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Timeout in milliseconds; default: `sandbox.timeout`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    timeout_ms: Option<String>,
    #[command(flatten)]
    of: WorkspaceArg,
    /// Command: one argument is a shell command line, several are a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_parser = OsStringValueParser::new())]
    command: Vec<OsString>,
}

impl ExecArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let params = RunCommandParams {
            command: build_command_line(self.command)?,
            timeout_ms: self
                .timeout_ms
                .as_deref()
                .map(parse_timeout_ms)
                .transpose()?,
        };
        let owner = self.of.agent_id()?;
        let context = CommandContext::open(globals)?;
        let owner = owner.as_ref();
        let stopped = Arc::new(AtomicU8::new(0));
        if out.is_json() {
            let observers = CommandObservers {
                watcher: None,
                cancel: Some(Box::pin(wait_for_stop(
                    Arc::default(),
                    Arc::clone(&stopped),
                ))),
            };
            let answer = context.block_on(op::run_command(
                &context.request(),
                owner,
                &params,
                observers,
                UiLanguage::En,
            ));
            check_signal(&stopped)?;
            return out.print_json(&answer?);
        }
        let watcher = Arc::new(OutputStreamer {
            deadline: Instant::now() + max_timeout(&context, &params),
            reader_gone: AtomicBool::new(false),
            gone_notify: Arc::default(),
        });
        let disconnected = Arc::clone(&watcher.gone_notify);
        let observers = CommandObservers {
            watcher: Some(Arc::clone(&watcher) as Arc<dyn OutputWatcher>),
            cancel: Some(Box::pin(wait_for_stop(disconnected, Arc::clone(&stopped)))),
        };
        let answer = context.block_on(op::run_command(
            &context.request(),
            owner,
            &params,
            observers,
            out.lang(),
        ));
        check_signal(&stopped)?;
        let result = match answer {
            // The reader has closed the pipe: the command was ended, as SIGPIPE would have ended it.
            Err(error)
                if error.code() == RefusalCode::COMMAND_FAILED
                    && watcher.reader_gone.load(Ordering::Acquire) =>
            {
                return Err(CliError::Exit(SIGPIPE_EXIT_CODE));
            }
            answer => answer?,
        };
        if result.result.out_of_memory {
            out.print_stderr(msg::cli_workspace_command_killed(out.lang()));
        }
        warn_unlogged(result.logged, out);
        match u8::try_from(result.result.exit_code) {
            Ok(0) => Ok(()),
            Ok(code) => Err(CliError::Exit(code)),
            Err(_) => Err(CliError::Exit(u8::MAX)),
        }
    }
}

/// Completes when the reader of the output is gone, or when a termination signal arrives, whose number is
/// stored in `signal`. The command then ends before this process does, and its end is logged. Ignored signals
/// stay ignored.
async fn wait_for_stop(disconnected: Arc<Notify>, signal: Arc<AtomicU8>) {
    let ignored = ignored_signal_mask();
    let arrives = |kind: SignalKind| async move {
        let number = kind.as_raw_value();
        let handled = (ignored >> (number - 1)) & 1 == 0;
        let signals = handled.then(|| tokio::signal::unix::signal(kind));
        match signals {
            Some(Ok(mut signals)) => signals.recv().await,
            _ => std::future::pending().await,
        };
        u8::try_from(number).unwrap_or_default()
    };
    let number = tokio::select! {
        () = disconnected.notified() => 0,
        number = arrives(SignalKind::interrupt()) => number,
        number = arrives(SignalKind::terminate()) => number,
        number = arrives(SignalKind::hangup()) => number,
    };
    signal.store(number, Ordering::Release);
}

/// Returns the signals that the parent process set to be ignored (as with `nohup`), as a bit set.
fn ignored_signal_mask() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

/// Fails with the exit code of the signal (128 plus its number) if one was received.
fn check_signal(signal: &AtomicU8) -> Result<(), CliError> {
    match signal.load(Ordering::Acquire) {
        0 => Ok(()),
        number => Err(CliError::Exit(128 + number)),
    }
}

/// Returns the longest timeout that applies to the command. Invalid timeouts are refused later.
fn max_timeout(context: &CommandContext, params: &RunCommandParams) -> Duration {
    let commands = &context.app.settings.command_policies;
    let policies = commands.roles.values().chain([&commands.default]);
    let longest =
        policies.filter_map(|policy| effective_timeout_ms(params.timeout_ms, policy).ok());
    Duration::from_millis(longest.max().unwrap_or(0))
}

fn parse_timeout_ms(text: &str) -> Result<f64, Refusal> {
    text.trim()
        .parse()
        .map_err(|_| Refusal::from(CommandRefusal::TimeoutNotANumber))
}

/// Builds the shell command line from the arguments.
fn build_command_line(words: Vec<OsString>) -> Result<String, Refusal> {
    let mut texts = Vec::with_capacity(words.len());
    for word in words {
        let text = word
            .into_string()
            .map_err(|_| Refusal::from(CommandRefusal::CommandNotUtf8))?;
        texts.push(text);
    }
    if let [line] = texts.as_mut_slice() {
        return Ok(std::mem::take(line));
    }
    let quoted: Vec<String> = texts.iter().map(|word| shell_quote(word)).collect();
    Ok(quoted.join(" "))
}

/// Quotes a word for the shell.
fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Streams a command's output. A slow reader blocks the command, as a pipe would, but never beyond its
/// timeout; a reader that is gone ends it.
#[derive(Debug)]
struct OutputStreamer {
    deadline: Instant,
    reader_gone: AtomicBool,
    gone_notify: Arc<Notify>,
}

impl OutputStreamer {
    fn write_until_deadline(&self, to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
        // A pipe that is ready for writing accepts at least this much without blocking (`PIPE_BUF`).
        const CHUNK_BYTES: usize = 4_096;
        while !bytes.is_empty() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: saturating_cast::<i64>(left.as_secs()),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut ready = [PollFd::new(&to, PollFlags::OUT)];
            match poll(&mut ready, Some(&timeout)) {
                // The timeout has passed; output that is not read by now is dropped.
                Ok(0) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
                Ok(_) => {}
            }
            let piece = bytes.get(..CHUNK_BYTES).unwrap_or(bytes);
            match rustix::io::write(to, piece) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl OutputWatcher for OutputStreamer {
    fn on_output(&self, stream: OutputStream, bytes: &[u8]) {
        let written = match stream {
            OutputStream::Stdout => self.write_until_deadline(rustix::stdio::stdout(), bytes),
            OutputStream::Stderr => self.write_until_deadline(rustix::stdio::stderr(), bytes),
        };
        if written.is_err() {
            self.reader_gone.store(true, Ordering::Release);
            self.gone_notify.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_line_of(all: &[&str]) -> String {
        build_command_line(all.iter().map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn single_argument_is_kept_and_several_are_quoted() {
        assert_eq!(command_line_of(&["ls | wc -l"]), "ls | wc -l");
        assert_eq!(
            command_line_of(&["ls", "-la", "src/a.rs"]),
            "ls -la src/a.rs"
        );
        assert_eq!(command_line_of(&["echo", "a b", ""]), "echo 'a b' ''");
        assert_eq!(
            command_line_of(&["echo", "it's", "$HOME"]),
            r"echo 'it'\''s' '$HOME'"
        );
        assert_eq!(
            command_line_of(&["echo", "~", "长", "a\nb"]),
            "echo '~' '长' 'a\nb'"
        );
    }

    #[test]
    fn timeout_must_be_a_number() {
        assert_eq!(parse_timeout_ms("5000"), Ok(5_000.0));
        assert!(parse_timeout_ms("NaN").unwrap().is_nan());
        for bad in ["", "soon", "5s", "1_000", "0x10"] {
            assert_eq!(
                parse_timeout_ms(bad).unwrap_err().code,
                RefusalCode::INVALID_TIMEOUT,
                "{bad}"
            );
        }
    }
}
