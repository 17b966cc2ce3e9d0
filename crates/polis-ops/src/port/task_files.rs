//! Ports for task files: [`TaskFiles`], the source of an import, and [`TaskFileSink`], the target of an
//! export.

use polis_core::TaskId;
use polis_core::refusal::TaskFileProblem;

use super::PortError;

/// A file that contains a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFile {
    /// Its name, such as `5.json`.
    pub name: String,
    /// The number in its name.
    pub number: Option<TaskId>,
}

/// A directory of task files.
pub trait TaskFiles: Send + Sync {
    /// Returns the files, ordered by number. Fails if the directory cannot be read.
    fn list(&self) -> Result<Vec<TaskFile>, PortError>;

    /// Returns a file's text; the inner error is the reason why this file cannot be read.
    fn read(&self, file: &TaskFile) -> Result<Result<String, TaskFileProblem>, PortError>;

    /// Returns the highest number that was ever assigned there, if it is recorded.
    fn highest_number(&self) -> Option<u64>;
}

/// Target of an export.
pub trait TaskFileSink: Send {
    /// Writes a task's file atomically. Fails if the directory cannot be written.
    fn write(&mut self, id: TaskId, json: &str) -> Result<(), PortError>;

    /// Records the highest assigned number, and makes everything durable. Fails if the directory cannot
    /// be written.
    fn finish(&mut self, highest: u64) -> Result<(), PortError>;
}
