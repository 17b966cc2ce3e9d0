//! What the web page and the terminal screen show alike: words in two languages, events as sentences,
//! ages, drawn graphs, aligned differences. Pure: what is shown comes from `polis-ops`, how it is drawn is
//! each screen's matter.

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
