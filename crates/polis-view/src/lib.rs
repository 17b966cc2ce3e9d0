//! Presentation logic shared by the web interface, the terminal UI and the command line.
//!
//! - Texts in English and Chinese ([`UiLanguage`]): [`labels`], events as sentences, histories and fields of
//!   tasks, command results, relative times, numbers.
//! - Layout: side-by-side diffs, the dependency graph, the tree of agents, conversations, field-by-field
//!   merges.
//! - Rendering for terminals: Markdown, styles, line wrapping, sanitizing. The web interface has its own
//!   Markdown renderer; both renderers use [`limit_nesting_depth`].
//! - Syntax highlighting ([`highlight`]): the terminal UI uses it for files, the web interface also for code
//!   in Markdown and for JSON.
//!
//! Pure functions: the data comes from `polis-ops`, and each surface draws in its own way.

pub mod command_result;
pub mod conversation;
mod depth_limit;
pub mod display_width;
pub mod event_details;
pub mod event_sentence;
pub mod graph_layout;
pub mod highlight;
pub mod labels;
pub mod line_wrap;
pub mod markdown;
pub mod number_format;
pub mod org_tree;
pub mod relative_time;
pub mod side_by_side;
pub mod style;
mod tab;
pub mod task_fields;
pub mod task_history;
pub mod terminal_sanitizer;
pub mod three_way_merge;

pub use depth_limit::limit_nesting_depth;
pub use polis_i18n::UiLanguage;
pub use tab::Tab;
