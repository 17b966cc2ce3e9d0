//! Tests of the state machine without a store, a clock or a model: table tests, and property tests with random order.

mod cases;
mod orders;
pub(in crate::machine) mod stage;
