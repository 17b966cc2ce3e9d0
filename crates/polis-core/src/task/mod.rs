//! Tasks: the record, its state machine, and the rules for changing it.
//!
//! Each `decide_*` function checks a request, against the current record if there is one, and returns the
//! result with the writes for it. [`task_decision`] has the types and checks that most of them share. Other
//! modules only read: [`graph`], [`history`], [`recommendation`], [`stats`], [`task_search`] and
//! [`time_tracking`]. [`task_files`] imports tasks.

pub mod claim;
pub mod comment;
pub mod create;
pub mod dependency;
pub mod graph;
pub mod history;
mod ownership;
pub mod recommendation;
pub mod stats;
pub mod status;
pub mod task_approval;
pub mod task_decision;
mod task_field;
pub mod task_files;
pub mod task_order;
pub mod task_priority;
pub mod task_record;
pub mod task_search;
pub mod task_type;
pub mod text_limits;
pub mod time_tracking;
mod transition;
pub mod update;

pub use comment::{Comment, NewComment};
pub use ownership::has_required_role;
pub use status::TaskStatus;
pub use task_field::TaskField;
pub use task_order::{TaskCursor, TaskSort};
pub use task_priority::TaskPriority;
pub use task_record::{Task, TaskApproval, TaskRecord, TaskSummary};
pub use task_type::TaskType;

use crate::id::TaskId;
use crate::refusal::{Refusal, TaskRefusal};

/// Returns the refusal for an unknown task.
pub fn task_not_found(id: TaskId) -> Refusal {
    Refusal::from(TaskRefusal::NotFound { id })
}
