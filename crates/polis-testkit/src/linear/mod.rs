//! Linearizability checker for concurrent clients.
//!
//! [`model`] specifies the effect of each request on a task when it runs alone; [`search`] looks for an order
//! of a recorded history in which every response matches the model and no request precedes one that was
//! answered before it was sent; [`record`] records histories of clients on several handles.

pub mod model;
pub mod record;
pub mod search;

pub use record::{concurrent_clients_see_one_order, one_of_many_claimers_gets_the_task};
pub use search::{Entry, is_linearisable};
