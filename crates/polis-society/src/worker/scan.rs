//! Looking into the store for those who have something to do.

use std::collections::HashSet;
use std::time::Duration;

use polis_core::RunId;
use polis_core::record::{RecordKind, Stored};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::run::{self, Run, RunStatus};
use polis_core::society::{Kept, MemberKey};
use polis_ops::port::Mailbox;
use polis_ops::{OpError, Polis};
use tokio::time::Instant;

use super::{Signal, Worker};

/// How many are read at once; a store reads so few where it is asked.
const PAGE: u32 = 50;
/// How long a store that failed is left alone.
const AGAIN: Duration = Duration::from_millis(100);

/// Whether a run's members may do anything.
pub(super) async fn is_active(polis: &Polis, id: &RunId) -> Result<bool, OpError> {
    let stored = polis.store.record(&run::record_name(id)).await?;
    let run = stored.and_then(|stored| Kept::<Run>::read(&stored).ok());
    Ok(run.is_some_and(|run| run.value.status == RunStatus::Active))
}

/// The runs whose members may do something.
async fn active_runs(polis: &Polis, only: &[RunId]) -> Result<Vec<RunId>, OpError> {
    let mut found = Vec::new();
    if !only.is_empty() {
        for id in only {
            if is_active(polis, id).await? {
                found.push(id.clone());
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
        let active = runs.filter(|run| run.value.status == RunStatus::Active);
        found.extend(active.map(|run| run.value.id));
    }
}

/// The members of a run that are at work; the first only, if `first`.
async fn at_work(polis: &Polis, id: &RunId, first: bool) -> Result<Vec<MemberKey>, OpError> {
    let works = |stored: &Stored| {
        // Most are idle, and need not be read whole.
        stored.body.contains("\"status\":\"working\"")
            && Kept::<MemberState>::read(stored)
                .is_ok_and(|kept| kept.value.status == MemberStatus::Working)
    };
    members(polis, id, works, first).await
}

/// The members of a run whose state is so; the first only, if `first`.
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

/// The mailboxes of runs with messages that wait now.
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

/// Where to look at the start: every run that is active and has somebody at work.
pub(super) async fn runs_at_work(polis: &Polis, only: &[RunId]) -> Result<Vec<RunId>, OpError> {
    let mut found = Vec::new();
    for id in active_runs(polis, only).await? {
        if !at_work(polis, &id, true).await?.is_empty() {
            found.push(id);
        }
    }
    Ok(found)
}

/// Whether nobody of these runs, or of all if none are named, has anything to do now or later by itself.
pub(crate) async fn is_settled(polis: &Polis, only: &[RunId]) -> Result<bool, OpError> {
    // Each question is one look of its own, and members go on between them. So it is asked who has mail before it is
    // asked who works: who takes its mail in between works, and who has gone idle in between has written to nobody
    // if nothing was logged meanwhile.
    let seen = polis.store.last_sequence().await?;
    let now = polis.clock.now_millis();
    let active: HashSet<RunId> = active_runs(polis, only).await?.into_iter().collect();
    for key in waiting(polis).await? {
        if !active.contains(&key.run) {
            continue;
        }
        let stored = polis.store.record(&member::state_name(&key)).await?;
        let state = stored.and_then(|stored| Kept::<MemberState>::read(&stored).ok());
        // Who works may be idle again before it is asked who works, with this mail still to be heard.
        let hears = state.is_some_and(|kept| {
            matches!(
                kept.value.status,
                MemberStatus::Idle | MemberStatus::Working
            )
        });
        if hears && drives(polis, &key).await? {
            return Ok(false);
        }
    }
    for id in &active {
        if !at_work(polis, id, true).await?.is_empty() {
            return Ok(false);
        }
    }
    if polis.store.next_delivery_of_any(now).await?.is_some() {
        for id in &active {
            for agent in members(polis, id, |_| true, false).await? {
                let next = polis.store.next_delivery(&agent.agent, now).await?;
                if next.is_some() {
                    return Ok(false);
                }
            }
        }
    }
    Ok(polis.store.last_sequence().await? == seen)
}

/// Whether a member is one that is driven.
async fn drives(polis: &Polis, key: &MemberKey) -> Result<bool, OpError> {
    let stored = polis.store.record(&member::record_name(key)).await?;
    let member = stored.and_then(|stored| Kept::<member::Member>::read(&stored).ok());
    Ok(member.is_some_and(|kept| !kept.value.outside))
}

impl Worker {
    /// Everybody of a run who is at work.
    pub(super) async fn scan_states(&mut self, run: &RunId) -> Result<(), OpError> {
        for key in at_work(&self.shared.polis, run, false).await? {
            self.wake(key);
        }
        Ok(())
    }

    /// Everybody who has mail.
    pub(super) async fn scan_mail(&mut self) {
        match waiting(&self.shared.polis).await {
            Ok(found) => {
                self.look_for_mail = false;
                for key in found {
                    self.wake(key);
                }
                self.find_delivery().await;
            }
            // Again soon.
            Err(_) => self.delivery = Some(Instant::now() + AGAIN),
        }
    }

    /// When the next message that is still to come does.
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

    /// A run was given back: whoever came to have something to do meanwhile is seen to.
    pub(super) async fn look_at_rested(&mut self, run: &RunId) {
        let work = at_work(&self.shared.polis, run, true).await;
        if work.is_ok_and(|found| found.is_empty()) {
            return;
        }
        let _ = self.signal.send(Signal::Look(run.clone()));
    }
}
