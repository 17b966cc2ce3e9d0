//! Tests that the documents of this repository match the program.

pub(crate) mod architecture;
pub(crate) mod readme_commands;
pub(crate) mod reference_pages;
pub(crate) mod refusal_catalogue;
