//! The time, from outside.

use std::pin::Pin;
use std::time::Duration;

/// Tells the time, and lets it pass.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Milliseconds since 1970.
    fn now_millis(&self) -> i64;

    /// Waits.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
