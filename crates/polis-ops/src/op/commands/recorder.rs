//! Records a command in the store: periodically while it runs, and when it has ended.
//!
//! A short command is written once, in the commit of its event. A longer one gets a `RunningCommand` record, and its
//! output is stored periodically, so that others can follow it. If the process that runs it dies, the record is no
//! longer renewed, which is how readers detect an interrupted command.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polis_core::changeset::{Expect, Write};
use polis_core::event::kind;
use polis_core::record::{RecordBody, RecordKind};
use polis_core::{Changeset, NewEvent, Timestamp};
use serde::Serialize;

use super::super::workspace_resolution::Worker;
use super::{Ended, KEPT, KEPT_OUTPUT, Output, Remembered, SWEEP_EACH, fresh, name};
use crate::polis::Polis;
use crate::port::{Outcome, OutputWatcher, Stream};

/// A command that runs longer than this is recorded as running.
const LONG: Duration = Duration::from_millis(300);
/// Interval at which new output is stored.
const AGAIN: Duration = Duration::from_millis(500);
/// Interval at which the running record is renewed if there is no output, in milliseconds.
const STILL: i64 = 5_000;
/// How long the record of an interrupted command is kept, in milliseconds.
const FORGOTTEN: i64 = 24 * 3_600 * 1_000;
/// How often the final commit is attempted.
const TRIES: u32 = 5;

/// Records one command.
#[derive(Debug)]
pub(in crate::op) struct Recorder<'a> {
    polis: &'a Polis,
    worker: &'a Worker,
    id: String,
    what: Remembered,
    tail: Arc<Tail>,
    /// Whether a running record was, or may have been, written.
    begun: AtomicBool,
}

/// Payload of the event for a long-running command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Started<'a> {
    id: &'a str,
    command: &'a str,
    agent: &'a polis_core::AgentId,
    started_at: &'a Timestamp,
}

/// Revisions of a running command's records; 0 if the record does not exist.
#[derive(Debug, Clone, Copy, Default)]
struct Stands {
    running: u64,
    output: u64,
}

impl<'a> Recorder<'a> {
    /// Creates a recorder for a command that starts now. `next` also receives the output.
    pub(in crate::op) fn new(
        polis: &'a Polis,
        worker: &'a Worker,
        command: &str,
        whole: bool,
        started: i64,
        next: Option<Arc<dyn OutputWatcher>>,
    ) -> Self {
        let workspace = &worker.site.workspace;
        let fresh = fresh(started, &polis.chance.token());
        Self {
            polis,
            worker,
            id: format!("{workspace}/{fresh}"),
            what: Remembered {
                agent: worker.caller.id.clone(),
                command: command.to_owned(),
                command_cut: !whole,
                started_at: Timestamp::from_millis(started),
                output_bytes: 0,
                ended: None,
                renewed_at: None,
            },
            tail: Arc::new(Tail {
                kept: Mutex::default(),
                next,
            }),
            begun: AtomicBool::new(false),
        }
    }

    /// Returns the command's id.
    pub(in crate::op) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the watcher that receives the command's output.
    pub(in crate::op) fn watcher(&self) -> Arc<dyn OutputWatcher> {
        Arc::<Tail>::clone(&self.tail) as Arc<dyn OutputWatcher>
    }

    /// Periodically records that the command runs, and its output. Never returns; dropped when the command has ended.
    /// Recording is best effort: a failed write is retried at the next interval and never stops the command.
    pub(in crate::op) async fn look_on(&self) -> std::convert::Infallible {
        let clock = &self.polis.clock;
        clock.sleep(LONG).await;
        let said = AtomicI64::new(0);
        let mut seen = None;
        let mut stands = Some(Stands::default());
        loop {
            let now = clock.now_millis();
            let total = self.tail.kept().total;
            let silent = now.saturating_sub(said.load(Ordering::Relaxed)) < STILL;
            if seen != Some(total) || !silent {
                // A write that was not acknowledged may still have been committed, so read the revisions again.
                let found = match stands {
                    Some(stands) => Some(stands),
                    None => self.stands().await,
                };
                stands = match found {
                    Some(found) => self.say(found, now).await,
                    None => None,
                };
                if stands.is_some() {
                    seen = Some(total);
                    said.store(now, Ordering::Relaxed);
                }
            }
            clock.sleep(AGAIN).await;
            yield_once().await;
        }
    }

    /// Returns the current revisions of the command's records, or `None` if they cannot be read.
    async fn stands(&self) -> Option<Stands> {
        let mut found = Stands::default();
        for (kind, revision) in [
            (RecordKind::RunningCommand, &mut found.running),
            (RecordKind::CommandOutput, &mut found.output),
        ] {
            let stored = self.polis.store.record(&name(kind, &self.id)).await.ok()?;
            *revision = stored.map_or(0, |stored| stored.revision);
        }
        Some(found)
    }

    /// Writes the running record and the output. Returns the new revisions, or `None` if the commit failed.
    async fn say(&self, stands: Stands, now: i64) -> Option<Stands> {
        self.begun.store(true, Ordering::Release);
        let expect = |revision: u64| match revision {
            0 => Expect::Absent,
            revision => Expect::Revision(revision),
        };
        let (output, total) = self.tail.so_far();
        let running = Remembered {
            output_bytes: total,
            renewed_at: Some(now),
            ..self.what.clone()
        };
        let until = Some(now.saturating_add(FORGOTTEN));
        let (of_running, of_output) = (expect(stands.running), expect(stands.output));
        let mut changes = Changeset::by(&self.worker.caller, self.polis.now())
            .write(self.put(RecordKind::RunningCommand, of_running, until, &running))
            .write(self.put(RecordKind::CommandOutput, of_output, until, &output));
        if stands.running == 0 {
            let started = Started {
                id: &self.id,
                command: &self.what.command,
                agent: &self.what.agent,
                started_at: &self.what.started_at,
            };
            let subject = self.worker.subject();
            changes = changes.event(NewEvent::of(kind::COMMAND_STARTED, subject, &started));
        }
        match self.polis.store.commit(changes).await {
            Ok(Outcome::Committed(_)) => Some(Stands {
                running: stands.running + 1,
                output: stands.output + 1,
            }),
            Ok(Outcome::Conflict(_)) | Err(_) => None,
        }
    }

    fn put(
        &self,
        kind: RecordKind,
        expect: Expect,
        expires_at: Option<i64>,
        body: &impl Serialize,
    ) -> Write {
        Write::PutRecord {
            name: name(kind, &self.id),
            expect,
            expires_at,
            body: RecordBody::Text(serde_json::to_string(body).unwrap_or_default()),
        }
    }

    /// Records the result in one commit with its event. Returns whether it was committed. `said` is the output, used if
    /// nothing was streamed to the watcher.
    pub(in crate::op) async fn finish(&self, ended: Ended, said: &str, event: NewEvent) -> bool {
        self.tail.fill(said);
        let (output, total) = self.tail.so_far();
        let record = Remembered {
            output_bytes: total,
            ended: Some(ended),
            ..self.what.clone()
        };
        let last = |expect: Expect| {
            vec![
                self.put(RecordKind::Command, Expect::Absent, None, &record),
                self.put(RecordKind::CommandOutput, expect, None, &output),
            ]
        };
        let told = self.last_word(event, last).await;
        if told && self.is_to_sweep() {
            self.sweep().await;
        }
        told
    }

    /// Records that the command was not run after all; the event contains the reason.
    pub(in crate::op) async fn fail(&self, event: NewEvent) -> bool {
        let gone = |expect: Expect| match expect {
            Expect::Absent => Vec::new(),
            expect @ Expect::Revision(_) => vec![Write::DeleteRecord {
                name: name(RecordKind::CommandOutput, &self.id),
                expect,
            }],
        };
        self.last_word(event, gone).await
    }

    /// Final commit for a command: removes the running record. The existing records were written by this recorder, and
    /// a write that it started earlier may still be committed concurrently, hence the retries.
    async fn last_word(
        &self,
        event: NewEvent,
        writes: impl Fn(Expect) -> Vec<Write> + Send,
    ) -> bool {
        let plain = || Changeset::by(&self.worker.caller, self.polis.now()).event(event.clone());
        let store = &self.polis.store;
        let begun = self.begun.load(Ordering::Acquire);
        for _ in 0..TRIES {
            let mut changes = plain();
            let mut output = Expect::Absent;
            if begun {
                for kind in [RecordKind::RunningCommand, RecordKind::CommandOutput] {
                    let name = name(kind, &self.id);
                    let Ok(found) = store.record(&name).await else {
                        return false;
                    };
                    let Some(found) = found else { continue };
                    let expect = Expect::Revision(found.revision);
                    match kind {
                        RecordKind::CommandOutput => output = expect,
                        _ => changes = changes.write(Write::DeleteRecord { name, expect }),
                    }
                }
                changes = self.forget(changes);
            }
            changes.writes.extend(writes(output));
            match store.commit(changes).await {
                Ok(Outcome::Committed(_)) => return true,
                Ok(Outcome::Conflict(_)) => {}
                Err(_) => return false,
            }
        }
        // The event matters more than the output, so the last attempt commits the event alone.
        matches!(store.commit(plain()).await, Ok(Outcome::Committed(_)))
    }

    /// Also deletes expired records of interrupted commands.
    fn forget(&self, changes: Changeset) -> Changeset {
        let before = self.polis.clock.now_millis();
        [RecordKind::RunningCommand, RecordKind::CommandOutput]
            .into_iter()
            .fold(changes, |changes, kind| {
                changes.write(Write::ForgetRecords { kind, before })
            })
    }

    /// Returns whether this command triggers the removal of old commands.
    fn is_to_sweep(&self) -> bool {
        let last = self.id.get(self.id.len().saturating_sub(2)..);
        let last = last.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        last.is_some_and(|last| last % SWEEP_EACH == 0)
    }

    /// Removes the oldest commands of this workspace. Failures are ignored; a later command tries again.
    async fn sweep(&self) {
        let (store, kind) = (&self.polis.store, RecordKind::Command);
        let workspace = self.worker.site.workspace.as_str();
        let most = KEPT + 4 * u32::from(SWEEP_EACH);
        let Ok(all) = store.records_of(kind, workspace, None, most).await else {
            return;
        };
        let mut changes = Changeset::by(&self.worker.caller, self.polis.now());
        for old in all.iter().skip(usize::try_from(KEPT).unwrap_or(usize::MAX)) {
            let output = name(RecordKind::CommandOutput, &old.id);
            let Ok(found) = store.record(&output).await else {
                return;
            };
            let removals = [
                Some((name(kind, &old.id), old.revision)),
                found.map(|found| (output, found.revision)),
            ];
            for (name, revision) in removals.into_iter().flatten() {
                let expect = Expect::Revision(revision);
                changes = changes.write(Write::DeleteRecord { name, expect });
            }
        }
        if !changes.is_empty() {
            let _ = store.commit(changes).await;
        }
    }
}

/// Keeps the end of a command's output, in the order of arrival.
#[derive(Debug)]
struct Tail {
    kept: Mutex<Kept>,
    next: Option<Arc<dyn OutputWatcher>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Total number of bytes written.
    total: u64,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        self.total = self
            .total
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let from = bytes.len().saturating_sub(KEPT_OUTPUT);
        self.bytes
            .extend_from_slice(bytes.get(from..).unwrap_or_default());
        // Truncated only at twice the limit, so that many small chunks cost no more than one large chunk.
        if self.bytes.len() > 2 * KEPT_OUTPUT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let mut from = self.bytes.len().saturating_sub(KEPT_OUTPUT);
        // Do not cut within a UTF-8 character.
        while self.bytes.get(from).is_some_and(|byte| byte & 0xc0 == 0x80) {
            from += 1;
        }
        self.bytes.drain(..from);
    }
}

impl Tail {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stored output and the total number of bytes.
    fn so_far(&self) -> (Output, u64) {
        let mut kept = self.kept();
        if kept.bytes.len() > KEPT_OUTPUT {
            kept.cut();
        }
        let shown = u64::try_from(kept.bytes.len()).unwrap_or(u64::MAX);
        let output = Output {
            text: String::from_utf8_lossy(&kept.bytes).into_owned(),
            omitted: kept.total.saturating_sub(shown),
        };
        (output, kept.total)
    }

    /// Adds the output at once if none was streamed.
    fn fill(&self, said: &str) {
        let mut kept = self.kept();
        if kept.total == 0 {
            kept.add(said.as_bytes());
        }
    }
}

impl OutputWatcher for Tail {
    fn output(&self, stream: Stream, bytes: &[u8]) {
        self.kept().add(bytes);
        if let Some(next) = &self.next {
            next.output(stream, bytes);
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
    fn the_end_of_a_long_output_is_kept_and_no_character_is_torn() {
        let tail = Tail {
            kept: Mutex::default(),
            next: None,
        };
        for n in 0..40_000 {
            tail.output(Stream::Stdout, format!("第{n}行\n").as_bytes());
        }
        let (output, total) = tail.so_far();
        assert!(output.text.ends_with("第39999行\n"));
        assert!(!output.text.contains('\u{fffd}'));
        let shown = output.text.len() as u64;
        assert_eq!(output.omitted + shown, total);
        assert!((60_000..=65_536).contains(&shown), "{shown}");
    }

    #[test]
    fn newer_commands_come_first() {
        let one = fresh(1_767_225_600_000, &"0".repeat(32));
        let two = fresh(1_767_225_600_001, &"0".repeat(32));
        assert!(two < one);
        assert_eq!(one.len(), 18);
    }
}
