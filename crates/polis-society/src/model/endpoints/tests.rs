//! Limits with a stopped clock: one call that is always told to wait, and others that are answered.

use tokio::task::JoinSet;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn endpoint(patience: &Patience) -> Arc<Endpoint> {
    let settings = EndpointSettings::new("main", "http://127.0.0.1:9/v1", "model-one");
    let trust = Arc::new(Trust::with(Vec::new()));
    Arc::new(Endpoint::new(settings, &Proxies::default(), trust, patience).unwrap())
}

/// Tries until it is given up; how often, and after how long.
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
    }
}

/// Well ones come through between the failures of a sick one, which is given up after the usual number of tries.
#[tokio::test(start_paused = true)]
async fn one_that_is_always_limited_does_not_keep_out_the_others() {
    for (pause, longest) in [(Some(SECOND), 3 * SECOND), (None, 2 * SECOND)] {
        let patience = Patience::default();
        let endpoint = endpoint(&patience);
        let mut well = JoinSet::new();
        for _ in 0..3 {
            let endpoint = Arc::clone(&endpoint);
            well.spawn(async move {
                let mut slowest = Duration::ZERO;
                for _ in 0..20 {
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
        assert!((8..20).contains(&tries), "{pause:?}: {tries} tries");
        for slowest in well.join_all().await {
            assert!(slowest < longest, "{pause:?}: waited {slowest:?}");
        }
        assert_eq!(endpoint.gate.answers(), 60);
    }
}

/// Alone there is nobody to compare with: it is tried for as long as patience lasts.
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

/// A time that nobody waits for ends the call, and holds up the others for a minute.
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
