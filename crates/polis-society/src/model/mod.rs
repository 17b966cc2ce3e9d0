//! What a member thinks with: a model behind an address, a recording, or a script.

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

/// A model, or many.
pub trait Model: Send + Sync + std::fmt::Debug {
    /// Asks for an answer. Tries again where that may help; an answer is whole, or there is none.
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a>;

    /// How many tokens this member's context may have, by the endpoint it would be asked at.
    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64;
}

/// An answer, some time.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// What a model is asked.
#[derive(Debug)]
pub struct Ask<'a> {
    /// For whom.
    pub member: &'a MemberKey,
    /// The how-manieth answer of this member it is, from 0; the same when it is asked again after a crash.
    pub number: u64,
    /// How many messages it has heard in its life, those in this prompt too.
    pub heard: u64,
    /// Its role's name.
    pub role: &'a str,
    /// What its role says about the model.
    pub choice: Option<&'a ModelChoice>,
    /// The messages: JSON objects one after another, with commas between them.
    pub messages: &'a str,
    /// The tools: a JSON array as the API wants it, or nothing.
    pub tools: &'a str,
    /// Nobody wants the answer any more.
    pub cancel: CancellationToken,
    /// Who looks on.
    pub watch: Option<Arc<dyn Watch>>,
}

/// Looks on while a model answers.
pub trait Watch: Send + Sync + std::fmt::Debug {
    /// A part of the text came. Should the stream break, all parts come again after [`again`](Self::again).
    fn words(&self, text: &str);
    /// It is tried again, and why.
    fn again(&self, why: &str);
    /// Something about the configuration that a person should know; the request continues.
    fn warning(&self, text: &str);
}

/// What a model answered, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The message as it goes into the conversation: `{"role":"assistant","content":…,"tool_calls":[…]}`, made sound,
    /// so that no endpoint refuses the conversation because of it: every call has an id of its own, a name of
    /// letters that are allowed, and arguments that are a JSON object's text. What the model really wrote is in
    /// [`calls`](Self::calls).
    pub message: Raw,
    /// What it said beside its calls.
    pub text: String,
    /// The calls it asks for, in the message's order and with its ids.
    pub calls: Vec<Call>,
    /// How many further calls it asked for; more than [`MAX_CALLS`] in one answer are not read.
    pub dropped_calls: usize,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of prompt and answer, if the endpoint said so.
    pub usage: Option<(u64, u64)>,
    /// What it cost, in millionths.
    pub micros: u64,
    /// The model that answered.
    pub model: String,
    /// How long it took (milliseconds), all tries together.
    pub ms: u64,
    /// How often it was tried.
    pub tries: u64,
    /// Its place at the endpoint; drop it when the answer is committed.
    pub held: Held,
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The model's name for it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments as the model wrote them; need not be JSON.
    pub arguments: String,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It asks for calls. An answer that only announces calls has none of them.
    Calls,
    /// The answer was too long; calls in it are not to be carried out.
    Length,
    /// The provider held it back.
    Filtered,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What to do about it.
    pub kind: ModelFault,
    /// A sentence for the agent's parent and the person. No key and no address with a key in it.
    pub message: String,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFault {
    /// The prompt is too long for the model.
    TooLong,
    /// It will not get better by trying: a wrong key, an unknown model, a request that is refused, or tried too often.
    Permanent,
    /// Nobody wanted the answer any more.
    Cancelled,
}

/// An answer, unless nobody wants it any more.
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
