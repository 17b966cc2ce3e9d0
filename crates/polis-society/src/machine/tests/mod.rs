//! The machine without a store, a clock or a model: as tables, and in any order.

mod cases;
mod orders;
pub(in crate::machine) mod stage;
