//! Tool registry: the operations as tools, in one table that MCP, HTTP and the society use.
//!
//! A tool has a name, JSON schemas derived from the operation's own types, and a function that calls it with JSON.
//! Protocol, addresses and tokens are handled by each surface. Permissions are checked inside the operations, as for
//! all other callers.

mod agents;
mod answer;
mod blackboard;
mod boards;
mod commands;
mod document;
mod effect;
mod events;
mod files;
mod hint;
mod installation_schema;
mod messages;
mod params;
mod registry;
mod schema;
mod select;
mod society;
mod tasks;
mod truncation;
mod unknown_arguments;

use std::pin::Pin;

use polis_core::token::{Access, Area};
use polis_core::{AgentId, Code, Refusal};
use serde_json::{Map, Value, json};

pub use answer::Answer;
pub use effect::Effect;
pub use hint::hint_for_tools;
pub use installation_schema::Installation;
pub use registry::TOOLS;
pub use select::{check_names, groups, select};
pub use unknown_arguments::IgnoredArguments;

use crate::error::OpError;
use crate::op::Follow;
use crate::polis::Polis;

/// Future of a tool call.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Answer, OpError>> + Send + 'a>>;

/// An operation as a tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name, as in the source documents.
    pub name: &'static str,
    /// Its area, for scopes and grouping.
    pub area: Area,
    /// Its effect.
    pub effect: Effect,
    /// Whether calling it twice with the same arguments has the same effect as calling it once.
    pub idempotent: bool,
    /// Whether its effect is outside the store's commit (files, commands).
    pub outside: bool,
    /// Whether the tool itself reaches beyond this installation. Commands do so only if network access is enabled.
    pub open_world: bool,
    /// Whether it is in the default selection for agents.
    pub usual: bool,
    /// Whether it is offered to agents at all; the other tools are for programs.
    pub listed: bool,
    /// Short description for a model.
    pub about: &'static str,
    /// Returns the names of its parameters, including serde aliases.
    pub parameters: fn() -> &'static [&'static str],
    /// Returns the schema of its parameters.
    pub input: fn() -> Map<String, Value>,
    /// Returns the schema of its result.
    pub output: fn() -> Map<String, Value>,
    call: for<'a> fn(&'a Polis, Ask<'a>) -> Calling<'a>,
}

/// A tool call.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The caller. Never part of the parameters.
    pub by: &'a AgentId,
    /// The parameters, a JSON object.
    pub params: Map<String, Value>,
    /// Observers of a command.
    pub follow: Follow,
    /// Whether the result goes into a model's context, so that long results are truncated or paginated.
    pub brief: bool,
}

impl<'a> Ask<'a> {
    /// Creates a call without observers.
    pub fn new(by: &'a AgentId, params: Map<String, Value>) -> Self {
        Self {
            by,
            params,
            follow: Follow::default(),
            brief: false,
        }
    }
}

impl Tool {
    /// Returns the tool with this name. Fails with `ToolNotFound` if there is none.
    pub fn find(name: &str) -> Result<&'static Self, Refusal> {
        let found = TOOLS.iter().find(|tool| tool.name == name);
        found.ok_or_else(|| not_found(name))
    }

    /// Returns whether it needs read or write access.
    pub fn access(&self) -> Access {
        match self.effect {
            Effect::Look => Access::Read,
            Effect::Add | Effect::Change => Access::Write,
        }
    }

    /// Calls the tool. Hints of errors are translated for callers of tools.
    pub fn call<'a>(&self, polis: &'a Polis, ask: Ask<'a>) -> Calling<'a> {
        let tool = *self;
        let calling = (tool.call)(polis, ask);
        Box::pin(async move { calling.await.map_err(|error| hint::translate(&tool, error)) })
    }

    /// Returns its definition for a client: the `Tool` object of MCP, as small as possible.
    pub fn definition(&self, installation: Installation<'_>) -> Value {
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": self.small_input(installation),
            "outputSchema": self.small_output(),
            "annotations": self.hints(installation),
        })
    }

    /// Returns the schema of its parameters in the short form for a model.
    pub fn small_input(&self, installation: Installation<'_>) -> Value {
        let mut small = schema::small_input(&(self.input)());
        installation.list_values(self, &mut small);
        small
    }

    /// Returns the schema of its result, reduced to the required members.
    pub fn small_output(&self) -> Value {
        schema::small_output(&(self.output)())
    }
}

/// The refusal for a tool that does not exist or is not available to this caller.
pub fn not_found(name: &str) -> Refusal {
    Refusal::new(
        Code::ToolNotFound,
        format!("There is no tool {}.", polis_core::id::quoted(name)),
        "list the tools and use one of their names",
    )
}
