//! Import of tasks from files, and their export.

mod export_tasks;
mod import_tasks;

pub use export_tasks::{TaskExportResult, export_tasks};
pub use import_tasks::{
    ImportRepair, SkippedFile, TaskImportParams, TaskImportResult, import_tasks,
};
