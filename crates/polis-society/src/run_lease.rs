//! Run leases: a run is driven by one worker at a time, which holds a lease until a deadline and renews it
//! while it runs.
//!
//! There is one record for each run, written with the revision at which it was read (compare-and-swap), so of
//! several workers that try at the same moment one succeeds. The record of a released lease is kept, with the
//! deadline 0: its revision never restarts, so a worker that was suspended cannot mistake another worker's lease
//! for its own. What a worker does with a run is decided in `scheduler`; writes by a member with an expired
//! lease are rejected by the revision of the member's own record.

use polis_core::changeset::{Changeset, StoreWrite};
use polis_core::record::{RecordKind, RecordName};
use polis_core::society::versioned::{self, VersionedRecord};
use polis_core::{AgentId, RecordKey, RunId};
use polis_ops::port::CommitOutcome;
use polis_ops::{App, OpError, PortError};
use serde::{Deserialize, Serialize};

use crate::process_identity;
use crate::refusal_tables::MemberRefusal;

/// How long an expired lease is still respected (milliseconds): its worker may still be ending commands.
pub const LEASE_GRACE_MS: i64 = 500;

/// Maximum attempts to write a lease that other workers keep changing.
const MAX_COMMIT_ATTEMPTS: u32 = 16;

/// The holder of a lease and its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// The name of the worker, which contains its process identity.
    pub worker: String,
    /// Deadline (milliseconds); 0 if the lease was released.
    pub until: i64,
}

/// Returns whether a worker may take a lease at this moment. The record contains the worker's own name if it
/// was restarted, or if it did not receive the confirmation of its commit.
fn may_acquire(found: Option<&VersionedRecord<LeaseHolder>>, worker: &str, now: i64) -> bool {
    let Some(VersionedRecord { value: holder, .. }) = found else {
        return true;
    };
    holder.until == 0
        || holder.worker == worker
        || now >= holder.until.saturating_add(LEASE_GRACE_MS)
}

/// As `may_acquire`, but also true if the holder is a process of this machine that has ended.
fn may_acquire_on_this_machine(
    found: Option<&VersionedRecord<LeaseHolder>>,
    worker: &str,
    now: i64,
) -> bool {
    may_acquire(found, worker, now)
        || found.is_some_and(|found| process_identity::has_ended(&found.value.worker))
}

/// Returns the lease record of a worker that takes or renews a lease. The deadline never moves back: the
/// worker may not receive the confirmation and keep relying on the later deadline.
fn acquired_record(
    found: Option<&VersionedRecord<LeaseHolder>>,
    worker: &str,
    now: i64,
    for_ms: u64,
) -> VersionedRecord<LeaseHolder> {
    let until = now.saturating_add_unsigned(for_ms.max(1));
    let own_lease = found.filter(|found| found.value.worker == worker);
    VersionedRecord {
        value: LeaseHolder {
            worker: worker.to_owned(),
            until: own_lease.map_or(until, |own_lease| own_lease.value.until.max(until)),
        },
        revision: found.map_or(0, |found| found.revision) + 1,
    }
}

/// The lease of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLease {
    run: RunId,
    record: VersionedRecord<LeaseHolder>,
}

impl RunLease {
    /// Takes the lease of a run for `for_ms` milliseconds; returns `None` if another worker holds it. Worker
    /// names must be unique within a store. Fails only if the store does.
    pub async fn acquire(
        app: &App,
        worker: &str,
        run: &RunId,
        for_ms: u64,
    ) -> Result<Option<Self>, OpError> {
        for _ in 0..MAX_COMMIT_ATTEMPTS {
            let found = load_lease(app, run).await?;
            let now = app.clock.now_millis();
            if !may_acquire_on_this_machine(found.as_ref(), worker, now) {
                return Ok(None);
            }
            let record = acquired_record(found.as_ref(), worker, now, for_ms);
            let write = match &found {
                Some(found) => found.update_write(lease_record_name(run), &record.value),
                None => versioned::new_record_write(lease_record_name(run), &record.value),
            };
            if commit_writes(app, vec![write]).await?.is_none() {
                let run = run.clone();
                return Ok(Some(Self { run, record }));
            }
        }
        Ok(None)
    }

    /// Returns the run that this lease is for.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the deadline (milliseconds). From then on the worker must not do anything for the run.
    pub fn expires_at_ms(&self) -> i64 {
        self.record.value.until
    }

    /// Returns whether the lease is valid at this moment.
    pub fn is_valid_at(&self, now: i64) -> bool {
        now < self.record.value.until
    }

    /// Renews the lease. Returns whether the worker still holds it; an expired lease is lost, and may be
    /// taken again. Fails only if the store does.
    pub async fn renew(&mut self, app: &App, for_ms: u64) -> Result<bool, OpError> {
        let mut one = vec![self.clone()];
        let lost_runs = renew_all(app, &mut one, for_ms).await?;
        if let Some(renewed) = one.pop() {
            *self = renewed;
        }
        Ok(lost_runs.is_empty())
    }

    /// Releases the lease, so that others can take the run at once. Fails only if the store does.
    pub async fn release(self, app: &App) -> Result<(), OpError> {
        release_all(app, vec![self]).await
    }
}

/// Returns the worker that holds the lease of a run; `None` if the lease is free or expired. Fails only if
/// the store does.
pub async fn current_holder(app: &App, run: &RunId) -> Result<Option<LeaseHolder>, OpError> {
    let now = app.clock.now_millis();
    let found = load_lease(app, run).await?.map(|found| found.value);
    Ok(found.filter(|holder| now < holder.until))
}

/// Renews all these leases in one commit. Lost leases are removed from the list, and their runs are returned.
///
/// If the store fails, the leases are unchanged and may be renewed again.
pub async fn renew_all(
    app: &App,
    leases: &mut Vec<RunLease>,
    for_ms: u64,
) -> Result<Vec<RunId>, OpError> {
    let mut lost_runs = Vec::new();
    for _ in 0..MAX_COMMIT_ATTEMPTS {
        let now = app.clock.now_millis();
        move_lost_leases(leases, &mut lost_runs, |lease| lease.is_valid_at(now));
        if leases.is_empty() {
            return Ok(lost_runs);
        }
        let renewed: Vec<VersionedRecord<LeaseHolder>> = leases
            .iter()
            .map(|lease| {
                acquired_record(Some(&lease.record), &lease.record.value.worker, now, for_ms)
            })
            .collect();
        let writes = (leases.iter().zip(&renewed))
            .map(|(lease, new)| {
                lease
                    .record
                    .update_write(lease_record_name(&lease.run), &new.value)
            })
            .collect();
        if commit_writes(app, writes).await?.is_none() {
            for (lease, new) in leases.iter_mut().zip(renewed) {
                lease.record = new;
            }
            return Ok(lost_runs);
        }
        // One of them was taken by another worker, or was renewed by a commit whose confirmation was lost.
        for lease in leases.iter_mut() {
            match load_lease(app, &lease.run).await? {
                Some(found) if found.value.worker == lease.record.value.worker => {
                    lease.record = found;
                }
                _ => lease.record.value.until = 0,
            }
        }
    }
    move_lost_leases(leases, &mut lost_runs, |_| false);
    Ok(lost_runs)
}

/// Releases all these leases in one commit. If some were lost already, they are skipped and the rest is
/// committed again. Fails only if the store does.
pub async fn release_all(app: &App, mut leases: Vec<RunLease>) -> Result<(), OpError> {
    while !leases.is_empty() {
        let free = |lease: &RunLease| LeaseHolder {
            until: 0,
            ..lease.record.value.clone()
        };
        let writes = (leases.iter())
            .map(|lease| {
                lease
                    .record
                    .update_write(lease_record_name(&lease.run), &free(lease))
            })
            .collect();
        match commit_writes(app, writes).await? {
            None => return Ok(()),
            // Another worker holds it: nothing to release.
            Some(key) => {
                let before = leases.len();
                leases.retain(|lease| RecordKey::Record(lease_record_name(&lease.run)) != key);
                if leases.len() == before {
                    return Err(
                        damaged_lease_error("a conflict with nothing that was written").into(),
                    );
                }
            }
        }
    }
    Ok(())
}

/// Moves leases that are no longer held from `leases` to `lost_runs`.
fn move_lost_leases(
    leases: &mut Vec<RunLease>,
    lost_runs: &mut Vec<RunId>,
    is_held: impl Fn(&RunLease) -> bool,
) {
    leases.retain(|lease| {
        let is_kept = is_held(lease);
        if !is_kept {
            lost_runs.push(lease.run.clone());
        }
        is_kept
    });
}

/// Returns the record name of a run's lease.
fn lease_record_name(run: &RunId) -> RecordName {
    RecordName::new(RecordKind::RunLease, run.as_str())
}

/// Commits; returns the key of the conflict, if there was one.
async fn commit_writes(app: &App, writes: Vec<StoreWrite>) -> Result<Option<RecordKey>, OpError> {
    let changes = Changeset {
        actor: AgentId::root(),
        at: app.now(),
        writes,
        events: Vec::new(),
    };
    Ok(match app.store.commit(changes).await? {
        CommitOutcome::Committed(_) => None,
        CommitOutcome::Conflict(key) => Some(key),
    })
}

/// Reads the lease record of a run. Fails with `StoreCorrupt` if it cannot be parsed.
async fn load_lease(
    app: &App,
    run: &RunId,
) -> Result<Option<VersionedRecord<LeaseHolder>>, OpError> {
    let stored = app.store.record(&lease_record_name(run)).await?;
    let found = stored
        .as_ref()
        .map(VersionedRecord::from_stored)
        .transpose();
    Ok(found.map_err(damaged_lease_error)?)
}

/// Returns the error for a lease record that cannot be parsed.
fn damaged_lease_error(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> PortError {
    PortError::from(MemberRefusal::LeaseDamaged).with_source(source)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lease_record(worker: &str, until: i64) -> VersionedRecord<LeaseHolder> {
        VersionedRecord {
            value: LeaseHolder {
                worker: worker.to_owned(),
                until,
            },
            revision: 3,
        }
    }

    #[test]
    fn lease_is_acquired_only_when_free_expired_or_own() {
        let table = [
            (None, 0, true),
            (Some(lease_record("other", 0)), 0, true),
            (Some(lease_record("other", 0)), i64::MAX, true),
            (Some(lease_record("other", 1_000)), 0, false),
            (Some(lease_record("other", 1_000)), 999, false),
            // Its worker stops at the deadline, and has a grace period to do so.
            (Some(lease_record("other", 1_000)), 1_000, false),
            (
                Some(lease_record("other", 1_000)),
                999 + LEASE_GRACE_MS,
                false,
            ),
            (
                Some(lease_record("other", 1_000)),
                1_000 + LEASE_GRACE_MS,
                true,
            ),
            (Some(lease_record("other", i64::MAX)), i64::MAX, true),
            // Restarted, or the confirmation was lost.
            (Some(lease_record("me", 1_000)), 0, true),
            (Some(lease_record("me", 1_000)), 9_000, true),
        ];
        for (found, now, is_acquired) in table {
            assert_eq!(
                may_acquire(found.as_ref(), "me", now),
                is_acquired,
                "{found:?} {now}"
            );
            let record = acquired_record(found.as_ref(), "me", now, 10);
            assert_eq!(record.revision, if found.is_some() { 4 } else { 1 });
            assert_eq!(record.value.worker, "me");
            assert!(record.value.until >= now.saturating_add(10));
        }
    }

    #[test]
    fn lease_deadline_never_moves_back() {
        let until = |found: &VersionedRecord<LeaseHolder>, now, for_ms| {
            let record = acquired_record(Some(found), "me", now, for_ms);
            record.value.until
        };
        assert_eq!(until(&lease_record("me", 1_000), 500, 400), 1_000);
        assert_eq!(until(&lease_record("me", 1_000), 500, 600), 1_100);
        assert_eq!(until(&lease_record("other", 1_000), 1_600, 1), 1_601);
        assert_eq!(until(&lease_record("other", 0), 500, 0), 501);
        assert_eq!(until(&lease_record("me", 0), i64::MAX, u64::MAX), i64::MAX);
    }

    /// A random step of the simulation.
    #[derive(Debug, Clone)]
    enum LeaseAction {
        AdvanceTime(i64),
        /// Decides to take or to renew, for this duration.
        Prepare(usize, u64),
        /// The decision reaches the store; the flag is whether its confirmation arrives.
        Commit(usize, bool),
        Release(usize),
        /// Loses all its state, but keeps its name.
        Crash(usize),
    }

    fn any_actions() -> impl Strategy<Value = Vec<LeaseAction>> {
        let worker = || 0..WORKER_NAMES.len();
        let time = || prop_oneof![1_u64..20, 1_000_u64..3_000];
        let any_acknowledged = || prop::bool::weighted(0.6);
        prop_oneof![
            2 => prop_oneof![1_i64..30, 300_i64..900].prop_map(|ms| vec![LeaseAction::AdvanceTime(ms)]),
            // In most cases a decision reaches the store at once.
            4 => (worker(), time(), any_acknowledged()).prop_map(|(w, ms, acknowledged)| vec![LeaseAction::Prepare(w, ms), LeaseAction::Commit(w, acknowledged)]),
            1 => (worker(), time()).prop_map(|(w, ms)| vec![LeaseAction::Prepare(w, ms)]),
            1 => (worker(), any_acknowledged()).prop_map(|(w, acknowledged)| vec![LeaseAction::Commit(w, acknowledged)]),
            1 => worker().prop_map(|w| vec![LeaseAction::Release(w)]),
            1 => worker().prop_map(|w| vec![LeaseAction::Crash(w)]),
        ]
    }

    #[derive(Debug, Clone, Default)]
    struct SimulatedWorker {
        /// The lease it believes it holds.
        lease: Option<VersionedRecord<LeaseHolder>>,
        /// A pending write, which may reach the store late and whose confirmation may be lost.
        pending_write: Option<VersionedRecord<LeaseHolder>>,
    }

    impl SimulatedWorker {
        fn has_lease_at(&self, now: i64) -> bool {
            (self.lease.as_ref()).is_some_and(|lease| now < lease.value.until)
        }
    }

    const WORKER_NAMES: [&str; 2] = ["a", "b"];

    /// Two workers that compete for one record.
    #[derive(Debug, Default)]
    struct LeaseSimulation {
        now: i64,
        record: Option<VersionedRecord<LeaseHolder>>,
        workers: [SimulatedWorker; WORKER_NAMES.len()],
    }

    impl LeaseSimulation {
        fn apply_action(&mut self, action: LeaseAction) {
            let now = self.now;
            match action {
                LeaseAction::AdvanceTime(ms) => self.now += ms,
                LeaseAction::Prepare(w, for_ms) => {
                    let (name, worker) = (WORKER_NAMES[w], &mut self.workers[w]);
                    // An expired lease is not renewed.
                    let current = if worker.has_lease_at(now) {
                        worker.lease.as_ref()
                    } else {
                        self.record.as_ref()
                    };
                    let can_acquire = worker.has_lease_at(now) || may_acquire(current, name, now);
                    worker.pending_write =
                        can_acquire.then(|| acquired_record(current, name, now, for_ms));
                }
                LeaseAction::Commit(w, acknowledged) => {
                    let Some(new) = self.workers[w].pending_write.take() else {
                        return;
                    };
                    let revision = self.record.as_ref().map_or(0, |found| found.revision);
                    if revision + 1 == new.revision {
                        self.record = Some(new);
                    }
                    if acknowledged {
                        // Committed, or in conflict and read again.
                        let is_own = |found: &&VersionedRecord<LeaseHolder>| {
                            found.value.worker == WORKER_NAMES[w]
                        };
                        self.workers[w].lease = self.record.as_ref().filter(is_own).cloned();
                    }
                }
                LeaseAction::Release(w) => {
                    let Some(lease) = self.workers[w].lease.take() else {
                        return;
                    };
                    if let Some(found) = &mut self.record
                        && found.revision == lease.revision
                    {
                        found.revision += 1;
                        found.value.until = 0;
                    }
                }
                LeaseAction::Crash(w) => self.workers[w] = SimulatedWorker::default(),
            }
        }

        /// Returns the workers that hold the lease now.
        fn current_holders(&self) -> Vec<&'static str> {
            let all = WORKER_NAMES.iter().zip(&self.workers);
            all.filter(|(_, worker)| worker.has_lease_at(self.now))
                .map(|(name, _)| *name)
                .collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_048))]

        #[test]
        fn two_workers_never_hold_a_lease_at_the_same_time(
            moves in prop::collection::vec(any_actions(), 1..120),
        ) {
            let mut simulation = LeaseSimulation::default();
            for action in moves.into_iter().flatten() {
                simulation.apply_action(action);
                let holders = simulation.current_holders();
                prop_assert!(holders.len() <= 1, "{holders:?} at {}", simulation.now);
                if let [name] = holders.as_slice() {
                    let found = simulation.record.as_ref().unwrap();
                    prop_assert_eq!(&found.value.worker, name);
                }
            }
        }
    }

    /// Checks the simulation itself: both workers get the run, and lose it to each other.
    #[test]
    fn simulation_lets_both_workers_win_and_lose_the_lease() {
        let mut simulation = LeaseSimulation::default();
        let mut holders = Vec::new();
        for round in 0..6 {
            let w = round % 2;
            simulation.apply_action(LeaseAction::Prepare(w, 100));
            simulation.apply_action(LeaseAction::Commit(w, true));
            holders.extend(simulation.current_holders());
            let other = 1 - w;
            simulation.apply_action(LeaseAction::Prepare(other, 100));
            simulation.apply_action(LeaseAction::Commit(other, true));
            assert_eq!(simulation.current_holders(), [WORKER_NAMES[w]]);
            simulation.apply_action(LeaseAction::AdvanceTime(100 + LEASE_GRACE_MS));
            assert_eq!(simulation.current_holders(), [""; 0]);
        }
        assert_eq!(holders, ["a", "b", "a", "b", "a", "b"]);
    }
}
