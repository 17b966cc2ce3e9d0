//! `polis completions` and `polis man`: shell completions and man pages, generated from the command tree.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use polis_i18n::msg;

use crate::command_tree;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Print shell completions, for example `polis completions bash >
/// ~/.local/share/bash-completion/completions/polis`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Write a man page for each command into a directory.
#[derive(Debug, Args)]
pub(crate) struct ManPagesArgs {
    /// Directory, such as ~/.local/share/man/man1
    directory: PathBuf,
}

impl CompletionsArgs {
    pub(crate) fn run(self, out: &CliOutput) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command_tree(), "polis", &mut script);
        let script = String::from_utf8_lossy(&script);
        if out.is_json() {
            return out.print_json(&serde_json::json!({ "script": script }));
        }
        out.print_raw(&script)
    }
}

impl ManPagesArgs {
    pub(crate) fn run(self, out: &CliOutput) -> Result<(), CliError> {
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(command_tree(), &self.directory))
            .map_err(|_| CliError::from(CommandRefusal::ManPagesNotWritten))?;
        out.print_result(&serde_json::json!({ "written": true }), |_| {
            msg::cli_project_man_pages_written(out.lang()).to_owned()
        })
    }
}
