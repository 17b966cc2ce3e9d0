//! Port [`Clock`]: the current time, and sleeping.

use std::pin::Pin;
use std::time::Duration;

/// Clock that returns the time and sleeps.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the milliseconds since 1970.
    fn now_millis(&self) -> i64;

    /// Sleeps for the given time.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
