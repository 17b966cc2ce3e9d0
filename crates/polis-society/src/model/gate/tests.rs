//! Gate tests with a paused clock: order, concurrency limit, and the reaction to rate limits.

use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};

use super::*;

const MS: Duration = Duration::from_millis(1);

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// Runs all tasks as far as possible without time passing.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn few_places_are_open_at_first_and_more_when_somebody_waits() {
    let gate = Gate::new(5, None);
    let mut held = Vec::new();
    for _ in 0..FIRST {
        held.push(gate.enter(Ticket::draw()).await);
    }
    let began = Instant::now();
    held.push(gate.enter(Ticket::draw()).await);
    assert!(began.elapsed() >= PATIENCE && began.elapsed() < PATIENCE * 2);
    held.push(gate.enter(Ticket::draw()).await);
    assert!(began.elapsed() >= PATIENCE * 2);
    let sixth = gate.enter(Ticket::draw());
    let waited = tokio::time::timeout(Duration::from_secs(5), sixth).await;
    assert!(waited.is_err(), "there is a limit");
    held.clear();
    sleep(IDLE + MS).await;
    for _ in 0..FIRST {
        held.push(gate.enter(Ticket::draw()).await);
    }
    let began = Instant::now();
    held.push(gate.enter(Ticket::draw()).await);
    assert!(began.elapsed() >= PATIENCE, "few again after a rest");
}

/// With a long queue slots open one after another, not all at once because all callers have waited.
#[tokio::test(start_paused = true)]
async fn places_open_one_by_one() {
    let gate = Gate::new(100, None);
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let gate = Arc::clone(&gate);
        tasks.spawn(async move {
            let permit = gate.enter(Ticket::draw()).await;
            sleep(Duration::from_secs(60)).await;
            drop(permit);
        });
    }
    settle().await;
    assert_eq!(gate.state().busy, FIRST);
    for more in 1..=10 {
        advance(PATIENCE).await;
        settle().await;
        assert_eq!(gate.state().busy, FIRST + more);
    }
}

/// If responses are faster than the waiting time, no further slot opens.
#[tokio::test(start_paused = true)]
async fn a_fast_endpoint_is_asked_by_few() {
    let gate = Gate::new(100, None);
    let most = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let (gate, most) = (Arc::clone(&gate), Arc::clone(&most));
        tasks.spawn(async move {
            for _ in 0..20 {
                let permit = gate.enter(Ticket::draw()).await;
                most.fetch_max(gate.state().busy, Ordering::Relaxed);
                sleep(MS).await;
                drop(permit);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(most.load(Ordering::Relaxed), FIRST);
}

/// Makes a request that is refused.
async fn refuse(gate: &Arc<Gate>, pause: Option<Duration>) {
    gate.enter(Ticket::draw()).await.limited(pause);
}

/// Makes a request that is answered.
async fn answer(gate: &Arc<Gate>) {
    gate.enter(Ticket::draw()).await.went_well();
}

#[tokio::test(start_paused = true)]
async fn one_refusal_slows_the_pace_and_keeps_the_gate_open() {
    let gate = Gate::new(50, None);
    let permit = gate.enter(Ticket::draw()).await;
    let stale = gate.enter(Ticket::draw()).await;
    permit.limited(Some(Duration::from_secs(7)));
    let pace = gate.state().pace.unwrap();
    // Another concurrent request reports the same overload, and does not slow the pace again.
    stale.limited(None);
    assert_eq!(gate.state().pace, Some(pace));
    drop((permit, stale));
    assert_eq!(gate.closed_for(), None);
    answer(&gate).await;
    // Refused again: half the previous pace.
    let before = gate.state().pace.unwrap();
    refuse(&gate, None).await;
    assert_eq!(gate.state().pace, Some(before * 2));
    // But not slower than one request per `Retry-After` interval.
    answer(&gate).await;
    let before = gate.state().pace.unwrap();
    refuse(&gate, Some(before + before / 2)).await;
    assert_eq!(gate.state().pace, Some(before + before / 2));
    let mut answers = 0;
    while gate.state().pace.is_some() {
        answer(&gate).await;
        answers += 1;
    }
    assert!(
        (10..200).contains(&answers),
        "it recovers, slowly: {answers}"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_in_a_row_close_the_gate_for_all() {
    let gate = Gate::new(50, None);
    answer(&gate).await;
    for _ in 1..OVERLOADED {
        refuse(&gate, Some(Duration::from_secs(7))).await;
        assert_eq!(gate.closed_for(), None);
    }
    refuse(&gate, Some(Duration::from_secs(7))).await;
    let began = Instant::now();
    answer(&gate).await;
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(7) && waited <= Duration::from_secs(8),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_that_a_slower_pace_does_not_prevent_end_the_slowing() {
    let gate = Gate::new(50, None);
    for _ in 0..FUTILE {
        answer(&gate).await;
        refuse(&gate, None).await;
        assert!(gate.state().pace.is_some());
    }
    answer(&gate).await;
    refuse(&gate, None).await;
    assert_eq!(gate.state().pace, None);
    answer(&gate).await;
    refuse(&gate, None).await;
    assert_eq!(gate.state().pace, None);
    // Many in a row still count as an overload.
    answer(&gate).await;
    for _ in 0..OVERLOADED_AFTER_ALL {
        assert_eq!(gate.closed_for(), None);
        refuse(&gate, None).await;
    }
    assert!(gate.closed_for().is_some() && gate.state().pace.is_some());
}

#[tokio::test(start_paused = true)]
async fn closings_without_a_named_time_take_longer_and_longer() {
    let gate = Gate::new(5, None);
    for _ in 1..OVERLOADED {
        refuse(&gate, None).await;
    }
    let mut before = Duration::ZERO;
    for _ in 0..4 {
        refuse(&gate, None).await;
        let closed = gate.closed_for().unwrap();
        assert!(closed > before + before / 2, "{closed:?} after {before:?}");
        before = closed;
    }
    for _ in 0..10 {
        refuse(&gate, None).await;
        assert!(gate.closed_for().unwrap() <= LONGEST_DOUBLED * 2);
    }
    // An answer to any request resets this.
    answer(&gate).await;
    for _ in 0..OVERLOADED {
        refuse(&gate, None).await;
    }
    assert!(gate.closed_for().unwrap() < CLOSED * 2);
    // A `Retry-After` duration is used unchanged, however often it is sent.
    for _ in 0..5 {
        refuse(&gate, Some(Duration::from_secs(1))).await;
        let closed = gate.closed_for().unwrap();
        assert!(closed >= Duration::from_secs(1) && closed <= MS * 1200);
    }
    refuse(&gate, Some(Duration::from_secs(100_000))).await;
    assert!(gate.closed_for().unwrap() <= LONGEST_CLOSED * 2);
}

#[tokio::test(start_paused = true)]
async fn requests_a_minute_are_kept() {
    let gate = Gate::new(50, Some(30));
    let began = Instant::now();
    for _ in 0..31 {
        drop(gate.enter(Ticket::draw()).await);
    }
    assert!(began.elapsed() >= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn who_asks_again_keeps_its_place_in_the_order() {
    let gate = Gate::new(1, None);
    let early = Ticket::draw();
    let held = gate.enter(Ticket::draw()).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for ticket in [Ticket::draw(), Ticket::draw(), early] {
        let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
        tasks.spawn(async move {
            let _permit = gate.enter(ticket).await;
            order.lock().unwrap().push(ticket);
        });
        settle().await;
    }
    drop(held);
    tasks.join_all().await;
    let order = order.lock().unwrap().clone();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order[0], early);
}

/// The behaviour of one caller.
#[derive(Debug, Clone)]
struct Caller {
    comes_at: u64,
    stays: u64,
    leaves_queue_after: Option<u64>,
    limited: Option<u64>,
}

fn caller() -> impl Strategy<Value = Caller> {
    let limited = prop_oneof![9 => Just(None), 1 => (0_u64..400).prop_map(Some)];
    let leaves = prop_oneof![5 => Just(None), 1 => (0_u64..60).prop_map(Some)];
    (0_u64..300, 0_u64..40, leaves, limited).prop_map(
        |(comes_at, stays, leaves_queue_after, limited)| Caller {
            comes_at,
            stays,
            leaves_queue_after,
            limited,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn all_are_served_in_order_and_never_too_many_at_once(
        callers in prop::collection::vec(caller(), 1..60),
        most in 1_usize..12,
    ) {
        let gate = paused().block_on(async {
            let gate = Gate::new(most, None);
            let came_in = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = JoinSet::new();
            for caller in callers {
                let (gate, came_in) = (Arc::clone(&gate), Arc::clone(&came_in));
                tasks.spawn(async move {
                    sleep(MS * u32::try_from(caller.comes_at).unwrap()).await;
                    let ticket = Ticket::draw();
                    let entering = gate.enter(ticket);
                    let permit = match caller.leaves_queue_after {
                        Some(ms) => tokio::time::timeout(MS * u32::try_from(ms).unwrap(), entering).await.ok(),
                        None => Some(entering.await),
                    };
                    let Some(permit) = permit else { return caller.leaves_queue_after.is_some() };
                    let busy = gate.state().busy;
                    assert!(busy <= gate.most, "{busy}");
                    came_in.lock().unwrap().push(ticket);
                    sleep(MS * u32::try_from(caller.stays).unwrap()).await;
                    match caller.limited {
                        Some(ms) => permit.limited(Some(MS * u32::try_from(ms).unwrap())),
                        None => permit.went_well(),
                    }
                    true
                });
            }
            // All tasks end: with a paused clock a lost waiter would wait without end, and so would this test.
            let ended = tokio::time::timeout(Duration::from_secs(100_000), tasks.join_all()).await;
            assert!(ended.expect("everybody is served").into_iter().all(|served| served));
            // No caller overtakes another: tickets are drawn right before entering, so admission follows the order of
            // tickets.
            let came_in = came_in.lock().unwrap().clone();
            assert!(came_in.is_sorted(), "{came_in:?}");
            gate
        });
        let state = gate.state();
        prop_assert_eq!((state.busy, state.queue.len()), (0, 0));
    }
}
