//! Operation that runs a shell command in a workspace: checks policy and blocklist, runs it in the sandbox, and records
//! it in the command history and the event log.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use polis_core::event::kind;
use polis_core::workspace::blocklist;
use polis_core::workspace::command::{Captured, CommandRun, Ending, RunCommand, timeout};
use polis_core::workspace::policy::Tier;
use polis_core::workspace::signal;
use polis_core::{AgentId, Code, Details, NewEvent, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::commands::{Ended, Recorder};
use super::workspace_resolution::{Desk, Noted, Worker, cut};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{CommandOrder, OutputWatcher, PortError, SandboxReport};

/// How much of a command's text is stored in the event log, in bytes.
const LOGGED_TEXT: usize = 4_096;

/// Future that resolves when the result of a command is no longer needed.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Observers of a running command.
#[derive(Default)]
pub struct Follow {
    /// Receives the output as it is written.
    pub watcher: Option<Arc<dyn OutputWatcher>>,
    /// Cancels the command.
    pub stop: Option<Stop>,
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow")
            .field("watcher", &self.watcher)
            .finish_non_exhaustive()
    }
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// What it wrote; where the middle is left out, a line in its place says so.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
    /// Its exit code; 128 and the signal's number if a signal ended it.
    pub exit_code: i32,
    /// How long it ran.
    pub duration_ms: u64,
    /// The signal that ended it, such as `SIGKILL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it was ended because it used more memory than it may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_memory: bool,
    /// How strongly it was confined: T0, T0u, T1 or T2.
    #[schemars(with = "String")]
    pub sandbox: Tier,
    /// How many bytes it wrote.
    pub stdout_bytes: u64,
    /// How many bytes it complained.
    pub stderr_bytes: u64,
    /// Whether some of the output is left out above.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How many bytes of `stdout` are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub stdout_omitted: u64,
    /// How many bytes of `stderr` are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub stderr_omitted: u64,
    /// The file with the whole output, by its name in the workspace's data area.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spool: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Event payload of a command that ran.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ran<'a> {
    /// Its id in the command history.
    id: &'a str,
    command: &'a str,
    /// Whether `command` is truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    command_cut: bool,
    agent: &'a AgentId,
    workspace: &'a AgentId,
    started_at: &'a Timestamp,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    out_of_memory: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<Tier>,
}

/// Event payload of a command that was not run.
#[derive(Debug, Serialize)]
struct NotRun<'a> {
    command: &'a str,
    code: Code,
    reason: &'a str,
}

/// Runs a command and waits until it ends.
///
/// A timeout is an error that includes the output so far; any other ending is a successful result, regardless of the
/// exit code. Every command is logged, including refused ones.
pub async fn run_command(
    polis: &Polis,
    desk: Desk<'_>,
    params: &RunCommand,
    follow: Follow,
) -> Result<Noted<CommandResult>, OpError> {
    let worker = polis.at_desk(desk, "run_command", None).await?;
    let command = params.command.as_str();
    let policy = polis.settings.commands.of(&worker.caller.role);
    let timeout_ms = timeout(params.timeout_ms, policy)?;
    if let Err(refusal) = blocklist::check(command) {
        // Input that is not a command at all is a typing error and is not logged.
        if let Some(Details::Blocked { reason }) = refusal.details.as_deref() {
            not_run(polis, &worker, command, refusal.code, reason).await;
        }
        return Err(refusal.into());
    }
    let started = polis.clock.now_millis();
    let kept = cut(command, LOGGED_TEXT);
    let whole = kept.len() == command.len();
    let recorder = Recorder::new(polis, &worker, kept, whole, started, follow.watcher);
    let order = CommandOrder {
        command: command.to_owned(),
        timeout_ms,
        policy: policy.clone(),
        watcher: Some(recorder.watcher()),
    };
    let running = polis.terminal.run(&worker.site, order);
    let run = match until(running, follow.stop, recorder.look_on()).await {
        Some(Ok(run)) => run,
        Some(Err(error)) => {
            let event = refused(&worker, command, error.code, &error.message);
            recorder.fail(event).await;
            return Err(error.into());
        }
        None => CommandRun {
            ending: Ending::Cancelled,
            stdout: Captured::default(),
            stderr: Captured::default(),
            duration_ms: polis
                .clock
                .now_millis()
                .saturating_sub(started)
                .unsigned_abs(),
            // Placeholder: the tier of a cancelled command is not reported.
            tier: Tier::Bare,
            spool: None,
        },
    };
    let started_at = Timestamp::from_millis(started);
    let logged = note_run(&recorder, &worker, command, &started_at, &run).await;
    Ok(Noted {
        answer: result(run, timeout_ms)?,
        logged,
    })
}

/// Describes the sandbox of this system.
pub async fn sandbox_report(polis: &Polis, caller: &AgentId) -> Result<SandboxReport, OpError> {
    polis.caller(caller).await?;
    Ok(polis.terminal.report().await?)
}

/// Waits for `running` or `stop`, whichever is first; returns `None` for `stop`. Also polls `onlooker`.
async fn until<T>(
    mut running: impl Future<Output = T> + Unpin,
    mut stop: Option<Stop>,
    onlooker: impl Future<Output = Infallible>,
) -> Option<T> {
    let mut onlooker = pin!(onlooker);
    poll_fn(|cx| {
        if let Poll::Ready(done) = Pin::new(&mut running).poll(cx) {
            return Poll::Ready(Some(done));
        }
        if let Some(stop) = &mut stop
            && stop.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(None);
        }
        match onlooker.as_mut().poll(cx) {
            Poll::Ready(never) => match never {},
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn not_run(polis: &Polis, worker: &Worker, command: &str, code: Code, reason: &str) {
    let event = refused(worker, command, code, reason);
    polis.note_event(worker, event).await;
}

/// Creates the event of a command that was not run.
fn refused(worker: &Worker, command: &str, code: Code, reason: &str) -> NewEvent {
    let data = NotRun {
        command: cut(command, LOGGED_TEXT),
        code,
        reason,
    };
    NewEvent::of(kind::COMMAND_REFUSED, worker.subject(), &data)
}

async fn note_run(
    recorder: &Recorder<'_>,
    worker: &Worker,
    command: &str,
    started_at: &Timestamp,
    run: &CommandRun,
) -> bool {
    let kept = cut(command, LOGGED_TEXT);
    let (exit_code, signal) = exit_of(&run.ending);
    let cancelled = run.ending == Ending::Cancelled;
    let data = Ran {
        id: recorder.id(),
        command: kept,
        command_cut: kept.len() < command.len(),
        agent: &worker.caller.id,
        workspace: &worker.site.workspace,
        started_at,
        duration_ms: run.duration_ms,
        exit_code,
        signal,
        timed_out: run.ending == Ending::TimedOut,
        cancelled,
        out_of_memory: run.ending == Ending::OutOfMemory,
        stdout_bytes: run.stdout.bytes,
        stderr_bytes: run.stderr.bytes,
        sandbox: Some(run.tier).filter(|_| !cancelled),
    };
    let ended = Ended {
        duration_ms: run.duration_ms,
        exit_code,
        signal: signal.map(str::to_owned),
        timed_out: data.timed_out,
        cancelled,
        out_of_memory: data.out_of_memory,
        sandbox: data.sandbox,
    };
    let said = format!("{}{}", run.stdout.text, run.stderr.text);
    let event = NewEvent::of(kind::COMMAND_RUN, worker.subject(), &data);
    recorder.finish(ended, &said, event).await
}

/// Returns the exit code, and the signal if one ended the command.
fn exit_of(ending: &Ending) -> (Option<i32>, Option<&str>) {
    const KILLED: &str = "SIGKILL";
    let by = |name| Some(128 + signal::number(name).unwrap_or(0));
    match ending {
        Ending::Exited(code) => (Some(*code), None),
        Ending::Killed(name) => (by(name), Some(name)),
        Ending::OutOfMemory => (by(KILLED), Some(KILLED)),
        Ending::TimedOut | Ending::Cancelled => (None, None),
    }
}

fn result(run: CommandRun, timeout_ms: u64) -> Result<CommandResult, OpError> {
    let (exit_code, signal) = exit_of(&run.ending);
    let (Some(exit_code), signal) = (exit_code, signal.map(str::to_owned)) else {
        return Err(unfinished(run, timeout_ms));
    };
    Ok(CommandResult {
        exit_code,
        signal,
        out_of_memory: run.ending == Ending::OutOfMemory,
        duration_ms: run.duration_ms,
        sandbox: run.tier,
        stdout_bytes: run.stdout.bytes,
        stderr_bytes: run.stderr.bytes,
        truncated: run.stdout.omitted > 0 || run.stderr.omitted > 0,
        stdout_omitted: run.stdout.omitted,
        stderr_omitted: run.stderr.omitted,
        stdout: run.stdout.text,
        stderr: run.stderr.text,
        spool: run.spool,
    })
}

fn unfinished(run: CommandRun, timeout_ms: u64) -> OpError {
    if run.ending == Ending::Cancelled {
        return PortError::new(
            Code::CommandFailed,
            "The command was ended early: nobody waits for it any more.",
            "run it again if its result is wanted",
        )
        .into();
    }
    let message = format!("The command was ended after {timeout_ms} ms: its time was up.");
    Refusal::new(
        Code::CommandTimeout,
        message,
        "give it more time with timeoutMs (`--timeout-ms`), or less to do",
    )
    .with(Details::TimedOut {
        timed_out: true,
        timeout_ms,
        truncated: run.stdout.omitted > 0 || run.stderr.omitted > 0,
        spool: run.spool,
        stdout: run.stdout.text,
        stderr: run.stderr.text,
        duration_ms: run.duration_ms,
        sandbox: run.tier,
    })
    .into()
}
