//! Output of a command: bounded capture, and the spool file for the rest.

pub(in crate::sandbox) mod capture;
pub(in crate::sandbox) mod spool;
