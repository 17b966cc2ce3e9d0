//! Marks of the encoded table of refusals, which the build script writes and `refusal_text` reads.
//!
//! A message is `id ID_END english LANGUAGE_END chinese`. A language is a pattern and attributes, each
//! `ATTRIBUTE name NAME_END pattern`. A pattern is text with `ARGUMENT name NAME_END` and
//! `SELECTION argument NAME_END case* other SELECTION_END`; a case is `key NAME_END pattern CASE_END`, and `other`
//! is a pattern.

pub(crate) const ARGUMENT: char = '\u{1}';
pub(crate) const NAME_END: char = '\u{2}';
pub(crate) const SELECTION: char = '\u{3}';
pub(crate) const SELECTION_END: char = '\u{4}';
pub(crate) const CASE_END: char = '\u{5}';
pub(crate) const ATTRIBUTE: char = '\u{6}';
pub(crate) const LANGUAGE_END: char = '\u{7}';
pub(crate) const ID_END: char = '\u{8}';
