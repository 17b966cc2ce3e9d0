//! Creates a [`App`] over a store as a server does, with the system clock and sequential tokens.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_core::number::saturating_cast;
use polis_ops::port::{Clock, RandomSource};
use polis_ops::{App, InstallationSettings, Store};

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this implements the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        saturating_cast::<i64>(since.as_millis())
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

#[derive(Debug, Default)]
struct SequentialRandomSource(AtomicU64);

impl RandomSource for SequentialRandomSource {
    fn random_token(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// Creates a [`App`] over a store with default settings.
pub(crate) fn new_app(store: Arc<dyn Store>) -> App {
    new_polis_with_settings(store, InstallationSettings::default())
}

/// Creates a [`App`] over a store with these settings.
pub(crate) fn new_polis_with_settings(
    store: Arc<dyn Store>,
    settings: InstallationSettings,
) -> App {
    App::new(
        store,
        Arc::new(SystemClock),
        Arc::new(SequentialRandomSource::default()),
        settings,
    )
}
