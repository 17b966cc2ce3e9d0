//! The table of all tools, and the `tool!` macro and types with which the sibling modules define them.

use polis_core::AgentId;
use serde::Serialize;

use super::document;
use super::truncation::{bound, note};
use super::{
    Answer, Tool, agents, blackboard, boards, commands, events, files, messages, society, tasks,
};
use crate::error::OpError;
use crate::op::{Desk, Follow};
use crate::polis::Polis;

/// Context of a tool call, passed to the tool's function with its parameters.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) polis: &'a Polis,
    pub(super) by: &'a AgentId,
    pub(super) follow: Follow,
    pub(super) brief: bool,
}

impl Call<'_> {
    /// Selects the workspace that the caller works in.
    pub(super) fn desk(&self) -> Desk<'_> {
        Desk::own(self.by)
    }
}

/// Result of a tool's function.
#[derive(Debug)]
pub(super) struct Reply<T> {
    /// The operation's result.
    answer: T,
    /// Short text with the same content.
    text: String,
    /// If it was truncated for a model: how to get the rest.
    cut: Option<String>,
}

impl<T> Reply<T> {
    /// Creates a reply from a result and its text.
    pub(super) fn new(answer: T, text: impl Into<String>) -> Self {
        Self {
            answer,
            text: text.into(),
            cut: None,
        }
    }

    /// Adds how to get the rest of a truncated result.
    pub(super) fn cut(mut self, how: Option<String>) -> Self {
        self.cut = how;
        self
    }
}

/// Return type of tool functions.
pub(super) type Told<T> = Result<Reply<T>, OpError>;

/// Defines a tool. Its function takes a [`Call`] and the parameters, and returns [`Told`].
macro_rules! tool {
    ($name:literal, $area:ident, $effect:ident, $params:ty => $answer:ty, $run:path,
     { $($field:ident),* $(,)? }, $about:literal $(,)?) => {
        $crate::tool::Tool {
            $($field: true,)*
            ..$crate::tool::Tool {
                name: $name,
                area: polis_core::token::Area::$area,
                effect: $crate::tool::Effect::$effect,
                idempotent: false,
                outside: false,
                open_world: false,
                usual: false,
                listed: false,
                about: $about,
                parameters: $crate::tool::params::names::<$params>,
                input: $crate::tool::schema::input::<$params>,
                output: $crate::tool::schema::output::<$answer>,
                call: |polis, ask| Box::pin(async move {
                    let given: $params = $crate::tool::params::read(ask.params)?;
                    let brief = ask.brief;
                    let call = $crate::tool::registry::Call { polis, by: ask.by, follow: ask.follow, brief };
                    let reply: $crate::tool::registry::Reply<$answer> = $run(call, given).await?;
                    $crate::tool::registry::answer(reply, brief)
                }),
            }
        }
    };
}
pub(super) use tool;

/// Converts a reply to an [`Answer`]; its size is bounded if it goes into a model's context.
pub(super) fn answer<T: Serialize>(reply: Reply<T>, brief: bool) -> Result<Answer, OpError> {
    let mut answer = Answer {
        document: document::of(&reply.answer)?,
        text: reply.text,
    };
    if brief {
        bound(&mut answer);
        if let Some(how) = reply.cut {
            note(&mut answer, how);
        }
    }
    Ok(answer)
}

const AREAS: [&[Tool]; 9] = [
    tasks::TOOLS,
    boards::TOOLS,
    blackboard::TOOLS,
    files::TOOLS,
    commands::TOOLS,
    messages::TOOLS,
    agents::TOOLS,
    society::TOOLS,
    events::TOOLS,
];

const COUNT: usize = {
    let (mut count, mut area) = (0, 0);
    while area < AREAS.len() {
        count += AREAS[area].len();
        area += 1;
    }
    count
};

/// All tools, in the order in which they are listed.
pub static TOOLS: &[Tool] = &{
    let mut all = [AREAS[0][0]; COUNT];
    let (mut area, mut at) = (0, 0);
    while area < AREAS.len() {
        let mut one = 0;
        while one < AREAS[area].len() {
            all[at] = AREAS[area][one];
            at += 1;
            one += 1;
        }
        area += 1;
    }
    all
};
