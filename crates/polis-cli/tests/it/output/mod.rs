//! Tests of what commands accept and print: arguments, formats, tables, completions and the log.

mod chinese_journey;
pub(crate) mod event_log;
pub(crate) mod generated_output;
pub(crate) mod hostile_input;
pub(crate) mod output_format;
pub(crate) mod person_language;
pub(crate) mod text_tables;
