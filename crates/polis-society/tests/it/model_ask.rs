//! Shared helpers of the model tests: calls an endpoint as a member would, without a society.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::MemberKey;
use polis_core::society::role::ModelChoice;
use polis_society::model::{
    Answer, Ask, EndpointSettings, Endpoints, EndpointsSettings, Model, ModelError, Patience, Watch,
};
use polis_testkit::model_server::{ModelServer, Reply};
use tokio_util::sync::CancellationToken;

pub(crate) const TOOLS: &str =
    r#"[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]"#;
pub(crate) const MESSAGES: &str =
    r#"{"role":"system","content":"You are one."},{"role":"user","content":"Go on, 请."}"#;

/// Short timeouts, so that no test waits long for a response that never comes.
pub(crate) fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        first: Duration::from_secs(5),
        between: Duration::from_secs(5),
        whole: Duration::from_secs(10),
        tries: 3,
        total: Duration::from_secs(20),
        backoff: Duration::from_millis(2),
        longest_backoff: Duration::from_millis(8),
    }
}

pub(crate) fn settings(name: &str, server: &ModelServer) -> EndpointSettings {
    EndpointSettings::new(name, &server.base_url(), "model-one")
}

pub(crate) fn endpoints(all: Vec<EndpointSettings>) -> Endpoints {
    Endpoints::new(EndpointsSettings {
        endpoints: all,
        patience: patience(),
        ..EndpointsSettings::default()
    })
    .unwrap()
}

/// Creates one endpoint with default settings and short timeouts.
pub(crate) fn endpoint(server: &ModelServer) -> Endpoints {
    endpoints(vec![settings("main", server)])
}

/// Records the events of a request.
#[derive(Debug, Default)]
pub(crate) struct Notes(pub(crate) Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Watch for Notes {
    fn words(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn again(&self, why: &str) {
        self.0.lock().unwrap().push(format!("AGAIN {why}"));
    }

    fn warning(&self, text: &str) {
        self.0.lock().unwrap().push(format!("WARNING {text}"));
    }
}

/// A request with a default conversation.
pub(crate) struct Question {
    pub(crate) member: MemberKey,
    pub(crate) number: u64,
    pub(crate) choice: Option<ModelChoice>,
    pub(crate) cancel: CancellationToken,
    pub(crate) notes: Arc<Notes>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            member: "run-1/worker".parse().unwrap(),
            number: 7,
            choice: None,
            cancel: CancellationToken::new(),
            notes: Arc::default(),
        }
    }
}

impl Question {
    pub(crate) fn at(endpoint: &str) -> Self {
        Self {
            choice: Some(ModelChoice {
                endpoint: Some(endpoint.to_owned()),
                ..ModelChoice::default()
            }),
            ..Self::default()
        }
    }

    pub(crate) async fn ask(&self, model: &dyn Model) -> Result<Answer, ModelError> {
        let watch: Arc<dyn Watch> = Arc::clone(&self.notes) as _;
        model
            .complete(Ask {
                member: &self.member,
                number: self.number,
                heard: 1,
                role: "程序员",
                choice: self.choice.as_ref(),
                messages: MESSAGES,
                tools: TOOLS,
                cancel: self.cancel.clone(),
                watch: Some(watch),
            })
            .await
    }
}

/// Makes one request to a server that gives these replies.
pub(crate) async fn asked(
    replies: impl IntoIterator<Item = Reply>,
) -> (Result<Answer, ModelError>, ModelServer, Arc<Notes>) {
    let server = ModelServer::saying(replies);
    let question = Question::default();
    let answer = question.ask(&endpoint(&server)).await;
    (answer, server, question.notes)
}
