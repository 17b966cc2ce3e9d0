//! Domain model and rules of polis, without side effects.
//!
//! Everything here is a value or a pure function: no clock, no randomness, no I/O, no `async`. An operation
//! (in `polis-ops`) loads the state that a rule needs, calls a rule function of this crate (usually
//! `decide_*`), and commits the [`Changeset`] it returns, or reports the [`Refusal`].

pub mod agent;
pub mod agent_session;
pub mod artifact;
pub mod board;
pub mod caller;
pub mod changeset;
pub mod digest;
pub mod event;
pub mod id;
pub mod json;
pub mod message;
pub mod number;
pub mod permission;
pub mod record;
pub mod refusal;
pub mod refusal_serde;
pub mod role;
pub mod society;
pub mod task;
pub mod timestamp;
pub mod token;
pub mod visibility;
pub mod webhook;
pub mod workspace;

pub use agent::{Agent, AgentLayer, AgentStatus, RegisteredAgent};
pub use board::BoardName;
pub use caller::{Caller, CallerKind};
pub use changeset::{Changeset, RecordKey, StoreWrite, WritePrecondition};
pub use event::{Event, EventArea, EventKind, EventPayload, EventSubject, NewEvent};
pub use id::{AgentId, TaskId};
pub use json::{RawJson, RawObject};
pub use permission::{Permission, PermissionMode, PermissionPolicy};
pub use refusal::{Refusal, RefusalCode, RefusalDetails, RefusalKind};
pub use role::RoleSet;
pub use society::{MemberKey, RunId};
pub use task::{Task, TaskPriority, TaskRecord, TaskStatus, TaskType};
pub use timestamp::Timestamp;
