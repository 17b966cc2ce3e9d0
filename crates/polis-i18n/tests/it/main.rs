//! Tests of the message catalogue: the rules that the build script checks, the generated functions, and the use
//! of messages by the other crates.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../../build/catalogue.rs"]
mod catalogue;
#[path = "../../build/definition_table.rs"]
mod definition_table;
#[path = "../../build/function_source.rs"]
mod function_source;
#[path = "../../build/pattern.rs"]
mod pattern;

mod catalogue_rules;
mod definition_texts;
mod message_functions;
mod message_use;
mod refusal_wording;
