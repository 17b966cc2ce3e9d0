//! Escape tests of the sandbox, by class of attempt. Each attempt must fail, as seen from inside and from
//! outside, in every tier of this machine. `other_environments` repeats them as an ordinary user and without
//! namespaces.
//!
//! Attempts that a shell cannot make are in `attacker.c`, which the tests compile.

#![expect(
    clippy::print_stderr,
    reason = "tests that cannot run on this machine report it"
)]

mod everyday_commands;
mod identity;
mod memory_limit;
mod network_attempts;
mod other_environments;
mod other_processes;
mod process_cleanup;
mod read_attempts;
mod resource_leaks;
mod result_properties;
mod system_calls;
pub(crate) mod test_sandbox;
mod user_resources;
mod write_attempts;
