//! Operations on tasks, mostly one file for each; `task_time` is in `crate::cache::task_time_cache`.

pub(crate) mod approve_task;
pub(crate) mod claim_task;
pub(crate) mod comment_task;
pub(crate) mod create_task;
pub(crate) mod get_task;
pub(crate) mod heartbeat_task;
pub(crate) mod list_tasks;
pub(crate) mod recommend_tasks;
pub(crate) mod release_task;
pub(crate) mod task_files;
pub(crate) mod task_graph;
pub(crate) mod task_history;
pub(crate) mod task_stats;
pub(crate) mod update_task;

pub use approve_task::{TaskApproveParams, approve_task};
pub use claim_task::claim_task;
pub use comment_task::{
    CommentPage, CommentView, TaskCommentParams, TaskCommentsParams, comment_task,
    get_task_comment, list_task_comments,
};
pub use create_task::create_task;
pub use get_task::{TaskGetParams, TaskView, get_task};
pub use heartbeat_task::{TaskHeartbeatParams, heartbeat_task};
pub use list_tasks::{TaskListParams, TaskPage, count_tasks, count_tasks_by_owner, list_tasks};
pub use recommend_tasks::{RecommendationList, TaskRecommendParams, recommend_tasks};
pub use release_task::{TaskReleaseParams, release_task};
pub use task_files::{
    ImportRepair, SkippedFile, TaskExportResult, TaskImportParams, TaskImportResult, export_tasks,
    import_tasks,
};
pub use task_graph::{TaskNeighbourhood, task_graph, task_neighbourhood};
pub use task_history::{
    NewestTaskHistory, TaskHistoryPage, TaskHistoryParams, newest_task_history, task_history,
};
pub use task_stats::{StatsPeriod, TaskStats, TaskStatsParams, task_stats};
pub use update_task::update_task;
