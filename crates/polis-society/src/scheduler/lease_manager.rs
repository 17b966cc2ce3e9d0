//! Lease handling of the [`Scheduler`]: leases runs that may have work and wakes their working members, renews
//! the leases, and releases those of idle runs, which are marked done if nothing is left to do.
//!
//! If a lease expires or is lost, the run's members are cancelled. The more leases a worker holds, the later
//! it takes another run. The lease record itself is in `run_lease`.

use std::time::Duration;

use polis_core::RunId;
use polis_core::number::saturating_cast;
use tokio::time::{Instant, timeout, timeout_at};

use super::Scheduler;
use super::store_scan::{RunCheck, finish_if_done};
use crate::run_lease::{self, RunLease};

/// Additional delay per held lease before a worker takes a free run, so that a worker with fewer runs is
/// faster.
const ACQUIRE_DELAY_PER_LEASE: Duration = Duration::from_millis(20);
/// Maximum of that delay.
const MAX_ACQUIRE_DELAY: Duration = Duration::from_secs(1);
/// Pause after a store failure.
const STORE_RETRY_BACKOFF: Duration = Duration::from_millis(100);

/// A run that may have work: to be leased, or to be scanned if this worker has the lease already.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidateRun {
    /// Since when this is known.
    pub(super) since: Instant,
    /// When the lease of another worker ends.
    pub(super) not_before: Instant,
}

impl Scheduler {
    /// Returns the duration of a lease in milliseconds.
    fn lease_ms(&self) -> u64 {
        saturating_cast::<u64>(self.settings.lease_duration.as_millis())
    }

    /// Adds a run that may have work to the candidate runs.
    pub(super) fn add_candidate(&mut self, run: RunId) {
        let is_included = self.settings.runs.is_empty() || self.settings.runs.contains(&run);
        if !is_included || self.leases.contains_key(&run) {
            return;
        }
        let now = Instant::now();
        self.candidate_runs.entry(run).or_insert(CandidateRun {
            since: now,
            not_before: now,
        });
    }

    /// Returns when to try to lease a run: the more leases this worker holds, the later.
    pub(super) fn acquire_at(&self, candidate: &CandidateRun) -> Instant {
        let lease_count = saturating_cast::<u32>(self.leases.len());
        let wait = ACQUIRE_DELAY_PER_LEASE
            .saturating_mul(lease_count)
            .min(MAX_ACQUIRE_DELAY);
        (candidate.since + wait).max(candidate.not_before)
    }

    /// Tries to lease the runs that are due, and scans them for members at work.
    pub(super) async fn acquire_candidates(&mut self) {
        let mut runs: Vec<RunId> = self.candidate_runs.keys().cloned().collect();
        runs.sort();
        for run in runs {
            let now = Instant::now();
            let Some(candidate) = self.candidate_runs.get(&run).copied() else {
                continue;
            };
            let is_leased = self.leases.contains_key(&run);
            if !is_leased && self.acquire_at(&candidate) > now {
                continue;
            }
            self.candidate_runs.remove(&run);
            let result = timeout(self.settings.lease_duration / 3, self.acquire_run(&run)).await;
            let (not_before, away) = match result {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(later))) => (later, false),
                Ok(Err(_)) | Err(_) => (Instant::now() + STORE_RETRY_BACKOFF, true),
            };
            let since = candidate.since;
            self.candidate_runs
                .insert(run, CandidateRun { since, not_before });
            if away {
                // Check for expired leases before trying the next run.
                return;
            }
        }
    }

    /// Leases a run, unless this worker holds it already, and wakes its working members. Returns when to try
    /// again if another worker holds the run.
    async fn acquire_run(&mut self, run: &RunId) -> Result<Option<Instant>, polis_ops::OpError> {
        let app = self.society_state.app.clone();
        if !super::store_scan::is_run_drivable(&app, run).await? {
            return Ok(None);
        }
        if !self.leases.contains_key(run) {
            let worker = &self.society_state.worker_name;
            let acquired = RunLease::acquire(&app, worker, run, self.lease_ms()).await?;
            let Some(lease) = acquired else {
                let now = app.clock.now_millis();
                let holder = run_lease::current_holder(&app, run).await?;
                let end = holder.map_or(now, |holder| holder.until);
                let wait = u64::try_from(end.saturating_sub(now)).unwrap_or(0);
                let wait = Duration::from_millis(wait.saturating_add(20));
                return Ok(Some(
                    Instant::now() + wait.min(self.settings.lease_duration),
                ));
            };
            self.leases.insert(run.clone(), lease);
        }
        self.needs_mail_scan = true;
        self.wake_working_members(run).await?;
        Ok(None)
    }

    /// Cancels the work of runs whose lease has expired, whatever the state of the store.
    pub(super) fn drop_expired_leases(&mut self) {
        let now = self.society_state.app.clock.now_millis();
        let expired: Vec<RunId> = (self.leases.values())
            .filter(|lease| !lease.is_valid_at(now))
            .map(|lease| lease.run().clone())
            .collect();
        for run in expired {
            self.drop_lease(&run);
        }
    }

    /// Forgets the lease of a run, cancels its members, and makes the run a candidate again.
    fn drop_lease(&mut self, run: &RunId) {
        self.leases.remove(run);
        self.idle_runs.remove(run);
        self.cancel_run(run, false, |member| &member.stop);
        self.add_candidate(run.clone());
    }

    /// Renews all leases in one commit; then releases those of idle runs.
    ///
    /// The renewal comes first, and all of this is bounded in time: a slow store, or many runs that become
    /// idle at once, must not cost the leases of the others.
    pub(super) async fn renew_and_release(&mut self) {
        let started = Instant::now();
        self.renew_at = started + self.settings.lease_duration / 3;
        let idle_runs = self.take_idle_runs();
        if !self.renew_leases().await {
            // Retry soon; expired leases are dropped in time.
            self.renew_at = Instant::now() + STORE_RETRY_BACKOFF;
            self.idle_runs.extend(idle_runs);
            return;
        }
        self.release_idle_runs(idle_runs, started).await;
    }

    /// Returns the runs that had no work at the last renewal and have none now.
    fn take_idle_runs(&mut self) -> Vec<RunId> {
        let busy = |run: &RunId| {
            self.running_members.keys().any(|key| key.run == *run)
                || self.queue.iter().any(|key| key.run == *run)
        };
        let (busy, idle): (Vec<RunId>, Vec<RunId>) = self.leases.keys().cloned().partition(busy);
        let mut idle_runs = Vec::new();
        for run in idle {
            if !self.idle_runs.insert(run.clone()) {
                self.idle_runs.remove(&run);
                idle_runs.push(run);
            }
        }
        for run in &busy {
            self.idle_runs.remove(run);
        }
        idle_runs
    }

    /// Renews all leases. Returns whether the store did so in time.
    async fn renew_leases(&mut self) -> bool {
        let mut leases: Vec<RunLease> = self.leases.values().cloned().collect();
        if leases.is_empty() {
            return true;
        }
        let app = self.society_state.app.clone();
        let renewal = run_lease::renew_all(&app, &mut leases, self.lease_ms());
        let Ok(Ok(lost_runs)) = timeout(self.settings.lease_duration / 3, renewal).await else {
            return false;
        };
        for lease in leases {
            self.leases.insert(lease.run().clone(), lease);
        }
        for run in lost_runs {
            self.drop_lease(&run);
        }
        true
    }

    /// Marks those of these runs as done that have nothing left to do, and releases all of them. The
    /// preceding renewal began at `started`; this ends two thirds of a lease after that, so that the next
    /// renewal is in time.
    async fn release_idle_runs(&mut self, mut idle_runs: Vec<RunId>, started: Instant) {
        idle_runs.retain(|run| self.leases.contains_key(run));
        if idle_runs.is_empty() {
            return;
        }
        let app = self.society_state.app.clone();
        let checked_until = started + self.settings.lease_duration / 2;
        let until = started + self.settings.lease_duration * 2 / 3;
        let (mut runs, mut leases) = (Vec::new(), Vec::new());
        for run in idle_runs {
            // Check while the lease is still held, so that no other worker starts work at the same time. A
            // run that changed meanwhile, or for which there is no time left, is checked again at the next
            // renewal.
            let checked = timeout_at(checked_until, finish_if_done(&app, &run)).await;
            if !matches!(checked, Ok(Ok(RunCheck::Done | RunCheck::Open))) {
                self.idle_runs.insert(run);
                continue;
            }
            leases.extend(self.leases.remove(&run));
            runs.push(run);
        }
        let _ = timeout_at(until, run_lease::release_all(&app, leases)).await;
        // Work that arrived in between is taken by the worker that is first.
        for run in runs {
            if timeout_at(until, self.recheck_released_run(&run))
                .await
                .is_err()
            {
                self.add_candidate(run);
            }
        }
    }

    /// Releases all leases of this worker, at the latest at `until`.
    pub(super) async fn release_leases(&mut self, until: Instant) {
        let leases: Vec<RunLease> = self.leases.drain().map(|(_, lease)| lease).collect();
        let app = self.society_state.app.clone();
        let _ = timeout_at(until, run_lease::release_all(&app, leases)).await;
    }
}
