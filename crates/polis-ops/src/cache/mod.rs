//! Caches of derived data, each valid up to a position of the event log.

pub(crate) mod open_decisions_cache;
pub(crate) mod stats_cache;
pub(crate) mod task_time_cache;
