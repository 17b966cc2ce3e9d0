//! The society: runs, their members, roles, budgets and conversations, as values and rules.
//!
//! A run is what the source documents call a task of the society: one requirement and all agents hired for it.
//! Members are agents that are driven by a model. Their conversations, state and spending are stored in the
//! records defined here; the runtime that drives them is in `polis-society`.

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
