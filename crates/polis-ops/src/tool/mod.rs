//! The operations as tools: one table that MCP, HTTP and the society read.
//!
//! A tool has a name, schemas derived from the operation's own types, and a way to call it with JSON.
//! Whatever a surface adds (a protocol, addresses, tokens) is that surface's matter; what a caller may do
//! is decided inside the operations, as everywhere.

mod agents;
mod answer;
mod blackboard;
mod boards;
mod brief;
mod commands;
mod document;
mod events;
mod files;
mod hint;
mod messages;
mod params;
mod schema;
mod select;
mod society;
mod table;
mod tasks;

use std::pin::Pin;

use polis_core::token::{Access, Area};
use polis_core::{AgentId, Code, Refusal};
use serde_json::{Map, Value, json};

pub use answer::Answer;
pub use hint::hint_for_tools;
pub use select::{check_names, groups, select};
pub use table::TOOLS;

use crate::error::OpError;
use crate::op::Follow;
use crate::polis::Polis;

/// A call's future.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Answer, OpError>> + Send + 'a>>;

/// What a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Looks only.
    Look,
    /// Adds something, or moves it on; nothing that is there is lost by it.
    Add,
    /// May replace or remove something that is there.
    Change,
}

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
    /// Whether it is shown to agents that did not ask for certain tools.
    pub usual: bool,
    /// Whether it is shown to agents at all; the others are for programs.
    pub listed: bool,
    /// What it does, for a model: short.
    pub about: &'static str,
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

    /// How a model is told of it: the `Tool` object of MCP, as small as it can be.
    ///
    /// Only hints that differ from what MCP takes for granted are there.
    pub fn definition(&self) -> Value {
        let mut hints = Map::new();
        match self.effect {
            Effect::Look => {
                hints.insert("readOnlyHint".to_owned(), true.into());
            }
            // A client that takes it for harmless wants to hear both.
            Effect::Add => {
                hints.insert("destructiveHint".to_owned(), false.into());
                hints.insert("openWorldHint".to_owned(), false.into());
            }
            Effect::Change => {}
        }
        if self.idempotent && self.effect != Effect::Look {
            hints.insert("idempotentHint".to_owned(), true.into());
        }
        let mut definition = json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": schema::small_input(&(self.input)()),
            "outputSchema": schema::small_output(&(self.output)()),
        });
        if let (Some(definition), false) = (definition.as_object_mut(), hints.is_empty()) {
            definition.insert("annotations".to_owned(), Value::Object(hints));
        }
        definition
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

/// How a model is told of tools: the result of MCP's `tools/list`.
pub fn listing(tools: &[&Tool]) -> Value {
    let tools: Vec<Value> = tools.iter().map(|tool| tool.definition()).collect();
    json!({ "tools": tools })
}
