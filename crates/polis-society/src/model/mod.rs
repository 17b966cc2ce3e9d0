//! Language models: the [`Model`] interface and its implementations. [`Endpoints`] calls OpenAI-compatible servers over
//! HTTP, [`Replay`] plays a recording, and [`Recorder`] records another model.

mod assembly;
mod chunk;
mod endpoint;
mod endpoints;
pub mod estimate;
mod gate;
mod held;
mod http;
mod key;
pub(crate) mod line;
mod recording;
mod refusal;
mod replay;
mod sse;
mod trust;

pub use assembly::MAX_CALLS;
pub use endpoint::{EndpointSettings, Patience};
pub use endpoints::{Endpoints, EndpointsSettings};
pub use gate::{Gate, Permit, Ticket};
pub use held::Held;
pub use key::Key;
pub use line::Proxies;
pub use recording::Recorder;
pub use replay::Replay;

use std::pin::Pin;
use std::sync::Arc;

use polis_core::society::role::ModelChoice;
use polis_core::{MemberKey, Raw};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// A language model, or several behind one interface.
pub trait Model: Send + Sync + std::fmt::Debug {
    /// Requests a response. Retries transient failures. A response is complete, or it is an error.
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a>;

    /// Returns the context limit in tokens, for the endpoints that this choice selects.
    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64;
}

/// The future of a response.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// A request to a model.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The member it is for.
    pub member: &'a MemberKey,
    /// The number of this response among all of the member, from 0; the same when the request is repeated after a
    /// crash.
    pub number: u64,
    /// How many messages the member has received so far, including those in this prompt.
    pub heard: u64,
    /// The name of its role.
    pub role: &'a str,
    /// The model settings of its role.
    pub choice: Option<&'a ModelChoice>,
    /// The messages: JSON objects separated by commas.
    pub messages: &'a str,
    /// The tool definitions: a JSON array as the API expects it, or empty.
    pub tools: &'a str,
    /// Cancels the request.
    pub cancel: CancellationToken,
    /// The observer of the response.
    pub watch: Option<Arc<dyn Watch>>,
}

/// Observes a request while the model responds.
pub trait Watch: Send + Sync + std::fmt::Debug {
    /// A part of the text arrived. If the stream breaks, all parts are repeated after [`again`](Self::again).
    fn words(&self, text: &str);
    /// The request is retried, and why.
    fn again(&self, why: &str);
    /// A configuration problem that the human user should know about; the request continues.
    fn warning(&self, text: &str);
}

/// A complete model response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The message as stored in the conversation: `{"role":"assistant","content":…,"tool_calls":[…]}`. It is normalised
    /// so that no endpoint refuses the conversation because of it: each call has a unique id, a name of allowed
    /// characters, and arguments that are the text of a JSON object. What the model really wrote is in
    /// [`calls`](Self::calls).
    pub message: Raw,
    /// The text of the response, without its tool calls.
    pub text: String,
    /// The tool calls, in the order and with the ids of the message.
    pub calls: Vec<Call>,
    /// How many further calls there were; more than [`MAX_CALLS`] in one response are not read.
    pub dropped_calls: usize,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of prompt and response, if the endpoint reported them.
    pub usage: Option<(u64, u64)>,
    /// Its cost, in millionths.
    pub micros: u64,
    /// The model that responded.
    pub model: String,
    /// The duration (milliseconds) of all attempts together.
    pub ms: u64,
    /// The number of attempts.
    pub tries: u64,
    /// The endpoint permit; drop it when the response is committed.
    pub held: Held,
}

/// A tool call in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The id given by the model.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments as the model wrote them; not necessarily JSON.
    pub arguments: String,
}

/// Why a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It contains tool calls, or only announces them without containing any.
    Calls,
    /// It was cut off by the length limit; its calls must not be executed.
    Length,
    /// The provider's content filter blocked it.
    Filtered,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure.
    pub kind: ModelFault,
    /// A sentence for the agent's parent and the human user. Contains no key and no URL with a key in it.
    pub message: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFault {
    /// The prompt is too long for the model.
    TooLong,
    /// A retry does not help: a wrong key, an unknown model, a refused request, or too many attempts.
    Permanent,
    /// The request was cancelled.
    Cancelled,
}

/// Waits for a response, or fails with `Cancelled` when the request is cancelled.
pub(crate) async fn while_wanted(
    cancel: &CancellationToken,
    answer: impl Future<Output = Result<Answer, ModelError>>,
) -> Result<Answer, ModelError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ModelError {
            kind: ModelFault::Cancelled,
            message: "The answer is not wanted any more.".to_owned(),
        }),
        answer = answer => answer,
    }
}
