//! Domain model and rules of polis, without side effects.
//!
//! Everything here is a value or a pure function: no clock, no randomness, no I/O, no `async`. An operation (in
//! `polis-ops`) loads the state that a rule needs, calls a `decide_*` function, and commits the [`Changeset`]
//! it returns, or reports the [`Refusal`].

pub mod agent;
pub mod artifact;
pub mod board;
pub mod caller;
pub mod changeset;
pub mod digest;
pub mod event;
pub mod id;
pub mod json;
pub mod message;
pub mod permission;
pub mod record;
pub mod refusal;
pub mod refusal_serde;
pub mod role;
pub mod session;
pub mod society;
pub mod task;
pub mod time;
pub mod token;
pub mod visibility;
pub mod webhook;
pub mod workspace;

pub use agent::{Agent, AgentStatus, Layer, Registered};
pub use board::BoardName;
pub use caller::{Caller, Standing};
pub use changeset::{Changeset, Expect, RecordKey, Write};
pub use event::{Event, NewEvent, Subject};
pub use id::{AgentId, TaskId};
pub use json::{Fields, Raw};
pub use permission::{Mode, Permission, Policy};
pub use refusal::{Code, Details, Kind, Refusal};
pub use role::RoleSet;
pub use society::{MemberKey, RunId};
pub use task::{Task, TaskRecord, TaskStatus, TaskType};
pub use time::Timestamp;
