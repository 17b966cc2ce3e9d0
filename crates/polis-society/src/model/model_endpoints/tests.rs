//! Rate limit tests with a paused clock: a call that is always refused among others that succeed, and
//! simulated servers with random refusals or a token bucket.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn test_endpoint() -> Arc<ModelEndpoint> {
    let settings = EndpointSettings::new("main", "http://127.0.0.1:9/v1", "model-one");
    let client = HttpClient::new(HttpClientSettings::default());
    Arc::new(ModelEndpoint::new(settings, client).unwrap())
}

/// Retries until the endpoint is given up; returns the number of attempts, and the time.
async fn retry_until_given_up(
    endpoint: &Arc<ModelEndpoint>,
    pause: Option<Duration>,
    retry_policy: &RetryPolicy,
) -> (u32, Duration) {
    let started = Instant::now();
    let mut trial = EndpointTrial::new(endpoint);
    loop {
        let permit = endpoint.limiter.acquire_slot(QueueTicket::draw()).await;
        sleep(Duration::from_millis(5)).await;
        if let Some(error) =
            trial.record_rate_limit("Slow.", pause, &permit, retry_policy, UiLanguage::En)
        {
            let reason = error.strip_prefix("Slow. ");
            assert!(
                reason.is_some_and(
                    |text| text.starts_with("This lasted") || text.starts_with("It asks")
                ),
                "{error}"
            );
            return (trial.rate_limits, started.elapsed());
        }
        drop(permit);
        sleep(trial.remaining_wait(Instant::now())).await;
    }
}

/// Other calls succeed between the refusals of one that is always refused, which is given up after the usual
/// number of attempts.
#[tokio::test(start_paused = true)]
async fn always_refused_call_does_not_delay_other_calls() {
    for pause in [Some(SECOND), None] {
        let retry_policy = RetryPolicy::default();
        let endpoint = test_endpoint();
        let finished = CancellationToken::new();
        let mut others = JoinSet::new();
        for _ in 0..3 {
            let (endpoint, finished) = (Arc::clone(&endpoint), finished.clone());
            others.spawn(async move {
                let mut slowest = Duration::ZERO;
                while !finished.is_cancelled() {
                    let started = Instant::now();
                    let permit = endpoint.limiter.acquire_slot(QueueTicket::draw()).await;
                    slowest = slowest.max(started.elapsed());
                    sleep(Duration::from_millis(400)).await;
                    permit.report_response();
                    drop(permit);
                }
                slowest
            });
        }
        let (attempts, _) = retry_until_given_up(&endpoint, pause, &retry_policy).await;
        finished.cancel();
        assert!((24..40).contains(&attempts), "{pause:?}: {attempts} tries");
        for slowest in others.join_all().await {
            assert!(slowest < SECOND, "{pause:?}: waited {slowest:?}");
        }
        assert!(endpoint.limiter.answer_count() > 20);
    }
}

/// If no other call succeeds there is nothing to compare with: retries continue for the configured total
/// time.
#[tokio::test(start_paused = true)]
async fn rate_limit_on_all_calls_is_retried_for_the_total_time() {
    let retry_policy = RetryPolicy::default();
    for pause in [Some(SECOND), None] {
        let (attempts, time) = retry_until_given_up(&test_endpoint(), pause, &retry_policy).await;
        assert!(attempts > retry_policy.max_attempts, "{attempts}");
        assert!(
            time >= retry_policy.max_retry_time && time < retry_policy.max_retry_time + 20 * SECOND,
            "{time:?}"
        );
    }
}

/// A pause that is too long to wait for ends the call, and delays the others for a minute.
#[tokio::test(start_paused = true)]
async fn too_long_retry_after_fails_the_call_at_once() {
    let retry_policy = RetryPolicy::default();
    let endpoint = test_endpoint();
    let (attempts, _) = retry_until_given_up(&endpoint, Some(86_400 * SECOND), &retry_policy).await;
    assert_eq!(attempts, 0);
    let started = Instant::now();
    drop(endpoint.limiter.acquire_slot(QueueTicket::draw()).await);
    let waited = started.elapsed();
    assert!(
        waited >= CLOSE_DURATION_AFTER_GIVING_UP && waited < CLOSE_DURATION_AFTER_GIVING_UP * 2,
        "{waited:?}"
    );
}

/// A server's rate limit: decides whether a request at this moment is refused.
trait ServerLimit: Send {
    fn refuses(&mut self, now: Instant) -> bool;
}

/// Refuses each request with the same probability, regardless of load.
struct RandomRefusals(fastrand::Rng, f64);

impl ServerLimit for RandomRefusals {
    fn refuses(&mut self, _: Instant) -> bool {
        self.0.f64() < self.1
    }
}

/// A token bucket with this rate (requests per second) and burst.
struct TokenBucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            tokens: burst,
            filled: Instant::now(),
        }
    }
}

impl ServerLimit for TokenBucket {
    fn refuses(&mut self, now: Instant) -> bool {
        let elapsed = (now - self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + elapsed * self.rate).min(self.burst);
        if self.tokens < 1.0 {
            return true;
        }
        self.tokens -= 1.0;
        false
    }
}

/// Result of a simulated fleet of agents.
#[derive(Debug)]
struct FleetResult {
    time: Duration,
    refusals: usize,
}

/// Runs agents that make calls one after another, retrying refused ones, until all have succeeded.
async fn run_fleet(
    agents: usize,
    calls: usize,
    latency: Duration,
    pause: Option<Duration>,
    limit: impl ServerLimit + 'static,
) -> FleetResult {
    let retry_policy = RetryPolicy::default();
    let endpoint = test_endpoint();
    let server = Arc::new(Mutex::new((limit, 0_usize)));
    let started = Instant::now();
    let mut fleet = JoinSet::new();
    for _ in 0..agents {
        let (endpoint, server) = (Arc::clone(&endpoint), Arc::clone(&server));
        let retry_policy = retry_policy.clone();
        fleet.spawn(async move {
            for _ in 0..calls {
                let mut trial = EndpointTrial::new(&endpoint);
                let mut ticket = QueueTicket::draw();
                loop {
                    let permit = endpoint.limiter.acquire_slot(ticket).await;
                    let refused = server.lock().0.refuses(Instant::now());
                    sleep(latency).await;
                    if !refused {
                        permit.report_response();
                        break;
                    }
                    server.lock().1 += 1;
                    ticket = QueueTicket::draw();
                    let error = trial.record_rate_limit(
                        "Slow.",
                        pause,
                        &permit,
                        &retry_policy,
                        UiLanguage::En,
                    );
                    assert_eq!(error, None);
                    drop(permit);
                    sleep(trial.remaining_wait(Instant::now())).await;
                }
            }
        });
    }
    fleet.join_all().await;
    let refused = server.lock().1;
    FleetResult {
        time: started.elapsed(),
        refusals: refused,
    }
}

/// Returns the time the fleet would take if each agent waited independently, as clients without a shared
/// limiter do.
fn independent_fleet(
    agents: usize,
    calls: usize,
    latency: Duration,
    pause: Duration,
    seed: u64,
) -> Duration {
    let mut rng = fastrand::Rng::with_seed(seed);
    let of_agent = |_| {
        let mut time = Duration::ZERO;
        for _ in 0..calls {
            while rng.f64() < 0.25 {
                time += latency + pause;
            }
            time += latency;
        }
        time
    };
    (0..agents).map(of_agent).max().unwrap()
}

const LATENCY: Duration = Duration::from_millis(20);

/// Refusals that do not depend on load must not slow the whole fleet down.
#[tokio::test(start_paused = true)]
async fn random_refusals_do_not_slow_the_whole_fleet() {
    let (mut ours, mut floor) = (Duration::ZERO, Duration::ZERO);
    for seed in 1..=20 {
        let random = RandomRefusals(fastrand::Rng::with_seed(seed), 0.25);
        ours += run_fleet(10, 20, LATENCY, Some(SECOND), random).await.time;
        floor += independent_fleet(10, 20, LATENCY, SECOND, seed);
    }
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    assert!(ratio < 1.5, "{ratio}: {ours:?} compared with {floor:?}");
}

/// A limit on load is fully used, and few requests are wasted on finding it.
#[tokio::test(start_paused = true)]
async fn token_bucket_is_used_fully_with_few_refusals() {
    for (rate, burst, max_ratio) in [
        (10.0, 10.0, 1.2),
        (50.0, 50.0, 1.4),
        (2.0, 5.0, 1.1),
        (10.0, 1.0, 2.0),
    ] {
        for pause in [Some(SECOND), None] {
            let bucket = TokenBucket::new(rate, burst);
            let fleet = run_fleet(10, 20, LATENCY, pause, bucket).await;
            let ideal = (200.0 - burst) / rate;
            let ratio = fleet.time.as_secs_f64() / ideal;
            let context = format!("{rate}/s, burst {burst}, {pause:?}: {ratio:.2}, {fleet:?}");
            assert!(ratio < max_ratio, "{context}");
            assert!(fleet.refusals <= 40, "{context}");
        }
    }
}
