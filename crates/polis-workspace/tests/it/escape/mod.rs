//! Attempts to get out of the sandbox, by class; each has to fail, seen from inside and from
//! outside, at every strength this machine has. `elsewhere` does it all again as an ordinary user
//! and where no namespaces can be made.
//!
//! What no shell can do is in `attacker.c`, which the tests compile.

#![expect(
    clippy::print_stderr,
    reason = "what a machine cannot show is skipped visibly"
)]

mod calls;
mod elsewhere;
mod ending;
mod identity;
mod life;
mod memory;
mod network;
mod others;
mod property;
mod reading;
mod resources;
pub(crate) mod stage;
mod traces;
mod writing;
