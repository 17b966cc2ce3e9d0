//! Task files to import from and export to.

use polis_core::TaskId;

use super::PortError;

/// A file that holds a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFile {
    /// Its name, such as `5.json`.
    pub name: String,
    /// The number it is named by.
    pub number: Option<TaskId>,
}

/// A directory of task files.
pub trait TaskFiles: Send + Sync {
    /// The files, by number.
    fn list(&self) -> Result<Vec<TaskFile>, PortError>;

    /// A file's text; the inner error says why a single file cannot be read.
    fn read(&self, file: &TaskFile) -> Result<Result<String, String>, PortError>;

    /// The highest number that was ever given out there, if it is written down.
    fn highest_number(&self) -> Option<u64>;
}

/// Where exported task files go.
pub trait TaskFileSink: Send {
    /// Writes a task's file whole, or not at all.
    fn write(&mut self, id: TaskId, json: &str) -> Result<(), PortError>;

    /// Writes down the highest number given out, and makes everything durable.
    fn finish(&mut self, highest: u64) -> Result<(), PortError>;
}
