//! Confined files and a terminal that is a real sandbox.

pub mod files;
pub mod sandbox;
