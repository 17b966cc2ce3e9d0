//! `polis task import` and `export`: transfers tasks from and to a directory of task files.

use std::path::PathBuf;

use clap::Args;
use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_ops::op::{self, TaskImportParams};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, sanitize_line};
use crate::task_dir::TaskDir;

/// Import a directory of N.json task files (such as Claude Code's ~/.claude/tasks/LIST), in one commit;
/// invalid files are repaired or skipped. Repeating it changes nothing.
#[derive(Debug, Args)]
pub(crate) struct TaskImportArgs {
    /// Directory
    directory: PathBuf,
    /// Import nothing if any file is invalid
    #[arg(long)]
    strict: bool,
}

impl TaskImportArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let files = TaskDir::open_existing(self.directory)?;
        let mut report_progress = |done, total| {
            if done % 500 == 0 || done == total {
                out.show_progress(msg::cli_task_importing(out.lang()), done, total);
            }
        };
        let params = TaskImportParams {
            strict: self.strict,
        };
        let report = context.block_on(op::import_tasks(
            &context.request(),
            &files,
            params,
            &mut report_progress,
        ))?;
        out.print_result(&report, |r| {
            let lang = out.lang();
            let (repaired, skipped) = (r.repaired.len(), r.skipped.len());
            let mut text =
                msg::cli_task_import_counts(lang, r.imported, r.unchanged, repaired, skipped);
            text.push('\n');
            for repair in &r.repaired {
                let file = sanitize_line(&repair.file);
                let repair = sanitize_line(&repair.description(lang));
                let line = msg::cli_task_file_repaired(lang, file, repair);
                text.push_str(&format!("  {line}\n"));
            }
            for skip in &r.skipped {
                let file = sanitize_line(&skip.file);
                let reason = sanitize_line(&skip.reason(lang));
                let line = msg::cli_task_file_skipped(lang, file, reason);
                text.push_str(&format!("  {line}\n"));
            }
            text
        })
    }
}

/// Export every task as N.json, including deleted ones.
#[derive(Debug, Args)]
pub(crate) struct TaskExportArgs {
    /// Directory, created if missing
    directory: PathBuf,
}

impl TaskExportArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let mut sink = TaskDir::create(self.directory)?;
        let counts = context.block_on(context.app.store.count_tasks_by_status())?;
        let total = counts.pending + counts.in_progress + counts.completed + counts.deleted;
        let task_count = saturating_cast::<usize>(total);
        let mut report_progress = |done: u64| {
            let done = usize::try_from(done).unwrap_or(0);
            out.show_progress(msg::cli_task_exporting(out.lang()), done, task_count);
        };
        let exported = context.block_on(op::export_tasks(
            &context.request(),
            &mut sink,
            &mut report_progress,
        ))?;
        out.print_result(&exported, |e| {
            msg::cli_task_exported(out.lang(), e.exported)
        })
    }
}
