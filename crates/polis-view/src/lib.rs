//! What the web page and the terminal screen show alike: words in two languages, events as sentences,
//! ages, drawn graphs, aligned differences. Pure: what is shown comes from `polis-ops`, how it is drawn is
//! each screen's matter.

pub mod amount;
pub mod command;
pub mod conflict;
pub mod conversation;
pub mod event;
pub mod graph;
pub mod highlight;
pub mod history;
mod lang;
pub mod markdown;
mod nesting;
pub mod org;
pub mod sides;
pub mod style;
mod tab;
pub mod terminal;
pub mod time;
pub mod width;
pub mod words;
pub mod wrap;

pub use lang::Lang;
pub use nesting::capped;
pub use tab::Tab;
