//! Tasks: the record, its state machine, and the rules for changing it, one file per rule.
//!
//! Each `decide` function checks a request against the current record and returns the new record with its
//! changeset.

pub mod approve;
pub mod claim;
pub mod comment;
pub mod create;
pub mod depend;
pub mod graph;
pub mod history;
mod owner;
pub mod recommend;
pub mod record;
pub mod search;
pub mod stats;
pub mod status;
pub mod task_files;
pub mod task_type;
pub mod text;
pub mod time_tracking;
mod transition;
pub mod update;

pub use comment::{Comment, NewComment};
pub use owner::fits_role;
pub use record::{Approval, Task, TaskRecord, TaskSummary};
pub use status::TaskStatus;
pub use task_type::TaskType;

use crate::id::TaskId;
use crate::refusal::{Code, Refusal};

/// Returns the refusal for an unknown task.
pub fn not_found(id: TaskId) -> Refusal {
    Refusal::new(
        Code::TaskNotFound,
        format!("Task #{id} not found."),
        "run `polis task list` to see the tasks there are",
    )
}
