//! `polis exec`: runs a command in a workspace, confined by the sandbox.
//!
//! In text mode it behaves as if the command ran here: output is streamed and the exit code passed on. In JSON mode it
//! prints one document, whatever the exit code.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::OsStringValueParser;
use polis_core::workspace::command::{RunCommand, timeout};
use polis_core::{Code, Refusal};
use polis_ops::op::{self, Follow};
use polis_ops::port::{OutputWatcher, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::signal::unix::SignalKind;
use tokio::sync::Notify;

use super::ws::{Of, desk, warn_unlogged};
use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Exit code after SIGPIPE, as shells count it.
const BROKEN_PIPE: u8 = 128 + 13;

/// Run a command in a workspace, confined by the kernel. Its output and exit code are the command's
/// own; with --json they are in one document.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// How long it may run, in milliseconds; default: `sandbox.timeout`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    timeout_ms: Option<String>,
    #[command(flatten)]
    of: Of,
    /// The command: one argument is a line of shell, several are a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_parser = OsStringValueParser::new())]
    command: Vec<OsString>,
}

impl Exec {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let params = RunCommand {
            command: line(self.command)?,
            timeout_ms: self.timeout_ms.as_deref().map(millis).transpose()?,
        };
        let of = self.of.agent()?;
        let context = Context::open(globals)?;
        let desk = desk(&context, of.as_ref());
        let stopped = Arc::new(AtomicU8::new(0));
        if out.is_json() {
            let follow = Follow {
                watcher: None,
                stop: Some(Box::pin(told_to_stop(Arc::default(), Arc::clone(&stopped)))),
            };
            let answer = context.run(op::run_command(&context.polis, desk, &params, follow));
            stopped_by(&stopped)?;
            return out.document(&answer?);
        }
        let watcher = Arc::new(Screen {
            until: Instant::now() + longest(&context, &params),
            gone: AtomicBool::new(false),
            news: Arc::default(),
        });
        let gone = Arc::clone(&watcher.news);
        let follow = Follow {
            watcher: Some(Arc::clone(&watcher) as Arc<dyn OutputWatcher>),
            stop: Some(Box::pin(told_to_stop(gone, Arc::clone(&stopped)))),
        };
        let answer = context.run(op::run_command(&context.polis, desk, &params, follow));
        stopped_by(&stopped)?;
        let done = match answer {
            // The reader has closed the pipe: the command was ended, as SIGPIPE would have ended it.
            Err(error)
                if error.code() == Code::CommandFailed && watcher.gone.load(Ordering::Acquire) =>
            {
                return Err(Failure::Exit(BROKEN_PIPE));
            }
            answer => answer?,
        };
        if done.answer.out_of_memory {
            out.warn(
                "polis: the command was ended: it used more memory than `sandbox.memory` allows.",
            );
        }
        warn_unlogged(done.logged, out);
        match u8::try_from(done.answer.exit_code) {
            Ok(0) => Ok(()),
            Ok(code) => Err(Failure::Exit(code)),
            Err(_) => Err(Failure::Exit(u8::MAX)),
        }
    }
}

/// Completes when the reader of the output is gone, or when a termination signal arrives, whose number is stored in
/// `signal`. The command then ends before this process does, and its end is logged. Ignored signals stay ignored.
async fn told_to_stop(gone: Arc<Notify>, signal: Arc<AtomicU8>) {
    let ignored = ignored_signals();
    let arrives = |kind: SignalKind| async move {
        let number = kind.as_raw_value();
        let heard = (ignored >> (number - 1)) & 1 == 0;
        let signals = heard.then(|| tokio::signal::unix::signal(kind));
        match signals {
            Some(Ok(mut signals)) => signals.recv().await,
            _ => std::future::pending().await,
        };
        u8::try_from(number).unwrap_or_default()
    };
    let number = tokio::select! {
        () = gone.notified() => 0,
        number = arrives(SignalKind::interrupt()) => number,
        number = arrives(SignalKind::terminate()) => number,
        number = arrives(SignalKind::hangup()) => number,
    };
    signal.store(number, Ordering::Release);
}

/// Returns the signals that the parent process set to be ignored (as with `nohup`), as a bit set.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

/// Exits with the code that the signal would have caused.
fn stopped_by(signal: &AtomicU8) -> Result<(), Failure> {
    match signal.load(Ordering::Acquire) {
        0 => Ok(()),
        number => Err(Failure::Exit(128 + number)),
    }
}

/// Returns the longest timeout that applies to the command. Invalid timeouts are refused later.
fn longest(context: &Context, params: &RunCommand) -> Duration {
    let commands = &context.polis.settings.commands;
    let each = commands.roles.values().chain([&commands.default]);
    let longest = each.filter_map(|policy| timeout(params.timeout_ms, policy).ok());
    Duration::from_millis(longest.max().unwrap_or(0))
}

fn millis(text: &str) -> Result<f64, Refusal> {
    text.trim().parse().map_err(|_| {
        Refusal::new(
            Code::InvalidTimeout,
            "The timeout is not a number.",
            "give --timeout-ms in milliseconds, such as 5000, or leave it out",
        )
    })
}

/// Builds the shell command line from the arguments.
fn line(words: Vec<OsString>) -> Result<String, Refusal> {
    let mut texts = Vec::with_capacity(words.len());
    for word in words {
        let text = word.into_string().map_err(|_| {
            Refusal::new(
                Code::InvalidCommand,
                "The command is not UTF-8.",
                "write it into a script in the workspace and run that",
            )
        })?;
        texts.push(text);
    }
    if let [line] = texts.as_mut_slice() {
        return Ok(std::mem::take(line));
    }
    let quoted: Vec<String> = texts.iter().map(|word| quote(word)).collect();
    Ok(quoted.join(" "))
}

/// Quotes a word for the shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Streams a command's output. A slow reader blocks the command, as a pipe would, but never beyond its timeout; a
/// reader that is gone ends it.
#[derive(Debug)]
struct Screen {
    until: Instant,
    gone: AtomicBool,
    news: Arc<Notify>,
}

impl Screen {
    fn write(&self, to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
        // A pipe that is ready for writing accepts at least this much without blocking (`PIPE_BUF`).
        const PIECE: usize = 4_096;
        while !bytes.is_empty() {
            let left = self.until.saturating_duration_since(Instant::now());
            let most = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut ready = [PollFd::new(&to, PollFlags::OUT)];
            match poll(&mut ready, Some(&most)) {
                // The timeout has passed; output that is not read by now is dropped.
                Ok(0) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
                Ok(_) => {}
            }
            let piece = bytes.get(..PIECE).unwrap_or(bytes);
            match rustix::io::write(to, piece) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl OutputWatcher for Screen {
    fn output(&self, stream: Stream, bytes: &[u8]) {
        let written = match stream {
            Stream::Stdout => self.write(rustix::stdio::stdout(), bytes),
            Stream::Stderr => self.write(rustix::stdio::stderr(), bytes),
        };
        if written.is_err() {
            self.gone.store(true, Ordering::Release);
            self.news.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> String {
        line(all.iter().map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn one_argument_is_a_line_and_several_are_words() {
        assert_eq!(words(&["ls | wc -l"]), "ls | wc -l");
        assert_eq!(words(&["ls", "-la", "src/a.rs"]), "ls -la src/a.rs");
        assert_eq!(words(&["echo", "a b", ""]), "echo 'a b' ''");
        assert_eq!(words(&["echo", "it's", "$HOME"]), r"echo 'it'\''s' '$HOME'");
        assert_eq!(words(&["echo", "~", "长", "a\nb"]), "echo '~' '长' 'a\nb'");
    }

    #[test]
    fn timeouts_are_numbers() {
        assert_eq!(millis("5000"), Ok(5_000.0));
        assert!(millis("NaN").unwrap().is_nan());
        for bad in ["", "soon", "5s", "1_000", "0x10"] {
            assert_eq!(millis(bad).unwrap_err().code, Code::InvalidTimeout, "{bad}");
        }
    }
}
