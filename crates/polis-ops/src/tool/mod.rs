//! The operations as tools: one table that MCP, HTTP and the society read.
//!
//! A tool has a name, schemas derived from the operation's own types, and a way to call it with JSON.
//! Whatever a surface adds (a protocol, addresses, tokens) is that surface's matter; what a caller may do
//! is decided inside the operations, as everywhere.

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

/// A call's future.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Answer, OpError>> + Send + 'a>>;

/// An operation as a tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name, as the source documents name it.
    pub name: &'static str,
    /// What it is about.
    pub area: Area,
    /// What it may do.
    pub effect: Effect,
    /// Whether doing it twice with the same arguments does no more than doing it once.
    pub idempotent: bool,
    /// Whether what it does happens outside of the store's commit (files, commands).
    pub outside: bool,
    /// Whether it reaches what is outside of this installation by itself. Commands do only if they are let.
    pub open_world: bool,
    /// Whether it is shown to agents that did not ask for certain tools.
    pub usual: bool,
    /// Whether it is shown to agents at all; the others are for programs.
    pub listed: bool,
    /// What it does, for a model: short.
    pub about: &'static str,
    /// The names of its parameters, other accepted spellings included.
    pub parameters: fn() -> &'static [&'static str],
    /// The schema of its parameters.
    pub input: fn() -> Map<String, Value>,
    /// The schema of its answer.
    pub output: fn() -> Map<String, Value>,
    call: for<'a> fn(&'a Polis, Ask<'a>) -> Calling<'a>,
}

/// A call of a tool.
#[derive(Debug)]
pub struct Ask<'a> {
    /// Who calls. Never a part of the parameters.
    pub by: &'a AgentId,
    /// The parameters, a JSON object.
    pub params: Map<String, Value>,
    /// Who follows a command.
    pub follow: Follow,
    /// Whether the answer goes into a model's context, and long ones are cut or paged.
    pub brief: bool,
}

impl<'a> Ask<'a> {
    /// A call that nobody follows.
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
    /// The tool of this name.
    pub fn find(name: &str) -> Result<&'static Self, Refusal> {
        let found = TOOLS.iter().find(|tool| tool.name == name);
        found.ok_or_else(|| not_found(name))
    }

    /// Whether it only looks.
    pub fn access(&self) -> Access {
        match self.effect {
            Effect::Look => Access::Read,
            Effect::Add | Effect::Change => Access::Write,
        }
    }

    /// Calls it. What it refuses has a next step in the words of tools.
    pub fn call<'a>(&self, polis: &'a Polis, ask: Ask<'a>) -> Calling<'a> {
        let tool = *self;
        let calling = (tool.call)(polis, ask);
        Box::pin(async move { calling.await.map_err(|error| hint::translate(&tool, error)) })
    }

    /// Its definition for a client: the `Tool` object of MCP, as small as it can be.
    pub fn definition(&self, installation: Installation<'_>) -> Value {
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": self.small_input(installation),
            "outputSchema": self.small_output(),
            "annotations": self.hints(installation),
        })
    }

    /// The schema of its parameters as a model is shown it.
    pub fn small_input(&self, installation: Installation<'_>) -> Value {
        let mut small = schema::small_input(&(self.input)());
        installation.list_values(self, &mut small);
        small
    }

    /// The schema of its answer, with no more than what an answer always has.
    pub fn small_output(&self) -> Value {
        schema::small_output(&(self.output)())
    }
}

/// There is no such tool, or not for this caller.
pub fn not_found(name: &str) -> Refusal {
    Refusal::new(
        Code::ToolNotFound,
        format!("There is no tool {}.", polis_core::id::quoted(name)),
        "list the tools and use one of their names",
    )
}
