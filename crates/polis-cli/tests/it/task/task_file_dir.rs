//! Helpers for directories of `N.json` task files: written for a test, imported, exported and read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::test_project::TestProject;

/// A directory of task files in the project directory.
pub(crate) struct TaskFileDir(pub(crate) PathBuf);

impl TaskFileDir {
    /// Creates an empty directory.
    pub(crate) fn new(board: &TestProject, name: &str) -> Self {
        let path = board.project_path(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file unchanged.
    pub(crate) fn write_raw(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }

    /// Writes a valid task file, with additional or overriding fields.
    pub(crate) fn write_task(&self, id: u64, more: &Value) -> &Self {
        let mut task = json!({
            "id": id.to_string(), "subject": format!("task {id}"), "description": "",
            "status": "pending", "owner": "", "blocks": [], "blockedBy": [],
        });
        for (key, value) in more.as_object().unwrap() {
            task[key] = value.clone();
        }
        self.write_raw(&format!("{id}.json"), task.to_string())
    }

    /// Imports the directory as the person.
    pub(crate) fn import_as_user(&self, board: &TestProject) -> Value {
        board.run_ok("user", &["task", "import", self.path_arg()])
    }

    /// Returns its path as an argument.
    pub(crate) fn path_arg(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

/// Exports a project's tasks and reads the files.
pub(crate) fn export_tasks(project: &TestProject, name: &str) -> BTreeMap<String, Value> {
    let path = project.project_path(name);
    let answer = project.run_ok("user", &["task", "export", path.to_str().unwrap()]);
    let files = read_task_files(&path);
    assert_eq!(answer["exported"], files.len());
    files
}

/// Reads the task files of a directory, by name.
pub(crate) fn read_task_files(path: &Path) -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| !name.starts_with('.'))
        .map(|(name, path)| {
            (
                name,
                serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            )
        })
        .collect()
}

/// Returns the `what` or `why` of each entry of a report, with its file.
pub(crate) fn report_lines(list: &Value, field: &str) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    let mut all: Vec<String> = entries
        .map(|e| {
            format!(
                "{}: {}",
                e["file"].as_str().unwrap(),
                e[field].as_str().unwrap()
            )
        })
        .collect();
    all.sort();
    all
}
