//! Integration tests on a real file system and kernel: file tools, path confinement and the command sandbox.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod directory_trees;
mod escape;
mod file_crash;
mod file_properties;
mod file_search;
mod file_system_errors;
mod file_tools;
mod path_confinement;
mod sandbox_regressions;
mod symlink_race;
mod test_workspace;
mod workspace_binding;
