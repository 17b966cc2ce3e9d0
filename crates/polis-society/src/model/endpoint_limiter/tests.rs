//! Limiter tests with a paused clock: order, concurrency limit, and the reaction to rate limits.

use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

fn paused_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// Runs all tasks as far as possible without time passing.
async fn run_ready_tasks() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn few_slots_open_initially_and_more_when_callers_wait() {
    let limiter = EndpointLimiter::new(5, None);
    let mut permits = Vec::new();
    for _ in 0..INITIAL_SLOTS {
        permits.push(limiter.acquire_slot(QueueTicket::draw()).await);
    }
    let started = Instant::now();
    permits.push(limiter.acquire_slot(QueueTicket::draw()).await);
    assert!(started.elapsed() >= SLOT_OPENING_DELAY && started.elapsed() < SLOT_OPENING_DELAY * 2);
    permits.push(limiter.acquire_slot(QueueTicket::draw()).await);
    assert!(started.elapsed() >= SLOT_OPENING_DELAY * 2);
    let sixth = limiter.acquire_slot(QueueTicket::draw());
    let waited = tokio::time::timeout(Duration::from_secs(5), sixth).await;
    assert!(waited.is_err(), "the number of slots is limited");
    permits.clear();
    sleep(IDLE_RESET_TIMEOUT + MILLISECOND).await;
    for _ in 0..INITIAL_SLOTS {
        permits.push(limiter.acquire_slot(QueueTicket::draw()).await);
    }
    let started = Instant::now();
    permits.push(limiter.acquire_slot(QueueTicket::draw()).await);
    assert!(
        started.elapsed() >= SLOT_OPENING_DELAY,
        "the number of slots is reset after an idle time"
    );
}

/// With a long queue slots open one after another, not all at once because all callers have waited.
#[tokio::test(start_paused = true)]
async fn slots_open_one_at_a_time() {
    let limiter = EndpointLimiter::new(100, None);
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let limiter = Arc::clone(&limiter);
        tasks.spawn(async move {
            let permit = limiter.acquire_slot(QueueTicket::draw()).await;
            sleep(Duration::from_secs(60)).await;
            drop(permit);
        });
    }
    run_ready_tasks().await;
    assert_eq!(limiter.state.lock().busy_slots, INITIAL_SLOTS);
    for more in 1..=10 {
        advance(SLOT_OPENING_DELAY).await;
        run_ready_tasks().await;
        assert_eq!(limiter.state.lock().busy_slots, INITIAL_SLOTS + more);
    }
}

/// If responses are faster than the waiting time, no further slot opens.
#[tokio::test(start_paused = true)]
async fn fast_endpoint_needs_only_the_initial_slots() {
    let limiter = EndpointLimiter::new(100, None);
    let max_busy = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let (limiter, max_busy) = (Arc::clone(&limiter), Arc::clone(&max_busy));
        tasks.spawn(async move {
            for _ in 0..20 {
                let permit = limiter.acquire_slot(QueueTicket::draw()).await;
                max_busy.fetch_max(limiter.state.lock().busy_slots, Ordering::Relaxed);
                sleep(MILLISECOND).await;
                drop(permit);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(max_busy.load(Ordering::Relaxed), INITIAL_SLOTS);
}

/// Makes a request that is refused.
async fn make_refused_request(limiter: &Arc<EndpointLimiter>, pause: Option<Duration>) {
    limiter
        .acquire_slot(QueueTicket::draw())
        .await
        .report_rate_limit(pause);
}

/// Makes a request that succeeds.
async fn make_answered_request(limiter: &Arc<EndpointLimiter>) {
    limiter
        .acquire_slot(QueueTicket::draw())
        .await
        .report_response();
}

#[tokio::test(start_paused = true)]
async fn one_refusal_slows_the_pace_and_keeps_the_limiter_open() {
    let limiter = EndpointLimiter::new(50, None);
    let permit = limiter.acquire_slot(QueueTicket::draw()).await;
    let stale = limiter.acquire_slot(QueueTicket::draw()).await;
    permit.report_rate_limit(Some(Duration::from_secs(7)));
    let pace = limiter.state.lock().admission_interval.unwrap();
    // Another concurrent request reports the same overload, and does not slow the pace again.
    stale.report_rate_limit(None);
    assert_eq!(limiter.state.lock().admission_interval, Some(pace));
    drop((permit, stale));
    assert_eq!(limiter.closed_for(), None);
    make_answered_request(&limiter).await;
    // Refused again: half the previous pace.
    let before = limiter.state.lock().admission_interval.unwrap();
    make_refused_request(&limiter, None).await;
    assert_eq!(limiter.state.lock().admission_interval, Some(before * 2));
    // But not slower than one request per `Retry-After` interval.
    make_answered_request(&limiter).await;
    let before = limiter.state.lock().admission_interval.unwrap();
    make_refused_request(&limiter, Some(before + before / 2)).await;
    assert_eq!(
        limiter.state.lock().admission_interval,
        Some(before + before / 2)
    );
    let mut answers = 0;
    while limiter.state.lock().admission_interval.is_some() {
        make_answered_request(&limiter).await;
        answers += 1;
    }
    assert!(
        (10..200).contains(&answers),
        "it recovers, slowly: {answers}"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_in_a_row_close_the_limiter_for_all() {
    let limiter = EndpointLimiter::new(50, None);
    make_answered_request(&limiter).await;
    for _ in 1..OVERLOAD_REFUSALS {
        make_refused_request(&limiter, Some(Duration::from_secs(7))).await;
        assert_eq!(limiter.closed_for(), None);
    }
    make_refused_request(&limiter, Some(Duration::from_secs(7))).await;
    let started = Instant::now();
    make_answered_request(&limiter).await;
    let waited = started.elapsed();
    assert!(
        waited >= Duration::from_secs(7) && waited <= Duration::from_secs(8),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_that_a_slower_pace_does_not_prevent_end_the_slowing() {
    let limiter = EndpointLimiter::new(50, None);
    for _ in 0..MAX_FUTILE_SLOWDOWNS {
        make_answered_request(&limiter).await;
        make_refused_request(&limiter, None).await;
        assert!(limiter.state.lock().admission_interval.is_some());
    }
    make_answered_request(&limiter).await;
    make_refused_request(&limiter, None).await;
    assert_eq!(limiter.state.lock().admission_interval, None);
    make_answered_request(&limiter).await;
    make_refused_request(&limiter, None).await;
    assert_eq!(limiter.state.lock().admission_interval, None);
    // Many in a row still count as an overload.
    make_answered_request(&limiter).await;
    for _ in 0..OVERLOAD_REFUSALS_IF_RANDOM {
        assert_eq!(limiter.closed_for(), None);
        make_refused_request(&limiter, None).await;
    }
    assert!(limiter.closed_for().is_some() && limiter.state.lock().admission_interval.is_some());
}

#[tokio::test(start_paused = true)]
async fn closings_without_retry_after_back_off_exponentially() {
    let limiter = EndpointLimiter::new(5, None);
    for _ in 1..OVERLOAD_REFUSALS {
        make_refused_request(&limiter, None).await;
    }
    let mut before = Duration::ZERO;
    for _ in 0..4 {
        make_refused_request(&limiter, None).await;
        let closed = limiter.closed_for().unwrap();
        assert!(closed > before + before / 2, "{closed:?} after {before:?}");
        before = closed;
    }
    for _ in 0..10 {
        make_refused_request(&limiter, None).await;
        assert!(limiter.closed_for().unwrap() <= MAX_CLOSE_BACKOFF * 2);
    }
    // A success of any request resets this.
    make_answered_request(&limiter).await;
    for _ in 0..OVERLOAD_REFUSALS {
        make_refused_request(&limiter, None).await;
    }
    assert!(limiter.closed_for().unwrap() < INITIAL_CLOSE_BACKOFF * 2);
    // A `Retry-After` duration is used unchanged, however often it is sent.
    for _ in 0..5 {
        make_refused_request(&limiter, Some(Duration::from_secs(1))).await;
        let closed = limiter.closed_for().unwrap();
        assert!(closed >= Duration::from_secs(1) && closed <= MILLISECOND * 1200);
    }
    make_refused_request(&limiter, Some(Duration::from_secs(100_000))).await;
    assert!(limiter.closed_for().unwrap() <= MAX_CLOSE_DURATION * 2);
}

#[tokio::test(start_paused = true)]
async fn configured_requests_per_minute_are_not_exceeded() {
    let limiter = EndpointLimiter::new(50, Some(30));
    let started = Instant::now();
    for _ in 0..31 {
        drop(limiter.acquire_slot(QueueTicket::draw()).await);
    }
    assert!(started.elapsed() >= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn retry_with_the_same_ticket_keeps_its_position() {
    let limiter = EndpointLimiter::new(1, None);
    let early = QueueTicket::draw();
    let permit = limiter.acquire_slot(QueueTicket::draw()).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for ticket in [QueueTicket::draw(), QueueTicket::draw(), early] {
        let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
        tasks.spawn(async move {
            let _permit = limiter.acquire_slot(ticket).await;
            order.lock().push(ticket);
        });
        run_ready_tasks().await;
    }
    drop(permit);
    tasks.join_all().await;
    let order = order.lock().clone();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order[0], early);
}

/// The behaviour of one caller.
#[derive(Debug, Clone)]
struct SimulatedCaller {
    arrives_after_ms: u64,
    slot_time_ms: u64,
    gives_up_after_ms: Option<u64>,
    retry_after_ms: Option<u64>,
}

fn any_caller() -> impl Strategy<Value = SimulatedCaller> {
    let limited = prop_oneof![9 => Just(None), 1 => (0_u64..400).prop_map(Some)];
    let leaves = prop_oneof![5 => Just(None), 1 => (0_u64..60).prop_map(Some)];
    (0_u64..300, 0_u64..40, leaves, limited).prop_map(
        |(comes_at, stays, leaves_queue_after, limited)| SimulatedCaller {
            arrives_after_ms: comes_at,
            slot_time_ms: stays,
            gives_up_after_ms: leaves_queue_after,
            retry_after_ms: limited,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn callers_are_served_in_order_within_the_slot_limit(
        callers in prop::collection::vec(any_caller(), 1..60),
        max_slots in 1_usize..12,
    ) {
        let limiter = paused_runtime().block_on(async {
            let limiter = EndpointLimiter::new(max_slots, None);
            let admitted = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = JoinSet::new();
            for caller in callers {
                let (limiter, admitted) = (Arc::clone(&limiter), Arc::clone(&admitted));
                tasks.spawn(async move {
                    sleep(MILLISECOND * u32::try_from(caller.arrives_after_ms).unwrap()).await;
                    let ticket = QueueTicket::draw();
                    let entering = limiter.acquire_slot(ticket);
                    let permit = match caller.gives_up_after_ms {
                        Some(ms) => tokio::time::timeout(MILLISECOND * u32::try_from(ms).unwrap(), entering).await.ok(),
                        None => Some(entering.await),
                    };
                    let Some(permit) = permit else { return caller.gives_up_after_ms.is_some() };
                    let busy = limiter.state.lock().busy_slots;
                    assert!(busy <= limiter.max_slots, "{busy}");
                    admitted.lock().push(ticket);
                    sleep(MILLISECOND * u32::try_from(caller.slot_time_ms).unwrap()).await;
                    match caller.retry_after_ms {
                        Some(ms) => permit.report_rate_limit(Some(MILLISECOND * u32::try_from(ms).unwrap())),
                        None => permit.report_response(),
                    }
                    true
                });
            }
            // All tasks end: with a paused clock a lost waiter would wait without end, and so would this
            // test.
            let ended = tokio::time::timeout(Duration::from_secs(100_000), tasks.join_all()).await;
            assert!(ended.expect("all callers are served").into_iter().all(|served| served));
            // No caller overtakes another: tickets are drawn right before entering, so admission follows the
            // order of tickets.
            let admitted = admitted.lock().clone();
            assert!(admitted.is_sorted(), "{admitted:?}");
            limiter
        });
        let state = limiter.state.lock();
        prop_assert_eq!((state.busy_slots, state.queue.len()), (0, 0));
    }
}
