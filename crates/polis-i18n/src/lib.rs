//! Message catalogue (localization, i18n): the texts of all surfaces in English and Chinese.
//!
//! Texts are in Fluent files. Those of `locales/LANGUAGE/AREA.ftl` become functions, one for each message:
//! `board-not-found` becomes [`msg`]`::board_not_found(lang, …)`. So a missing message or argument is a compile
//! error.
//!
//! Refusals are data ([`polis_core::refusal::Reason`]); [`render_reason`] turns them into a sentence and a next
//! step for a surface. Their texts are in `refusals/LANGUAGE/AREA.ftl` and become a table, in which a message is
//! found by its id.
//!
//! Definitions are texts of named things: the help of commands, the keys of the configuration, the tools. They are
//! in `definitions/LANGUAGE/TABLE.ftl` and found by name ([`definition_text`]).
//!
//! The build script checks all files, so no text is parsed when a program runs.

mod definition;
pub mod msg;
mod plural_count;
mod refusal_encoding;
mod refusal_text;
mod ui_language;

pub use definition::{Definition, DefinitionTable, definition_text, definitions, find_definition};
pub use plural_count::PluralCount;
pub use refusal_text::{
    RefusalText, Surface, describe_code, describe_code_name, message_arguments, message_ids,
    render_reason,
};
pub use ui_language::UiLanguage;

/// A message without arguments, as an entry of a table.
pub type MessageLabel = fn(UiLanguage) -> &'static str;
