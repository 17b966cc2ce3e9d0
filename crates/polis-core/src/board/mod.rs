//! Boards: shared Markdown documents with versions, so that no write is silently lost.
//!
//! - Names and rights: [`board_name`], [`blackboard_path`], [`access`] (read and write permissions),
//!   [`blackboard_glob`] (patterns of paths that may be written).
//! - Storage: [`board_record`] (head, history and versions), [`board_write`] (writes of a changeset),
//!   [`write_rules`] (rules for writing), [`board_lease`] (locks).
//! - Text: [`section`] (outline according to CommonMark), [`section_edit`] (editing one section), [`mod@merge`]
//!   (three-way merge), [`diff`] (unified diff), [`splice`] (replacing a byte range).
//! - Content: [`mod@template`] (text of a new board), [`decision`] and [`milestone`] (records on a board), in
//!   the two languages of [`template_text`].

pub mod access;
pub mod blackboard_glob;
pub mod blackboard_path;
pub mod board_lease;
pub mod board_name;
pub mod board_record;
pub mod board_write;
pub mod decision;
pub mod diff;
mod escape;
mod insertion_point;
mod line_changes;
pub mod merge;
pub mod milestone;
pub mod section;
pub mod section_edit;
pub mod splice;
pub mod template;
pub mod template_text;
mod text_lines;
pub mod write_rules;

/// Maximum size of a board, in bytes: 10 MiB.
pub const MAX_BOARD_BYTES: u64 = 10 << 20;

pub use blackboard_glob::BlackboardGlob;
pub use blackboard_path::BlackboardPath;
pub use board_name::BoardName;
pub use board_record::{BoardHead, BoardLease, BoardLogRow, VersionAction, VersionEntry};
pub use board_write::{BoardChange, BoardLeaseWrite, BoardWrite};
pub use decision::{BoardDecision, DecisionKind, DecisionStatus};
pub use diff::unified_diff;
pub use line_changes::{LineChange, diff_lines as line_changes};
pub use merge::{MergeResult, three_way_merge};
pub use milestone::Milestone;
pub use section::{Section, SectionOutline, parse_outline, section_digest};
pub use section_edit::{SectionEdit, edit_section, find_section};
pub use splice::TextSplice;
pub use template::{TemplateBoard, TemplateValues, render_template};
