//! What an answer holds on to until it is committed: a place at the endpoint that gave it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A place that others wait for. It is free again when the last copy is dropped.
///
/// Keep it until the answer is committed: an endpoint then never has more answers under way than it has
/// places, whatever the store does, and a crash loses few.
#[derive(Clone, Default)]
pub struct Held(Option<Arc<dyn Any + Send + Sync>>);

impl Held {
    /// Holds something until it is dropped.
    pub fn of(what: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(what)))
    }

    /// Holds nothing: recordings and scripts have room for all.
    pub fn nothing() -> Self {
        Self(None)
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "held" } else { "nothing" })
    }
}

/// Answers are compared by what they say, not by what they hold.
impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Held {}
