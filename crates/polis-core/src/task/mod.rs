//! Tasks: the record, and one file for each rule about it.

pub mod approve;
pub mod claim;
pub mod comment;
pub mod create;
pub mod depend;
pub mod graph;
pub mod history;
pub mod kind;
mod owner;
pub mod recommend;
pub mod record;
pub mod search;
pub mod spent;
pub mod stats;
pub mod status;
mod step;
pub mod text;
pub mod transfer;
pub mod update;

pub use comment::{Comment, NewComment};
pub use kind::TaskType;
pub use owner::fits_role;
pub use record::{Approval, Task, TaskRecord, TaskSummary};
pub use status::TaskStatus;

use crate::id::TaskId;
use crate::refusal::{Code, Refusal};

/// The answer to a request for a task that is not there.
pub fn not_found(id: TaskId) -> Refusal {
    Refusal::new(
        Code::TaskNotFound,
        format!("Task #{id} not found."),
        "run `polis task list` to see the tasks there are",
    )
}
