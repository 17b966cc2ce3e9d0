//! Lease tests over every store: one worker holds a run at a time, whatever happens to the others.

use std::sync::Arc;

use polis_core::RunId;
use polis_core::record::{RecordKind, RecordName};
use polis_ops::port::Clock as _;
use polis_ops::{Polis, Settings};
use polis_society::lease::{GRACE_MS, Lease, give_back_all, holder, renew_all};
use polis_testkit::{CountedChance, Dice, FixedClock, Ground};

use crate::ground::on_every_store;

on_every_store! {
    a_lease_is_taken_renewed_and_given_back
    a_lost_lease_is_not_renewed
    a_worker_that_was_started_anew_has_its_runs_at_once
    many_leases_are_renewed_together
    of_workers_that_want_a_run_one_gets_it
    a_run_goes_from_worker_to_worker
}

const LONG: u64 = 10_000;
const LONG_MS: i64 = 10_000;

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

/// Opens the store as a separate process, with a shared clock.
async fn process(ground: &dyn Ground, clock: &Arc<FixedClock>) -> Polis {
    let clock = Arc::<FixedClock>::clone(clock);
    let chance = Arc::new(CountedChance::default());
    Polis::new(
        ground.open().await.unwrap(),
        clock,
        chance,
        Settings::default(),
    )
}

async fn take(polis: &Polis, worker: &str, of: &str) -> Option<Lease> {
    Lease::take(polis, worker, &run(of), LONG).await.unwrap()
}

fn now(polis: &Polis) -> i64 {
    polis.clock.now_millis()
}

async fn a_lease_is_taken_renewed_and_given_back(ground: &dyn Ground) {
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (process(ground, &clock).await, process(ground, &clock).await);
    assert_eq!(holder(&two, &run("r")).await.unwrap(), None);
    let mut lease = take(&one, "one", "r").await.unwrap();
    assert_eq!(lease.run(), &run("r"));
    assert_eq!(lease.until(), now(&one) + LONG_MS);
    let found = holder(&two, &run("r")).await.unwrap().unwrap();
    assert_eq!((found.worker.as_str(), found.until), ("one", lease.until()));
    assert_eq!(take(&two, "two", "r").await, None);
    // Leases of different runs are independent.
    assert!(take(&two, "two", "r-2").await.is_some());
    for _ in 0..5 {
        clock.advance(LONG_MS - 1);
        assert!(lease.holds(now(&one)));
        assert!(lease.renew(&one, LONG).await.unwrap());
        assert_eq!(lease.until(), now(&one) + LONG_MS);
        assert_eq!(take(&two, "two", "r").await, None);
    }
    lease.give_back(&one).await.unwrap();
    assert_eq!(holder(&one, &run("r")).await.unwrap(), None);
    let theirs = take(&two, "two", "r").await.unwrap();
    assert_eq!(theirs.until(), now(&two) + LONG_MS);
    assert_eq!(take(&one, "one", "r").await, None);
}

async fn a_lost_lease_is_not_renewed(ground: &dyn Ground) {
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (process(ground, &clock).await, process(ground, &clock).await);
    let mut lease = take(&one, "one", "r").await.unwrap();
    clock.advance(LONG_MS);
    assert!(!lease.holds(now(&one)), "its time is up");
    assert_eq!(
        take(&two, "two", "r").await,
        None,
        "it may be ending commands"
    );
    assert!(!lease.clone().renew(&one, LONG).await.unwrap());
    clock.advance(GRACE_MS);
    let mut theirs = take(&two, "two", "r").await.unwrap();
    assert!(!lease.renew(&one, LONG).await.unwrap());
    assert_eq!(take(&one, "one", "r").await, None);
    // Releasing a lost lease changes nothing.
    lease.give_back(&one).await.unwrap();
    assert!(theirs.renew(&two, LONG).await.unwrap());
    let found = holder(&one, &run("r")).await.unwrap().unwrap();
    assert_eq!(found.worker, "two");
}

async fn a_worker_that_was_started_anew_has_its_runs_at_once(ground: &dyn Ground) {
    let clock = Arc::new(FixedClock::default());
    let (before, after) = (process(ground, &clock).await, process(ground, &clock).await);
    let mut old = take(&before, "one", "r").await.unwrap();
    clock.advance(5);
    let new = take(&after, "one", "r").await.unwrap();
    assert_eq!(new.until(), now(&after) + LONG_MS);
    // The confirmation of a renewal may have been lost: the worker's name counts.
    assert!(old.renew(&before, LONG).await.unwrap());
    assert_eq!(old.until(), new.until());
}

async fn many_leases_are_renewed_together(ground: &dyn Ground) {
    const RUNS: usize = 40;
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (process(ground, &clock).await, process(ground, &clock).await);
    let mut leases = Vec::new();
    for n in 0..RUNS {
        leases.push(take(&one, "one", &format!("r-{n}")).await.unwrap());
    }
    let forgotten = leases.clone();
    clock.advance(LONG_MS - 1);
    assert_eq!(renew_all(&one, &mut leases, LONG).await.unwrap(), []);
    assert_eq!(leases.len(), RUNS);
    assert!(
        leases
            .iter()
            .all(|lease| lease.until() == now(&one) + LONG_MS)
    );
    let name = RecordName::new(RecordKind::Lease, "r-7");
    let revision = one.store.record(&name).await.unwrap().unwrap().revision;
    assert_eq!(revision, 2, "each was written once");
    // Another worker takes two of them unnoticed; the others stay.
    for n in [3, 21] {
        leases[n].clone().give_back(&one).await.unwrap();
        assert!(take(&two, "two", &format!("r-{n}")).await.is_some());
    }
    let lost = renew_all(&one, &mut leases, LONG).await.unwrap();
    assert_eq!(lost, [run("r-3"), run("r-21")]);
    assert_eq!(leases.len(), RUNS - 2);
    // All are released, but a lease that another worker holds is not affected.
    give_back_all(&one, forgotten).await.unwrap();
    assert!(
        holder(&one, &run("r-1")).await.unwrap().is_some(),
        "an old lease gives nothing back"
    );
    give_back_all(&one, leases).await.unwrap();
    for n in 0..RUNS {
        let found = holder(&two, &run(&format!("r-{n}"))).await.unwrap();
        assert_eq!(found.is_some(), n == 3 || n == 21, "{n}");
    }
    assert_eq!(renew_all(&one, &mut Vec::new(), LONG).await.unwrap(), []);
}

async fn of_workers_that_want_a_run_one_gets_it(ground: &dyn Ground) {
    let clock = Arc::new(FixedClock::default());
    let processes = [process(ground, &clock).await, process(ground, &clock).await];
    for round in 0..12 {
        let wanting: Vec<_> = (0..6)
            .map(|n| {
                let polis = processes[n % 2].clone();
                tokio::spawn(async move { take(&polis, &format!("w-{n}"), "r").await })
            })
            .collect();
        let mut got = Vec::new();
        for one in wanting {
            got.extend(one.await.unwrap());
        }
        assert_eq!(got.len(), 1, "round {round}");
        let lease = got.remove(0);
        match round % 2 {
            0 => clock.advance(LONG_MS + GRACE_MS),
            _ => lease.give_back(&processes[0]).await.unwrap(),
        }
    }
}

/// A period in which a worker held the run.
#[derive(Debug)]
struct Had {
    worker: usize,
    from: i64,
    until: i64,
}

/// Workers take, renew, sleep too long and release, all at once: by the shared clock no two hold the run.
async fn a_run_goes_from_worker_to_worker(ground: &dyn Ground) {
    const ROUNDS: i64 = 40;
    let clock = Arc::new(FixedClock::default());
    let processes = [process(ground, &clock).await, process(ground, &clock).await];
    let end = clock.now_millis() + ROUNDS * LONG_MS;
    let mut all = tokio::task::JoinSet::new();
    for worker in 0..4_usize {
        let (polis, clock) = (processes[worker % 2].clone(), Arc::clone(&clock));
        all.spawn(async move {
            let name = format!("w-{worker}");
            let mut had = Vec::new();
            let mut dice = Dice::of(worker as u64);
            while clock.now_millis() < end {
                let Some(mut lease) = take(&polis, &name, "r").await else {
                    clock.advance(300);
                    tokio::task::yield_now().await;
                    continue;
                };
                let of = |lease: &Lease| Had {
                    worker,
                    from: lease.until() - LONG_MS,
                    until: lease.until(),
                };
                had.push(of(&lease));
                clock.advance(100);
                if dice.once_in(2) && lease.renew(&polis, LONG).await.unwrap() {
                    had.push(of(&lease));
                }
                if dice.once_in(2) {
                    // From here on it does nothing for the run, whenever the others notice.
                    let given = clock.now_millis();
                    for one in &mut had {
                        one.until = one.until.min(given);
                    }
                    lease.give_back(&polis).await.unwrap();
                }
                tokio::task::yield_now().await;
            }
            had
        });
    }
    let mut had = Vec::new();
    while let Some(one) = all.join_next().await {
        had.extend(one.unwrap());
    }
    had.sort_by_key(|one| (one.from, one.until));
    let mut changes = 0;
    for (at, one) in had.iter().enumerate() {
        for later in &had[at + 1..] {
            let apart = later.from >= one.until || later.worker == one.worker;
            assert!(apart, "{one:?} and {later:?}");
        }
        changes += usize::from(
            had.get(at + 1)
                .is_some_and(|next| next.worker != one.worker),
        );
    }
    assert!(changes >= 8, "{changes} changes");
}
