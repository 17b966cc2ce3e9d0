//! Rate limit tests with a paused clock: a call that is always refused among others that are answered, and simulated
//! servers with random refusals or a token bucket.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn endpoint(patience: &Patience) -> Arc<Endpoint> {
    let settings = EndpointSettings::new("main", "http://127.0.0.1:9/v1", "model-one");
    let trust = Arc::new(Trust::with(Vec::new()));
    Arc::new(Endpoint::new(settings, &Proxies::default(), trust, patience).unwrap())
}

/// Retries until the endpoint is given up; returns the number of attempts, and the time.
async fn sick(
    endpoint: &Arc<Endpoint>,
    pause: Option<Duration>,
    patience: &Patience,
) -> (u32, Duration) {
    let began = Instant::now();
    let mut trial = Trial::of(endpoint);
    loop {
        let permit = endpoint.gate.enter(Ticket::draw()).await;
        sleep(Duration::from_millis(5)).await;
        if let Some(why) = trial.limited("Slow.", pause, &permit, patience) {
            assert!(why.starts_with("Slow. It "), "{why}");
            return (trial.limits, began.elapsed());
        }
        drop(permit);
        sleep(trial.wait(Instant::now())).await;
    }
}

/// Other calls are answered between the refusals of one that is always refused, which is given up after the usual
/// number of tries.
#[tokio::test(start_paused = true)]
async fn one_that_is_always_limited_does_not_keep_out_the_others() {
    for pause in [Some(SECOND), None] {
        let patience = Patience::default();
        let endpoint = endpoint(&patience);
        let given_up = CancellationToken::new();
        let mut well = JoinSet::new();
        for _ in 0..3 {
            let (endpoint, given_up) = (Arc::clone(&endpoint), given_up.clone());
            well.spawn(async move {
                let mut slowest = Duration::ZERO;
                while !given_up.is_cancelled() {
                    let began = Instant::now();
                    let permit = endpoint.gate.enter(Ticket::draw()).await;
                    slowest = slowest.max(began.elapsed());
                    sleep(Duration::from_millis(400)).await;
                    permit.went_well();
                    drop(permit);
                }
                slowest
            });
        }
        let (tries, _) = sick(&endpoint, pause, &patience).await;
        given_up.cancel();
        assert!((24..40).contains(&tries), "{pause:?}: {tries} tries");
        for slowest in well.join_all().await {
            assert!(slowest < SECOND, "{pause:?}: waited {slowest:?}");
        }
        assert!(endpoint.gate.answers() > 20);
    }
}

/// Without answers to other calls there is nothing to compare with: retries continue for the configured total time.
#[tokio::test(start_paused = true)]
async fn a_limit_for_all_is_waited_for() {
    let patience = Patience::default();
    for pause in [Some(SECOND), None] {
        let (tries, time) = sick(&endpoint(&patience), pause, &patience).await;
        assert!(tries > patience.tries, "{tries}");
        assert!(
            time >= patience.total && time < patience.total + 20 * SECOND,
            "{time:?}"
        );
    }
}

/// A pause that is too long to wait for ends the call, and delays the others for a minute.
#[tokio::test(start_paused = true)]
async fn a_day_is_not_waited_for_by_anybody() {
    let patience = Patience::default();
    let endpoint = endpoint(&patience);
    let (tries, _) = sick(&endpoint, Some(86_400 * SECOND), &patience).await;
    assert_eq!(tries, 0);
    let began = Instant::now();
    drop(endpoint.gate.enter(Ticket::draw()).await);
    let waited = began.elapsed();
    assert!(
        waited >= CLOSED_IN_VAIN && waited < CLOSED_IN_VAIN * 2,
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
        let since = (now - self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + since * self.rate).min(self.burst);
        if self.tokens < 1.0 {
            return true;
        }
        self.tokens -= 1.0;
        false
    }
}

/// Result of a simulated fleet of agents.
#[derive(Debug)]
struct Outcome {
    time: Duration,
    refused: usize,
}

/// Runs agents that make calls one after another, retrying refused ones, until all are answered.
async fn run_fleet(
    agents: usize,
    calls: usize,
    latency: Duration,
    pause: Option<Duration>,
    limit: impl ServerLimit + 'static,
) -> Outcome {
    let patience = Patience::default();
    let endpoint = endpoint(&patience);
    let server = Arc::new(Mutex::new((limit, 0_usize)));
    let began = Instant::now();
    let mut fleet = JoinSet::new();
    for _ in 0..agents {
        let (endpoint, server) = (Arc::clone(&endpoint), Arc::clone(&server));
        let patience = patience.clone();
        fleet.spawn(async move {
            for _ in 0..calls {
                let mut trial = Trial::of(&endpoint);
                let mut ticket = Ticket::draw();
                loop {
                    let permit = endpoint.gate.enter(ticket).await;
                    let refused = server.lock().unwrap().0.refuses(Instant::now());
                    sleep(latency).await;
                    if !refused {
                        permit.went_well();
                        break;
                    }
                    server.lock().unwrap().1 += 1;
                    ticket = Ticket::draw();
                    let given_up = trial.limited("Slow.", pause, &permit, &patience);
                    assert_eq!(given_up, None);
                    drop(permit);
                    sleep(trial.wait(Instant::now())).await;
                }
            }
        });
    }
    fleet.join_all().await;
    let refused = server.lock().unwrap().1;
    Outcome {
        time: began.elapsed(),
        refused,
    }
}

/// Returns the time the fleet would take if each agent waited independently, as clients without a shared limiter do.
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
async fn random_refusals_cost_about_as_much_as_waiting_alone() {
    let (mut ours, mut floor) = (Duration::ZERO, Duration::ZERO);
    for seed in 1..=20 {
        let random = RandomRefusals(fastrand::Rng::with_seed(seed), 0.25);
        ours += run_fleet(10, 20, LATENCY, Some(SECOND), random).await.time;
        floor += independent_fleet(10, 20, LATENCY, SECOND, seed);
    }
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    assert!(ratio < 1.5, "{ratio}: {ours:?} beside {floor:?}");
}

/// A limit on load is fully used, and few requests are wasted on finding it.
#[tokio::test(start_paused = true)]
async fn token_bucket_is_used_fully_with_few_refusals() {
    for (rate, burst, most) in [
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
            let about = format!("{rate}/s, burst {burst}, {pause:?}: {ratio:.2}, {fleet:?}");
            assert!(ratio < most, "{about}");
            assert!(fleet.refused <= 40, "{about}");
        }
    }
}
