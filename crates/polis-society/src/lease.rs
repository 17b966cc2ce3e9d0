//! Leases: a run is driven by one worker at a time, which holds a lease until a deadline and renews it while it runs.
//!
//! There is one record for each run, written with the revision at which it was read (compare-and-swap), so of several
//! workers that try at the same moment one succeeds. The record of a released lease is kept without a holder: its
//! revision never restarts, so a worker that was suspended cannot mistake another worker's lease for its own. What a
//! worker does with a run is decided in `worker`; writes by a member with an expired lease are prevented by the fence
//! of the member's own record.

use polis_core::changeset::{Changeset, Write};
use polis_core::record::{RecordKind, RecordName};
use polis_core::society::versioned::{self, Kept};
use polis_core::{AgentId, Code, RecordKey, RunId};
use polis_ops::port::Outcome;
use polis_ops::{OpError, Polis, PortError};
use serde::{Deserialize, Serialize};

use crate::process_identity;

/// How long an expired lease is still respected (milliseconds): its worker may still be ending commands.
pub const GRACE_MS: i64 = 500;

/// Maximum attempts to write a lease that other workers keep changing.
const TRIES: u32 = 16;

/// The holder of a lease and its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The worker's name.
    pub worker: String,
    /// Deadline (milliseconds); 0 if the lease was released.
    pub until: i64,
}

/// Returns whether a worker may take a lease at this moment. The record contains the worker's own name if it was
/// restarted, or if it did not receive the confirmation of its commit.
fn may_take(found: Option<&Kept<Holder>>, worker: &str, now: i64) -> bool {
    let Some(Kept { value: holder, .. }) = found else {
        return true;
    };
    holder.until == 0 || holder.worker == worker || now >= holder.until.saturating_add(GRACE_MS)
}

/// As `may_take`, but also true if the holder is a process of this machine that has ended.
fn may_take_here(found: Option<&Kept<Holder>>, worker: &str, now: i64) -> bool {
    may_take(found, worker, now)
        || found.is_some_and(|found| process_identity::is_gone(&found.value.worker))
}

/// Returns the lease record of a worker that takes or renews a lease. The deadline never moves back: the worker may not
/// receive the confirmation and keep relying on the later deadline.
fn claimed(found: Option<&Kept<Holder>>, worker: &str, now: i64, for_ms: u64) -> Kept<Holder> {
    let until = now.saturating_add_unsigned(for_ms.max(1));
    let mine = found.filter(|found| found.value.worker == worker);
    Kept {
        value: Holder {
            worker: worker.to_owned(),
            until: mine.map_or(until, |mine| mine.value.until.max(until)),
        },
        revision: found.map_or(0, |found| found.revision) + 1,
    }
}

/// The lease of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    run: RunId,
    held: Kept<Holder>,
}

impl Lease {
    /// Takes the lease of a run for `for_ms` milliseconds; returns `None` if another worker holds it. Worker names must
    /// be unique within a store.
    pub async fn take(
        polis: &Polis,
        worker: &str,
        run: &RunId,
        for_ms: u64,
    ) -> Result<Option<Self>, OpError> {
        for _ in 0..TRIES {
            let found = find(polis, run).await?;
            let now = polis.clock.now_millis();
            if !may_take_here(found.as_ref(), worker, now) {
                return Ok(None);
            }
            let held = claimed(found.as_ref(), worker, now, for_ms);
            let write = match &found {
                Some(found) => found.put(name_of(run), &held.value),
                None => versioned::add(name_of(run), &held.value),
            };
            if commit(polis, vec![write]).await?.is_none() {
                let run = run.clone();
                return Ok(Some(Self { run, held }));
            }
        }
        Ok(None)
    }

    /// Returns the run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the deadline (milliseconds). From then on the worker must not do anything for the run.
    pub fn until(&self) -> i64 {
        self.held.value.until
    }

    /// Returns whether the lease is valid at this moment.
    pub fn holds(&self, now: i64) -> bool {
        now < self.held.value.until
    }

    /// Renews the lease. Returns whether the worker still holds it; an expired lease is lost, and may be taken again.
    pub async fn renew(&mut self, polis: &Polis, for_ms: u64) -> Result<bool, OpError> {
        let mut one = vec![self.clone()];
        let lost = renew_all(polis, &mut one, for_ms).await?;
        if let Some(renewed) = one.pop() {
            *self = renewed;
        }
        Ok(lost.is_empty())
    }

    /// Releases the lease, so that others can take the run at once.
    pub async fn give_back(self, polis: &Polis) -> Result<(), OpError> {
        give_back_all(polis, vec![self]).await
    }
}

/// Returns the current holder of a run, if there is one.
pub async fn holder(polis: &Polis, run: &RunId) -> Result<Option<Holder>, OpError> {
    let now = polis.clock.now_millis();
    let found = find(polis, run).await?.map(|found| found.value);
    Ok(found.filter(|holder| now < holder.until))
}

/// Renews all these leases in one commit. Lost leases are removed from the list, and their runs are returned.
///
/// If the store fails, the leases are unchanged and may be renewed again.
pub async fn renew_all(
    polis: &Polis,
    leases: &mut Vec<Lease>,
    for_ms: u64,
) -> Result<Vec<RunId>, OpError> {
    let mut lost = Vec::new();
    for _ in 0..TRIES {
        let now = polis.clock.now_millis();
        keep(leases, &mut lost, |lease| lease.holds(now));
        if leases.is_empty() {
            return Ok(lost);
        }
        let renewed: Vec<Kept<Holder>> = leases
            .iter()
            .map(|lease| claimed(Some(&lease.held), &lease.held.value.worker, now, for_ms))
            .collect();
        let writes = (leases.iter().zip(&renewed))
            .map(|(lease, new)| lease.held.put(name_of(&lease.run), &new.value))
            .collect();
        if commit(polis, writes).await?.is_none() {
            for (lease, new) in leases.iter_mut().zip(renewed) {
                lease.held = new;
            }
            return Ok(lost);
        }
        // One of them was taken by another worker, or was renewed by a commit whose confirmation was lost.
        for lease in leases.iter_mut() {
            match find(polis, &lease.run).await? {
                Some(found) if found.value.worker == lease.held.value.worker => lease.held = found,
                _ => lease.held.value.until = 0,
            }
        }
    }
    keep(leases, &mut lost, |_| false);
    Ok(lost)
}

/// Releases all these leases in one commit. If some were lost already, they are skipped and the rest is committed
/// again.
pub async fn give_back_all(polis: &Polis, mut leases: Vec<Lease>) -> Result<(), OpError> {
    while !leases.is_empty() {
        let free = |lease: &Lease| Holder {
            until: 0,
            ..lease.held.value.clone()
        };
        let writes = (leases.iter())
            .map(|lease| lease.held.put(name_of(&lease.run), &free(lease)))
            .collect();
        match commit(polis, writes).await? {
            None => return Ok(()),
            // Another worker holds it: nothing to release.
            Some(key) => {
                let before = leases.len();
                leases.retain(|lease| RecordKey::Record(name_of(&lease.run)) != key);
                if leases.len() == before {
                    return Err(damaged("a conflict with nothing that was written").into());
                }
            }
        }
    }
    Ok(())
}

/// Moves leases that are no longer held from `leases` to `lost`.
fn keep(leases: &mut Vec<Lease>, lost: &mut Vec<RunId>, held: impl Fn(&Lease) -> bool) {
    leases.retain(|lease| {
        let keeps = held(lease);
        if !keeps {
            lost.push(lease.run.clone());
        }
        keeps
    });
}

/// Returns the record name of a run's lease.
fn name_of(run: &RunId) -> RecordName {
    RecordName::new(RecordKind::Lease, run.as_str())
}

/// Commits; returns the key of the conflict, if there was one.
async fn commit(polis: &Polis, writes: Vec<Write>) -> Result<Option<RecordKey>, OpError> {
    let changes = Changeset {
        actor: AgentId::root(),
        at: polis.now(),
        writes,
        events: Vec::new(),
    };
    Ok(match polis.store.commit(changes).await? {
        Outcome::Committed(_) => None,
        Outcome::Conflict(key) => Some(key),
    })
}

async fn find(polis: &Polis, run: &RunId) -> Result<Option<Kept<Holder>>, OpError> {
    let stored = polis.store.record(&name_of(run)).await?;
    let found = stored.as_ref().map(Kept::read).transpose();
    Ok(found.map_err(damaged)?)
}

fn damaged(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> PortError {
    PortError::new(
        Code::StoreCorrupt,
        "The lease of a run is damaged.",
        "restore the store from a backup; `polis doctor` checks it",
    )
    .because(source)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(worker: &str, until: i64) -> Kept<Holder> {
        Kept {
            value: Holder {
                worker: worker.to_owned(),
                until,
            },
            revision: 3,
        }
    }

    #[test]
    fn a_run_is_taken_when_nobody_has_it() {
        let table = [
            (None, 0, true),
            (Some(found("other", 0)), 0, true),
            (Some(found("other", 0)), i64::MAX, true),
            (Some(found("other", 1_000)), 0, false),
            (Some(found("other", 1_000)), 999, false),
            // Its worker stops at the deadline, and has a grace period to do so.
            (Some(found("other", 1_000)), 1_000, false),
            (Some(found("other", 1_000)), 999 + GRACE_MS, false),
            (Some(found("other", 1_000)), 1_000 + GRACE_MS, true),
            (Some(found("other", i64::MAX)), i64::MAX, true),
            // Restarted, or the confirmation was lost.
            (Some(found("me", 1_000)), 0, true),
            (Some(found("me", 1_000)), 9_000, true),
        ];
        for (found, now, taken) in table {
            assert_eq!(
                may_take(found.as_ref(), "me", now),
                taken,
                "{found:?} {now}"
            );
            let held = claimed(found.as_ref(), "me", now, 10);
            assert_eq!(held.revision, if found.is_some() { 4 } else { 1 });
            assert_eq!(held.value.worker, "me");
            assert!(held.value.until >= now.saturating_add(10));
        }
    }

    #[test]
    fn the_end_of_a_lease_is_never_moved_back() {
        let until = |found: &Kept<Holder>, now, for_ms| {
            let held = claimed(Some(found), "me", now, for_ms);
            held.value.until
        };
        assert_eq!(until(&found("me", 1_000), 500, 400), 1_000);
        assert_eq!(until(&found("me", 1_000), 500, 600), 1_100);
        assert_eq!(until(&found("other", 1_000), 1_600, 1), 1_601);
        assert_eq!(until(&found("other", 0), 500, 0), 501);
        assert_eq!(until(&found("me", 0), i64::MAX, u64::MAX), i64::MAX);
    }

    /// A random step of the simulation.
    #[derive(Debug, Clone)]
    enum Move {
        Pass(i64),
        /// Decides to take or to renew, for this duration.
        Decide(usize, u64),
        /// The decision reaches the store; the flag is whether its confirmation arrives.
        Reach(usize, bool),
        GiveBack(usize),
        /// Loses all its state, but keeps its name.
        Crash(usize),
    }

    fn any_move() -> impl Strategy<Value = Vec<Move>> {
        let worker = || 0..NAMES.len();
        let time = || prop_oneof![1_u64..20, 1_000_u64..3_000];
        let told = || prop::bool::weighted(0.6);
        prop_oneof![
            2 => prop_oneof![1_i64..30, 300_i64..900].prop_map(|ms| vec![Move::Pass(ms)]),
            // In most cases a decision reaches the store at once.
            4 => (worker(), time(), told()).prop_map(|(w, ms, told)| vec![Move::Decide(w, ms), Move::Reach(w, told)]),
            1 => (worker(), time()).prop_map(|(w, ms)| vec![Move::Decide(w, ms)]),
            1 => (worker(), told()).prop_map(|(w, told)| vec![Move::Reach(w, told)]),
            1 => worker().prop_map(|w| vec![Move::GiveBack(w)]),
            1 => worker().prop_map(|w| vec![Move::Crash(w)]),
        ]
    }

    #[derive(Debug, Clone, Default)]
    struct Worker {
        /// The lease it believes it holds.
        has: Option<Kept<Holder>>,
        /// A pending write, which may reach the store late and whose confirmation may be lost.
        underway: Option<Kept<Holder>>,
    }

    impl Worker {
        fn has_at(&self, now: i64) -> bool {
            (self.has.as_ref()).is_some_and(|held| now < held.value.until)
        }
    }

    const NAMES: [&str; 2] = ["a", "b"];

    /// Two workers that compete for one record.
    #[derive(Debug, Default)]
    struct Fight {
        now: i64,
        record: Option<Kept<Holder>>,
        workers: [Worker; NAMES.len()],
    }

    impl Fight {
        fn go(&mut self, one: Move) {
            let now = self.now;
            match one {
                Move::Pass(ms) => self.now += ms,
                Move::Decide(w, for_ms) => {
                    let (name, worker) = (NAMES[w], &mut self.workers[w]);
                    // An expired lease is not renewed.
                    let seen = match worker.has_at(now) {
                        true => worker.has.as_ref(),
                        false => self.record.as_ref(),
                    };
                    let takes = worker.has_at(now) || may_take(seen, name, now);
                    worker.underway = takes.then(|| claimed(seen, name, now, for_ms));
                }
                Move::Reach(w, told) => {
                    let Some(new) = self.workers[w].underway.take() else {
                        return;
                    };
                    let revision = self.record.as_ref().map_or(0, |found| found.revision);
                    if revision + 1 == new.revision {
                        self.record = Some(new);
                    }
                    if told {
                        // Committed, or in conflict and read again.
                        let mine = |found: &&Kept<Holder>| found.value.worker == NAMES[w];
                        self.workers[w].has = self.record.as_ref().filter(mine).cloned();
                    }
                }
                Move::GiveBack(w) => {
                    let Some(held) = self.workers[w].has.take() else {
                        return;
                    };
                    if let Some(found) = &mut self.record
                        && found.revision == held.revision
                    {
                        found.revision += 1;
                        found.value.until = 0;
                    }
                }
                Move::Crash(w) => self.workers[w] = Worker::default(),
            }
        }

        /// Returns the workers that hold the lease now.
        fn having(&self) -> Vec<&'static str> {
            let all = NAMES.iter().zip(&self.workers);
            all.filter(|(_, worker)| worker.has_at(self.now))
                .map(|(name, _)| *name)
                .collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_048))]

        #[test]
        fn two_workers_never_have_a_run_at_the_same_moment(
            moves in prop::collection::vec(any_move(), 1..120),
        ) {
            let mut fight = Fight::default();
            for one in moves.into_iter().flatten() {
                fight.go(one);
                let having = fight.having();
                prop_assert!(having.len() <= 1, "{having:?} at {}", fight.now);
                if let [name] = having.as_slice() {
                    let found = fight.record.as_ref().unwrap();
                    prop_assert_eq!(&found.value.worker, name);
                }
            }
        }
    }

    /// Checks the simulation itself: both workers get the run, and lose it to each other.
    #[test]
    fn the_fight_has_winners_and_losers() {
        let mut fight = Fight::default();
        let mut had = Vec::new();
        for round in 0..6 {
            let w = round % 2;
            fight.go(Move::Decide(w, 100));
            fight.go(Move::Reach(w, true));
            had.extend(fight.having());
            let other = 1 - w;
            fight.go(Move::Decide(other, 100));
            fight.go(Move::Reach(other, true));
            assert_eq!(fight.having(), [NAMES[w]]);
            fight.go(Move::Pass(100 + GRACE_MS));
            assert_eq!(fight.having(), [""; 0]);
        }
        assert_eq!(had, ["a", "b", "a", "b", "a", "b"]);
    }
}
