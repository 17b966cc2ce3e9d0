//! Test harness for whole societies: a language model scripted as a function, a system clock, and helpers
//! that start runs and workers over a store and wait for them.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::society::member::{self, MemberState};
use polis_core::society::run::Run;
use polis_core::society::society_role::ModelChoice;
use polis_core::society::start_run::StartRunParams;
use polis_core::society::turn::{CallOutcome, ConversationEntry, ConversationTurn};
use polis_core::{AgentId, MemberKey, RawJson, RunId};
use polis_ops::op;
use polis_ops::port::{Clock, Store};
use polis_ops::{App, InstallationSettings};
use polis_society::model::{
    EndpointPermit, FinishReason, LanguageModel, ModelError, ModelErrorKind, ModelRequest,
    ModelResponse, ResponseFuture, ToolCall,
};
use polis_society::{Society, WorkerSettings};
use polis_testkit::{CountingRandomSource, MemoryWorkspaces};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Clock with the real time.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now_millis(&self) -> i64 {
        #[expect(
            clippy::disallowed_methods,
            reason = "a clock must read the system time"
        )]
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A recorded request to the scripted model.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) agent: String,
    pub(crate) run: String,
    pub(crate) response_index: u64,
    pub(crate) received_message_count: u64,
    /// The messages of the request, as JSON.
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Value>,
}

impl RecordedRequest {
    /// Returns the system message.
    pub(crate) fn system_prompt(&self) -> &str {
        self.messages[0]["content"].as_str().unwrap()
    }

    /// Returns the contents of all messages as one text.
    pub(crate) fn all_text(&self) -> String {
        let texts = self.messages.iter().filter_map(|m| m["content"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the number of tool results.
    pub(crate) fn tool_result_count(&self) -> usize {
        self.messages.iter().filter(|m| m["role"] == "tool").count()
    }

    /// Returns the last tool result or message.
    pub(crate) fn last_content(&self) -> &str {
        // The very last message is the status message.
        let before = self.messages.len() - 2;
        self.messages[before]["content"].as_str().unwrap()
    }
}

/// A response of the scripted model.
#[derive(Debug, Clone)]
pub(crate) enum ScriptedResponse {
    /// Text without calls.
    Text(&'static str),
    /// Calls: tool and arguments.
    ToolCalls(Vec<(&'static str, Value)>),
    /// A call whose arguments are not JSON.
    MalformedCall(&'static str, &'static str),
    /// The request fails with this error.
    Failure(ModelErrorKind),
}

/// Returns a response with one call.
pub(crate) fn respond_with_call(tool: &'static str, arguments: Value) -> ScriptedResponse {
    ScriptedResponse::ToolCalls(vec![(tool, arguments)])
}

type ResponseFn = dyn Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync;

/// A language model that is a function: the script computes each response from the request. Requests are
/// recorded.
pub(crate) struct FunctionModel {
    respond: Box<ResponseFn>,
    pub(crate) requests: Mutex<Vec<RecordedRequest>>,
    /// The agent whose responses are held back.
    held_agent: &'static str,
    /// Permits for responses to that agent.
    released_responses: Semaphore,
    pub(crate) context_limit_tokens: u64,
    reported_usage: Option<(u64, u64)>,
}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl FunctionModel {
    pub(crate) fn new(
        speak: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::with_context_limit(200_000, speak)
    }

    /// Creates a model with this context limit in tokens.
    pub(crate) fn with_context_limit(
        limit: u64,
        speak: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            respond: Box::new(speak),
            requests: Mutex::default(),
            held_agent: "",
            released_responses: Semaphore::new(0),
            context_limit_tokens: limit,
            reported_usage: None,
        })
    }

    /// Creates a model that reports this usage for each response.
    pub(crate) fn with_usage(
        usage: (u64, u64),
        speak: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut script = Self::new(speak);
        Arc::get_mut(&mut script).unwrap().reported_usage = Some(usage);
        script
    }

    /// Creates a model that responds to this agent only when released.
    pub(crate) fn holding_back(
        agent: &'static str,
        speak: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut script = Self::new(speak);
        Arc::get_mut(&mut script).unwrap().held_agent = agent;
        script
    }

    /// Releases this many responses.
    pub(crate) fn release_responses(&self, many: usize) {
        self.released_responses.add_permits(many);
    }

    pub(crate) fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    pub(crate) fn requests_of(&self, agent: &str) -> Vec<RecordedRequest> {
        let asked = self.requests.lock().unwrap();
        asked
            .iter()
            .filter(|one| one.agent == agent)
            .cloned()
            .collect()
    }

    fn build_response(&self, asked: &RecordedRequest) -> Result<ModelResponse, ModelError> {
        let (text, calls) = match (self.respond)(asked) {
            ScriptedResponse::Failure(kind) => {
                return Err(ModelError {
                    kind,
                    message: "the model says no".to_owned(),
                });
            }
            ScriptedResponse::Text(text) => (text, Vec::new()),
            ScriptedResponse::ToolCalls(calls) => {
                let calls = calls
                    .into_iter()
                    .map(|(tool, args)| (tool, args.to_string()));
                ("", calls.collect())
            }
            ScriptedResponse::MalformedCall(tool, arguments) => {
                ("", vec![(tool, arguments.to_owned())])
            }
        };
        let calls: Vec<ToolCall> = (calls.into_iter().enumerate())
            .map(|(n, (tool, arguments))| ToolCall {
                id: format!("call-{}-{n}", asked.response_index),
                tool: tool.to_owned(),
                arguments,
            })
            .collect();
        let told: Vec<Value> = (calls.iter())
            .map(|call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.tool, "arguments": call.arguments}})
            })
            .collect();
        let message = if told.is_empty() {
            json!({"role": "assistant", "content": text})
        } else {
            json!({"role": "assistant", "content": text, "tool_calls": told})
        };
        Ok(ModelResponse {
            message: RawJson::from_value(&message).unwrap(),
            text: text.to_owned(),
            dropped_calls: 0,
            finish: if calls.is_empty() {
                FinishReason::Stop
            } else {
                FinishReason::Calls
            },
            calls,
            usage: self.reported_usage,
            cost_micros: 0,
            model: "script".to_owned(),
            duration_ms: 0,
            attempts: 1,
            permit: EndpointPermit::none(),
        })
    }
}

impl LanguageModel for FunctionModel {
    fn complete<'a>(&'a self, ask: ModelRequest<'a>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let asked = RecordedRequest {
                agent: ask.member.agent.to_string(),
                run: ask.member.run.to_string(),
                response_index: ask.response_index,
                received_message_count: ask.received_message_count,
                messages: serde_json::from_str(&format!("[{}]", ask.messages)).unwrap(),
                tools: serde_json::from_str(ask.tools).unwrap(),
            };
            check_call_result_pairs(&asked.messages);
            self.requests.lock().unwrap().push(asked.clone());
            if asked.agent == self.held_agent {
                self.released_responses.acquire().await.unwrap().forget();
            }
            self.build_response(&asked)
        })
    }

    fn context_limit(&self, _: Option<&ModelChoice>) -> u64 {
        self.context_limit_tokens
    }
}

/// Checks that each call is followed directly by its result, as providers demand.
fn check_call_result_pairs(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "system");
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                assert!(!open.is_empty(), "a result without a call: {messages:#?}");
                assert_eq!(open.remove(0), id, "{messages:#?}");
            }
            _ => {
                assert!(
                    open.is_empty(),
                    "calls without results: {open:?} {messages:#?}"
                );
                let calls = message["tool_calls"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                open = calls
                    .iter()
                    .map(|c| c["id"].as_str().unwrap().to_owned())
                    .collect();
            }
        }
    }
    assert!(open.is_empty(), "{messages:#?}");
}

/// Creates the operations over a store, with files and commands in memory.
pub(crate) fn test_app(store: Arc<dyn Store>) -> App {
    app_with_settings(store, InstallationSettings::default())
}

pub(crate) fn app_with_settings(store: Arc<dyn Store>, settings: InstallationSettings) -> App {
    app_with_workspaces(store, &Arc::new(MemoryWorkspaces::default()), settings)
}

/// Like [`app_with_settings`], with these workspaces.
pub(crate) fn app_with_workspaces(
    store: Arc<dyn Store>,
    files: &Arc<MemoryWorkspaces>,
    settings: InstallationSettings,
) -> App {
    let app = App::new(
        store,
        Arc::new(SystemClock),
        Arc::new(CountingRandomSource::default()),
        settings,
    );
    app.with_workspaces(Arc::clone(files) as Arc<_>, Arc::clone(files) as Arc<_>)
}

/// Starts a run with this name.
pub(crate) async fn start_run(app: &App, name: &str, requirement: &str) -> Run {
    start_run_with(app, name, requirement, |_| {}).await
}

pub(crate) async fn start_run_with(
    app: &App,
    name: &str,
    requirement: &str,
    change: impl FnOnce(&mut StartRunParams),
) -> Run {
    let mut params = StartRunParams {
        requirement: requirement.to_owned(),
        run_id: Some(name.parse().unwrap()),
        ..StartRunParams::default()
    };
    change(&mut params);
    op::start_run(&app.request(&AgentId::user()), &params)
        .await
        .unwrap()
}

pub(crate) fn worker_settings(worker: &str) -> WorkerSettings {
    WorkerSettings {
        lease_duration: Duration::from_secs(3),
        ..WorkerSettings::for_worker(worker)
    }
}

/// Starts a society over this store.
pub(crate) async fn start_society(app: &App, model: &Arc<FunctionModel>) -> Society {
    let model = Arc::clone(model) as Arc<dyn LanguageModel>;
    Society::start(app.clone(), model, worker_settings("w1"))
        .await
        .unwrap()
}

/// Runs a society until it is settled (no member has work), and stops it.
pub(crate) async fn run_until_settled(app: &App, model: &Arc<FunctionModel>) {
    let society = start_society(app, model).await;
    society.wait_until_settled().await;
    society.stop(Duration::from_secs(5)).await;
}

/// Returns the state of a member.
pub(crate) async fn member_state(app: &App, member: &str) -> MemberState {
    let key: MemberKey = member.parse().unwrap();
    let stored = app
        .store
        .record(&member::member_state_record_name(&key))
        .await
        .unwrap();
    serde_json::from_str(&stored.unwrap().body).unwrap()
}

/// Returns the conversation of a member.
pub(crate) async fn conversation_entries(app: &App, member: &str) -> Vec<ConversationEntry> {
    let key: MemberKey = member.parse().unwrap();
    let turns = app.store.turns(&key, 0, 10_000).await.unwrap();
    assert!(
        turns
            .iter()
            .enumerate()
            .all(|(n, one)| one.turn == n as u64)
    );
    let turns = turns.iter();
    turns
        .flat_map(|one| {
            serde_json::from_str::<ConversationTurn>(&one.body)
                .unwrap()
                .entries
        })
        .collect()
}

/// Returns the results of a member's calls.
pub(crate) async fn call_results(app: &App, member: &str) -> Vec<(CallOutcome, String)> {
    let entries = conversation_entries(app, member).await;
    let did = entries.into_iter().filter_map(|entry| match entry {
        ConversationEntry::ToolResult {
            message, outcome, ..
        } => {
            let value: Value = serde_json::from_str(message.as_str()).unwrap();
            Some((outcome, value["content"].as_str().unwrap().to_owned()))
        }
        _ => None,
    });
    did.collect()
}

/// Returns the messages of a mailbox: sender and payload.
pub(crate) async fn mailbox_messages(app: &App, of: &str) -> Vec<(String, Value)> {
    let query = polis_ops::port::MailboxQuery {
        recipient: of.parse().unwrap(),
        run: None,
        unread: false,
        now: i64::MAX,
        after: 0,
        limit: 10_000,
    };
    let found = app.store.mailbox(&query).await.unwrap();
    let found = found.into_iter();
    found
        .map(|m| {
            (
                m.from.to_string(),
                serde_json::from_str(m.payload.as_str()).unwrap(),
            )
        })
        .collect()
}

/// Returns how often each value occurs.
pub(crate) fn count_occurrences<T: Ord>(of: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut found = BTreeMap::new();
    for one in of {
        *found.entry(one).or_default() += 1;
    }
    found
}

/// Sends a message from the person to a member of a run.
pub(crate) async fn send_user_message(app: &App, run: &RunId, to: &str, text: &str) {
    let params = serde_json::from_value(json!({"to": to, "payload": text})).unwrap();
    let request = app.person_request().in_run(run.clone());
    op::send_message(&request, &params).await.unwrap();
}

/// Waits until a condition holds; fails after a minute.
pub(crate) async fn wait_until<F: Future<Output = bool>>(what: &str, mut so: impl FnMut() -> F) {
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    while !so().await {
        assert!(
            tokio::time::Instant::now() < end,
            "timed out waiting until {what}"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
