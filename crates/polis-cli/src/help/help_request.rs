//! The command whose help clap displays ([`HelpRequest`]): a parser of the same command line, whose help pages are
//! replaced by the path of their command.

use std::ffi::OsString;

use clap::Command;
use clap::error::ErrorKind;

/// Separates the parts of a page of the marked tree. No command name contains it, and clap does not strip it.
const MARK: char = '|';

/// A requested help page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HelpRequest {
    /// Names of the subcommands, without that of the program.
    pub(crate) path: Vec<String>,
    /// Whether the long help is requested: `--help` rather than `-h`, of a command that has one.
    pub(crate) is_long: bool,
}

impl HelpRequest {
    /// Parses a command line that displays help, with a built command tree; `None` if it does not.
    pub(crate) fn parse(
        tree: &Command,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Option<Self> {
        let marked = mark_pages(tree.clone(), String::new());
        let error = marked.try_get_matches_from(arguments).err()?;
        if !matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        ) {
            return None;
        }
        let page = error.render().to_string();
        let mut parts = page.trim_end().split(MARK);
        let is_long = parts.next()? == "long";
        let path = parts.next()?;
        Some(Self {
            path: path.split_whitespace().map(str::to_owned).collect(),
            is_long,
        })
    }
}

/// Replaces the help pages of a command and its subcommands by `short` or `long` and the path of the command.
fn mark_pages(command: Command, path: String) -> Command {
    command
        .about("short")
        .long_about("long")
        .after_help("")
        .help_template(format!("{{about}}{MARK}{path}"))
        .mut_subcommands(|subcommand| {
            let path = format!("{path} {}", subcommand.get_name());
            mark_pages(subcommand, path)
        })
}
