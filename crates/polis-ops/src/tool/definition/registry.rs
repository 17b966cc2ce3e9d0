//! The table of all tools, and the `tool!` macro and types with which the sibling modules define them.

use polis_i18n::UiLanguage;
use serde::Serialize;

use super::{agents, blackboard, boards, commands, events, files, messages, society, tasks};
use crate::error::OpError;
use crate::op::CommandObservers;
use crate::request::Request;
use crate::tool::json_document;
use crate::tool::truncation::{add_truncation_note, enforce_size_limits};
use crate::tool::{Tool, ToolOutput};

/// Context of a tool call, passed to the tool's function with its parameters.
#[derive(Debug)]
pub(super) struct ToolContext<'a> {
    pub(super) request: &'a Request,
    pub(super) observers: CommandObservers,
    pub(super) for_model: bool,
    /// Language of the texts of the result.
    pub(super) lang: UiLanguage,
}

/// Result of a tool's function: the operation's result, its text, and how to get the rest if it was
/// truncated.
#[derive(Debug)]
pub(super) struct ToolReply<T> {
    /// The operation's result.
    result: T,
    /// Short text with the same content.
    text: String,
    /// If it was truncated for a model: how to get the rest.
    continuation: Option<String>,
}

impl<T> ToolReply<T> {
    /// Creates a reply from a result and its text.
    pub(super) fn new(result: T, text: impl Into<String>) -> Self {
        Self {
            result,
            text: text.into(),
            continuation: None,
        }
    }

    /// Adds how to get the rest of a truncated result.
    pub(super) fn with_continuation(mut self, note: Option<String>) -> Self {
        self.continuation = note;
        self
    }
}

/// Return type of tool functions.
pub(super) type ToolResult<T> = Result<ToolReply<T>, OpError>;

/// Defines a tool. Its function takes a [`ToolContext`] and the parameters, and returns [`ToolResult`]. Its texts are
/// in the catalogue (`definitions/LANGUAGE/tools.ftl` of `polis-i18n`).
macro_rules! tool {
    ($name:literal, $area:ident, $effect:ident, $params:ty => $answer:ty, $run:path,
     { $($field:ident),* $(,)? } $(,)?) => {
        $crate::tool::Tool {
            $($field: true,)*
            ..$crate::tool::Tool {
                name: $name,
                area: polis_core::token::OperationArea::$area,
                effect: $crate::tool::ToolEffect::$effect,
                idempotent: false,
                acts_outside_store: false,
                open_world: false,
                is_default: false,
                is_offered_to_agents: false,
                parameter_names: $crate::tool::params::field_names::<$params>,
                input_schema: $crate::tool::schema::input_schema::<$params>,
                output_schema: $crate::tool::schema::output_schema::<$answer>,
                call: |request, call| Box::pin(async move {
                    let params: $params = $crate::tool::params::deserialize_params(call.params)?;
                    let (for_model, lang) = (call.for_model, call.lang);
                    let context = $crate::tool::definition::registry::ToolContext {
                        request,
                        observers: call.observers,
                        for_model,
                        lang,
                    };
                    let reply: $crate::tool::definition::registry::ToolReply<$answer> = $run(context, params).await?;
                    $crate::tool::definition::registry::into_tool_output(reply, for_model, lang)
                }),
            }
        }
    };
}
pub(super) use tool;

/// Converts a reply to an [`ToolOutput`]; its size is bounded if it goes into a model's context.
pub(super) fn into_tool_output<T: Serialize>(
    reply: ToolReply<T>,
    brief: bool,
    lang: UiLanguage,
) -> Result<ToolOutput, OpError> {
    let mut answer = ToolOutput {
        document: json_document::to_json_document(&reply.result)?,
        text: reply.text,
    };
    if brief {
        enforce_size_limits(&mut answer, lang);
        if let Some(note) = reply.continuation {
            add_truncation_note(&mut answer, note, lang);
        }
    }
    Ok(answer)
}

const TOOLS_BY_AREA: [&[Tool]; 9] = [
    tasks::TASK_TOOLS,
    boards::BOARD_TOOLS,
    blackboard::BLACKBOARD_TOOLS,
    files::FILE_TOOLS,
    commands::COMMAND_TOOLS,
    messages::MESSAGE_TOOLS,
    agents::AGENT_TOOLS,
    society::SOCIETY_TOOLS,
    events::EVENT_TOOLS,
];

const TOOL_COUNT: usize = {
    let (mut count, mut area) = (0, 0);
    while area < TOOLS_BY_AREA.len() {
        count += TOOLS_BY_AREA[area].len();
        area += 1;
    }
    count
};

/// All tools, in the order in which they are listed.
pub static TOOLS: &[Tool] = &{
    let mut all = [TOOLS_BY_AREA[0][0]; TOOL_COUNT];
    let (mut area, mut at) = (0, 0);
    while area < TOOLS_BY_AREA.len() {
        let mut one = 0;
        while one < TOOLS_BY_AREA[area].len() {
            all[at] = TOOLS_BY_AREA[area][one];
            at += 1;
            one += 1;
        }
        area += 1;
    }
    all
};
