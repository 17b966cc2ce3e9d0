//! Operation that runs a shell command in a workspace: checks policy and blocklist, runs it in the sandbox,
//! and records it in the command history and the event log.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use polis_core::event::{CommandRefusedEvent, CommandRunEvent};
use polis_core::workspace::command::{CommandRequest, RunCommandParams};
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome};
use polis_core::workspace::command_policy::SandboxTier;
use polis_core::{
    AgentId, EventPayload, NewEvent, Refusal, RefusalCode, RefusalDetails, Timestamp,
};
use polis_i18n::{Surface, UiLanguage, render_reason};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::loading::workspace_resolution::log_action;
use crate::loading::workspace_resolution::resolve_workspace;
use crate::loading::workspace_resolution::{LoggedResult, WorkspaceActor, truncate_for_log};
use crate::op::workspace::command_notices::insert_notices;
use crate::op::workspace::commands::CommandRecorder;
use crate::port::{OutputWatcher, PortError, SandboxReport};
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// How much of a command's text is stored in the event log, in bytes.
const MAX_LOGGED_COMMAND_BYTES: usize = 4_096;

/// Future that resolves when the result of a command is no longer needed; the command is then cancelled.
pub type CancelFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Observers of a running command: who receives its output, and what cancels it.
#[derive(Default)]
pub struct CommandObservers {
    /// Receives the output as it is written.
    pub watcher: Option<Arc<dyn OutputWatcher>>,
    /// Cancels the command.
    pub cancel: Option<CancelFuture>,
}

impl std::fmt::Debug for CommandObservers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandObservers")
            .field("watcher", &self.watcher)
            .finish_non_exhaustive()
    }
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// Standard output; a line marks where the middle was omitted.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code; 128 plus the signal number if a signal ended it.
    pub exit_code: i32,
    /// Run time in milliseconds.
    pub duration_ms: u64,
    /// The signal that ended it, such as `SIGKILL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it was killed because it exceeded its memory limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_memory: bool,
    /// Sandbox tier: T0, T0u, T1 or T2.
    #[schemars(with = "String")]
    pub sandbox: SandboxTier,
    /// Bytes written to stdout.
    pub stdout_bytes: u64,
    /// Bytes written to stderr.
    pub stderr_bytes: u64,
    /// Whether part of the output is omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Bytes omitted from `stdout`.
    #[serde(skip_serializing_if = "is_zero")]
    pub stdout_omitted: u64,
    /// Bytes omitted from `stderr`.
    #[serde(skip_serializing_if = "is_zero")]
    pub stderr_omitted: u64,
    /// Name of the file with the complete output, in the workspace's data area.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spool: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Runs a command and waits until it ends.
///
/// A timeout is an error that includes the output so far; any other ending is a successful result, regardless
/// of the exit code. Every command is logged, including refused ones. Notices of polis in the output are in
/// `lang`.
///
/// Fails with `workspace_not_assigned` or `permission_denied` if there is no workspace or the caller may not use
/// it, with `invalid_command` or `invalid_timeout` if the request is invalid, with `command_blocked` if the
/// command is on the block list, with `sandbox_unavailable` if the sandbox is too weak, with `command_timeout`,
/// and with `command_failed` if the command is cancelled or cannot be started.
pub async fn run_command(
    request: &Request,
    owner: Option<&AgentId>,
    params: &RunCommandParams,
    follow: CommandObservers,
    lang: UiLanguage,
) -> Result<LoggedResult<CommandResult>, OpError> {
    let actor = resolve_workspace(request, owner, "run_command", None).await?;
    let command = params.command.as_str();
    let policy = request
        .app
        .settings
        .command_policies
        .for_role(&actor.caller.role);
    let command_request = match CommandRequest::from_params(params, policy) {
        Ok(command_request) => command_request,
        Err(refusal) => {
            // Input that is not a command at all is a typing error and is not logged.
            if let Some(RefusalDetails::Blocked { reason }) = refusal.details.as_deref() {
                log_refused_command(&request.app, &actor, command, refusal.code, reason).await;
            }
            return Err(refusal.into());
        }
    };
    let timeout_ms = command_request.timeout_ms;
    let started = request.app.clock.now_millis();
    let logged_command = truncate_for_log(command, MAX_LOGGED_COMMAND_BYTES);
    let is_complete = logged_command.len() == command.len();
    let recorder = CommandRecorder::new(
        &request.app,
        &actor,
        logged_command,
        is_complete,
        started,
        follow.watcher,
    );
    let watcher = recorder.watcher();
    let running = request
        .app
        .terminal
        .run(&actor.location, command_request, watcher);
    let recording = recorder.record_while_running();
    let mut outcome = match run_until_cancelled(running, follow.cancel, recording).await {
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => {
            let lang = request.app.settings.boards.language.into();
            let reason = render_reason(&error.reason, Surface::Tool, lang);
            let payload = command_refused_payload(command, error.code, &reason.message);
            let event = NewEvent::new(actor.event_subject(), payload);
            recorder.record_not_run(event).await;
            return Err(error.into());
        }
        None => {
            let duration = request.app.clock.now_millis().saturating_sub(started);
            CommandOutcome::without_output(CommandEnding::Cancelled, duration.unsigned_abs(), None)
        }
    };
    insert_notices(&mut outcome, lang);
    let started_at = Timestamp::from_millis(started);
    let logged = record_outcome(&recorder, &actor, command, &started_at, &outcome).await;
    Ok(LoggedResult {
        result: into_command_result(outcome, timeout_ms)?,
        logged,
    })
}

/// Describes the sandbox of this system. Fails with `permission_denied` if the caller may not act.
pub async fn sandbox_report(request: &Request) -> Result<SandboxReport, OpError> {
    request.resolve_caller().await?;
    Ok(request.app.terminal.report().await?)
}

/// Waits for `running` or `stop`, whichever is first; returns `None` for `stop`. Also polls `background`.
async fn run_until_cancelled<T>(
    mut running: impl Future<Output = T> + Unpin,
    mut stop: Option<CancelFuture>,
    background: impl Future<Output = Infallible>,
) -> Option<T> {
    let mut background = pin!(background);
    poll_fn(|cx| {
        if let Poll::Ready(done) = Pin::new(&mut running).poll(cx) {
            return Poll::Ready(Some(done));
        }
        if let Some(stop) = &mut stop
            && stop.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(None);
        }
        match background.as_mut().poll(cx) {
            Poll::Ready(never) => match never {},
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn log_refused_command(
    app: &App,
    actor: &WorkspaceActor,
    command: &str,
    code: RefusalCode,
    reason: &str,
) {
    let payload = command_refused_payload(command, code, reason);
    log_action(app, actor, payload).await;
}

/// Creates the event payload of a command that was not run.
fn command_refused_payload(command: &str, code: RefusalCode, reason: &str) -> EventPayload {
    EventPayload::CommandRefused(CommandRefusedEvent {
        command: truncate_for_log(command, MAX_LOGGED_COMMAND_BYTES).to_owned(),
        code: code.as_str().to_owned(),
        reason: reason.to_owned(),
    })
}

/// Records the outcome in one commit with its event. Returns whether it was committed.
async fn record_outcome(
    recorder: &CommandRecorder<'_>,
    actor: &WorkspaceActor,
    command: &str,
    started_at: &Timestamp,
    outcome: &CommandOutcome,
) -> bool {
    let logged_command = truncate_for_log(command, MAX_LOGGED_COMMAND_BYTES);
    let ending = outcome.ending;
    let data = CommandRunEvent {
        id: Some(recorder.id().to_owned()),
        command: logged_command.to_owned(),
        command_truncated: logged_command.len() < command.len(),
        agent: actor.caller.id.clone(),
        workspace: actor.location.owner.clone(),
        started_at: started_at.clone(),
        duration_ms: outcome.duration_ms,
        exit_code: ending.exit_code(),
        signal: ending.signal_name(),
        timed_out: ending == CommandEnding::TimedOut,
        cancelled: ending == CommandEnding::Cancelled,
        out_of_memory: ending == CommandEnding::OutOfMemory,
        stdout_bytes: outcome.stdout.bytes,
        stderr_bytes: outcome.stderr.bytes,
        sandbox: outcome.tier,
    };
    let payload = EventPayload::CommandRun(Box::new(data));
    let event = NewEvent::new(actor.event_subject(), payload);
    recorder.record_end(outcome, event).await
}

fn into_command_result(outcome: CommandOutcome, timeout_ms: u64) -> Result<CommandResult, OpError> {
    let Some(exit_code) = outcome.ending.exit_code() else {
        return Err(unfinished_error(outcome, timeout_ms));
    };
    Ok(CommandResult {
        exit_code,
        signal: outcome.ending.signal_name(),
        out_of_memory: outcome.ending == CommandEnding::OutOfMemory,
        duration_ms: outcome.duration_ms,
        sandbox: known_tier(&outcome),
        stdout_bytes: outcome.stdout.bytes,
        stderr_bytes: outcome.stderr.bytes,
        truncated: outcome.is_truncated(),
        stdout_omitted: outcome.stdout.omitted,
        stderr_omitted: outcome.stderr.omitted,
        stdout: outcome.stdout.text,
        stderr: outcome.stderr.text,
        spool: outcome.spool,
    })
}

/// Returns the tier of a command that was not cancelled; the weakest one if a terminal does not report it.
fn known_tier(outcome: &CommandOutcome) -> SandboxTier {
    outcome.tier.unwrap_or(SandboxTier::Bare)
}

fn unfinished_error(outcome: CommandOutcome, timeout_ms: u64) -> OpError {
    if outcome.ending == CommandEnding::Cancelled {
        return PortError::from(OperationRefusal::CommandCancelled).into();
    }
    Refusal::from(OperationRefusal::CommandTimeout { timeout_ms })
        .with_details(RefusalDetails::TimedOut {
            timed_out: true,
            timeout_ms,
            truncated: outcome.is_truncated(),
            duration_ms: outcome.duration_ms,
            sandbox: known_tier(&outcome),
            spool: outcome.spool,
            stdout: outcome.stdout.text,
            stderr: outcome.stderr.text,
        })
        .into()
}
