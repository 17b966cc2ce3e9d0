//! Workspaces: the directory a team of agents works in, and what may be done there.
//!
//! A workspace belongs to a direct child of `root`; its descendants find it through their
//! ancestors. Files and commands of an agent always act in the same directory. The rules here know
//! names, texts and numbers; opening, writing and confining is `polis-workspace`'s.

pub mod blocklist;
pub mod command;
pub mod file;
pub mod path;
pub mod policy;
pub mod record;
pub mod signal;
