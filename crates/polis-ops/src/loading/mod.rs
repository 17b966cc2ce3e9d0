//! Helpers shared by the operations of one area: loading the data that a rule needs, running a change of one
//! task, and logging actions in workspaces.

pub(crate) mod board_loading;
pub(crate) mod graph_loading;
pub(crate) mod task_change;
pub(crate) mod workspace_resolution;
