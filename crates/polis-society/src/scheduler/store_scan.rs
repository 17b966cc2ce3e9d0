//! Store scans of the scheduler: finds runs with members at work and mailboxes with unread messages, and
//! checks whether runs are settled or done.
//!
//! A run is settled when no member has work now, or will have work later without an external cause. It is
//! done when, in addition, no member is blocked and no question to the person is open; then it is marked as
//! done.

use std::collections::HashMap;
use std::time::Duration;

use polis_core::RunId;
use polis_core::record::{RecordKind, StoredRecord};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::run::{self, Run, RunStatus};
use polis_core::society::{MemberKey, VersionedRecord};
use polis_ops::port::{EventLogQuery, MailboxKey};
use polis_ops::{App, OpError, op};
use tokio::time::Instant;

use super::log_follower::signal_for_event;
use super::{Scheduler, SchedulerSignal};

/// Page size; the embedded store runs reads of this size inline.
const SCAN_PAGE_SIZE: u32 = 50;
/// Pause after a store failure.
const STORE_RETRY_BACKOFF: Duration = Duration::from_millis(100);

/// Returns whether members act in a run of this status: those of a run that is done act on messages.
fn is_drivable(status: RunStatus) -> bool {
    matches!(status, RunStatus::Active | RunStatus::Done)
}

/// Reads the record of a run; `None` if it does not exist or cannot be parsed.
async fn load_run(app: &App, id: &RunId) -> Result<Option<VersionedRecord<Run>>, OpError> {
    let stored = app.store.record(&run::run_record_name(id)).await?;
    Ok(stored.and_then(|stored| VersionedRecord::<Run>::from_stored(&stored).ok()))
}

/// Returns whether the members of a run may do anything.
pub(super) async fn is_run_drivable(app: &App, id: &RunId) -> Result<bool, OpError> {
    let run = load_run(app, id).await?;
    Ok(run.is_some_and(|run| is_drivable(run.value.status)))
}

/// Returns the runs whose members may act, with their status.
async fn drivable_runs(
    app: &App,
    run_filter: &[RunId],
) -> Result<HashMap<RunId, RunStatus>, OpError> {
    let mut found = HashMap::new();
    if !run_filter.is_empty() {
        for id in run_filter {
            let run = load_run(app, id).await?;
            let status = run.map(|run| run.value.status);
            if let Some(status) = status.filter(|status| is_drivable(*status)) {
                found.insert(id.clone(), status);
            }
        }
        return Ok(found);
    }
    let mut after: Option<String> = None;
    loop {
        let page = app
            .store
            .records(RecordKind::Run, after.as_deref(), SCAN_PAGE_SIZE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        let runs = page
            .iter()
            .filter_map(|one| VersionedRecord::<Run>::from_stored(one).ok());
        let driven = runs.filter(|run| is_drivable(run.value.status));
        found.extend(driven.map(|run| (run.value.id, run.value.status)));
    }
}

/// Returns the members of a run that are at work; only the first one if `first`.
async fn working_members(app: &App, id: &RunId, first: bool) -> Result<Vec<MemberKey>, OpError> {
    let is_working = |stored: &StoredRecord| {
        // Most members are idle, and need not be parsed.
        stored.body.contains("\"status\":\"working\"")
            && VersionedRecord::<MemberState>::from_stored(stored)
                .is_ok_and(|state| state.value.status == MemberStatus::Working)
    };
    find_members(app, id, is_working, first).await
}

/// Returns the members of a run whose state matches; only the first one if `first`.
async fn find_members(
    app: &App,
    id: &RunId,
    is_match: impl Fn(&StoredRecord) -> bool + Send,
    first: bool,
) -> Result<Vec<MemberKey>, OpError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = app
            .store
            .records_of_owner(
                RecordKind::MemberState,
                id.as_str(),
                after.as_deref(),
                SCAN_PAGE_SIZE,
            )
            .await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        let matching = page.iter().filter(|stored| is_match(stored));
        found.extend(matching.filter_map(|stored| stored.id.parse::<MemberKey>().ok()));
        if first && !found.is_empty() {
            found.truncate(1);
            return Ok(found);
        }
    }
}

/// Returns the members with messages that are due now.
async fn members_with_mail(app: &App) -> Result<Vec<MemberKey>, OpError> {
    let mut found = Vec::new();
    let now = app.clock.now_millis();
    let mut after: Option<MailboxKey> = None;
    loop {
        let page = app
            .store
            .unread_mailboxes(now, after.as_ref(), SCAN_PAGE_SIZE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.clone());
        for mailbox in page {
            if let Some(run) = mailbox.run {
                found.push(MemberKey::new(run, mailbox.recipient));
            }
        }
    }
}

/// Returns the active runs with a member at work, for the start of a worker. An active run without one may
/// have been left by a process that ended before it marked the run as done, so it is checked and marked here.
pub(super) async fn runs_with_work(app: &App, run_filter: &[RunId]) -> Result<Vec<RunId>, OpError> {
    let mut found = Vec::new();
    for (id, status) in drivable_runs(app, run_filter).await? {
        if status != RunStatus::Active {
            continue;
        }
        if !working_members(app, &id, true).await?.is_empty()
            || finish_if_done(app, &id).await? == RunCheck::Changed
        {
            found.push(id);
        }
    }
    Ok(found)
}

/// Result of a check of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunCheck {
    /// Nothing is left to do in it.
    Done,
    /// Work is left, or a decision or answer of the person is pending.
    Open,
    /// It changed during the check, which is therefore inconclusive: check again.
    Changed,
}

/// Checks whether these runs, or all if none are named, are settled: no member has work now, or will have
/// some later without an external cause.
pub(crate) async fn check_settled(app: &App, run_filter: &[RunId]) -> Result<RunCheck, OpError> {
    // Each query is a separate snapshot, and members keep working in between. So unread messages are queried
    // before working members: a member that reads its messages in between is working, and a member that
    // became idle in between has sent no message if nothing of these runs was logged meanwhile. Events of
    // other runs, of tasks and of boards do not count: on a busy store there are always some.
    let sequence = app.store.last_sequence().await?;
    let now = app.clock.now_millis();
    let driven = drivable_runs(app, run_filter).await?;
    for key in members_with_mail(app).await? {
        if !driven.contains_key(&key.run) {
            continue;
        }
        let stored = app
            .store
            .record(&member::member_state_record_name(&key))
            .await?;
        let state =
            stored.and_then(|stored| VersionedRecord::<MemberState>::from_stored(&stored).ok());
        // A working member may become idle before working members are queried, with this message still
        // unread.
        let can_receive = state.is_some_and(|record| {
            matches!(
                record.value.status,
                MemberStatus::Idle | MemberStatus::Working
            )
        });
        if can_receive && is_driven_member(app, &key).await? {
            return Ok(RunCheck::Open);
        }
    }
    let active = driven
        .iter()
        .filter(|(_, status)| **status == RunStatus::Active);
    for (id, _) in active {
        if !working_members(app, id, true).await?.is_empty() {
            return Ok(RunCheck::Open);
        }
    }
    if app.store.next_delivery_of_any(now).await?.is_some() {
        for id in driven.keys() {
            for agent in find_members(app, id, |_| true, false).await? {
                let next = app.store.next_delivery(&agent.agent, now).await?;
                if next.is_some() {
                    return Ok(RunCheck::Open);
                }
            }
        }
    }
    if has_relevant_events(app, sequence, run_filter).await? {
        Ok(RunCheck::Changed)
    } else {
        Ok(RunCheck::Done)
    }
}

/// Returns whether an event after `after` may give work to a member of these runs, or of any run if none are
/// named.
async fn has_relevant_events(app: &App, after: u64, run_filter: &[RunId]) -> Result<bool, OpError> {
    let mut query = EventLogQuery {
        after,
        limit: SCAN_PAGE_SIZE,
        ..EventLogQuery::default()
    };
    loop {
        let page = app.store.events(&query).await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        query.after = last.seq;
        let mut signals = page.iter().filter_map(signal_for_event);
        let is_included = |run: &RunId| run_filter.is_empty() || run_filter.contains(run);
        if signals.any(|signal| signal.run().is_some_and(is_included)) {
            return Ok(true);
        }
    }
}

/// Marks a run as done if nothing is left to do in it: it is settled, no member is blocked, and no question
/// to the person is open. The run of an outside agent is checked but never marked: that agent decides when it
/// is done.
pub(crate) async fn finish_if_done(app: &App, id: &RunId) -> Result<RunCheck, OpError> {
    let Some(run) = load_run(app, id).await? else {
        return Ok(RunCheck::Open);
    };
    match run.value.status {
        RunStatus::Done => return Ok(RunCheck::Done),
        RunStatus::Active => {}
        RunStatus::Paused | RunStatus::Stopped => return Ok(RunCheck::Open),
    }
    let is_blocked = |stored: &StoredRecord| {
        VersionedRecord::<MemberState>::from_stored(stored).is_ok_and(|state| {
            use MemberStatus::{AwaitingApproval, Parked, Paused};
            matches!(state.value.status, AwaitingApproval | Paused | Parked)
        })
    };
    let check = check_settled(app, std::slice::from_ref(id)).await?;
    if check != RunCheck::Done {
        return Ok(check);
    }
    if !find_members(app, id, is_blocked, true).await?.is_empty()
        || !op::open_questions(&app.person_request(), id)
            .await?
            .is_empty()
    {
        return Ok(RunCheck::Open);
    }
    let is_done = if run.value.head.is_root() {
        op::finish_run(app, id, run.revision).await?
    } else {
        (load_run(app, id).await?).is_some_and(|now| now.revision == run.revision)
    };
    if is_done {
        Ok(RunCheck::Done)
    } else {
        Ok(RunCheck::Changed)
    }
}

/// Returns whether a member is driven by a worker, rather than being an outside agent.
async fn is_driven_member(app: &App, key: &MemberKey) -> Result<bool, OpError> {
    let stored = app.store.record(&member::member_record_name(key)).await?;
    let member =
        stored.and_then(|stored| VersionedRecord::<member::Member>::from_stored(&stored).ok());
    Ok(member.is_some_and(|record| !record.value.outside))
}

impl Scheduler {
    /// Wakes all members of a run that are at work.
    pub(super) async fn wake_working_members(&mut self, run: &RunId) -> Result<(), OpError> {
        for key in working_members(&self.society_state.app, run, false).await? {
            self.wake_member(key);
        }
        Ok(())
    }

    /// Wakes all members with unread messages.
    pub(super) async fn wake_members_with_mail(&mut self) {
        match members_with_mail(&self.society_state.app).await {
            Ok(found) => {
                self.needs_mail_scan = false;
                for key in found {
                    self.wake_member(key);
                }
                self.update_next_delivery().await;
            }
            // Retry soon.
            Err(_) => self.next_delivery = Some(Instant::now() + STORE_RETRY_BACKOFF),
        }
    }

    /// Determines when the next delayed message is due.
    pub(super) async fn update_next_delivery(&mut self) {
        let now = self.society_state.app.clock.now_millis();
        match self.society_state.app.store.next_delivery_of_any(now).await {
            Ok(None) => self.next_delivery = None,
            Ok(Some(at)) => {
                let wait = u64::try_from(at.saturating_sub(now)).unwrap_or(0).max(1);
                self.next_delivery = Some(Instant::now() + Duration::from_millis(wait));
            }
            Err(_) => self.next_delivery = Some(Instant::now() + STORE_RETRY_BACKOFF),
        }
    }

    /// Checks a run after its lease was released, and signals it if a member has got work meanwhile or the
    /// store failed.
    pub(super) async fn recheck_released_run(&mut self, run: &RunId) {
        let work = working_members(&self.society_state.app, run, true).await;
        if work.is_ok_and(|found| found.is_empty()) {
            return;
        }
        let _ = self
            .signal_sender
            .send(SchedulerSignal::ScanRun(run.clone()));
    }
}
