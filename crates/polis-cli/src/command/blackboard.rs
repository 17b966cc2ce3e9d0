//! `polis blackboard`, and the program `blackboard`: reads, writes and lists shared files by path.
//!
//! The blackboard is the one named by `--root`, else by `CLAWOS_HOME` unless `--dir` is typed, else that of the
//! project, else, if no project directory or store is named, `~/clawos/blackboard` if it exists. In text mode,
//! error messages begin with an HTTP-like status: `404 NOT_FOUND: ...`.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use polis_core::{Refusal, RefusalCode, RefusalKind};
use polis_i18n::{Surface, UiLanguage, msg};
use polis_ops::OpError;
use polis_ops::op::{
    self, BlackboardReadParams, BlackboardWriteMode, BlackboardWriteParams, BoardEntry,
    ListBoardsParams,
};
use serde::Serialize;

use super::content::ContentArgs;
use crate::cli::{GlobalArgs, is_flag_typed};
use crate::context::{CommandContext, DATA_DIR_NAME, data_dir_of};
use crate::error::{CliError, exit_code, print_causes};
use crate::output::{CliOutput, sanitize_lines};
use crate::refusal_tables::ProjectRefusal;

/// Read and write blackboard files by path, such as tasks/123/status.md.
#[derive(Debug, Args)]
pub(crate) struct BlackboardArgs {
    /// Directory that contains `blackboard/`; default: this project's .agent-workspace, or ~/clawos outside a
    /// project, if ~/clawos/blackboard exists
    #[arg(long, global = true, env = "CLAWOS_HOME", value_name = "DIR", hide_env_values = true,
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    root: Option<PathBuf>,
    #[command(subcommand)]
    verb: BlackboardCommand,
}

#[derive(Debug, Subcommand)]
enum BlackboardCommand {
    /// Print a file
    Read(BlackboardReadArgs),
    /// Write a file; the previous version is kept in PATH.bak
    Write(BlackboardWriteArgs),
    /// List the files
    List,
}

#[derive(Debug, Args)]
struct BlackboardReadArgs {
    /// File, relative to the blackboard
    path: String,
}

#[derive(Debug, Args)]
struct BlackboardWriteArgs {
    /// File, relative to the blackboard
    path: String,
    /// Replace the file, or append to it on a new line
    #[arg(long)]
    mode: BlackboardModeArg,
    #[command(flatten)]
    content: ContentArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BlackboardModeArg {
    Overwrite,
    Append,
}

impl BlackboardArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        // A project named on the command line (`--dir`) wins over a root named in the environment.
        let has_directory = is_flag_typed("--dir") && !is_flag_typed("--root");
        let root = self
            .root
            .filter(|root| !root.as_os_str().is_empty() && !has_directory);
        let result = open_context(
            globals,
            root.as_deref().map(BlackboardRoot::from_path),
            &self.verb,
        )
        .and_then(|context| self.verb.run(&context, out));
        match result {
            Err(CliError::Op(error)) if !out.is_json() => {
                out.print_stderr(&render_status_line(&error, out.lang()));
                print_causes(&error, out);
                Err(CliError::Exit(exit_code(error.kind())))
            }
            other => other,
        }
    }
}

/// Opens the blackboard of the project, or the one that is named. A read never creates a blackboard.
fn open_context(
    globals: &GlobalArgs,
    root: Option<BlackboardRoot>,
    verb: &BlackboardCommand,
) -> Result<CommandContext, CliError> {
    let Some(root) = root else {
        let failure = match CommandContext::open(globals) {
            Err(CliError::Op(error)) if error.code() == RefusalCode::NOT_INITIALIZED => error,
            opened => return opened,
        };
        // A caller that names a project or a store means that one, not the blackboard in the home directory.
        let is_unnamed = globals.dir.is_none() && globals.store.is_none();
        if let Some(home) = BlackboardRoot::find_in_home().filter(|_| is_unnamed) {
            return CommandContext::open_blackboard(globals, &home);
        }
        return Err(Refusal::from(ProjectRefusal::NoProjectOrBlackboard {
            problem: failure.reason().clone(),
        })
        .into());
    };
    if !root.exists() && !matches!(verb, BlackboardCommand::Write(_)) {
        return Err(Refusal::from(ProjectRefusal::NoBlackboard).into());
    }
    CommandContext::open_blackboard(globals, &root)
}

/// Location of a blackboard given by its path: outside a project, or in a project's data directory.
#[derive(Debug)]
pub(crate) struct BlackboardRoot {
    /// The directory that contains `blackboard/`.
    pub(crate) parent_dir: PathBuf,
}

impl BlackboardRoot {
    /// Creates the location from a path: `~/clawos` and `~/clawos/blackboard` both name the latter.
    fn from_path(root: &Path) -> Self {
        let is_files = root.file_name().is_some_and(|name| name == "blackboard");
        let home = root.parent().filter(|_| is_files).unwrap_or(root);
        Self {
            parent_dir: home.to_owned(),
        }
    }

    /// Returns the blackboard at its traditional location `~/clawos/blackboard`, if it exists.
    fn find_in_home() -> Option<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from)?;
        let home = home.is_absolute().then(|| home.join("clawos"))?;
        home.join("blackboard")
            .is_dir()
            .then_some(Self { parent_dir: home })
    }

    /// Returns whether this is the blackboard of a project, named by its data directory.
    pub(crate) fn is_project_data(&self) -> bool {
        self.parent_dir
            .file_name()
            .is_some_and(|name| name == DATA_DIR_NAME)
    }

    /// Returns whether the blackboard exists.
    fn exists(&self) -> bool {
        data_dir_of(&self.parent_dir).is_dir() || self.parent_dir.join("blackboard").is_dir()
    }
}

/// Formats a failure as a line that begins with its status.
fn render_status_line(error: &OpError, lang: UiLanguage) -> String {
    let status = match error.code() {
        RefusalCode::FILE_NOT_FOUND => "404 NOT_FOUND",
        RefusalCode::BOARD_LOCKED => "423 LOCKED",
        RefusalCode::NOT_A_FILE => "403 FORBIDDEN",
        RefusalCode::BOARD_TOO_LARGE => "413 TOO_LARGE",
        _ => match error.kind() {
            RefusalKind::Invalid => "400 BAD_REQUEST",
            RefusalKind::Forbidden => "403 FORBIDDEN",
            RefusalKind::NotFound => "404 NOT_FOUND",
            RefusalKind::Conflict => "409 CONFLICT",
            RefusalKind::Busy => "423 LOCKED",
            RefusalKind::Internal => "500 INTERNAL",
        },
    };
    let rendered = error.render(Surface::Cli, lang);
    let mut text = format!("{status}: {}", sanitize_lines(&rendered.message));
    if !rendered.hint.is_empty() {
        let hint = msg::cli_error_hint(lang, sanitize_lines(&rendered.hint));
        text.push_str(&format!("\n{hint}"));
    }
    text
}

#[derive(Debug, Serialize)]
struct BlackboardFileList {
    files: Vec<BoardEntry>,
}

impl BlackboardCommand {
    fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (app, agent) = (&context.app, &context.agent);
        match self {
            Self::Read(args) => {
                let params = BlackboardReadParams {
                    path: args.path,
                    ..BlackboardReadParams::default()
                };
                let file = context.block_on(op::read_blackboard(&app.request(agent), &params))?;
                if out.is_json() {
                    return out.print_json(&file);
                }
                out.print_unchanged(&file.content)
            }
            Self::Write(args) => {
                let params = BlackboardWriteParams {
                    path: args.path,
                    content: args.content.read_text()?,
                    mode: match args.mode {
                        BlackboardModeArg::Overwrite => BlackboardWriteMode::Overwrite,
                        BlackboardModeArg::Append => BlackboardWriteMode::Append,
                    },
                };
                let written =
                    context.block_on(op::write_blackboard(&app.request(agent), &params))?;
                out.print_result(&written, |w| {
                    msg::cli_board_at_version(out.lang(), &w.path, w.version)
                })
            }
            Self::List => {
                let list = context.block_on(op::list_boards(
                    &app.request(agent),
                    &ListBoardsParams::default(),
                ))?;
                let of_files = list.boards.into_iter().filter_map(|mut entry| {
                    let path = entry.board.strip_prefix("blackboard/")?.to_owned();
                    entry.board = path;
                    Some(entry)
                });
                let files = BlackboardFileList {
                    files: of_files.collect(),
                };
                out.print_result(&files, |all| {
                    let lines = all.files.iter().map(|f| format!("{}\n", f.board));
                    lines.collect()
                })
            }
        }
    }
}
