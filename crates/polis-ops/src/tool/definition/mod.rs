//! Definitions of the tools, one file for each group, and the table of all of them.

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
