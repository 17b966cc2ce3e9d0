//! Directory of `N.json` task files (Claude Code's format), for task import and export. Implements the ports
//! `TaskFiles` and `TaskFileSink`.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use polis_core::TaskId;
use polis_core::refusal::TaskFileProblem;
use polis_core::task::task_files::MAX_TASK_NUMBER;
use polis_ops::PortError;
use polis_ops::port::{TaskFile, TaskFileSink, TaskFiles};

use crate::refusal_tables::ProjectRefusal;

/// Maximum size of a task file, in bytes.
const MAX_TASK_FILE_BYTES: u64 = 16 << 20;
/// File in which Claude Code stores the highest task number it has assigned.
const HIGH_WATER_FILE: &str = ".highwatermark";

/// A directory of task files.
#[derive(Debug)]
pub(crate) struct TaskDir {
    path: PathBuf,
}

impl TaskDir {
    /// Opens an existing directory to import from.
    pub(crate) fn open_existing(path: PathBuf) -> Result<Self, PortError> {
        if path.is_dir() {
            return Ok(Self { path });
        }
        Err(PortError::from(ProjectRefusal::TaskDirMissing))
    }

    /// Creates a directory to export to, if it does not exist.
    pub(crate) fn create(path: PathBuf) -> Result<Self, PortError> {
        fs::create_dir_all(&path).map_err(|e| write_error(&e))?;
        Ok(Self { path })
    }

    /// Replaces a file atomically, through a temporary file and rename.
    fn replace_file(&self, name: &str, text: &str) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(text.as_bytes())?;
        file.persist(self.path.join(name)).map_err(|e| e.error)?;
        Ok(())
    }
}

fn write_error(error: &std::io::Error) -> PortError {
    let failure = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ProjectRefusal::TaskDirFull,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            ProjectRefusal::TaskDirDenied
        }
        _ => ProjectRefusal::TaskDirFailed,
    };
    PortError::from(failure).with_source(error.to_string())
}

impl TaskFiles for TaskDir {
    fn list(&self) -> Result<Vec<TaskFile>, PortError> {
        let entries = fs::read_dir(&self.path)
            .map_err(|e| PortError::internal("Reading the directory", e))?;
        let mut files: Vec<TaskFile> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .filter_map(|name| {
                let stem = name.strip_suffix(".json")?;
                Some(TaskFile {
                    number: stem.parse().ok(),
                    name,
                })
            })
            .collect();
        files.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
        Ok(files)
    }

    fn read(&self, file: &TaskFile) -> Result<Result<String, TaskFileProblem>, PortError> {
        let path = self.path.join(&file.name);
        let read = || {
            let meta = fs::metadata(&path)?;
            if !meta.is_file() {
                return Ok(Err(TaskFileProblem::NotAFile));
            }
            if meta.len() > MAX_TASK_FILE_BYTES {
                return Ok(Err(TaskFileProblem::TooLarge {
                    bytes: meta.len(),
                    max_bytes: MAX_TASK_FILE_BYTES,
                }));
            }
            let text = String::from_utf8(fs::read(&path)?);
            // Some editors write a byte order mark.
            let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
            Ok(text.map_err(|_| TaskFileProblem::NotUtf8))
        };
        Ok(read().unwrap_or_else(|error: std::io::Error| {
            Err(TaskFileProblem::Unreadable {
                error: error.kind().to_string(),
            })
        }))
    }

    fn highest_number(&self) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(HIGH_WATER_FILE)).ok()?;
        text.trim().parse().ok().filter(|n| *n <= MAX_TASK_NUMBER)
    }
}

impl TaskFileSink for TaskDir {
    fn write(&mut self, id: TaskId, json: &str) -> Result<(), PortError> {
        self.replace_file(&format!("{id}.json"), &format!("{json}\n"))
            .map_err(|e| write_error(&e))
    }

    fn finish(&mut self, highest: u64) -> Result<(), PortError> {
        let highest = highest.max(self.highest_number().unwrap_or(0));
        self.replace_file(HIGH_WATER_FILE, &highest.to_string())
            .map_err(|e| write_error(&e))?;
        // One `syncfs` for the whole file system instead of one `fsync` for each of many small files.
        let directory = fs::File::open(&self.path).map_err(|e| write_error(&e))?;
        rustix::fs::syncfs(&directory).map_err(|e| write_error(&e.into()))
    }
}
