//! Workspaces: the directory a team of agents works in, and the rules for using it.
//!
//! A workspace belongs to a direct child of `root`; its descendants find it through their ancestors. File tools
//! and commands of an agent always act in the same directory. The rules here only handle names, texts and
//! numbers; `polis-workspace` opens and writes files and sandboxes commands.

pub mod blocklist;
pub mod command;
pub mod file;
pub mod path;
pub mod policy;
pub mod record;
pub mod signal;
