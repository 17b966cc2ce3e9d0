//! Execution of MCP `tools/call`: checks scopes and concurrency limits, runs the tool, reports the progress
//! of commands and counts the call.

use std::sync::Arc;
use std::time::Instant;

use polis_core::token::Area;
use polis_ops::OpError;
use polis_ops::op::Follow;
use polis_ops::port::OutputWatcher;
use polis_ops::tool::{Answer, Ask, IgnoredArguments, Tool};
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;

use super::http::SESSION;
use super::mcp_state::House;
use super::progress::{Tail, told};
use super::tool_results;
use crate::identity::Identity;

/// Tools with which a session can claim a task.
const CLAIMING_TOOLS: [&str; 2] = ["TaskClaim", "TaskUpdate"];

/// A tool call and its caller.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) house: &'a House,
    pub(crate) identity: &'a Identity,
    /// Cancelled when the connection ends.
    pub(crate) ended: &'a CancellationToken,
}

impl Call<'_> {
    /// Calls a tool. Mistakes of the model are returned as tool results; only a cancelled call is a protocol
    /// error.
    pub(crate) async fn run(
        self,
        tool: &'static Tool,
        mut arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if let Err(refusal) = self.identity.check(tool.area, tool.access()) {
            return Ok(tool_results::not_done(&refusal.into()));
        }
        let gate = match tool.area {
            Area::Commands => &self.house.commands,
            _ => &self.house.calls,
        };
        let _pass = match gate.enter(self.identity) {
            Ok(pass) => pass,
            Err(refusal) => return Ok(tool_results::not_done(&refusal.into())),
        };
        let begun = Instant::now();
        let (answer, ignored) = match tool.take_unknown(&mut arguments) {
            Ok(ignored) => (self.carry_out(tool, arguments, context).await?, ignored),
            Err(refusal) => (Err(refusal.into()), IgnoredArguments::default()),
        };
        if let Some(metrics) = &self.house.metrics {
            metrics.tool(tool.name).called(&answer, begun.elapsed());
        }
        Ok(match answer {
            Ok(mut answer) => {
                ignored.add_to(&mut answer);
                tool_results::done(answer)
            }
            Err(error) => {
                let mut told = Answer::refused(&error, true);
                ignored.add_to(&mut told);
                tool_results::refusal(told)
            }
        })
    }

    /// Executes a call and sends progress notifications for a command.
    async fn carry_out(
        &self,
        tool: &'static Tool,
        arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<Result<Answer, OpError>, ErrorData> {
        let mut ask = Ask::new(&self.identity.agent, arguments);
        ask.brief = true;
        let polis = &match self.claiming_session(tool, &context).await {
            Ok(Some(session)) => self.house.polis.in_session(&session),
            Ok(None) => self.house.polis.clone(),
            Err(error) => return Ok(Err(error)),
        };
        if tool.area != Area::Commands {
            // Dropping the call is safe: it has committed either its whole change or nothing.
            return tokio::select! {
                answer = tool.call(polis, ask) => Ok(answer),
                () = context.ct.cancelled() => Err(tool_results::cancelled()),
            };
        }
        let tail = Arc::new(Tail::default());
        let token = context.meta.get_progress_token();
        ask.follow = self.follow(&context, token.is_some().then(|| Arc::clone(&tail)));
        let running = tool.call(polis, ask);
        Ok(match &token {
            Some(token) => told(running, &tail, &context.peer, token).await,
            None => running.await,
        })
    }

    /// Returns the HTTP session that a claim is bound to. A stdio process has its session from the start;
    /// requests of the stateless protocol revision have none.
    async fn claiming_session(
        &self,
        tool: &Tool,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<String>, OpError> {
        let parts = context.extensions.get::<http::request::Parts>();
        let header = parts.and_then(|parts| parts.headers.get(SESSION));
        let Some(session) = header.and_then(|value| value.to_str().ok()) else {
            return Ok(None);
        };
        if !CLAIMING_TOOLS.contains(&tool.name) {
            return Ok(None);
        }
        let (house, agent) = (self.house, &self.identity.agent);
        let sessions = &house.http_sessions;
        let id = sessions.open(&house.polis, agent, session, self.ended);
        id.await.map(Some)
    }

    /// Returns the follower of a command: the client, until it cancels the call or disconnects.
    fn follow(&self, context: &RequestContext<RoleServer>, tail: Option<Arc<Tail>>) -> Follow {
        let (cancelled, ended) = (context.ct.clone(), self.ended.clone());
        Follow {
            watcher: tail.map(|tail| tail as Arc<dyn OutputWatcher>),
            stop: Some(Box::pin(async move {
                tokio::select! {
                    () = cancelled.cancelled() => {}
                    () = ended.cancelled() => {}
                }
            })),
        }
    }
}
