//! `polis ws bind` and `list`: binds a workspace to a directory, and lists workspaces.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, WorkspaceBindParams, WorkspaceEntry};

use super::{WorkspaceArg, absolute_directory};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable, sanitize_line};

/// Bind a workspace to a directory of your choice, such as a checked-out project.
#[derive(Debug, Args)]
pub(crate) struct WsBindArgs {
    /// Directory; created if missing
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    directory: PathBuf,
    /// Bind even if the workspace is in use elsewhere; its files stay in the old directory
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsBindArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = WorkspaceBindParams {
            directory: absolute_directory(&self.directory)?,
            owner: self.of.agent_id()?,
            force: self.force,
        };
        let bound = context.block_on(op::bind_workspace(&context.request(), &params))?;
        out.print_result(&bound, |bound| {
            let (lang, agent) = (out.lang(), &bound.workspace_id);
            match &bound.workspace_path {
                Some(path) => msg::cli_workspace_bound_to(lang, agent, sanitize_line(path)),
                None => msg::cli_workspace_bound(lang, agent),
            }
        })
    }
}

/// Prints all workspaces (`polis ws list`).
pub(super) fn print_workspace_list(
    context: &CommandContext,
    out: &CliOutput,
) -> Result<(), CliError> {
    let list = context.block_on(op::list_workspaces(&context.request()))?;
    let lang = out.lang();
    out.print_result(&list, |list| {
        if list.workspaces.is_empty() {
            return msg::cli_workspace_none(lang).to_owned();
        }
        let has_paths = list.workspaces.iter().any(|w| w.workspace_path.is_some());
        let mut heads = vec![
            msg::cli_column_agent(lang),
            msg::cli_workspace_binding_column(lang),
            msg::cli_column_status(lang),
            msg::cli_workspace_since_column(lang),
        ];
        heads.extend(has_paths.then(|| msg::cli_workspace_directory_column(lang)));
        let mut table = TextTable::new(&heads);
        for entry in &list.workspaces {
            table.push_row(workspace_row(entry, lang));
        }
        table.render(out)
    })
}

fn workspace_row(entry: &WorkspaceEntry, lang: UiLanguage) -> Vec<String> {
    let binding = if entry.bound {
        msg::cli_workspace_binding_own(lang)
    } else {
        msg::cli_workspace_binding_default(lang)
    };
    let state = match (entry.created, entry.bound) {
        (true, _) => msg::cli_workspace_in_use(lang),
        (false, true) => msg::cli_workspace_not_here(lang),
        (false, false) => msg::cli_workspace_not_written(lang),
    };
    let mut cells = vec![
        entry.workspace_id.to_string(),
        binding.to_owned(),
        state.to_owned(),
        entry.created_at.to_string(),
    ];
    cells.extend(entry.workspace_path.clone());
    cells
}
