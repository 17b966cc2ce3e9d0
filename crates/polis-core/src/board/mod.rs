//! Boards: shared Markdown documents with versions, so that no write is silently lost.
//!
//! - Names and rights: [`name`], [`mod@path`], [`access`] (read and write permissions).
//! - Storage: [`record`] (head, history and versions), [`board_write`] (writes of a changeset), [`text`] (decisions
//!   about changes), [`lease`] (locks).
//! - Text: [`section`] (outline according to CommonMark), [`edit`] (editing one section), [`mod@merge`]
//!   (three-way merge), [`diff`] (unified diff), [`splice`] (replacing a byte range).
//! - Content: [`mod@template`] (text of a new board), [`decision`] and [`milestone`] (records on a board), in
//!   the two languages of [`template_text`].

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

/// Maximum size of a board, in bytes: 10 MB.
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
