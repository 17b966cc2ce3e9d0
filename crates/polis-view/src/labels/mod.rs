//! Display names in both languages: statuses, types, roles, layers, verbs of events, refusals.
//!
//! These are for people. Identifiers read by programs (`in_progress`) are never translated.

mod board;
mod event;
mod refusal;
mod society;
mod task;

pub use board::{decision, version};
#[cfg(test)]
pub(crate) use event::DEEDS;
pub use event::{AREAS, area, deed};
pub use refusal::{
    command_line_message, names_program, next, refusal, screen_detail, screen_hint, screen_message,
    with_states,
};
pub use society::{agent_status, layer, member, role, run, run_duration};
pub use task::{field, status, task_type};
