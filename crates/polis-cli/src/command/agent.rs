//! `polis agent`: registers, lists, shows and retires agents, prints the reporting tree, and manages their tokens.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use polis_core::agent::{Agent as Entry, AgentAdd, AgentStatus, Layer};
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::{self, ListAgents};

use super::ws::directory;
use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Table, clean};

/// Register, list and retire agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Register an agent
    Add(Add),
    /// List all agents
    List,
    /// Show one agent
    Show {
        /// Its id
        id: String,
    },
    /// Show who reports to whom
    Tree,
    /// Issue, list and revoke the tokens that agents prove with over a network who they are
    #[command(subcommand)]
    Token(super::token::Token),
    /// Retire an agent that holds no unfinished task and supervises nobody
    Retire {
        /// Its id
        id: String,
    },
}

/// Register an agent.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its id: letters, digits, '-', '_' and '.'
    id: String,
    /// Its role
    #[arg(long)]
    role: String,
    /// What people call it; default: its id
    #[arg(long)]
    name: Option<String>,
    /// Its layer; default: below its supervisor, or by its role
    #[arg(long)]
    layer: Option<LayerArg>,
    /// Whom it reports to; default: `root`, and it gets a workspace of its own
    #[arg(long, value_name = "ID")]
    supervisor: Option<String>,
    /// Bind its workspace to this directory, which is made if it is not there
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayerArg {
    Top,
    Mid,
    Bottom,
}

impl From<LayerArg> for Layer {
    fn from(layer: LayerArg) -> Self {
        match layer {
            LayerArg::Top => Self::Top,
            LayerArg::Mid => Self::Mid,
            LayerArg::Bottom => Self::Bottom,
        }
    }
}

impl Agent {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = Context::open(globals)?;
        let polis = &context.polis;
        match self {
            Self::Add(add) => {
                let params = AgentAdd {
                    id: add.id.parse()?,
                    name: add.name,
                    role: add.role,
                    layer: add.layer.map(Into::into),
                    supervisor: add.supervisor.as_deref().map(str::parse).transpose()?,
                    workspace_path: add.workspace.as_deref().map(directory).transpose()?,
                };
                let agent = context.run(op::add_agent(polis, &context.agent, &params))?;
                out.answer(&agent, |a| {
                    format!(
                        "Agent {} registered: {} in the {} layer.",
                        a.id,
                        a.role,
                        a.layer.as_str()
                    )
                })
            }
            Self::List => {
                let all = context.run(op::list_agents(polis, &ListAgents::default()))?;
                out.answer(&all, |all| list(&all.agents, out))
            }
            Self::Show { id } => {
                let agent = context.run(op::show_agent(polis, &registered(&id)?))?;
                out.answer(&agent, |a| list(std::slice::from_ref(a), out))
            }
            Self::Tree => {
                let all = context.run(op::list_agents(polis, &ListAgents::default()))?;
                out.answer(&all, |all| tree(&all.agents, out))
            }
            Self::Token(token) => token.run(&context, out),
            Self::Retire { id } => {
                let agent =
                    context.run(op::retire_agent(polis, &context.agent, &registered(&id)?))?;
                out.answer(&agent, |a| format!("Agent {} is retired.", a.id))
            }
        }
    }
}

/// Parses the id of a registered agent. Refuses `user`: the human user is not in the registry.
fn registered(id: &str) -> Result<AgentId, Refusal> {
    if id == AgentId::USER {
        return Err(Refusal::new(
            Code::AgentNotFound,
            "\"user\" is the person, not a registered agent.",
            "run `polis agent list` to see the agents",
        ));
    }
    id.parse()
}

fn list(agents: &[Entry], out: &Output) -> String {
    if agents.is_empty() {
        return "No agents yet. Register one: polis agent add backend-1 --role backend-leader"
            .to_owned();
    }
    let mut table = Table::new(&["ID", "ROLE", "LAYER", "SUPERVISOR", "STATUS", "NAME"]);
    for agent in agents {
        table.row([
            agent.id.to_string(),
            agent.role.clone(),
            agent.layer.as_str().to_owned(),
            agent
                .supervisor
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
            status(agent).to_owned(),
            agent.name.clone(),
        ]);
    }
    table.render(out)
}

fn status(agent: &Entry) -> &'static str {
    match agent.status {
        AgentStatus::Active => "active",
        AgentStatus::Retired => "retired",
    }
}

fn tree(agents: &[Entry], out: &Output) -> String {
    if agents.is_empty() {
        return list(agents, out);
    }
    let mut below: BTreeMap<Option<&AgentId>, Vec<&Entry>> = BTreeMap::new();
    for agent in agents {
        let above = agent.supervisor.as_ref().filter(|id| !id.is_root());
        below.entry(above).or_default().push(agent);
    }
    let mut text = String::new();
    let mut stack: Vec<(&Entry, String, String)> = Vec::new();
    push(&mut stack, below.get(&None), "", true);
    while let Some((agent, lead, indent)) = stack.pop() {
        let retired = if agent.status == AgentStatus::Retired {
            ", retired"
        } else {
            ""
        };
        text.push_str(&format!(
            "{lead}{} ({}, {}{retired})\n",
            agent.id,
            clean(&agent.role),
            agent.layer.as_str()
        ));
        push(&mut stack, below.get(&Some(&agent.id)), &indent, false);
    }
    text
}

fn push<'a>(
    stack: &mut Vec<(&'a Entry, String, String)>,
    children: Option<&Vec<&'a Entry>>,
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
