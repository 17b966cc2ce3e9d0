//! Tests of the state machine without a store, a clock or a model: table tests of its transitions, and
//! property tests with random interleavings.

mod interleaving_tests;
pub(in crate::machine) mod simulated_store;
mod transition_samples;
mod transition_table;
mod transition_tests;
