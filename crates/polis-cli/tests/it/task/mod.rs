//! Tests of `polis task`: the cases of the requirements, claims, concurrency, crashes, import and statistics.

pub(crate) mod task_cases;
pub(crate) mod task_claims;
pub(crate) mod task_comments;
pub(crate) mod task_concurrency;
pub(crate) mod task_crash;
pub(crate) mod task_dependencies;
pub(crate) mod task_file_dir;
pub(crate) mod task_import;
pub(crate) mod task_import_limits;
pub(crate) mod task_permissions;
pub(crate) mod task_priority;
pub(crate) mod task_search;
pub(crate) mod task_stats;
