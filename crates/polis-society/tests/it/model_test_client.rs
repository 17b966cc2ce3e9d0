//! Shared helpers of the model tests: build endpoints with short timeouts and send requests to them as a
//! member would, without a society.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::MemberKey;
use polis_core::society::society_role::ModelChoice;
use polis_i18n::UiLanguage;
use polis_society::model::{
    EndpointSettings, LanguageModel, ModelEndpoints, ModelEndpointsSettings, ModelError,
    ModelRequest, ModelResponse, ResponseObserver, RetryPolicy,
};
use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply};
use tokio_util::sync::CancellationToken;

pub(crate) const TOOLS_JSON: &str =
    r#"[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]"#;
pub(crate) const MESSAGES_JSON: &str =
    r#"{"role":"system","content":"You are one."},{"role":"user","content":"Go on, 请."}"#;

/// Short timeouts, so that no test waits long for a response that never comes.
pub(crate) fn short_timeouts() -> RetryPolicy {
    RetryPolicy {
        connect_timeout: Duration::from_secs(5),
        first_byte_timeout: Duration::from_secs(5),
        chunk_timeout: Duration::from_secs(5),
        response_timeout: Duration::from_secs(10),
        max_attempts: 3,
        max_retry_time: Duration::from_secs(20),
        initial_backoff: Duration::from_millis(2),
        max_backoff: Duration::from_millis(8),
    }
}

pub(crate) fn endpoint_settings(name: &str, server: &ScriptedModel) -> EndpointSettings {
    EndpointSettings::new(name, &server.base_url(), "model-one")
}

pub(crate) fn build_endpoints(all: Vec<EndpointSettings>) -> ModelEndpoints {
    ModelEndpoints::new(ModelEndpointsSettings {
        endpoints: all,
        retry_policy: short_timeouts(),
        ..ModelEndpointsSettings::default()
    })
    .unwrap()
}

/// Creates one endpoint with default settings and short timeouts.
pub(crate) fn single_endpoint(server: &ScriptedModel) -> ModelEndpoints {
    build_endpoints(vec![endpoint_settings("main", server)])
}

/// Observer that records what a request reports: text, retries (`AGAIN …`) and warnings (`WARNING …`).
#[derive(Debug, Default)]
pub(crate) struct RecordingObserver(pub(crate) Mutex<Vec<String>>);

impl RecordingObserver {
    pub(crate) fn recorded_events(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ResponseObserver for RecordingObserver {
    fn on_text(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn on_retry(&self, why: &str) {
        self.0.lock().unwrap().push(format!("AGAIN {why}"));
    }

    fn on_warning(&self, text: &str) {
        self.0.lock().unwrap().push(format!("WARNING {text}"));
    }
}

/// A model request with a default conversation.
pub(crate) struct TestRequest {
    pub(crate) member: MemberKey,
    pub(crate) response_index: u64,
    pub(crate) model_choice: Option<ModelChoice>,
    pub(crate) cancel: CancellationToken,
    pub(crate) observer: Arc<RecordingObserver>,
}

impl Default for TestRequest {
    fn default() -> Self {
        Self {
            member: "run-1/worker".parse().unwrap(),
            response_index: 7,
            model_choice: None,
            cancel: CancellationToken::new(),
            observer: Arc::default(),
        }
    }
}

impl TestRequest {
    pub(crate) fn to_endpoint(endpoint: &str) -> Self {
        Self {
            model_choice: Some(ModelChoice {
                endpoint: Some(endpoint.to_owned()),
                ..ModelChoice::default()
            }),
            ..Self::default()
        }
    }

    pub(crate) async fn send(
        &self,
        model: &dyn LanguageModel,
    ) -> Result<ModelResponse, ModelError> {
        let watch: Arc<dyn ResponseObserver> = Arc::clone(&self.observer) as _;
        model
            .complete(ModelRequest {
                member: &self.member,
                response_index: self.response_index,
                received_message_count: 1,
                role: "程序员",
                model_choice: self.model_choice.as_ref(),
                messages: MESSAGES_JSON,
                tools: TOOLS_JSON,
                lang: UiLanguage::En,
                cancel: self.cancel.clone(),
                observer: Some(watch),
            })
            .await
    }
}

/// Sends one request to a server that gives these replies.
pub(crate) async fn request_with_replies(
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> (
    Result<ModelResponse, ModelError>,
    ScriptedModel,
    Arc<RecordingObserver>,
) {
    let server = ScriptedModel::start_with_replies(replies);
    let question = TestRequest::default();
    let answer = question.send(&single_endpoint(&server)).await;
    (answer, server, question.observer)
}
