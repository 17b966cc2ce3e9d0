//! `polis completions` and `polis man`: shell completions and man pages, generated from the command tree.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::command_tree;
use crate::error::{Failure, invalid};
use crate::output::Output;

/// Print shell completions, for example `polis completions bash > ~/.local/share/bash-completion/completions/polis`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: Shell,
}

/// Write a man page for each command into a directory.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory, such as ~/.local/share/man/man1
    directory: PathBuf,
}

impl Completions {
    pub(crate) fn run(self, out: &Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command_tree(), "polis", &mut script);
        let script = String::from_utf8_lossy(&script);
        if out.is_json() {
            return out.document(&serde_json::json!({ "script": script }));
        }
        out.raw(&script)
    }
}

impl Man {
    pub(crate) fn run(self, out: &Output) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(command_tree(), &self.directory))
            .map_err(|_| {
                invalid(
                    "The man pages cannot be written there.",
                    "name a directory that you may write to",
                )
            })?;
        out.answer(&serde_json::json!({ "written": true }), |_| {
            "Man pages written.".to_owned()
        })
    }
}
