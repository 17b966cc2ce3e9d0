//! Workspaces of agents: confined file operations ([`files`]), sandboxed commands ([`sandbox`]) and the
//! per-user registry of projects and bound workspaces ([`machine_registry`]).

mod directory;
pub mod files;
pub mod machine_registry;
pub mod refusal_tables;
pub mod sandbox;

pub use directory::DirectoryIdentity;
