//! `polis task import` and `export`: transfers tasks from and to a directory of task files.

use std::path::PathBuf;

use clap::Args;
use polis_ops::op::{self, TaskImport};

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, clean};
use crate::task_dir::TaskDir;

/// Read a directory of N.json task files in (Claude Code's ~/.claude/tasks/LIST among them), all or none. Repeating it changes nothing.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The directory
    directory: PathBuf,
    /// Change nothing if any file has a fault
    #[arg(long)]
    strict: bool,
}

impl Import {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let files = TaskDir::existing(self.directory)?;
        let mut tell = |done, of| {
            if done % 500 == 0 || done == of {
                out.progress("Importing", done, of);
            }
        };
        let params = TaskImport {
            strict: self.strict,
        };
        let report = context.run(op::import_tasks(
            &context.polis,
            &context.agent,
            &files,
            params,
            &mut tell,
        ))?;
        out.answer(&report, |r| {
            let mut text = format!("Imported {}, unchanged {}", r.imported, r.unchanged);
            text.push_str(&format!(
                ", repaired {}, skipped {}\n",
                r.repaired.len(),
                r.skipped.len()
            ));
            for repair in &r.repaired {
                text.push_str(&format!(
                    "  repaired {}: {}\n",
                    clean(&repair.file),
                    clean(&repair.what)
                ));
            }
            for skip in &r.skipped {
                text.push_str(&format!(
                    "  skipped {}: {}\n",
                    clean(&skip.file),
                    clean(&skip.why)
                ));
            }
            text
        })
    }
}

/// Write every task out as N.json; deleted ones too, so that nothing is lost.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The directory, created if need be
    directory: PathBuf,
}

impl Export {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let mut sink = TaskDir::create(self.directory)?;
        let counts = context.run(context.polis.store.count_tasks())?;
        let of = counts.pending + counts.in_progress + counts.completed + counts.deleted;
        let whole = usize::try_from(of).unwrap_or(usize::MAX);
        let mut tell =
            |done: u64| out.progress("Exporting", usize::try_from(done).unwrap_or(0), whole);
        let exported = context.run(op::export_tasks(&context.polis, &mut sink, &mut tell))?;
        out.answer(&exported, |e| format!("Exported {} tasks.", e.exported))
    }
}
