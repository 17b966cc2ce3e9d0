//! Tool registry: the operations as tools, in one table that MCP, HTTP and the society use.
//!
//! A tool has a name, JSON schemas derived from the operation's own types, and a function that calls it with
//! JSON. Protocol, addresses and tokens are handled by each surface. Permissions are checked inside the
//! operations, as for all other callers.

mod definition;
mod effect;
mod installation_schema;
mod json_document;
mod parameter_problem;
mod parameter_text;
mod params;
mod schema;
mod tool_output;
mod tool_selection;
mod truncation;
mod unknown_arguments;

use std::pin::Pin;

use polis_core::Refusal;
use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::UiLanguage;
use serde_json::{Map, Value, json};

pub use definition::{TOOLS, format_budget_amount};
pub use effect::ToolEffect;
pub use installation_schema::ToolSchemaSettings;
pub use parameter_problem::describe_json_error;
pub use schema::join_description_lines;
pub use tool_output::ToolOutput;
pub use tool_selection::{allows_every_tool, check_tool_names, select_tools, tool_groups};
pub use unknown_arguments::IgnoredArguments;

use crate::error::OpError;
use crate::op::CommandObservers;
use crate::refusal_tables::ToolRefusal;
use crate::request::Request;

/// Future of a tool call.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, OpError>> + Send + 'a>>;

/// An operation as a tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name, unique among all tools.
    pub name: &'static str,
    /// Its area, for scopes and grouping.
    pub area: OperationArea,
    /// Its effect on stored data, from which the MCP annotations follow.
    pub effect: ToolEffect,
    /// Whether calling it twice with the same arguments has the same effect as calling it once.
    pub idempotent: bool,
    /// Whether its effect is outside the store's commit (files, commands).
    pub acts_outside_store: bool,
    /// Whether the tool itself reaches beyond this installation. Commands do so only if network access is
    /// enabled.
    pub open_world: bool,
    /// Whether it is in the default selection for agents.
    pub is_default: bool,
    /// Whether it is offered to agents at all; the other tools are for programs.
    pub is_offered_to_agents: bool,
    /// Returns the names of its parameters, including serde aliases.
    pub parameter_names: fn() -> &'static [&'static str],
    /// Returns the schema of its parameters.
    pub input_schema: fn() -> Map<String, Value>,
    /// Returns the schema of its result.
    pub output_schema: fn() -> Map<String, Value>,
    call: for<'a> fn(&'a Request, ToolRequest) -> ToolFuture<'a>,
}

/// A request to call a tool.
#[derive(Debug)]
pub struct ToolRequest {
    /// The parameters, a JSON object.
    pub params: Map<String, Value>,
    /// Observers of a command.
    pub observers: CommandObservers,
    /// Whether the result goes into a model's context, so that long results are truncated or paginated.
    pub for_model: bool,
    /// Language of the texts of the result.
    pub lang: UiLanguage,
}

impl ToolRequest {
    /// Creates a call without observers, in English.
    pub fn new(params: Map<String, Value>) -> Self {
        Self {
            params,
            observers: CommandObservers::default(),
            for_model: false,
            lang: UiLanguage::En,
        }
    }
}

impl Tool {
    /// Returns the tool with this name. Fails with `ToolNotFound` if there is none.
    pub fn find(name: &str) -> Result<&'static Self, Refusal> {
        let found = TOOLS.iter().find(|tool| tool.name == name);
        found.ok_or_else(|| tool_not_found(name))
    }

    /// Returns its short description for a model.
    pub fn description(&self, lang: UiLanguage) -> &'static str {
        parameter_text::tool_description(self.name, lang)
    }

    /// Returns whether it needs read or write access.
    pub fn required_access(&self) -> AccessLevel {
        match self.effect {
            ToolEffect::ReadOnly => AccessLevel::Read,
            ToolEffect::Additive | ToolEffect::Destructive => AccessLevel::Write,
        }
    }

    /// Calls the tool. Fails with `invalid_input` if the parameters are invalid, and like the operation.
    pub fn call<'a>(&self, request: &'a Request, call: ToolRequest) -> ToolFuture<'a> {
        let tool = *self;
        let calling = (tool.call)(request, call);
        Box::pin(async move {
            calling.await.map_err(|error| match tool.effect {
                ToolEffect::ReadOnly => error.with_called_tool(tool.name),
                ToolEffect::Additive | ToolEffect::Destructive => error,
            })
        })
    }

    /// Returns its definition for a client: the `Tool` object of MCP, as small as possible.
    pub fn mcp_definition(&self, installation: ToolSchemaSettings<'_>, lang: UiLanguage) -> Value {
        json!({
            "name": self.name,
            "description": self.description(lang),
            "inputSchema": self.compact_input_schema(installation, lang),
            "outputSchema": self.compact_output_schema(),
            "annotations": self.annotations(installation),
        })
    }

    /// Returns whether a parameter is left out of the definition for a model, although it is accepted.
    pub fn is_parameter_unlisted(&self, name: &str) -> bool {
        parameter_text::is_unlisted(self.name, name)
    }

    /// Returns the schema of its parameters in the short form for a model.
    pub fn compact_input_schema(
        &self,
        installation: ToolSchemaSettings<'_>,
        lang: UiLanguage,
    ) -> Value {
        let mut small = schema::compact_input_schema(&(self.input_schema)());
        if let Some(Value::Object(properties)) = small.get_mut("properties") {
            parameter_text::apply_model_texts(self.name, lang, properties);
            installation.complete_parameters(self, lang, properties);
        }
        small
    }

    /// Returns the schema of its result, reduced to the required members.
    pub fn compact_output_schema(&self) -> Value {
        schema::compact_output_schema(&(self.output_schema)())
    }
}

/// The refusal for a tool that does not exist or is not available to this caller.
pub fn tool_not_found(name: &str) -> Refusal {
    Refusal::from(ToolRefusal::NotFound {
        name: polis_core::id::quote_untrusted(name),
    })
}
