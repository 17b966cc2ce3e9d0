//! Tests of run leases on every store: at most one worker holds a run at a time, through expiry, renewal,
//! release and concurrent attempts to acquire it.

use std::sync::Arc;

use polis_core::RunId;
use polis_core::record::{RecordKind, RecordName};
use polis_ops::port::Clock as _;
use polis_ops::{App, InstallationSettings};
use polis_society::run_lease::{LEASE_GRACE_MS, RunLease, current_holder, release_all, renew_all};
use polis_testkit::{CountingRandomSource, FixedClock, SeededRng, StoreFactory};

use crate::store_factories::on_every_store;

on_every_store! {
    lease_is_acquired_renewed_and_released
    lost_lease_is_not_renewed
    restarted_worker_reacquires_its_runs_at_once
    many_leases_are_renewed_together
    concurrent_acquires_have_one_winner
    run_is_never_held_by_two_workers
}

const LEASE_MS: u64 = 10_000;
const LEASE_MS_SIGNED: i64 = 10_000;

fn run_id(name: &str) -> RunId {
    name.parse().unwrap()
}

/// Opens the store as a separate process, with a shared clock.
async fn open_process(ground: &dyn StoreFactory, clock: &Arc<FixedClock>) -> App {
    let clock = Arc::<FixedClock>::clone(clock);
    let chance = Arc::new(CountingRandomSource::default());
    App::new(
        ground.open().await.unwrap(),
        clock,
        chance,
        InstallationSettings::default(),
    )
}

async fn acquire_lease(app: &App, worker: &str, of: &str) -> Option<RunLease> {
    RunLease::acquire(app, worker, &run_id(of), LEASE_MS)
        .await
        .unwrap()
}

fn now_millis(app: &App) -> i64 {
    app.clock.now_millis()
}

async fn lease_is_acquired_renewed_and_released(ground: &dyn StoreFactory) {
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    );
    assert_eq!(current_holder(&two, &run_id("r")).await.unwrap(), None);
    let mut lease = acquire_lease(&one, "one", "r").await.unwrap();
    assert_eq!(lease.run(), &run_id("r"));
    assert_eq!(lease.expires_at_ms(), now_millis(&one) + LEASE_MS_SIGNED);
    let found = current_holder(&two, &run_id("r")).await.unwrap().unwrap();
    assert_eq!(
        (found.worker.as_str(), found.until),
        ("one", lease.expires_at_ms())
    );
    assert_eq!(acquire_lease(&two, "two", "r").await, None);
    // Leases of different runs are independent.
    assert!(acquire_lease(&two, "two", "r-2").await.is_some());
    for _ in 0..5 {
        clock.advance_millis(LEASE_MS_SIGNED - 1);
        assert!(lease.is_valid_at(now_millis(&one)));
        assert!(lease.renew(&one, LEASE_MS).await.unwrap());
        assert_eq!(lease.expires_at_ms(), now_millis(&one) + LEASE_MS_SIGNED);
        assert_eq!(acquire_lease(&two, "two", "r").await, None);
    }
    lease.release(&one).await.unwrap();
    assert_eq!(current_holder(&one, &run_id("r")).await.unwrap(), None);
    let theirs = acquire_lease(&two, "two", "r").await.unwrap();
    assert_eq!(theirs.expires_at_ms(), now_millis(&two) + LEASE_MS_SIGNED);
    assert_eq!(acquire_lease(&one, "one", "r").await, None);
}

async fn lost_lease_is_not_renewed(ground: &dyn StoreFactory) {
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    );
    let mut lease = acquire_lease(&one, "one", "r").await.unwrap();
    clock.advance_millis(LEASE_MS_SIGNED);
    assert!(
        !lease.is_valid_at(now_millis(&one)),
        "the lease has expired"
    );
    assert_eq!(
        acquire_lease(&two, "two", "r").await,
        None,
        "its holder may still be stopping commands"
    );
    assert!(!lease.clone().renew(&one, LEASE_MS).await.unwrap());
    clock.advance_millis(LEASE_GRACE_MS);
    let mut theirs = acquire_lease(&two, "two", "r").await.unwrap();
    assert!(!lease.renew(&one, LEASE_MS).await.unwrap());
    assert_eq!(acquire_lease(&one, "one", "r").await, None);
    // Releasing a lost lease changes nothing.
    lease.release(&one).await.unwrap();
    assert!(theirs.renew(&two, LEASE_MS).await.unwrap());
    let found = current_holder(&one, &run_id("r")).await.unwrap().unwrap();
    assert_eq!(found.worker, "two");
}

async fn restarted_worker_reacquires_its_runs_at_once(ground: &dyn StoreFactory) {
    let clock = Arc::new(FixedClock::default());
    let (before, after) = (
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    );
    let mut old = acquire_lease(&before, "one", "r").await.unwrap();
    clock.advance_millis(5);
    let new = acquire_lease(&after, "one", "r").await.unwrap();
    assert_eq!(new.expires_at_ms(), now_millis(&after) + LEASE_MS_SIGNED);
    // The confirmation of a renewal may have been lost: the worker's name counts.
    assert!(old.renew(&before, LEASE_MS).await.unwrap());
    assert_eq!(old.expires_at_ms(), new.expires_at_ms());
}

async fn many_leases_are_renewed_together(ground: &dyn StoreFactory) {
    const RUN_COUNT: usize = 40;
    let clock = Arc::new(FixedClock::default());
    let (one, two) = (
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    );
    let mut leases = Vec::new();
    for n in 0..RUN_COUNT {
        leases.push(acquire_lease(&one, "one", &format!("r-{n}")).await.unwrap());
    }
    let forgotten = leases.clone();
    clock.advance_millis(LEASE_MS_SIGNED - 1);
    assert_eq!(renew_all(&one, &mut leases, LEASE_MS).await.unwrap(), []);
    assert_eq!(leases.len(), RUN_COUNT);
    assert!(
        leases
            .iter()
            .all(|lease| lease.expires_at_ms() == now_millis(&one) + LEASE_MS_SIGNED)
    );
    let name = RecordName::new(RecordKind::RunLease, "r-7");
    let revision = one.store.record(&name).await.unwrap().unwrap().revision;
    assert_eq!(revision, 2, "each was written once");
    // Another worker takes two of them unnoticed; the others stay.
    for n in [3, 21] {
        leases[n].clone().release(&one).await.unwrap();
        assert!(
            acquire_lease(&two, "two", &format!("r-{n}"))
                .await
                .is_some()
        );
    }
    let lost = renew_all(&one, &mut leases, LEASE_MS).await.unwrap();
    assert_eq!(lost, [run_id("r-3"), run_id("r-21")]);
    assert_eq!(leases.len(), RUN_COUNT - 2);
    // All are released, but a lease that another worker holds is not affected.
    release_all(&one, forgotten).await.unwrap();
    assert!(
        current_holder(&one, &run_id("r-1"))
            .await
            .unwrap()
            .is_some(),
        "an outdated lease releases nothing"
    );
    release_all(&one, leases).await.unwrap();
    for n in 0..RUN_COUNT {
        let found = current_holder(&two, &run_id(&format!("r-{n}")))
            .await
            .unwrap();
        assert_eq!(found.is_some(), n == 3 || n == 21, "{n}");
    }
    assert_eq!(
        renew_all(&one, &mut Vec::new(), LEASE_MS).await.unwrap(),
        []
    );
}

async fn concurrent_acquires_have_one_winner(ground: &dyn StoreFactory) {
    let clock = Arc::new(FixedClock::default());
    let processes = [
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    ];
    for round in 0..12 {
        let wanting: Vec<_> = (0..6)
            .map(|n| {
                let app = processes[n % 2].clone();
                tokio::spawn(async move { acquire_lease(&app, &format!("w-{n}"), "r").await })
            })
            .collect();
        let mut got = Vec::new();
        for one in wanting {
            got.extend(one.await.unwrap());
        }
        assert_eq!(got.len(), 1, "round {round}");
        let lease = got.remove(0);
        match round % 2 {
            0 => clock.advance_millis(LEASE_MS_SIGNED + LEASE_GRACE_MS),
            _ => lease.release(&processes[0]).await.unwrap(),
        }
    }
}

/// A period in which a worker held the run.
#[derive(Debug)]
struct HoldPeriod {
    worker: usize,
    from: i64,
    until: i64,
}

/// Workers acquire, renew, sleep too long and release, all concurrently: by the shared clock no two hold the
/// run.
async fn run_is_never_held_by_two_workers(ground: &dyn StoreFactory) {
    const LEASE_PERIODS: i64 = 40;
    let clock = Arc::new(FixedClock::default());
    let processes = [
        open_process(ground, &clock).await,
        open_process(ground, &clock).await,
    ];
    let end = clock.now_millis() + LEASE_PERIODS * LEASE_MS_SIGNED;
    let mut all = tokio::task::JoinSet::new();
    for worker in 0..4_usize {
        let (app, clock) = (processes[worker % 2].clone(), Arc::clone(&clock));
        all.spawn(async move {
            let name = format!("w-{worker}");
            let mut had = Vec::new();
            let mut dice = SeededRng::from_seed(worker as u64);
            while clock.now_millis() < end {
                let Some(mut lease) = acquire_lease(&app, &name, "r").await else {
                    clock.advance_millis(300);
                    tokio::task::yield_now().await;
                    continue;
                };
                let of = |lease: &RunLease| HoldPeriod {
                    worker,
                    from: lease.expires_at_ms() - LEASE_MS_SIGNED,
                    until: lease.expires_at_ms(),
                };
                had.push(of(&lease));
                clock.advance_millis(100);
                if dice.one_in(2) && lease.renew(&app, LEASE_MS).await.unwrap() {
                    had.push(of(&lease));
                }
                if dice.one_in(2) {
                    // From here on it does nothing for the run, whenever the others notice.
                    let given = clock.now_millis();
                    for one in &mut had {
                        one.until = one.until.min(given);
                    }
                    lease.release(&app).await.unwrap();
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
