//! Definitions of the tools, one file for one or two areas (messages with artifacts, events with the server), and
//! the table of all of them.

mod agents;
mod blackboard;
mod boards;
mod commands;
mod events;
mod files;
mod messages;
mod registry;
mod society;
mod tasks;

pub use registry::TOOLS;
pub use society::format_budget_amount;
