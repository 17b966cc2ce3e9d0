//! `polis completions` and `polis man`: shell completions and man pages, generated from the command tree, with the
//! descriptions in the reader's language.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use polis_i18n::{UiLanguage, msg};

use crate::command_tree;
use crate::error::CliError;
use crate::help::translate_tree;
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
        let mut tree = localized_tree(command_tree(), out.lang());
        clap_complete::generate(self.shell, &mut tree, "polis", &mut script);
        let script = String::from_utf8_lossy(&script);
        if out.is_json() {
            return out.print_json(&serde_json::json!({ "script": script }));
        }
        out.print_raw(&script)
    }
}

impl ManPagesArgs {
    pub(crate) fn run(self, out: &CliOutput) -> Result<(), CliError> {
        // As `generate_to` does, but before the tree is built.
        let tree = command_tree().disable_help_subcommand(true);
        let tree = localized_tree(tree, out.lang());
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(tree, &self.directory))
            .map_err(|_| CliError::from(CommandRefusal::ManPagesNotWritten))?;
        let written = serde_json::json!({ "written": true, "directory": self.directory });
        out.print_result(&written, |_| {
            msg::cli_project_man_pages_written(out.lang(), self.directory.display())
        })
    }
}

/// Returns the tree with the descriptions of this language. The English ones are in the tree itself.
fn localized_tree(tree: Command, lang: UiLanguage) -> Command {
    match lang {
        UiLanguage::En => tree,
        UiLanguage::Zh => translate_tree(tree, lang),
    }
}
