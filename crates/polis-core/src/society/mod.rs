//! The society: runs, their members, roles, budgets and conversations, as values and rules.
//!
//! A run is what the source documents call a task of the society: one requirement and everybody who was hired
//! for it. Members are agents that think with a model. What they remember, owe and have spent is in the
//! store, in the records named here; the runtime that makes them think is not (`polis-society`).

pub mod approval;
pub mod brief;
pub mod budget;
pub mod dismiss;
pub mod hire;
pub mod member;
pub mod name;
pub mod pause;
pub mod question;
pub mod role;
pub mod run;
pub mod start;
pub mod turn;
pub mod versioned;

pub use name::{MemberKey, RunId};
pub use versioned::Kept;
