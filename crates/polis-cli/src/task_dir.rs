//! Directory of `N.json` task files (Claude Code's format), for task import and export.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use polis_core::task::task_files::MAX_NUMBER;
use polis_core::{Code, TaskId};
use polis_ops::PortError;
use polis_ops::port::{TaskFile, TaskFileSink, TaskFiles};

/// Maximum size of a task file, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// File in which Claude Code stores the highest task number it has assigned.
const HIGH_WATER: &str = ".highwatermark";

/// A directory of task files.
#[derive(Debug)]
pub(crate) struct TaskDir {
    path: PathBuf,
}

impl TaskDir {
    /// Opens an existing directory to import from.
    pub(crate) fn existing(path: PathBuf) -> Result<Self, PortError> {
        if path.is_dir() {
            return Ok(Self { path });
        }
        Err(PortError::new(
            Code::InvalidInput,
            "The directory of task files does not exist.",
            "name a directory that holds 1.json, 2.json, …, such as ~/.claude/tasks/LIST",
        ))
    }

    /// Creates a directory to export to, if it does not exist.
    pub(crate) fn create(path: PathBuf) -> Result<Self, PortError> {
        fs::create_dir_all(&path).map_err(|e| cannot_write(&e))?;
        Ok(Self { path })
    }

    /// Replaces a file atomically, through a temporary file and rename.
    fn replace(&self, name: &str, text: &str) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(text.as_bytes())?;
        file.persist(self.path.join(name)).map_err(|e| e.error)?;
        Ok(())
    }
}

fn cannot_write(error: &std::io::Error) -> PortError {
    let (code, message) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Code::StoreFull, "The disk is full."),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            (Code::StoreReadOnly, "The directory cannot be written.")
        }
        _ => (
            Code::InvalidInput,
            "The directory cannot be created or written.",
        ),
    };
    PortError::new(code, message, "name a directory that you may write to")
        .because(error.to_string())
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

    fn read(&self, file: &TaskFile) -> Result<Result<String, String>, PortError> {
        let path = self.path.join(&file.name);
        let read = || {
            let meta = fs::metadata(&path)?;
            if !meta.is_file() {
                return Ok(Err("not a file".to_owned()));
            }
            if meta.len() > MAX_BYTES {
                return Ok(Err(format!(
                    "{} bytes; at most {MAX_BYTES} are accepted",
                    meta.len()
                )));
            }
            let text = String::from_utf8(fs::read(&path)?);
            // Some editors write a byte order mark.
            let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
            Ok(text.map_err(|_| "not UTF-8".to_owned()))
        };
        Ok(read().unwrap_or_else(|error: std::io::Error| {
            Err(format!("cannot be read: {}", error.kind()))
        }))
    }

    fn highest_number(&self) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(HIGH_WATER)).ok()?;
        text.trim().parse().ok().filter(|n| *n <= MAX_NUMBER)
    }
}

impl TaskFileSink for TaskDir {
    fn write(&mut self, id: TaskId, json: &str) -> Result<(), PortError> {
        self.replace(&format!("{id}.json"), &format!("{json}\n"))
            .map_err(|e| cannot_write(&e))
    }

    fn finish(&mut self, highest: u64) -> Result<(), PortError> {
        let highest = highest.max(self.highest_number().unwrap_or(0));
        self.replace(HIGH_WATER, &highest.to_string())
            .map_err(|e| cannot_write(&e))?;
        // One `syncfs` for the whole file system instead of one `fsync` for each of many small files.
        let directory = fs::File::open(&self.path).map_err(|e| cannot_write(&e))?;
        rustix::fs::syncfs(&directory).map_err(|e| cannot_write(&e.into()))
    }
}
