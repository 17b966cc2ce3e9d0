//! Linearizability tests and checker for concurrent clients.
//!
//! [`task_model`] specifies the effect of each request on a task when it runs alone; [`history_checker`]
//! looks for an order of a recorded history in which every response matches the model and no request precedes
//! one that was answered before it was sent; [`client_history`] has the tests, which record the histories of
//! clients on several handles.

pub mod client_history;
pub mod history_checker;
pub mod task_model;

pub use client_history::{concurrent_claims_one_succeeds, concurrent_histories_are_linearizable};
pub use history_checker::{HistoryEntry, is_linearizable};
