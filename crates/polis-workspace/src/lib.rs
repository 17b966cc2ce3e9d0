//! Confined files and a terminal that is a real sandbox.

mod directory;
pub mod files;
pub mod registry;
pub mod sandbox;

pub use directory::DirectoryIdentity;
