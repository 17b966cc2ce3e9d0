//! `polis ws bind` and `list`: binds a workspace to a directory, and lists workspaces.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_ops::op::{self, WorkspaceBind, WorkspaceEntry};

use super::{Of, directory};
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Table, clean};

/// Put the workspace of a team's head into a directory of your choice, such as a checked-out project.
#[derive(Debug, Args)]
pub(crate) struct Bind {
    /// The directory; it is made if it is not there
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    directory: PathBuf,
    /// Leave a directory behind that was in use; its files stay there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    of: Of,
}

impl Bind {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = WorkspaceBind {
            directory: directory(&self.directory)?,
            of: self.of.agent()?,
            force: self.force,
        };
        let bound = context.run(op::bind_workspace(&context.polis, &context.agent, &params))?;
        out.answer(&bound, |bound| {
            let at = bound.workspace_path.as_deref();
            format!(
                "The workspace of {} is bound{}.",
                bound.workspace_id,
                at.map_or_else(String::new, |path| format!(" to {}", clean(path)))
            )
        })
    }
}

/// Lists the workspaces.
pub(super) fn list(context: &Context, out: &Output) -> Result<(), Failure> {
    let list = context.run(op::list_workspaces(&context.polis, &context.agent))?;
    out.answer(&list, |list| {
        if list.workspaces.is_empty() {
            return "No workspaces yet. Each agent without a supervisor gets one: polis agent add lead --role team-lead"
                .to_owned();
        }
        let shown = list.workspaces.iter().any(|w| w.workspace_path.is_some());
        let mut heads = vec!["AGENT", "PLACE", "STATE", "SINCE"];
        heads.extend(shown.then_some("DIRECTORY"));
        let mut table = Table::new(&heads);
        for entry in &list.workspaces {
            table.row(row(entry));
        }
        table.render(out)
    })
}

fn row(entry: &WorkspaceEntry) -> Vec<String> {
    let place = if entry.bound { "bound" } else { "default" };
    let state = match (entry.created, entry.bound) {
        (true, _) => "in use",
        (false, true) => "not on this machine",
        (false, false) => "not written yet",
    };
    let mut cells = vec![
        entry.workspace_id.to_string(),
        place.to_owned(),
        state.to_owned(),
        entry.created_at.to_string(),
    ];
    cells.extend(entry.workspace_path.clone());
    cells
}
