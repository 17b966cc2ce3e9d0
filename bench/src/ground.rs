//! Creates a [`Polis`] over a store as a server does, with the system clock and sequential tokens.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_ops::port::{Chance, Clock};
use polis_ops::{Polis, Settings, Store};

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Chance for Counted {
    fn token(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// Creates a [`Polis`] over a store with default settings.
pub(crate) fn ground(store: Arc<dyn Store>) -> Polis {
    ground_with(store, Settings::default())
}

/// Creates a [`Polis`] over a store with these settings.
pub(crate) fn ground_with(store: Arc<dyn Store>, settings: Settings) -> Polis {
    Polis::new(
        store,
        Arc::new(SystemClock),
        Arc::new(Counted::default()),
        settings,
    )
}
