//! Whether concurrent clients saw one order of things.
//!
//! [`model`] says what each request does to a task if it runs alone; [`search`] looks for an order
//! of a recorded history in which every answer is the model's and no request comes after one that
//! began when it had been answered; [`record`] records histories of clients on several handles.

pub mod model;
pub mod record;
pub mod search;

pub use record::{concurrent_clients_see_one_order, one_of_many_claimers_gets_the_task};
pub use search::{Entry, is_linearisable};
