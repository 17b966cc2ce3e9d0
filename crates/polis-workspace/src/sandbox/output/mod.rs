//! Output of a command: bounded capture of head and tail of each stream, and a spool file with the complete
//! output (up to a quota) if a stream is truncated.

pub(in crate::sandbox) mod capture;
pub(in crate::sandbox) mod spool;
