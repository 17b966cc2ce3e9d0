//! Store scans of the scheduler: finds runs with members at work and mailboxes with unread messages, and checks whether
//! runs are settled or done.

use std::collections::HashMap;
use std::time::Duration;

use polis_core::RunId;
use polis_core::record::{RecordKind, Stored};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::run::{self, Run, RunStatus};
use polis_core::society::{Kept, MemberKey};
use polis_ops::port::{EventQuery, Mailbox};
use polis_ops::{OpError, Polis, op};
use tokio::time::Instant;

use super::follow::meaning;
use super::{Signal, Worker};

/// Page size; the embedded store runs reads of this size inline.
const PAGE: u32 = 50;
/// Pause after a store failure.
const AGAIN: Duration = Duration::from_millis(100);

/// Returns whether members act in a run of this status: those of a run that is done act on messages.
fn is_driven(status: RunStatus) -> bool {
    matches!(status, RunStatus::Active | RunStatus::Done)
}

async fn read_run(polis: &Polis, id: &RunId) -> Result<Option<Kept<Run>>, OpError> {
    let stored = polis.store.record(&run::record_name(id)).await?;
    Ok(stored.and_then(|stored| Kept::<Run>::read(&stored).ok()))
}

/// Returns whether the members of a run may do anything.
pub(super) async fn may_be_driven(polis: &Polis, id: &RunId) -> Result<bool, OpError> {
    let run = read_run(polis, id).await?;
    Ok(run.is_some_and(|run| is_driven(run.value.status)))
}

/// Returns the runs whose members may act, with their status.
async fn driven_runs(polis: &Polis, only: &[RunId]) -> Result<HashMap<RunId, RunStatus>, OpError> {
    let mut found = HashMap::new();
    if !only.is_empty() {
        for id in only {
            let run = read_run(polis, id).await?;
            let status = run.map(|run| run.value.status);
            if let Some(status) = status.filter(|status| is_driven(*status)) {
                found.insert(id.clone(), status);
            }
        }
        return Ok(found);
    }
    let mut after: Option<String> = None;
    loop {
        let page = polis
            .store
            .records(RecordKind::Run, after.as_deref(), PAGE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        let runs = page.iter().filter_map(|one| Kept::<Run>::read(one).ok());
        let driven = runs.filter(|run| is_driven(run.value.status));
        found.extend(driven.map(|run| (run.value.id, run.value.status)));
    }
}

/// Returns the members of a run that are at work; only the first one if `first`.
async fn at_work(polis: &Polis, id: &RunId, first: bool) -> Result<Vec<MemberKey>, OpError> {
    let works = |stored: &Stored| {
        // Most members are idle, and need not be parsed.
        stored.body.contains("\"status\":\"working\"")
            && Kept::<MemberState>::read(stored)
                .is_ok_and(|kept| kept.value.status == MemberStatus::Working)
    };
    members(polis, id, works, first).await
}

/// Returns the members of a run whose state matches; only the first one if `first`.
async fn members(
    polis: &Polis,
    id: &RunId,
    is_so: impl Fn(&Stored) -> bool + Send,
    first: bool,
) -> Result<Vec<MemberKey>, OpError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = polis
            .store
            .records_of(RecordKind::MemberState, id.as_str(), after.as_deref(), PAGE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        let so = page.iter().filter(|stored| is_so(stored));
        found.extend(so.filter_map(|stored| stored.id.parse::<MemberKey>().ok()));
        if first && !found.is_empty() {
            found.truncate(1);
            return Ok(found);
        }
    }
}

/// Returns the members with messages that are due now.
async fn waiting(polis: &Polis) -> Result<Vec<MemberKey>, OpError> {
    let mut found = Vec::new();
    let now = polis.clock.now_millis();
    let mut after: Option<Mailbox> = None;
    loop {
        let page = polis.store.waiting(now, after.as_ref(), PAGE).await?;
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

/// Returns the active runs with a member at work, for the start of a worker. An active run without one may have been
/// left by a process that ended before it marked the run as done.
pub(super) async fn runs_at_work(polis: &Polis, only: &[RunId]) -> Result<Vec<RunId>, OpError> {
    let mut found = Vec::new();
    for (id, status) in driven_runs(polis, only).await? {
        if status != RunStatus::Active {
            continue;
        }
        if !at_work(polis, &id, true).await?.is_empty()
            || finish_if_done(polis, &id).await? == RunCheck::Changed
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
    /// Work is left, or an answer of the human user is pending.
    Open,
    /// It changed during the check, which is therefore inconclusive: check again.
    Changed,
}

/// Checks whether these runs, or all if none are named, are settled: no member has work now, or will have some later
/// without an external cause.
pub(crate) async fn check_settled(polis: &Polis, only: &[RunId]) -> Result<RunCheck, OpError> {
    // Each query is a separate snapshot, and members keep working in between. So unread messages are queried before
    // working members: a member that reads its messages in between is working, and a member that became idle in between
    // has sent no message if nothing of these runs was logged meanwhile. Events of other runs, of tasks and of boards
    // do not count: on a busy store there are always some.
    let seen = polis.store.last_sequence().await?;
    let now = polis.clock.now_millis();
    let driven = driven_runs(polis, only).await?;
    for key in waiting(polis).await? {
        if !driven.contains_key(&key.run) {
            continue;
        }
        let stored = polis.store.record(&member::state_name(&key)).await?;
        let state = stored.and_then(|stored| Kept::<MemberState>::read(&stored).ok());
        // A working member may become idle before working members are queried, with this message still unread.
        let hears = state.is_some_and(|kept| {
            matches!(
                kept.value.status,
                MemberStatus::Idle | MemberStatus::Working
            )
        });
        if hears && drives(polis, &key).await? {
            return Ok(RunCheck::Open);
        }
    }
    let active = driven
        .iter()
        .filter(|(_, status)| **status == RunStatus::Active);
    for (id, _) in active {
        if !at_work(polis, id, true).await?.is_empty() {
            return Ok(RunCheck::Open);
        }
    }
    if polis.store.next_delivery_of_any(now).await?.is_some() {
        for id in driven.keys() {
            for agent in members(polis, id, |_| true, false).await? {
                let next = polis.store.next_delivery(&agent.agent, now).await?;
                if next.is_some() {
                    return Ok(RunCheck::Open);
                }
            }
        }
    }
    match has_news(polis, seen, only).await? {
        true => Ok(RunCheck::Changed),
        false => Ok(RunCheck::Done),
    }
}

/// Returns whether an event after `seen` may give work to a member of these runs, or of any run if none are named.
async fn has_news(polis: &Polis, seen: u64, only: &[RunId]) -> Result<bool, OpError> {
    let mut query = EventQuery {
        after: seen,
        limit: PAGE,
        ..EventQuery::default()
    };
    loop {
        let page = polis.store.events(&query).await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        query.after = last.seq;
        let mut news = page.iter().filter_map(meaning);
        let is_meant = |run: &RunId| only.is_empty() || only.contains(run);
        if news.any(|signal| signal.run().is_some_and(is_meant)) {
            return Ok(true);
        }
    }
}

/// Marks a run as done if nothing is left to do in it: it is settled, no member is blocked, and no question to the
/// human user is open. The run of an outside agent is checked but never marked: that agent decides when it is done.
pub(crate) async fn finish_if_done(polis: &Polis, id: &RunId) -> Result<RunCheck, OpError> {
    let Some(run) = read_run(polis, id).await? else {
        return Ok(RunCheck::Open);
    };
    match run.value.status {
        RunStatus::Done => return Ok(RunCheck::Done),
        RunStatus::Active => {}
        RunStatus::Paused | RunStatus::Stopped => return Ok(RunCheck::Open),
    }
    let is_held = |stored: &Stored| {
        Kept::<MemberState>::read(stored).is_ok_and(|kept| {
            use MemberStatus::{Asking, Parked, Paused};
            matches!(kept.value.status, Asking | Paused | Parked)
        })
    };
    let settled = check_settled(polis, std::slice::from_ref(id)).await?;
    if settled != RunCheck::Done {
        return Ok(settled);
    }
    if !members(polis, id, is_held, true).await?.is_empty()
        || !op::open_questions(polis, id).await?.is_empty()
    {
        return Ok(RunCheck::Open);
    }
    let is_done = match run.value.head.is_root() {
        true => op::finish_run(polis, id, run.revision).await?,
        false => (read_run(polis, id).await?).is_some_and(|now| now.revision == run.revision),
    };
    match is_done {
        true => Ok(RunCheck::Done),
        false => Ok(RunCheck::Changed),
    }
}

/// Returns whether a member is driven by a worker, rather than being an outside agent.
async fn drives(polis: &Polis, key: &MemberKey) -> Result<bool, OpError> {
    let stored = polis.store.record(&member::record_name(key)).await?;
    let member = stored.and_then(|stored| Kept::<member::Member>::read(&stored).ok());
    Ok(member.is_some_and(|kept| !kept.value.outside))
}

impl Worker {
    /// Wakes all members of a run that are at work.
    pub(super) async fn scan_states(&mut self, run: &RunId) -> Result<(), OpError> {
        for key in at_work(&self.shared.polis, run, false).await? {
            self.wake(key);
        }
        Ok(())
    }

    /// Wakes all members with unread messages.
    pub(super) async fn scan_mail(&mut self) {
        match waiting(&self.shared.polis).await {
            Ok(found) => {
                self.look_for_mail = false;
                for key in found {
                    self.wake(key);
                }
                self.find_delivery().await;
            }
            // Retry soon.
            Err(_) => self.delivery = Some(Instant::now() + AGAIN),
        }
    }

    /// Determines when the next delayed message is due.
    pub(super) async fn find_delivery(&mut self) {
        let now = self.shared.polis.clock.now_millis();
        match self.shared.polis.store.next_delivery_of_any(now).await {
            Ok(None) => self.delivery = None,
            Ok(Some(at)) => {
                let wait = u64::try_from(at.saturating_sub(now)).unwrap_or(0).max(1);
                self.delivery = Some(Instant::now() + Duration::from_millis(wait));
            }
            Err(_) => self.delivery = Some(Instant::now() + AGAIN),
        }
    }

    /// Checks a run after its lease was released, and signals it if a member has got work meanwhile.
    pub(super) async fn look_at_rested(&mut self, run: &RunId) {
        let work = at_work(&self.shared.polis, run, true).await;
        if work.is_ok_and(|found| found.is_empty()) {
            return;
        }
        let _ = self.signal.send(Signal::Look(run.clone()));
    }
}
