//! Boards: shared Markdown that nobody can silently overwrite.
//!
//! [`name`] says which boards there are, [`access`] who may do what, [`record`] what a store keeps
//! and how a version is put together, [`board_write`] what a decision asks for, [`text`] how a change is
//! decided, [`lease`] how a board is locked. [`section`] finds the sections of a text as CommonMark
//! sees them, [`edit`] changes one of them and no other byte, [`mod@merge`] compares and merges.
//! [`mod@template`] is what a new board says, [`decision`] and [`milestone`] are the records on it, in
//! the two languages of [`template_text`].

pub mod access;
pub mod board_write;
pub mod decision;
pub mod diff;
pub mod edit;
mod escape;
mod glob;
mod insertion_point;
pub mod lease;
mod line_changes;
mod lines;
pub mod merge;
pub mod milestone;
pub mod name;
pub mod path;
pub mod record;
pub mod section;
pub mod splice;
pub mod template;
pub mod template_text;
pub mod text;

/// The largest board, in bytes: 10 MB.
pub const MAX_BYTES: u64 = 10 << 20;

pub use board_write::{BoardWrite, Change, LeaseWrite};
pub use decision::{Decision, DecisionKind, DecisionStatus};
pub use diff::unified_diff;
pub use edit::{SectionEdit, edit_section, find};
pub use line_changes::{Change as LineChange, changes as line_changes};
pub use merge::{Merged, merge};
pub use milestone::Milestone;
pub use name::BoardName;
pub use path::BlackboardPath;
pub use record::{Action, BoardHead, Lease, Logged, VersionEntry};
pub use section::{Outline, Section, outline, section_digest};
pub use splice::Splice;
pub use template::{TemplateFacts, TemplateOf, template};
