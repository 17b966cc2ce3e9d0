//! The society: runs, their members, roles, budgets and conversations, as values and rules.
//!
//! A run (called a task of the society in requirement 001) is one requirement and all agents hired for it.
//! Its members are agents driven by a model, except an outside agent or person at its head. Their
//! conversations, state and spending are stored in the records defined here; the runtime that drives them is
//! in `polis-society`.

pub mod brief;
pub mod budget;
pub mod call_approval;
pub mod dismiss;
pub mod hire;
pub mod member;
pub mod pause;
pub mod question;
pub mod run;
pub mod run_id;
pub mod run_id_json;
pub mod society_role;
pub mod start_run;
pub mod turn;
pub mod versioned;

pub use run_id::{MemberKey, RunId};
pub use versioned::VersionedRecord;
