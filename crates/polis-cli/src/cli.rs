//! Command-line definitions (clap): the global flags and the tree of subcommands of `polis`, and the root of
//! `blackboard`. The arguments of each subcommand are defined in its file under `command`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};

use crate::command;

/// The shared ground a team of AI agents stands on: a task board nobody can double-claim, whiteboards
/// nobody can silently overwrite.
#[derive(Debug, Parser)]
#[command(name = "polis", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 internal, 2 usage or invalid input, 3 forbidden, 4 not found, \
     5 conflict (version, transition, cycle, blocked), 6 locked or timed out.\n\
     Start with `polis init`, then `polis task create --subject \"...\"`.";

/// What may be typed to `blackboard`.
#[derive(Debug, Parser)]
#[command(
    name = "blackboard",
    version,
    max_term_width = 100,
    about = "Read and write shared files by path"
)]
pub(crate) struct BlackboardCli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(flatten)]
    pub(crate) command: command::blackboard::Blackboard,
}

/// Flags of every command, before or after it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The project directory; default: found upward from here, like git's
    #[arg(long, global = true, env = "POLIS_DIR", value_name = "DIR", hide_env_values = true,
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) dir: Option<PathBuf>,
    /// Where state is kept: a directory, or postgres://...
    #[arg(
        long,
        global = true,
        env = "POLIS_STORE",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
    /// Who is asking; default: the human `user`
    #[arg(
        long = "as",
        global = true,
        env = "POLIS_AGENT",
        value_name = "AGENT",
        hide_env_values = true
    )]
    pub(crate) agent: Option<String>,
    /// Answer with one JSON document (streams: one a line)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show the cause of a failure, for the operator
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
}

impl Globals {
    /// Treats an empty directory or store, as scripts leave in the environment, as not set. An empty agent stays and is
    /// refused: a caller that forgot to name its agent must not act as the human user.
    pub(crate) fn without_empty(mut self) -> Self {
        self.dir = self.dir.filter(|dir| !dir.as_os_str().is_empty());
        self.store = self.store.filter(|store| !store.is_empty());
        self
    }
}

/// Returns whether a flag was typed, rather than only set in the environment. Arguments after `--` belong to the
/// command that is run and are ignored.
pub(crate) fn is_typed(flag: &str) -> bool {
    std::env::args_os()
        .take_while(|argument| argument != "--")
        .filter_map(|argument| argument.into_string().ok())
        .any(|argument| argument.split('=').next() == Some(flag))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set a directory up for a team
    Init(command::init::Init),
    /// Register, list and retire agents
    #[command(subcommand)]
    Agent(command::agent::Agent),
    /// The task board
    #[command(subcommand)]
    Task(Box<command::task::Task>),
    /// Whiteboards: shared Markdown that nobody can silently overwrite
    #[command(subcommand)]
    Board(Box<command::board::Board>),
    /// Propose, sign, veto and appeal decisions on a board
    #[command(subcommand)]
    Decision(command::board::Decision),
    /// Add and reach milestones on a board
    #[command(subcommand)]
    Milestone(command::board::Milestone),
    /// Read and write shared files by path
    Blackboard(command::blackboard::Blackboard),
    /// Workspaces: the files a team works on
    #[command(subcommand)]
    Ws(command::ws::Ws),
    /// Run a command in a workspace, confined by the kernel
    Exec(command::exec::Exec),
    /// Messages between agents
    #[command(subcommand)]
    Message(command::message::Message),
    /// What agents hand over by reference
    #[command(subcommand)]
    Artifact(command::artifact::Artifact),
    /// Places that events are sent to
    #[command(subcommand)]
    Webhook(command::webhook::Webhook),
    /// Start a society of agents, or go on with one, and watch it work
    Run(Box<command::run::Run>),
    /// See and steer the societies of this store
    #[command(subcommand)]
    Society(Box<command::society::Society>),
    /// Serve the HTTP API to agents and programs, and the page to people
    Serve(command::serve::Serve),
    /// Open the page in a browser, signed in; serve it if nobody does
    Open(command::open::Open),
    /// Watch and steer the team on one screen of the terminal
    Tui(command::tui::Tui),
    /// Serve an agent over MCP, or tell its program to start that server
    Mcp(Box<command::mcp::Mcp>),
    /// Print the commit log
    Log(command::log::Log),
    /// Follow the commit log live
    Watch(command::log::Watch),
    /// Count tasks, agents and events
    Stats,
    /// Check the installation and the store
    Doctor(command::doctor::Doctor),
    /// Trust a project that was not created by this user on this machine
    Trust(command::trust::Trust),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(command::config::Config),
    /// Watch a team of agents build a program, or processes work a board; needs nothing but this program
    Demo(command::demo::Demo),
    /// Print a JSON Schema
    Schema(command::schema::Schema),
    /// Print shell completions
    Completions(command::completions::Completions),
    /// Write man pages into a directory
    Man(command::completions::Man),
}
