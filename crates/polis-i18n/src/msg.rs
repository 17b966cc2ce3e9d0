//! One function for each message, generated from the Fluent files.
//!
//! A function returns `&'static str` if the message has no arguments to insert, otherwise `String`. Parameters
//! are in the order of the comment above the message in the English file. A number by which a text selects
//! ("1 file", "2 files") is a [`PluralCount`](crate::PluralCount).

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
