//! Leases of a worker: takes runs with work, renews their leases, drops expired ones, and releases runs that are idle.

use std::time::Duration;

use polis_core::RunId;
use tokio::time::{Instant, timeout, timeout_at};

use super::Worker;
use super::scan::{RunCheck, finish_if_done};
use crate::lease::{self, Lease};

/// Additional delay per held lease before a worker takes a free run, so that a worker with fewer runs is faster.
const POLITE: Duration = Duration::from_millis(20);
/// Maximum of that delay.
const MOST_POLITE: Duration = Duration::from_secs(1);
/// Pause after a store failure.
const AGAIN: Duration = Duration::from_millis(100);

/// A run that may have work and is not leased by this worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Since when this is known.
    pub(super) since: Instant,
    /// When the lease of another worker ends.
    pub(super) not_before: Instant,
}

impl Worker {
    fn lease_ms(&self) -> u64 {
        u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX)
    }

    /// Adds a run that may have work to the wanted runs.
    pub(super) fn want(&mut self, run: RunId) {
        let ours = self.settings.runs.is_empty() || self.settings.runs.contains(&run);
        if !ours || self.leases.contains_key(&run) {
            return;
        }
        let now = Instant::now();
        self.wanted.entry(run).or_insert(Wanted {
            since: now,
            not_before: now,
        });
    }

    /// Returns when to try to lease a run: the more leases this worker holds, the later.
    pub(super) fn due_of(&self, wanted: &Wanted) -> Instant {
        let held = u32::try_from(self.leases.len()).unwrap_or(u32::MAX);
        let wait = POLITE.saturating_mul(held).min(MOST_POLITE);
        (wanted.since + wait).max(wanted.not_before)
    }

    /// Tries to lease the runs that are due, and scans them for members at work.
    pub(super) async fn take_wanted(&mut self) {
        let mut runs: Vec<RunId> = self.wanted.keys().cloned().collect();
        runs.sort();
        for run in runs {
            let now = Instant::now();
            let Some(wanted) = self.wanted.get(&run).copied() else {
                continue;
            };
            let ours = self.leases.contains_key(&run);
            if !ours && self.due_of(&wanted) > now {
                continue;
            }
            self.wanted.remove(&run);
            let tried = timeout(self.settings.lease / 3, self.take(&run)).await;
            let (not_before, away) = match tried {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(later))) => (later, false),
                Ok(Err(_)) | Err(_) => (Instant::now() + AGAIN, true),
            };
            let since = wanted.since;
            self.wanted.insert(run, Wanted { since, not_before });
            if away {
                // Check for expired leases before trying the next run.
                return;
            }
        }
    }

    /// Leases a run; returns when to try again if another worker holds it.
    async fn take(&mut self, run: &RunId) -> Result<Option<Instant>, polis_ops::OpError> {
        let polis = self.shared.polis.clone();
        if !super::scan::may_be_driven(&polis, run).await? {
            return Ok(None);
        }
        if !self.leases.contains_key(run) {
            let worker = &self.shared.worker;
            let taken = Lease::take(&polis, worker, run, self.lease_ms()).await?;
            let Some(lease) = taken else {
                let now = polis.clock.now_millis();
                let holder = lease::holder(&polis, run).await?;
                let end = holder.map_or(now, |holder| holder.until);
                let wait = u64::try_from(end.saturating_sub(now)).unwrap_or(0);
                let wait = Duration::from_millis(wait.saturating_add(20));
                return Ok(Some(Instant::now() + wait.min(self.settings.lease)));
            };
            self.leases.insert(run.clone(), lease);
        }
        self.look_for_mail = true;
        self.scan_states(run).await?;
        Ok(None)
    }

    /// Cancels the work of runs whose lease has expired, whatever the state of the store.
    pub(super) fn drop_ended(&mut self) {
        let now = self.shared.polis.clock.now_millis();
        let ended: Vec<RunId> = (self.leases.values())
            .filter(|lease| !lease.holds(now))
            .map(|lease| lease.run().clone())
            .collect();
        for run in ended {
            self.lose(&run);
        }
    }

    fn lose(&mut self, run: &RunId) {
        self.leases.remove(run);
        self.resting.remove(run);
        self.halt(run, false, |seat| &seat.stop);
        self.want(run.clone());
    }

    /// Renews all leases in one commit; then releases those of idle runs.
    ///
    /// The renewal comes first, and all of this is bounded in time: a slow store, or many runs that become idle at
    /// once, must not cost the leases of the others.
    pub(super) async fn renew(&mut self) {
        let begun = Instant::now();
        self.renew_at = begun + self.settings.lease / 3;
        let rested = self.rested_runs();
        if !self.renew_leases().await {
            // Retry soon; expired leases are dropped in time.
            self.renew_at = Instant::now() + AGAIN;
            self.resting.extend(rested);
            return;
        }
        self.give_back_rested(rested, begun).await;
    }

    /// Returns the runs without work since the renewal before the last.
    fn rested_runs(&mut self) -> Vec<RunId> {
        let busy = |run: &RunId| {
            self.seats.keys().any(|key| key.run == *run)
                || self.queue.iter().any(|key| key.run == *run)
        };
        let (busy, idle): (Vec<RunId>, Vec<RunId>) = self.leases.keys().cloned().partition(busy);
        let mut rested = Vec::new();
        for run in idle {
            if !self.resting.insert(run.clone()) {
                self.resting.remove(&run);
                rested.push(run);
            }
        }
        for run in &busy {
            self.resting.remove(run);
        }
        rested
    }

    /// Renews all leases. Returns whether the store did so in time.
    async fn renew_leases(&mut self) -> bool {
        let mut leases: Vec<Lease> = self.leases.values().cloned().collect();
        if leases.is_empty() {
            return true;
        }
        let polis = self.shared.polis.clone();
        let renewed = lease::renew_all(&polis, &mut leases, self.lease_ms());
        let Ok(Ok(lost)) = timeout(self.settings.lease / 3, renewed).await else {
            return false;
        };
        for lease in leases {
            self.leases.insert(lease.run().clone(), lease);
        }
        for run in lost {
            self.lose(&run);
        }
        true
    }

    /// Marks those of these runs as done that have nothing left to do, and releases all of them. The preceding renewal
    /// began at `begun`; this ends two thirds of a lease after that, so that the next renewal is in time.
    async fn give_back_rested(&mut self, mut rested: Vec<RunId>, begun: Instant) {
        rested.retain(|run| self.leases.contains_key(run));
        if rested.is_empty() {
            return;
        }
        let polis = self.shared.polis.clone();
        let checked_until = begun + self.settings.lease / 2;
        let until = begun + self.settings.lease * 2 / 3;
        let (mut runs, mut leases) = (Vec::new(), Vec::new());
        for run in rested {
            // Check while the lease is still held, so that no other worker starts work at the same time. A run that
            // changed meanwhile, or for which there is no time left, is checked again at the next renewal.
            let checked = timeout_at(checked_until, finish_if_done(&polis, &run)).await;
            if !matches!(checked, Ok(Ok(RunCheck::Done | RunCheck::Open))) {
                self.resting.insert(run);
                continue;
            }
            leases.extend(self.leases.remove(&run));
            runs.push(run);
        }
        let _ = timeout_at(until, lease::give_back_all(&polis, leases)).await;
        // Work that arrived in between is taken by the worker that is first.
        for run in runs {
            if timeout_at(until, self.look_at_rested(&run)).await.is_err() {
                self.want(run);
            }
        }
    }

    /// Releases all leases.
    pub(super) async fn give_back(&mut self, until: Instant) {
        let leases: Vec<Lease> = self.leases.drain().map(|(_, lease)| lease).collect();
        let polis = self.shared.polis.clone();
        let _ = timeout_at(until, lease::give_back_all(&polis, leases)).await;
    }
}
