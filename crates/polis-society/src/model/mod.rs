//! Language models: the [`LanguageModel`] interface and its implementations. [`ModelEndpoints`] calls
//! OpenAI-compatible servers over HTTP, [`ReplayModel`] plays a recording, and [`RecordingModel`] records
//! another model.

mod api_key;
mod assembly;
mod endpoint_limiter;
mod endpoint_permit;
mod http_request;
mod model_endpoint;
mod model_endpoints;
mod provider_error;
mod recording;
mod replay_model;
mod response_chunk;
mod sse;
pub mod token_estimate;

pub use api_key::ApiKey;
pub use assembly::MAX_TOOL_CALLS;
pub use endpoint_limiter::{EndpointLimiter, QueueTicket, SlotPermit};
pub use endpoint_permit::EndpointPermit;
pub use model_endpoint::{EndpointSettings, RetryPolicy};
pub use model_endpoints::{ModelEndpoints, ModelEndpointsSettings};
pub use polis_http_client::ProxySettings;
pub use recording::RecordingModel;
pub use replay_model::ReplayModel;

use std::pin::Pin;
use std::sync::Arc;

use polis_core::society::society_role::ModelChoice;
use polis_core::{MemberKey, RawJson};
use polis_i18n::{UiLanguage, msg};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// A language model, or several behind one interface.
pub trait LanguageModel: Send + Sync + std::fmt::Debug {
    /// Requests a response. Retries transient failures. A response is complete, or it is an error.
    fn complete<'a>(&'a self, request: ModelRequest<'a>) -> ResponseFuture<'a>;

    /// Returns the context limit in tokens, for the endpoints that this choice selects.
    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64;
}

/// Future returned by [`LanguageModel::complete`].
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ModelResponse, ModelError>> + Send + 'a>>;

/// A request to a model.
#[derive(Debug)]
pub struct ModelRequest<'a> {
    /// The member whose conversation the request continues.
    pub member: &'a MemberKey,
    /// Zero-based index of this response among all responses of the member; the same when the request is
    /// repeated after a crash.
    pub response_index: u64,
    /// How many messages the member has received so far, including those in this prompt.
    pub received_message_count: u64,
    /// Name of the member's role.
    pub role: &'a str,
    /// Model settings of the role; `None` selects the default endpoint.
    pub model_choice: Option<&'a ModelChoice>,
    /// The messages: JSON objects separated by commas, ready to be copied into the request body. Text instead
    /// of values, because a long conversation would otherwise be serialized again for every request.
    pub messages: &'a str,
    /// The tool definitions: a JSON array as the API expects it, or empty.
    pub tools: &'a str,
    /// Language of the sentences in errors, retries and warnings.
    pub lang: UiLanguage,
    /// Cancels the request when triggered.
    pub cancel: CancellationToken,
    /// Receives streamed text, retries and warnings while the model responds.
    pub observer: Option<Arc<dyn ResponseObserver>>,
}

/// Observes a request while the model responds.
pub trait ResponseObserver: Send + Sync + std::fmt::Debug {
    /// A part of the text arrived. If the stream breaks, the request is retried and all parts are repeated.
    fn on_text(&self, text: &str);
    /// The request is retried, and why.
    fn on_retry(&self, reason: &str);
    /// A configuration problem that the person should know about; the request continues.
    fn on_warning(&self, text: &str);
}

/// A complete model response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelResponse {
    /// The message as stored in the conversation: `{"role":"assistant","content":…,"tool_calls":[…]}`. It is
    /// normalized so that no endpoint refuses the conversation because of it: each call has a unique id, a
    /// name of allowed characters, and arguments that are the text of a JSON object. What the model really
    /// wrote is in [`calls`](Self::calls).
    pub message: RawJson,
    /// The text of the response, without its tool calls.
    pub text: String,
    /// The tool calls, in the order and with the ids of the message.
    pub calls: Vec<ToolCall>,
    /// How many further calls there were; more than [`MAX_TOOL_CALLS`] in one response are not read.
    pub dropped_calls: usize,
    /// Why the model stopped (`finish_reason`).
    pub finish: FinishReason,
    /// Tokens of prompt and response, if the endpoint reported them.
    pub usage: Option<(u64, u64)>,
    /// Cost in millionths of the currency unit; 0 if the endpoint has no prices.
    pub cost_micros: u64,
    /// Name of the model: as reported by the endpoint, or else as requested.
    pub model: String,
    /// The duration (milliseconds) of all attempts together.
    pub duration_ms: u64,
    /// Number of requests it took, including failed ones.
    pub attempts: u64,
    /// Slot in the concurrency limit of the endpoint; drop it when the response is committed.
    pub permit: EndpointPermit,
}

/// A tool call in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id given by the model, or a generated one if that is missing, invalid or not unique.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments as the model wrote them; not necessarily JSON.
    pub arguments: String,
}

/// Why a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// The model ended the response normally.
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
    pub kind: ModelErrorKind,
    /// A sentence for the agent's supervisor and the person. Contains no key and no URL with a key in it.
    pub message: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The prompt is too long for the model.
    TooLong,
    /// A retry does not help: a wrong key, an unknown model, a refused request, or too many attempts.
    Permanent,
    /// The request was cancelled.
    Cancelled,
}

/// Waits for a response, or fails with `Cancelled` when the request is cancelled.
pub(crate) async fn complete_unless_cancelled(
    cancel: &CancellationToken,
    lang: UiLanguage,
    answer: impl Future<Output = Result<ModelResponse, ModelError>>,
) -> Result<ModelResponse, ModelError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ModelError {
            kind: ModelErrorKind::Cancelled,
            message: msg::model_cancelled(lang).to_owned(),
        }),
        answer = answer => answer,
    }
}
