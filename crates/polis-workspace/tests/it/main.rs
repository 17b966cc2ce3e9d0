//! Workspaces on a real file system: what the tools do, and what cannot be done through them.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod escape;
mod files_bind;
mod files_confined;
mod files_crash;
mod files_disk;
mod files_property;
mod files_race;
mod files_search;
mod files_tools;
mod files_trees;
mod ground;
mod review_walls;
