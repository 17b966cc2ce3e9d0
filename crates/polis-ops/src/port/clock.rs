//! The time, from outside.

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Milliseconds since 1970.
    fn now_millis(&self) -> i64;
}
