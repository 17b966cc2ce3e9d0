//! Operation that sends a message into a run from outside of it, by default to its `root`.

use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::society::RunId;
use polis_core::{AgentId, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::op::message::messages::{SendMessageResult, send_message};
use crate::op::society::resolve_run;
use crate::request::Request;

/// Parameters of `tell_run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TellRunParams {
    /// The run.
    #[serde(alias = "taskId")]
    pub run_id: RunId,
    /// An agent's id, `role:ROLE`, or a list of these; default: `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<MessageRecipients>,
    /// Text or any JSON value.
    #[schemars(with = "serde_json::Value")]
    pub payload: RawJson,
    /// Number of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
}

/// Sends a message into a run. The recipients `root` and `role:ROLE` are resolved within that run.
/// Fails with `run_not_found` if the run does not exist or the caller may not see it, and like
/// [`send_message`].
pub async fn tell_run(
    request: &Request,
    params: &TellRunParams,
) -> Result<SendMessageResult, OpError> {
    let resolved_caller = request.resolve_caller().await?;
    let run = resolve_run(request, &resolved_caller, Some(&params.run_id))
        .await?
        .value
        .id;
    let root = || MessageRecipients::One(AgentId::ROOT.to_owned());
    let message = SendMessageParams {
        to: params.to.clone().unwrap_or_else(root),
        payload: params.payload.clone(),
        reply_to: params.reply_to,
        delay_ms: None,
    };
    send_message(&request.with_root_run(run), &message).await
}
