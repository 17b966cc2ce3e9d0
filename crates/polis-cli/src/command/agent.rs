//! `polis agent`: registers, lists, shows and retires agents, prints the reporting tree, and manages their
//! tokens.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use polis_core::agent::{Agent, AgentAddParams, AgentLayer, AgentStatus};
use polis_core::{AgentId, Refusal};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, ListAgentsParams};
use polis_view::labels::{self, label_in_sentence};

use super::ws::absolute_directory;
use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable, sanitize_line};
use crate::refusal_tables::CommandRefusal;

/// Register, list and retire agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Register an agent
    Add(AgentAddArgs),
    /// List all agents
    List,
    /// Show an agent
    Show {
        /// Agent id
        id: String,
    },
    /// Show the reporting tree
    Tree,
    /// Issue, list and revoke the tokens with which agents authenticate over the network
    #[command(subcommand)]
    Token(super::token::TokenCommand),
    /// Retire an agent that has no unfinished tasks and no subordinates
    Retire {
        /// Agent id
        id: String,
    },
}

/// Register an agent.
#[derive(Debug, Args)]
pub(crate) struct AgentAddArgs {
    /// Agent id: letters, digits, '-', '_' and '.'
    id: String,
    /// Role
    #[arg(long)]
    role: String,
    /// Display name; default: the id
    #[arg(long)]
    name: Option<String>,
    /// Layer; default: the one below the supervisor's, or by role
    #[arg(long)]
    layer: Option<LayerArg>,
    /// Supervisor; default: `root`, and the agent gets its own workspace
    #[arg(long, value_name = "ID")]
    supervisor: Option<String>,
    /// Bind its workspace to this directory, which is created if missing
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayerArg {
    Top,
    Mid,
    Bottom,
}

impl From<LayerArg> for AgentLayer {
    fn from(layer: LayerArg) -> Self {
        match layer {
            LayerArg::Top => Self::Top,
            LayerArg::Mid => Self::Mid,
            LayerArg::Bottom => Self::Bottom,
        }
    }
}

impl AgentCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = CommandContext::open(globals)?;
        let app = &context.app;
        match self {
            Self::Add(add) => {
                let params = AgentAddParams {
                    id: add.id.parse()?,
                    name: add.name,
                    role: add.role,
                    layer: add.layer.map(Into::into),
                    supervisor: add.supervisor.as_deref().map(str::parse).transpose()?,
                    workspace_path: add
                        .workspace
                        .as_deref()
                        .map(absolute_directory)
                        .transpose()?,
                };
                let agent =
                    context.block_on(op::add_agent(&app.request(&context.agent), &params))?;
                out.print_result(&agent, |a| {
                    msg::cli_agent_registered(out.lang(), &a.id, &a.role, a.layer.as_str())
                })
            }
            Self::List => {
                let all = context.block_on(op::list_agents(
                    &app.person_request(),
                    &ListAgentsParams::default(),
                ))?;
                out.print_result(&all, |all| render_agent_table(&all.agents, out))
            }
            Self::Show { id } => {
                let agent = context.block_on(op::show_agent(
                    &app.person_request(),
                    &parse_registered_id(&id)?,
                ))?;
                out.print_result(&agent, |a| render_agent_table(std::slice::from_ref(a), out))
            }
            Self::Tree => {
                let all = context.block_on(op::list_agents(
                    &app.person_request(),
                    &ListAgentsParams::default(),
                ))?;
                out.print_result(&all, |all| render_agent_tree(&all.agents, out))
            }
            Self::Token(token) => token.run(&context, out),
            Self::Retire { id } => {
                let agent = context.block_on(op::retire_agent(
                    &app.request(&context.agent),
                    &parse_registered_id(&id)?,
                ))?;
                out.print_result(&agent, |a| msg::cli_agent_retired(out.lang(), &a.id))
            }
        }
    }
}

/// Parses the id of a registered agent. Refuses `user`: the person is not in the registry.
fn parse_registered_id(id: &str) -> Result<AgentId, Refusal> {
    if id == AgentId::USER {
        return Err(Refusal::from(CommandRefusal::PersonIsNoAgent));
    }
    id.parse()
}

fn render_agent_table(agents: &[Agent], out: &CliOutput) -> String {
    let lang = out.lang();
    if agents.is_empty() {
        return msg::cli_agent_none(lang).to_owned();
    }
    let mut table = TextTable::new(&[
        "ID",
        msg::cli_column_role(lang),
        msg::cli_agent_column_layer(lang),
        msg::cli_agent_column_supervisor(lang),
        msg::cli_column_status(lang),
        msg::cli_agent_column_name(lang),
    ]);
    for agent in agents {
        table.push_row([
            agent.id.to_string(),
            agent.role.clone(),
            agent.layer.as_str().to_owned(),
            agent
                .supervisor
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
            status_in_sentence(agent.status, lang),
            agent.name.clone(),
        ]);
    }
    table.render(out)
}

fn status_in_sentence(status: AgentStatus, lang: UiLanguage) -> String {
    label_in_sentence(labels::agent_status_label(status, lang))
}

fn render_agent_tree(agents: &[Agent], out: &CliOutput) -> String {
    if agents.is_empty() {
        return render_agent_table(agents, out);
    }
    let lang = out.lang();
    let mut below: BTreeMap<Option<&AgentId>, Vec<&Agent>> = BTreeMap::new();
    for agent in agents {
        let above = agent.supervisor.as_ref().filter(|id| !id.is_root());
        below.entry(above).or_default().push(agent);
    }
    let mut text = String::new();
    let mut stack: Vec<(&Agent, String, String)> = Vec::new();
    push_children(&mut stack, below.get(&None), "", true);
    while let Some((agent, lead, indent)) = stack.pop() {
        let mut details = vec![sanitize_line(&agent.role), agent.layer.as_str().to_owned()];
        if agent.status == AgentStatus::Retired {
            details.push(status_in_sentence(agent.status, lang));
        }
        let details = details.join(msg::common_list_separator(lang));
        let entry = msg::cli_agent_tree_entry(lang, &agent.id, details);
        text.push_str(&format!("{lead}{entry}\n"));
        push_children(&mut stack, below.get(&Some(&agent.id)), &indent, false);
    }
    text
}

fn push_children<'a>(
    stack: &mut Vec<(&'a Agent, String, String)>,
    children: Option<&Vec<&'a Agent>>,
    indent: &str,
    roots: bool,
) {
    let Some(children) = children else { return };
    for (n, child) in children.iter().enumerate().rev() {
        let last = n + 1 == children.len();
        let (lead, below) = match (roots, last) {
            (true, _) => (String::new(), String::new()),
            (false, true) => (format!("{indent}└─ "), format!("{indent}   ")),
            (false, false) => (format!("{indent}├─ "), format!("{indent}│  ")),
        };
        stack.push((child, lead, below));
    }
}
