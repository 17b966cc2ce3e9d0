//! Calling a tool.

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

/// The tools with which a session takes a task.
const CLAIMING_TOOLS: [&str; 2] = ["TaskClaim", "TaskUpdate"];

/// A call of a tool, and who made it.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) house: &'a House,
    pub(crate) identity: &'a Identity,
    /// Cancelled when the connection ends.
    pub(crate) ended: &'a CancellationToken,
}

impl Call<'_> {
    /// Calls a tool. Whatever the model did wrong is the tool's answer; only a call that nobody waits
    /// for any more has none.
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

    /// Carries a call out, and tells the client how a command gets on.
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
            // Dropped half-way it has committed all of its change, or nothing.
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

    /// The session over HTTP that a claim is bound to. A process at stdio has its session from the start; requests of
    /// the era without sessions have none.
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

    /// Who follows a command: the client, until it cancels or goes.
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
