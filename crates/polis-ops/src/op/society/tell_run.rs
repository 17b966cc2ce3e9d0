//! Sends a message into a run from outside of it, by default to its `root`.

use polis_core::message::{Recipients, SendMessage};
use polis_core::society::RunId;
use polis_core::{AgentId, Raw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::op::messages::{Sent, send_message};
use crate::polis::Polis;

/// The parameters of telling a run something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TellRun {
    /// The run.
    pub task_id: RunId,
    /// An agent's id, `role:ROLE`, or a list of these; `root` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Recipients>,
    /// Text or any JSON.
    #[schemars(with = "serde_json::Value")]
    pub payload: Raw,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
}

/// Sends a message into a run. The recipients `root` and `role:ROLE` are resolved within that run.
pub async fn tell_run(polis: &Polis, caller: &AgentId, params: &TellRun) -> Result<Sent, OpError> {
    let who = polis.caller(caller).await?;
    let run = polis.meant(&who, Some(&params.task_id)).await?.value.id;
    let root = || Recipients::One(AgentId::ROOT.to_owned());
    let message = SendMessage {
        to: params.to.clone().unwrap_or_else(root),
        payload: params.payload.clone(),
        reply_to: params.reply_to,
        delay_ms: None,
    };
    send_message(&polis.within(run), caller, &message).await
}
