//! Tests of `polis board` and `blackboard`: reading, writing, sections, versions, locks and decisions.

pub(crate) mod blackboard;
pub(crate) mod board_concurrency;
pub(crate) mod board_decisions;
pub(crate) mod board_helpers;
pub(crate) mod board_history;
pub(crate) mod board_locks;
pub(crate) mod board_merge;
pub(crate) mod board_permissions;
pub(crate) mod board_sections;
pub(crate) mod board_size_limit;
pub(crate) mod board_templates;
pub(crate) mod board_watch;
