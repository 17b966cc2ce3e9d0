//! Tests of `polis ws` and `polis exec`: files and commands in workspaces.

pub(crate) mod command_listing;
pub(crate) mod exec;
pub(crate) mod workspace_access;
pub(crate) mod workspace_bind;
pub(crate) mod workspace_files;
pub(crate) mod workspace_roots;
