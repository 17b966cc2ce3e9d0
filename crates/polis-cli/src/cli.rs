//! Command-line definitions (clap): the global flags, the top-level subcommands of `polis`
//! ([`PolisCommand`]), and the parser of the `blackboard` program. The arguments of each subcommand are
//! defined in its file under `command`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::command;
use crate::command::init::LanguageArg;
use crate::deferred_subcommands::{DeferredSubcommands, create_deferred};
use crate::person_language::PersonLanguage;

/// Coordinate a team of AI agents: a task board with exclusive claims, versioned whiteboards, workspaces,
/// messages and runs.
#[derive(Debug, Parser)]
#[command(name = "polis", version, max_term_width = 100, after_help = EXIT_CODES_HELP)]
pub(crate) struct PolisCli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: PolisCommand,
}

impl PolisCli {
    /// Parses the arguments of the process.
    pub(crate) fn parse_arguments() -> Result<Self, clap::Error> {
        let mut tree = create_deferred(Self::command);
        let matches = tree.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut tree))
    }
}

const EXIT_CODES_HELP: &str = "Exit codes: 0 ok, 1 internal, 2 usage or invalid input, 3 forbidden, 4 not found, \
     5 conflict (version, transition, cycle, blocked), 6 locked or timed out.\n\
     Start with `polis init`, then `polis task create --subject \"...\"`.";

/// Command line of the `blackboard` program.
#[derive(Debug, Parser)]
#[command(
    name = "blackboard",
    version,
    max_term_width = 100,
    about = "Read and write blackboard files by path"
)]
pub(crate) struct BlackboardCli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(flatten)]
    pub(crate) command: command::blackboard::BlackboardArgs,
}

/// Global flags, accepted before or after any subcommand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Project directory; default: searched upward from the current directory, as git does
    #[arg(long, global = true, env = "POLIS_DIR", value_name = "DIR", hide_env_values = true,
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) dir: Option<PathBuf>,
    /// Store: a project directory, or a postgres:// URL
    #[arg(
        long,
        global = true,
        env = "POLIS_STORE",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
    /// Agent to act as; default: the person (`user`)
    #[arg(
        long = "as",
        global = true,
        env = "POLIS_AGENT",
        value_name = "AGENT",
        hide_env_values = true
    )]
    pub(crate) agent: Option<String>,
    /// Print JSON: one document, or one per line for streams
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print the underlying causes of an internal error
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    /// Language; default: POLIS_LANG, else Chinese in a Chinese project or locale, else English
    #[arg(long, global = true, value_name = "LANG")]
    pub(crate) lang: Option<LanguageArg>,
    /// The language that these flags, the environment and the project choose.
    #[arg(skip)]
    pub(crate) language: PersonLanguage,
}

impl GlobalArgs {
    /// Completes parsed flags: empty ones are ignored, and the language is that of the flags or the environment.
    pub(crate) fn complete(self) -> Self {
        let mut globals = self.without_empty();
        globals.language = PersonLanguage::for_flags(&globals);
        globals
    }

    /// Treats an empty directory or store as not set: scripts leave such variables in the environment. An
    /// empty agent name is kept and later refused, because a caller that forgot to name its agent must not
    /// act as the person.
    fn without_empty(mut self) -> Self {
        self.dir = self.dir.filter(|dir| !dir.as_os_str().is_empty());
        self.store = self.store.filter(|store| !store.is_empty());
        self
    }
}

/// Returns whether a flag was typed, rather than only set in the environment. Arguments after `--` belong to
/// the command that is run and are ignored.
pub(crate) fn is_flag_typed(flag: &str) -> bool {
    std::env::args_os()
        .take_while(|argument| argument != "--")
        .filter_map(|argument| argument.into_string().ok())
        .any(|argument| argument.split('=').next() == Some(flag))
}

/// Returns the value of a flag that was typed, also if clap has not accepted the command line.
pub(crate) fn typed_value(flag: &str) -> Option<OsString> {
    let mut arguments = std::env::args_os().take_while(|argument| argument != "--");
    while let Some(argument) = arguments.next() {
        if argument == flag {
            return arguments.next();
        }
        let value = argument
            .to_str()
            .and_then(|text| text.strip_prefix(flag)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
}

/// All subcommands of `polis`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolisCommand {
    /// Create a project in a directory
    Init(command::init::InitArgs),
    /// Register, list and retire agents
    #[command(subcommand)]
    Agent(DeferredSubcommands<command::agent::AgentCommand>),
    /// Create, claim, update and list tasks
    #[command(subcommand)]
    Task(DeferredSubcommands<command::task::TaskCommand>),
    /// Read and write whiteboards: shared Markdown with versions, sections and locks
    #[command(subcommand)]
    Board(DeferredSubcommands<command::board::BoardCommand>),
    /// Propose, sign, veto and appeal decisions on a board
    #[command(subcommand)]
    Decision(DeferredSubcommands<command::board::DecisionCommand>),
    /// Add milestones to a board and mark them as reached
    #[command(subcommand)]
    Milestone(DeferredSubcommands<command::board::MilestoneCommand>),
    /// Read and write blackboard files by path
    Blackboard(command::blackboard::BlackboardArgs),
    /// Read and change the files of workspaces
    #[command(subcommand)]
    Ws(DeferredSubcommands<command::ws::WsCommand>),
    /// Run a command in a workspace, inside the sandbox
    Exec(command::exec::ExecArgs),
    /// Send and check messages between agents
    #[command(subcommand)]
    Message(DeferredSubcommands<command::message::MessageCommand>),
    /// Store artifacts and get them by reference
    #[command(subcommand)]
    Artifact(DeferredSubcommands<command::artifact::ArtifactCommand>),
    /// Manage webhooks, which receive events over HTTP
    #[command(subcommand)]
    Webhook(DeferredSubcommands<command::webhook::WebhookCommand>),
    /// Start or resume a run, and watch it
    Run(Box<command::run::RunArgs>),
    /// Inspect and control the runs of this store
    #[command(subcommand)]
    Society(DeferredSubcommands<command::society::SocietyCommand>),
    /// Serve the HTTP API, MCP and the web page
    Serve(command::serve::ServeArgs),
    /// Open the web page in a browser, signed in; starts a server if none is running
    Open(command::open::OpenArgs),
    /// Start the terminal UI
    Tui(command::tui::TuiArgs),
    /// Run an MCP server for an agent, or install it in an MCP client
    Mcp(Box<command::mcp::McpArgs>),
    /// Print the event log
    Log(command::log::LogArgs),
    /// Follow the event log live
    Watch(command::log::LogWatchArgs),
    /// Count tasks, agents and events
    Stats,
    /// Check the installation and the store
    Doctor(command::doctor::DoctorArgs),
    /// Trust a project that was not created by this user on this machine
    Trust(command::trust::TrustArgs),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(DeferredSubcommands<command::config::ConfigCommand>),
    /// Watch a demo: a team of agents builds a program, or processes work on a task board; needs no setup
    Demo(command::demo::DemoArgs),
    /// Print a JSON Schema
    Schema(command::schema::SchemaArgs),
    /// Print shell completions
    Completions(command::completions::CompletionsArgs),
    /// Write man pages into a directory
    Man(command::completions::ManPagesArgs),
}
