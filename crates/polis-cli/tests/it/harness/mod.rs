//! Test harness: projects, servers and stores of a test, killed processes, and checks of output.

pub(crate) mod english_text;
pub(crate) mod random_kill;
pub(crate) mod test_project;
pub(crate) mod test_schema;
pub(crate) mod test_server;
