//! In-memory implementation of a directory of task files, for import and export tests.

use std::collections::BTreeMap;

use polis_core::TaskId;
use polis_core::refusal::TaskFileProblem;
use polis_ops::PortError;
use polis_ops::port::{TaskFile, TaskFileSink, TaskFiles};

/// Task files in memory, to import from and export to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTaskFiles {
    /// The files' contents, by task number.
    pub files: BTreeMap<TaskId, String>,
    /// The highest number ever assigned there, if it is recorded.
    pub highest_number: Option<u64>,
    /// Whether the written files were finished, and so are durable.
    pub finished: bool,
}

impl TaskFiles for MemoryTaskFiles {
    fn list(&self) -> Result<Vec<TaskFile>, PortError> {
        let file = |&id: &TaskId| TaskFile {
            name: format!("{id}.json"),
            number: Some(id),
        };
        Ok(self.files.keys().map(file).collect())
    }

    fn read(&self, file: &TaskFile) -> Result<Result<String, TaskFileProblem>, PortError> {
        let text = file.number.and_then(|id| self.files.get(&id));
        Ok(text.cloned().ok_or(TaskFileProblem::NotAFile))
    }

    fn highest_number(&self) -> Option<u64> {
        self.highest_number
    }
}

impl TaskFileSink for MemoryTaskFiles {
    fn write(&mut self, id: TaskId, json: &str) -> Result<(), PortError> {
        self.files.insert(id, json.to_owned());
        Ok(())
    }

    fn finish(&mut self, _: u64) -> Result<(), PortError> {
        self.finished = true;
        Ok(())
    }
}
