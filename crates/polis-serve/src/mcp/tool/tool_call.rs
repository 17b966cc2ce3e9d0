//! Execution of MCP `tools/call`: checks scopes and concurrency limits, runs the tool, reports the progress
//! of commands and counts the call.

use std::sync::Arc;
use std::time::Instant;

use polis_core::token::OperationArea;
use polis_i18n::UiLanguage;
use polis_ops::OpError;
use polis_ops::op::CommandObservers;
use polis_ops::port::OutputWatcher;
use polis_ops::tool::{IgnoredArguments, Tool, ToolOutput, ToolRequest};
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;

use super::progress_notifications::{ProgressTail, with_progress};
use super::tool_results;
use crate::caller_identity::CallerIdentity;
use crate::mcp::http::SESSION_ID_HEADER;
use crate::mcp::mcp_state::McpState;

/// Tools with which a session can claim a task.
const CLAIMING_TOOLS: [&str; 2] = ["TaskClaim", "TaskUpdate"];

/// A tool call and its caller.
#[derive(Debug)]
pub(crate) struct McpToolCall<'a> {
    pub(crate) state: &'a McpState,
    pub(crate) identity: &'a CallerIdentity,
    /// Cancelled when the connection ends.
    pub(crate) ended: &'a CancellationToken,
    /// Language of the texts of the result.
    pub(crate) lang: UiLanguage,
}

impl McpToolCall<'_> {
    /// Calls a tool. Mistakes of the model are returned as tool results; only a cancelled call is a protocol
    /// error.
    pub(crate) async fn run(
        self,
        tool: &'static Tool,
        mut arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if let Err(refusal) = self.identity.check_scope(tool.area, tool.required_access()) {
            return Ok(tool_results::error_result(&refusal.into(), self.lang));
        }
        let limit = match tool.area {
            OperationArea::Commands => &self.state.command_limit,
            _ => &self.state.call_limit,
        };
        let _permit = match limit.acquire(self.identity) {
            Ok(permit) => permit,
            Err(refusal) => return Ok(tool_results::error_result(&refusal.into(), self.lang)),
        };
        let start = Instant::now();
        let (answer, ignored) = match tool.remove_unknown_arguments(&mut arguments) {
            Ok(ignored) => (self.execute(tool, arguments, context).await?, ignored),
            Err(refusal) => (Err(refusal.into()), IgnoredArguments::default()),
        };
        if let Some(metrics) = &self.state.metrics {
            metrics
                .tool_meter(tool.name)
                .record_result(&answer, start.elapsed());
        }
        Ok(match answer {
            Ok(mut answer) => {
                ignored.add_note_to(&mut answer, self.lang);
                tool_results::success_result(answer)
            }
            Err(error) => {
                let mut output = ToolOutput::from_error(&error, self.lang, true);
                ignored.add_note_to(&mut output, self.lang);
                tool_results::refusal_result(output)
            }
        })
    }

    /// Executes a call and sends progress notifications for a command.
    async fn execute(
        &self,
        tool: &'static Tool,
        arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<Result<ToolOutput, OpError>, ErrorData> {
        let mut call = ToolRequest::new(arguments);
        call.for_model = true;
        call.lang = self.lang;
        let mut request = self.identity.request(&self.state.app);
        match self.claiming_session(tool, &context).await {
            Ok(Some(session)) => request = request.in_session(&session),
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        if tool.area != OperationArea::Commands {
            // Dropping the call is safe: it has committed either its whole change or nothing.
            return tokio::select! {
                answer = tool.call(&request, call) => Ok(answer),
                () = context.ct.cancelled() => Err(tool_results::cancelled_error()),
            };
        }
        let tail = Arc::new(ProgressTail::default());
        let token = context.meta.get_progress_token();
        call.observers =
            self.follow_until_cancelled(&context, token.is_some().then(|| Arc::clone(&tail)));
        let running = tool.call(&request, call);
        Ok(match &token {
            Some(token) => with_progress(running, &tail, &context.peer, token).await,
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
        let header = parts.and_then(|parts| parts.headers.get(SESSION_ID_HEADER));
        let Some(session) = header.and_then(|value| value.to_str().ok()) else {
            return Ok(None);
        };
        if !CLAIMING_TOOLS.contains(&tool.name) {
            return Ok(None);
        }
        let (state, agent) = (self.state, &self.identity.agent);
        let sessions = &state.http_sessions;
        let id = sessions.open_on_claim(&state.app, agent, session, self.ended);
        id.await.map(Some)
    }

    /// Returns the follower of a command: the client, until it cancels the call or disconnects.
    fn follow_until_cancelled(
        &self,
        context: &RequestContext<RoleServer>,
        tail: Option<Arc<ProgressTail>>,
    ) -> CommandObservers {
        let (cancelled, ended) = (context.ct.clone(), self.ended.clone());
        CommandObservers {
            watcher: tail.map(|tail| tail as Arc<dyn OutputWatcher>),
            cancel: Some(Box::pin(async move {
                tokio::select! {
                    () = cancelled.cancelled() => {}
                    () = ended.cancelled() => {}
                }
            })),
        }
    }
}
