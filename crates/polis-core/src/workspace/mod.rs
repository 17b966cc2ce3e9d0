//! Workspaces: the directory a team of agents works in, and the rules for using it.
//!
//! A workspace belongs to an agent that is directly below `root` or has no supervisor; the agents below it
//! work in the same one. File tools and commands of an agent always act in the same directory. The rules here
//! only handle names, texts and numbers; `polis-workspace` opens and writes files and sandboxes commands.

mod blocklist;
pub mod command;
pub mod command_outcome;
pub mod command_policy;
pub mod file_tools;
pub mod output_tail;
pub mod signal;
pub mod workspace_path;
pub mod workspace_record;
