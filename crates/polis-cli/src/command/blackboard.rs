//! `polis blackboard`, and the program `blackboard`: reads and writes shared files by path.
//!
//! Error messages begin with the status that the source document assigns to them: `404 NOT_FOUND: ...`.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use polis_core::{Code, Kind, Refusal};
use polis_ops::OpError;
use polis_ops::op::{self, BlackboardRead, BlackboardWrite, BoardEntry, ListBoards, WriteMode};
use serde::Serialize;

use super::content::Content;
use crate::cli::{Globals, is_typed};
use crate::context::{Context, WORKSPACE, workspace_of};
use crate::error::{Failure, exit_code, warn_of_causes};
use crate::output::{Output, clean_lines};

/// Read and write shared files by path, such as tasks/123/status.md.
#[derive(Debug, Args)]
pub(crate) struct Blackboard {
    /// The directory that has the blackboard in `blackboard/`; default: this project's .agent-workspace, or ~/clawos
    /// outside of any project if it has one
    #[arg(long, global = true, env = "CLAWOS_HOME", value_name = "DIR", hide_env_values = true,
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    root: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a file
    Read(Read),
    /// Write a file; the version before it stays in PATH.bak
    Write(Write),
    /// List the files there are
    List,
}

#[derive(Debug, Args)]
struct Read {
    /// The file, relative to the blackboard
    path: String,
}

#[derive(Debug, Args)]
struct Write {
    /// The file, relative to the blackboard
    path: String,
    /// Replace it, or add to its end on a line of its own
    #[arg(long)]
    mode: Mode,
    #[command(flatten)]
    content: Content,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    Overwrite,
    Append,
}

impl Blackboard {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        // A project named on the command line (`--dir`) wins over a root named in the environment.
        let elsewhere = is_typed("--dir") && !is_typed("--root");
        let root = self
            .root
            .filter(|root| !root.as_os_str().is_empty() && !elsewhere);
        let done = open(globals, root.as_deref().map(Root::of), &self.verb)
            .and_then(|context| self.verb.run(&context, out));
        match done {
            Err(Failure::Op(error)) if !out.is_json() => {
                out.warn(&status_line(&error));
                warn_of_causes(&error, out);
                Err(Failure::Exit(exit_code(error.kind())))
            }
            other => other,
        }
    }
}

/// Opens the blackboard of the project, or the one that is named. A read never creates a blackboard.
fn open(globals: &Globals, root: Option<Root>, verb: &Verb) -> Result<Context, Failure> {
    let Some(root) = root else {
        let failure = match Context::open(globals) {
            Err(Failure::Op(error)) if error.code() == Code::NotInitialized => error,
            opened => return opened,
        };
        // A caller that names a project or a store means that one, not the blackboard in the home directory.
        let is_unnamed = globals.dir.is_none() && globals.store.is_none();
        if let Some(home) = Root::in_home_directory().filter(|_| is_unnamed) {
            return Context::open_blackboard(globals, &home);
        }
        return Err(Refusal::new(
            Code::NotInitialized,
            failure.document().error.message,
            "run `polis init` in your project, name its directory with --dir, or name a blackboard outside of \
             a project with --root or CLAWOS_HOME; ~/clawos/blackboard is used if it exists",
        )
        .into());
    };
    if !root.exists() && !matches!(verb, Verb::Write(_)) {
        return Err(Refusal::new(
            Code::FileNotFound,
            "There is no blackboard in that directory.",
            "check --root and CLAWOS_HOME; the first write begins one",
        )
        .into());
    }
    Context::open_blackboard(globals, &root)
}

/// Location of a blackboard outside a project.
#[derive(Debug)]
pub(crate) struct Root {
    /// The directory that contains `blackboard/`.
    pub(crate) home: PathBuf,
}

impl Root {
    /// Creates the location from a path: `~/clawos` and `~/clawos/blackboard` both name the latter.
    fn of(root: &Path) -> Self {
        let is_files = root.file_name().is_some_and(|name| name == "blackboard");
        let home = root.parent().filter(|_| is_files).unwrap_or(root);
        Self {
            home: home.to_owned(),
        }
    }

    /// Returns the blackboard at `~/clawos/blackboard`, the location that the source document of the blackboard
    /// specifies, if it exists.
    fn in_home_directory() -> Option<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from)?;
        let home = home.is_absolute().then(|| home.join("clawos"))?;
        home.join("blackboard").is_dir().then_some(Self { home })
    }

    /// Returns whether this is the blackboard of a project, named by its data directory.
    pub(crate) fn is_workspace(&self) -> bool {
        self.home.file_name().is_some_and(|name| name == WORKSPACE)
    }

    /// Returns whether the blackboard exists.
    fn exists(&self) -> bool {
        workspace_of(&self.home).is_dir() || self.home.join("blackboard").is_dir()
    }
}

/// Formats a failure as the source document words it: a status first.
fn status_line(error: &OpError) -> String {
    let status = match error.code() {
        Code::FileNotFound => "404 NOT_FOUND",
        Code::BoardLocked => "423 LOCKED",
        Code::NotAFile => "403 FORBIDDEN",
        Code::BoardTooLarge => "413 TOO_LARGE",
        _ => match error.kind() {
            Kind::Invalid => "400 BAD_REQUEST",
            Kind::Forbidden => "403 FORBIDDEN",
            Kind::NotFound => "404 NOT_FOUND",
            Kind::Conflict => "409 CONFLICT",
            Kind::Busy => "423 LOCKED",
            Kind::Internal => "500 INTERNAL",
        },
    };
    let document = error.document();
    let mut text = format!("{status}: {}", clean_lines(document.error.message));
    if !document.error.hint.is_empty() {
        text.push_str(&format!("\nHint: {}", clean_lines(document.error.hint)));
    }
    text
}

#[derive(Debug, Serialize)]
struct Files {
    files: Vec<BoardEntry>,
}

impl Verb {
    fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (polis, agent) = (&context.polis, &context.agent);
        match self {
            Self::Read(args) => {
                let params = BlackboardRead {
                    path: args.path,
                    ..BlackboardRead::default()
                };
                let file = context.run(op::read_blackboard(polis, agent, &params))?;
                if out.is_json() {
                    return out.document(&file);
                }
                out.exact(&file.content)
            }
            Self::Write(args) => {
                let params = BlackboardWrite {
                    path: args.path,
                    content: args.content.text()?,
                    mode: match args.mode {
                        Mode::Overwrite => WriteMode::Overwrite,
                        Mode::Append => WriteMode::Append,
                    },
                };
                let written = context.run(op::write_blackboard(polis, agent, &params))?;
                out.answer(&written, |w| {
                    format!("{} is at version {}", w.path, w.version)
                })
            }
            Self::List => {
                let list = context.run(op::list_boards(polis, agent, &ListBoards::default()))?;
                let of_files = list.boards.into_iter().filter_map(|mut entry| {
                    let path = entry.board.strip_prefix("blackboard/")?.to_owned();
                    entry.board = path;
                    Some(entry)
                });
                let files = Files {
                    files: of_files.collect(),
                };
                out.answer(&files, |all| {
                    let lines = all.files.iter().map(|f| format!("{}\n", f.board));
                    lines.collect()
                })
            }
        }
    }
}
