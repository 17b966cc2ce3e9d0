//! Records a command in the store: periodically while it runs, and when it has ended.
//!
//! A short command is written once, in the commit of its event. A longer one gets a `RunningCommand` record,
//! and its output is stored periodically, so that others can follow it. If the process that runs it dies, the
//! record is no longer renewed, which is how readers detect an interrupted command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::changeset::{StoreWrite, WritePrecondition};
use polis_core::event::CommandStartedEvent;
use polis_core::json::to_json_text;
use polis_core::number::saturating_cast;
use polis_core::record::{RecordBody, RecordKind};
use polis_core::workspace::command_outcome::{CommandOutcome, OutputStream};
use polis_core::workspace::output_tail::OutputTail;
use polis_core::{Changeset, EventPayload, NewEvent, Timestamp};
use serde::Serialize;

use super::{
    COMMANDS_PER_SWEEP, CommandOutputRecord, CommandRecord, MAX_STORED_OUTPUT_BYTES,
    MIN_STORED_COMMANDS, new_command_name, record_name,
};
use crate::app::App;
use crate::loading::workspace_resolution::WorkspaceActor;
use crate::port::{CommitOutcome, OutputWatcher};

/// A command that runs longer than this is recorded as running.
const RECORDING_DELAY: Duration = Duration::from_millis(300);
/// Interval at which new output is stored.
const OUTPUT_FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// Interval at which the running record is renewed if there is no output, in milliseconds.
const RENEWAL_INTERVAL_MS: i64 = 5_000;
/// How long the record of an interrupted command is kept, in milliseconds.
const INTERRUPTED_TTL_MS: i64 = 24 * 3_600 * 1_000;
/// How often the final commit is attempted.
const MAX_COMMIT_ATTEMPTS: u32 = 5;

/// Records one command in the store: periodically while it runs, and when it has ended.
#[derive(Debug)]
pub(crate) struct CommandRecorder<'a> {
    app: &'a App,
    actor: &'a WorkspaceActor,
    id: String,
    record: CommandRecord,
    output: Arc<RecordedOutput>,
    /// Whether a running record was, or may have been, written.
    may_have_records: AtomicBool,
}

/// Revisions of a running command's records; 0 if the record does not exist.
#[derive(Debug, Clone, Copy, Default)]
struct RecordRevisions {
    running: u64,
    output: u64,
}

impl<'a> CommandRecorder<'a> {
    /// Creates a recorder for a command that starts now. `next` also receives the output.
    pub(crate) fn new(
        app: &'a App,
        actor: &'a WorkspaceActor,
        command: &str,
        is_complete: bool,
        started: i64,
        next: Option<Arc<dyn OutputWatcher>>,
    ) -> Self {
        let workspace = &actor.location.owner;
        let name = new_command_name(started, &app.random.random_token());
        Self {
            app,
            actor,
            id: format!("{workspace}/{name}"),
            record: CommandRecord {
                agent: actor.caller.id.clone(),
                command: command.to_owned(),
                command_truncated: !is_complete,
                started_at: Timestamp::from_millis(started),
                output_bytes: 0,
                outcome: None,
                renewed_at: None,
            },
            output: Arc::new(RecordedOutput {
                tail: Mutex::new(OutputTail::new(MAX_STORED_OUTPUT_BYTES)),
                forward_to: next,
            }),
            may_have_records: AtomicBool::new(false),
        }
    }

    /// Returns the command's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the watcher that receives the command's output.
    pub(crate) fn watcher(&self) -> Arc<dyn OutputWatcher> {
        Arc::<RecordedOutput>::clone(&self.output) as Arc<dyn OutputWatcher>
    }

    /// Periodically records that the command runs, and its output. Never returns; dropped when the command
    /// has ended. Recording is best effort: a failed write is retried at the next interval and never stops
    /// the command.
    pub(crate) async fn record_while_running(&self) -> std::convert::Infallible {
        let clock = &self.app.clock;
        clock.sleep(RECORDING_DELAY).await;
        let renewed_at = AtomicI64::new(0);
        let mut recorded_bytes = None;
        let mut revisions = Some(RecordRevisions::default());
        loop {
            let now = clock.now_millis();
            let total = self.output.tail.lock().total_bytes();
            let is_recent =
                now.saturating_sub(renewed_at.load(Ordering::Relaxed)) < RENEWAL_INTERVAL_MS;
            if recorded_bytes != Some(total) || !is_recent {
                // A write that was not acknowledged may still have been committed, so read the revisions
                // again.
                let found = match revisions {
                    Some(revisions) => Some(revisions),
                    None => self.read_revisions().await,
                };
                revisions = match found {
                    Some(found) => self.write_running_record(found, now).await,
                    None => None,
                };
                if revisions.is_some() {
                    recorded_bytes = Some(total);
                    renewed_at.store(now, Ordering::Relaxed);
                }
            }
            clock.sleep(OUTPUT_FLUSH_INTERVAL).await;
            yield_once().await;
        }
    }

    /// Returns the current revisions of the command's records, or `None` if they cannot be read.
    async fn read_revisions(&self) -> Option<RecordRevisions> {
        let mut found = RecordRevisions::default();
        for (kind, revision) in [
            (RecordKind::RunningCommand, &mut found.running),
            (RecordKind::CommandOutput, &mut found.output),
        ] {
            let stored = self
                .app
                .store
                .record(&record_name(kind, &self.id))
                .await
                .ok()?;
            *revision = stored.map_or(0, |stored| stored.revision);
        }
        Some(found)
    }

    /// Writes the running record and the output. Returns the new revisions, or `None` if the commit failed.
    async fn write_running_record(
        &self,
        revisions: RecordRevisions,
        now: i64,
    ) -> Option<RecordRevisions> {
        self.may_have_records.store(true, Ordering::Release);
        let expect = |revision: u64| match revision {
            0 => WritePrecondition::Absent,
            revision => WritePrecondition::Revision(revision),
        };
        let (output, total) = self.output.snapshot();
        let running = CommandRecord {
            output_bytes: total,
            renewed_at: Some(now),
            ..self.record.clone()
        };
        let until = Some(now.saturating_add(INTERRUPTED_TTL_MS));
        let (of_running, of_output) = (expect(revisions.running), expect(revisions.output));
        let mut changes = Changeset::new(&self.actor.caller, self.app.now())
            .with_write(self.put_record(RecordKind::RunningCommand, of_running, until, &running))
            .with_write(self.put_record(RecordKind::CommandOutput, of_output, until, &output));
        if revisions.running == 0 {
            let started = EventPayload::CommandStarted(CommandStartedEvent {
                id: self.id.clone(),
                command: self.record.command.clone(),
                agent: self.record.agent.clone(),
                started_at: self.record.started_at.clone(),
            });
            changes = changes.with_event(NewEvent::new(self.actor.event_subject(), started));
        }
        match self.app.store.commit(changes).await {
            Ok(CommitOutcome::Committed(_)) => Some(RecordRevisions {
                running: revisions.running + 1,
                output: revisions.output + 1,
            }),
            Ok(CommitOutcome::Conflict(_)) | Err(_) => None,
        }
    }

    fn put_record(
        &self,
        kind: RecordKind,
        expect: WritePrecondition,
        expires_at: Option<i64>,
        body: &impl Serialize,
    ) -> StoreWrite {
        StoreWrite::PutRecord {
            name: record_name(kind, &self.id),
            expect,
            expires_at,
            body: RecordBody::Text(to_json_text(body)),
        }
    }

    /// Records the outcome in one commit with its event. Returns whether it was committed. Its output is stored if
    /// nothing was streamed to the watcher.
    pub(crate) async fn record_end(&self, outcome: &CommandOutcome, event: NewEvent) -> bool {
        self.output
            .fill_if_empty([&outcome.stdout.text, &outcome.stderr.text]);
        let (output, total) = self.output.snapshot();
        let record = CommandRecord {
            output_bytes: total,
            outcome: Some(CommandOutcome::without_output(
                outcome.ending,
                outcome.duration_ms,
                outcome.tier,
            )),
            ..self.record.clone()
        };
        let last = |expect: WritePrecondition| {
            vec![
                self.put_record(
                    RecordKind::Command,
                    WritePrecondition::Absent,
                    None,
                    &record,
                ),
                self.put_record(RecordKind::CommandOutput, expect, None, &output),
            ]
        };
        let committed = self.commit_final(event, last).await;
        if committed && self.should_sweep() {
            self.sweep_old_commands().await;
        }
        committed
    }

    /// Records that the command was not run after all; the event contains the reason.
    pub(crate) async fn record_not_run(&self, event: NewEvent) -> bool {
        let deletions = |expect: WritePrecondition| match expect {
            WritePrecondition::Absent => Vec::new(),
            expect @ WritePrecondition::Revision(_) => vec![StoreWrite::DeleteRecord {
                name: record_name(RecordKind::CommandOutput, &self.id),
                expect,
            }],
        };
        self.commit_final(event, deletions).await
    }

    /// Final commit for a command: removes the running record. The existing records were written by this
    /// recorder, and a write that it started earlier may still be committed concurrently, hence the retries.
    async fn commit_final(
        &self,
        event: NewEvent,
        writes: impl Fn(WritePrecondition) -> Vec<StoreWrite> + Send,
    ) -> bool {
        let plain = || Changeset::new(&self.actor.caller, self.app.now()).with_event(event.clone());
        let store = &self.app.store;
        let has_records = self.may_have_records.load(Ordering::Acquire);
        for _ in 0..MAX_COMMIT_ATTEMPTS {
            let mut changes = plain();
            let mut output = WritePrecondition::Absent;
            if has_records {
                for kind in [RecordKind::RunningCommand, RecordKind::CommandOutput] {
                    let name = record_name(kind, &self.id);
                    let Ok(found) = store.record(&name).await else {
                        return false;
                    };
                    let Some(found) = found else { continue };
                    let expect = WritePrecondition::Revision(found.revision);
                    match kind {
                        RecordKind::CommandOutput => output = expect,
                        _ => {
                            changes = changes.with_write(StoreWrite::DeleteRecord { name, expect });
                        }
                    }
                }
                changes = self.delete_expired_records(changes);
            }
            changes.writes.extend(writes(output));
            match store.commit(changes).await {
                Ok(CommitOutcome::Committed(_)) => return true,
                Ok(CommitOutcome::Conflict(_)) => {}
                Err(_) => return false,
            }
        }
        // The event matters more than the output, so the last attempt commits the event alone.
        matches!(store.commit(plain()).await, Ok(CommitOutcome::Committed(_)))
    }

    /// Also deletes expired records of interrupted commands.
    fn delete_expired_records(&self, changes: Changeset) -> Changeset {
        let before = self.app.clock.now_millis();
        [RecordKind::RunningCommand, RecordKind::CommandOutput]
            .into_iter()
            .fold(changes, |changes, kind| {
                changes.with_write(StoreWrite::DeleteExpiredRecords { kind, before })
            })
    }

    /// Returns whether this command triggers the removal of old commands.
    fn should_sweep(&self) -> bool {
        let last = self.id.get(self.id.len().saturating_sub(2)..);
        let last = last.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        last.is_some_and(|last| last % COMMANDS_PER_SWEEP == 0)
    }

    /// Removes the oldest commands of this workspace. Failures are ignored; a later command tries again.
    async fn sweep_old_commands(&self) {
        let (store, kind) = (&self.app.store, RecordKind::Command);
        let workspace = self.actor.location.owner.as_str();
        let limit = MIN_STORED_COMMANDS + 4 * u32::from(COMMANDS_PER_SWEEP);
        let Ok(all) = store.records_of_owner(kind, workspace, None, limit).await else {
            return;
        };
        let mut changes = Changeset::new(&self.actor.caller, self.app.now());
        for old in all
            .iter()
            .skip(saturating_cast::<usize>(MIN_STORED_COMMANDS))
        {
            let output = record_name(RecordKind::CommandOutput, &old.id);
            let Ok(found) = store.record(&output).await else {
                return;
            };
            let removals = [
                Some((record_name(kind, &old.id), old.revision)),
                found.map(|found| (output, found.revision)),
            ];
            for (name, revision) in removals.into_iter().flatten() {
                let expect = WritePrecondition::Revision(revision);
                changes = changes.with_write(StoreWrite::DeleteRecord { name, expect });
            }
        }
        if !changes.is_empty() {
            let _ = store.commit(changes).await;
        }
    }
}

/// Keeps the end of a command's output, in the order of arrival, and passes the output on.
#[derive(Debug)]
struct RecordedOutput {
    tail: Mutex<OutputTail>,
    forward_to: Option<Arc<dyn OutputWatcher>>,
}

impl RecordedOutput {
    /// Returns the output to store and the total number of bytes.
    fn snapshot(&self) -> (CommandOutputRecord, u64) {
        let mut tail = self.tail.lock();
        let (text, omitted) = tail.text();
        (CommandOutputRecord { text, omitted }, tail.total_bytes())
    }

    /// Adds the output of both streams at once if none was streamed.
    fn fill_if_empty(&self, texts: [&str; 2]) {
        let mut tail = self.tail.lock();
        if tail.total_bytes() == 0 {
            texts.iter().for_each(|text| tail.push(text.as_bytes()));
        }
    }
}

impl OutputWatcher for RecordedOutput {
    fn on_output(&self, stream: OutputStream, bytes: &[u8]) {
        self.tail.lock().push(bytes);
        if let Some(next) = &self.forward_to {
            next.on_output(stream, bytes);
        }
    }
}

/// Yields to other tasks once, for clocks whose sleep returns immediately.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_sort_newest_first() {
        let one = new_command_name(1_767_225_600_000, &"0".repeat(32));
        let two = new_command_name(1_767_225_600_001, &"0".repeat(32));
        assert!(two < one);
        assert_eq!(one.len(), 18);
    }
}
