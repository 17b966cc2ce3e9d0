//! Presentation logic shared by the web interface and the terminal UI: words in two languages, events as
//! sentences, relative times, graph layout, side-by-side diffs, syntax highlighting, Markdown. Pure
//! functions: the data comes from `polis-ops`, and each surface draws in its own way.

pub mod command;
pub mod conflict;
pub mod conversation;
mod depth_limit;
pub mod event;
pub mod graph;
pub mod highlight;
pub mod history;
pub mod labels;
mod lang;
pub mod markdown;
pub mod number_format;
pub mod org_tree;
pub mod side_by_side;
pub mod style;
mod tab;
pub mod terminal;
pub mod time;
pub mod width;
pub mod wrap;

pub use depth_limit::capped;
pub use lang::Lang;
pub use tab::Tab;
