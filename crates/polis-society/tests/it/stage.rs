//! Test harness for whole societies: a model that is a function, a real clock, and helpers that start a society over a
//! store and wait for it.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::society::member::{self, MemberState};
use polis_core::society::role::ModelChoice;
use polis_core::society::run::Run;
use polis_core::society::start::StartRun;
use polis_core::society::turn::{CallEnd, Entry, Turn};
use polis_core::{AgentId, MemberKey, Raw, RunId};
use polis_ops::op;
use polis_ops::port::{Clock, Store};
use polis_ops::{Polis, Settings};
use polis_society::model::{
    Answer, Answering, Ask, Call, Finish, Held, Model, ModelError, ModelFault,
};
use polis_society::{Society, SocietySettings};
use polis_testkit::{CountedChance, MemoryWorkspaces};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The system clock.
#[derive(Debug)]
struct RunningClock;

impl Clock for RunningClock {
    fn now_millis(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "a clock has to ask somebody")]
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A recorded model request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) agent: String,
    pub(crate) run: String,
    pub(crate) number: u64,
    pub(crate) heard: u64,
    /// The messages.
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Value>,
}

impl Asked {
    /// Returns the system message.
    pub(crate) fn system(&self) -> &str {
        self.messages[0]["content"].as_str().unwrap()
    }

    /// Returns the contents of all messages as one text.
    pub(crate) fn all(&self) -> String {
        let texts = self.messages.iter().filter_map(|m| m["content"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the number of tool results.
    pub(crate) fn results(&self) -> usize {
        self.messages.iter().filter(|m| m["role"] == "tool").count()
    }

    /// Returns the last tool result or message.
    pub(crate) fn last(&self) -> &str {
        // The very last message is the status message.
        let before = self.messages.len() - 2;
        self.messages[before]["content"].as_str().unwrap()
    }
}

/// A response of the scripted model.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// Text without calls.
    Done(&'static str),
    /// Calls: tool and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// A call whose arguments are not JSON.
    Garbled(&'static str, &'static str),
    /// A failure.
    Fail(ModelFault),
}

/// Returns a response with one call.
pub(crate) fn call(tool: &'static str, arguments: Value) -> Say {
    Say::Calls(vec![(tool, arguments)])
}

type Speak = dyn Fn(&Asked) -> Say + Send + Sync;

/// A model that is a function.
pub(crate) struct Script {
    speak: Box<Speak>,
    pub(crate) asked: Mutex<Vec<Asked>>,
    /// The agent whose responses are held back.
    held: &'static str,
    /// How many responses it may still get.
    gate: Semaphore,
    pub(crate) limit: u64,
    usage: Option<(u64, u64)>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Script {
    pub(crate) fn of(speak: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Arc<Self> {
        Self::limited(200_000, speak)
    }

    /// Creates a model with this context limit in tokens.
    pub(crate) fn limited(
        limit: u64,
        speak: impl Fn(&Asked) -> Say + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            speak: Box::new(speak),
            asked: Mutex::default(),
            held: "",
            gate: Semaphore::new(0),
            limit,
            usage: None,
        })
    }

    /// Creates a model that reports this usage for each response.
    pub(crate) fn used(
        usage: (u64, u64),
        speak: impl Fn(&Asked) -> Say + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut script = Self::of(speak);
        Arc::get_mut(&mut script).unwrap().usage = Some(usage);
        script
    }

    /// Creates a model that responds to this agent only when released.
    pub(crate) fn held(
        agent: &'static str,
        speak: impl Fn(&Asked) -> Say + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut script = Self::of(speak);
        Arc::get_mut(&mut script).unwrap().held = agent;
        script
    }

    /// Releases this many responses.
    pub(crate) fn let_answer(&self, many: usize) {
        self.gate.add_permits(many);
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn of_agent(&self, agent: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|one| one.agent == agent)
            .cloned()
            .collect()
    }

    fn answer(&self, asked: &Asked) -> Result<Answer, ModelError> {
        let (text, calls) = match (self.speak)(asked) {
            Say::Fail(kind) => {
                return Err(ModelError {
                    kind,
                    message: "the model says no".to_owned(),
                });
            }
            Say::Done(text) => (text, Vec::new()),
            Say::Calls(calls) => {
                let calls = calls
                    .into_iter()
                    .map(|(tool, args)| (tool, args.to_string()));
                ("", calls.collect())
            }
            Say::Garbled(tool, arguments) => ("", vec![(tool, arguments.to_owned())]),
        };
        let calls: Vec<Call> = (calls.into_iter().enumerate())
            .map(|(n, (tool, arguments))| Call {
                id: format!("call-{}-{n}", asked.number),
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
        let message = match told.is_empty() {
            true => json!({"role": "assistant", "content": text}),
            false => json!({"role": "assistant", "content": text, "tool_calls": told}),
        };
        Ok(Answer {
            message: Raw::of(&message).unwrap(),
            text: text.to_owned(),
            dropped_calls: 0,
            finish: match calls.is_empty() {
                true => Finish::Stop,
                false => Finish::Calls,
            },
            calls,
            usage: self.usage,
            micros: 0,
            model: "script".to_owned(),
            ms: 0,
            tries: 1,
            held: Held::nothing(),
        })
    }
}

impl Model for Script {
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(async move {
            let asked = Asked {
                agent: ask.member.agent.to_string(),
                run: ask.member.run.to_string(),
                number: ask.number,
                heard: ask.heard,
                messages: serde_json::from_str(&format!("[{}]", ask.messages)).unwrap(),
                tools: serde_json::from_str(ask.tools).unwrap(),
            };
            check(&asked.messages);
            self.asked.lock().unwrap().push(asked.clone());
            if asked.agent == self.held {
                self.gate.acquire().await.unwrap().forget();
            }
            self.answer(&asked)
        })
    }

    fn context_limit(&self, _: Option<&ModelChoice>) -> u64 {
        self.limit
    }
}

/// Checks that each call is followed directly by its result, as providers demand.
fn check(messages: &[Value]) {
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
pub(crate) fn polis(store: Arc<dyn Store>) -> Polis {
    polis_with(store, Settings::default())
}

pub(crate) fn polis_with(store: Arc<dyn Store>, settings: Settings) -> Polis {
    ground_of(store, &Arc::new(MemoryWorkspaces::default()), settings)
}

/// As above, with these files.
pub(crate) fn ground_of(
    store: Arc<dyn Store>,
    files: &Arc<MemoryWorkspaces>,
    settings: Settings,
) -> Polis {
    let polis = Polis::new(
        store,
        Arc::new(RunningClock),
        Arc::new(CountedChance::default()),
        settings,
    );
    polis.with_workspaces(Arc::clone(files) as Arc<_>, Arc::clone(files) as Arc<_>)
}

/// Starts a run with this name.
pub(crate) async fn begin(polis: &Polis, name: &str, requirement: &str) -> Run {
    begin_with(polis, name, requirement, |_| {}).await
}

pub(crate) async fn begin_with(
    polis: &Polis,
    name: &str,
    requirement: &str,
    change: impl FnOnce(&mut StartRun),
) -> Run {
    let mut params = StartRun {
        requirement: requirement.to_owned(),
        task_id: Some(name.parse().unwrap()),
        ..StartRun::default()
    };
    change(&mut params);
    op::start_run(polis, &AgentId::user(), &params)
        .await
        .unwrap()
}

pub(crate) fn settings(worker: &str) -> SocietySettings {
    SocietySettings {
        lease: Duration::from_secs(3),
        ..SocietySettings::of(worker)
    }
}

/// Starts a society over this store.
pub(crate) async fn society(polis: &Polis, model: &Arc<Script>) -> Society {
    let model = Arc::clone(model) as Arc<dyn Model>;
    Society::start(polis.clone(), model, settings("w1"))
        .await
        .unwrap()
}

/// Runs a society until it is settled.
pub(crate) async fn play(polis: &Polis, model: &Arc<Script>) {
    let society = society(polis, model).await;
    society.settled().await;
    society.stop(Duration::from_secs(5)).await;
}

/// Returns the state of a member.
pub(crate) async fn state(polis: &Polis, member: &str) -> MemberState {
    let key: MemberKey = member.parse().unwrap();
    let stored = polis.store.record(&member::state_name(&key)).await.unwrap();
    serde_json::from_str(&stored.unwrap().body).unwrap()
}

/// Returns the conversation of a member.
pub(crate) async fn conversation(polis: &Polis, member: &str) -> Vec<Entry> {
    let key: MemberKey = member.parse().unwrap();
    let turns = polis.store.turns(&key, 0, 10_000).await.unwrap();
    assert!(
        turns
            .iter()
            .enumerate()
            .all(|(n, one)| one.turn == n as u64)
    );
    let turns = turns.iter();
    turns
        .flat_map(|one| serde_json::from_str::<Turn>(&one.body).unwrap().of)
        .collect()
}

/// Returns the results of a member's calls.
pub(crate) async fn results(polis: &Polis, member: &str) -> Vec<(CallEnd, String)> {
    let entries = conversation(polis, member).await;
    let did = entries.into_iter().filter_map(|entry| match entry {
        Entry::Did { m, end, .. } => {
            let value: Value = serde_json::from_str(m.text()).unwrap();
            Some((end, value["content"].as_str().unwrap().to_owned()))
        }
        _ => None,
    });
    did.collect()
}

/// Returns the messages of a mailbox: sender and payload.
pub(crate) async fn mail(polis: &Polis, of: &str) -> Vec<(String, Value)> {
    let query = polis_ops::port::MailboxQuery {
        recipient: of.parse().unwrap(),
        run: None,
        unread: false,
        now: i64::MAX,
        after: 0,
        limit: 10_000,
    };
    let found = polis.store.mailbox(&query).await.unwrap();
    let found = found.into_iter();
    found
        .map(|m| {
            (
                m.from.to_string(),
                serde_json::from_str(m.payload.text()).unwrap(),
            )
        })
        .collect()
}

/// Counts how often each value occurs.
pub(crate) fn counted<T: Ord>(of: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut found = BTreeMap::new();
    for one in of {
        *found.entry(one).or_default() += 1;
    }
    found
}

/// Sends a message from the human user to a member of a run.
pub(crate) async fn tell(polis: &Polis, run: &RunId, to: &str, text: &str) {
    let params = serde_json::from_value(json!({"to": to, "payload": text})).unwrap();
    let ground = polis.within(run.clone());
    op::send_message(&ground, &AgentId::user(), &params)
        .await
        .unwrap();
}

/// Waits until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut so: impl FnMut() -> F) {
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    while !so().await {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
