//! Who drives a run: a lease that one worker has at a time, until a moment that it moves on while it lives.
//!
//! A record for each run, written with the revision it was read at, so of those who want it at the same moment
//! one gets it. A lease that is given back stays as a record that is nobody's: its revision never begins anew, so
//! a worker that slept cannot mistake another's lease for its own. What a worker does with a run is the
//! worker's; that nobody writes for a member with an old lease is the fence of the member's own record.

use polis_core::changeset::{Changeset, Write};
use polis_core::record::{RecordKind, RecordName};
use polis_core::society::versioned::{self, Kept};
use polis_core::{AgentId, Code, RecordKey, RunId};
use polis_ops::port::Outcome;
use polis_ops::{OpError, Polis, PortError};
use serde::{Deserialize, Serialize};

use crate::process_identity;

/// How long after its end a lease is left alone (milliseconds): its worker may be ending commands still.
pub const GRACE_MS: i64 = 500;

/// How often one tries to write a lease that others keep changing.
const TRIES: u32 = 16;

/// Who has a run, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The worker's name.
    pub worker: String,
    /// Until when (milliseconds); 0 if it was given back.
    pub until: i64,
}

/// Whether a worker may take a run that it does not have, at this moment. Its own name is there if it was
/// started anew, or if it never heard that it got the lease.
fn may_take(found: Option<&Kept<Holder>>, worker: &str, now: i64) -> bool {
    let Some(Kept { value: holder, .. }) = found else {
        return true;
    };
    holder.until == 0 || holder.worker == worker || now >= holder.until.saturating_add(GRACE_MS)
}

/// The same, and a worker of this machine whose process is gone has nothing any more.
fn may_take_here(found: Option<&Kept<Holder>>, worker: &str, now: i64) -> bool {
    may_take(found, worker, now)
        || found.is_some_and(|found| process_identity::is_gone(&found.value.worker))
}

/// What a lease becomes for a worker that takes it or has it. Its end is never moved back: the worker may not hear of
/// it, and believe in the later one.
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

/// A run that a worker drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    run: RunId,
    held: Kept<Holder>,
}

impl Lease {
    /// Takes a run for a worker, for so long; `None` if another has it. No two workers of one store may have
    /// the same name.
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

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Until when the worker has it (milliseconds). From then on it must not do anything for the run.
    pub fn until(&self) -> i64 {
        self.held.value.until
    }

    /// Whether the worker has it at this moment.
    pub fn holds(&self, now: i64) -> bool {
        now < self.held.value.until
    }

    /// Moves the end of the lease on; whether the worker has it still. One that has ended is lost, and may be
    /// taken again.
    pub async fn renew(&mut self, polis: &Polis, for_ms: u64) -> Result<bool, OpError> {
        let mut one = vec![self.clone()];
        let lost = renew_all(polis, &mut one, for_ms).await?;
        if let Some(renewed) = one.pop() {
            *self = renewed;
        }
        Ok(lost.is_empty())
    }

    /// Gives the run back, for others to take at once.
    pub async fn give_back(self, polis: &Polis) -> Result<(), OpError> {
        give_back_all(polis, vec![self]).await
    }
}

/// Who has a run, if anybody does at this moment.
pub async fn holder(polis: &Polis, run: &RunId) -> Result<Option<Holder>, OpError> {
    let now = polis.clock.now_millis();
    let found = find(polis, run).await?.map(|found| found.value);
    Ok(found.filter(|holder| now < holder.until))
}

/// Moves the ends of all these leases on, in one commit. Those that are lost are taken out, and answered.
///
/// After a failure of the store the leases are as they were, and may be renewed again.
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
        // One of them is another's, or was renewed by a commit whose answer got lost.
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

/// Gives all these runs back in one commit, and one by one those that are left if one of them was lost already.
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
            // Another has it: there is nothing to give back.
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

/// Takes out those that are not to be kept.
fn keep(leases: &mut Vec<Lease>, lost: &mut Vec<RunId>, held: impl Fn(&Lease) -> bool) {
    leases.retain(|lease| {
        let keeps = held(lease);
        if !keeps {
            lost.push(lease.run.clone());
        }
        keeps
    });
}

/// Where the lease of a run is kept.
fn name_of(run: &RunId) -> RecordName {
    RecordName::new(RecordKind::Lease, run.as_str())
}

/// Commits; on a conflict, with what.
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
            // Its worker stops at its end, and has a moment to do so.
            (Some(found("other", 1_000)), 1_000, false),
            (Some(found("other", 1_000)), 999 + GRACE_MS, false),
            (Some(found("other", 1_000)), 1_000 + GRACE_MS, true),
            (Some(found("other", i64::MAX)), i64::MAX, true),
            // Started anew, or not told that it has it.
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

    /// What may happen next.
    #[derive(Debug, Clone)]
    enum Move {
        Pass(i64),
        /// Decides to take or to renew, for so long.
        Decide(usize, u64),
        /// The decision reaches the store; whether its answer comes back.
        Reach(usize, bool),
        GiveBack(usize),
        /// Forgets everything, and has its name still.
        Crash(usize),
    }

    fn any_move() -> impl Strategy<Value = Vec<Move>> {
        let worker = || 0..NAMES.len();
        let time = || prop_oneof![1_u64..20, 1_000_u64..3_000];
        let told = || prop::bool::weighted(0.6);
        prop_oneof![
            2 => prop_oneof![1_i64..30, 300_i64..900].prop_map(|ms| vec![Move::Pass(ms)]),
            // Mostly a decision reaches the store at once.
            4 => (worker(), time(), told()).prop_map(|(w, ms, told)| vec![Move::Decide(w, ms), Move::Reach(w, told)]),
            1 => (worker(), time()).prop_map(|(w, ms)| vec![Move::Decide(w, ms)]),
            1 => (worker(), told()).prop_map(|(w, told)| vec![Move::Reach(w, told)]),
            1 => worker().prop_map(|w| vec![Move::GiveBack(w)]),
            1 => worker().prop_map(|w| vec![Move::Crash(w)]),
        ]
    }

    #[derive(Debug, Clone, Default)]
    struct Worker {
        /// The lease it believes to have.
        has: Option<Kept<Holder>>,
        /// A write it has decided on, that may reach the store late, and whose answer may get lost.
        underway: Option<Kept<Holder>>,
    }

    impl Worker {
        fn has_at(&self, now: i64) -> bool {
            (self.has.as_ref()).is_some_and(|held| now < held.value.until)
        }
    }

    const NAMES: [&str; 2] = ["a", "b"];

    /// Two workers and the one record they fight over.
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
                    // What has ended is not renewed.
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
                        // Committed, or in conflict and looked at.
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

        /// Who has the run now.
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

    /// The fight is one: all of them get the run, and lose it to each other.
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
