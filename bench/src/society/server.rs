//! Scripted model server: streams chat completions, at once or after a think time, optionally with random rate limits
//! (429).
//!
//! It does as little as possible, because it shares the machine's cores with the measured process: a request is not
//! parsed, only searched. An agent is identified by a marker in its prompt (`worker-7`), and its progress by the number
//! of model answers in the conversation. Each agent gets a fixed number of tool calls and then a final answer.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::scene::Fallible;

/// The server's script and its counters.
#[derive(Debug)]
struct Script {
    /// Number of tool calls for each agent.
    turns: usize,
    /// The tool.
    tool: String,
    /// The tool's arguments; `AGENT` and `N` are replaced.
    arguments: String,
    /// Delay before an answer.
    think: Duration,
    /// Share of requests refused with 429, and the seeded RNG that selects them.
    refuses: f64,
    chance: Mutex<fastrand::Rng>,
    requests: AtomicU64,
    refused: AtomicU64,
    bytes: AtomicU64,
    repeats: Mutex<Repeats>,
    /// Body of the first request, so that the loops to compare with can send the same.
    first: Mutex<Vec<u8>>,
}

/// Repeated requests for the same answer: what a client lost when it was killed.
#[derive(Debug, Default)]
struct Repeats {
    /// Whether the newest request for this answer of this agent was answered completely.
    answered: HashMap<(String, usize), bool>,
    /// Requests repeated although the previous one was not answered yet.
    in_flight: u64,
    /// Requests repeated although the previous one was answered completely.
    after_answer: u64,
}

/// Behaviour of the server: think time and rate limits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// Delay before an answer in milliseconds.
    pub(super) think_ms: u64,
    /// Percentage of requests refused with 429, selected at random.
    pub(super) refuses_percent: u64,
    /// Seed of the random selection.
    pub(super) seed: u64,
}

/// Prints its port and serves until it is killed. `GET /figures` returns the number of requests, their bytes, and the
/// numbers of refused and of repeated ones; `GET /first` returns the first request.
pub(super) fn serve(turns: usize, tool: &str, arguments: &str, manner: Manner) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let script = Arc::new(Script {
        turns,
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        think: Duration::from_millis(manner.think_ms),
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        refuses: manner.refuses_percent as f64 / 100.0,
        chance: Mutex::new(fastrand::Rng::with_seed(manner.seed)),
        requests: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        repeats: Mutex::default(),
        first: Mutex::new(Vec::new()),
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?.port());
        std::io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let script = Arc::clone(&script);
            tokio::spawn(async move {
                // Clients that disconnect midway are part of the measurement.
                let _ = script.talk(stream).await;
            });
        }
    })
}

impl Script {
    async fn talk(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut read: Vec<u8> = Vec::with_capacity(64 * 1024);
        loop {
            let head = loop {
                if let Some(end) = find(&read, b"\r\n\r\n") {
                    break end + 4;
                }
                if stream.read_buf(&mut read).await? == 0 {
                    return Ok(());
                }
            };
            let length = content_length(read.get(..head).unwrap_or_default());
            while read.len() < head + length {
                if stream.read_buf(&mut read).await? == 0 {
                    return Ok(());
                }
            }
            let body = read.get(head..head + length).unwrap_or_default();
            let mut asked = None;
            let answer = if read.starts_with(b"GET /figures") {
                whole("application/json", &self.figures().to_string())
            } else if read.starts_with(b"GET /first") {
                let first = self
                    .first
                    .lock()
                    .map(|first| first.clone())
                    .unwrap_or_default();
                whole("application/json", &String::from_utf8_lossy(&first))
            } else if self.refuses_this() {
                refusal()
            } else {
                let key = (mark(body), count(body, b"\"assistant\""));
                lock(&self.repeats).begin(&key);
                let answer = self.answer(body, &key);
                asked = Some(key);
                if !self.think.is_zero() {
                    // If the client is killed meanwhile, its connection closes. Clients send nothing else before the
                    // answer.
                    tokio::select! {
                        () = tokio::time::sleep(self.think) => {}
                        _ = stream.readable() => return Ok(()),
                    }
                }
                answer
            };
            stream.write_all(&answer).await?;
            if let Some(key) = asked {
                lock(&self.repeats).answered.insert(key, true);
            }
            read.drain(..head + length);
        }
    }

    fn figures(&self) -> serde_json::Value {
        let repeats = lock(&self.repeats);
        serde_json::json!({
            "requests": self.requests.load(Ordering::SeqCst),
            "refused": self.refused.load(Ordering::SeqCst),
            "bytes": self.bytes.load(Ordering::SeqCst),
            "againInFlight": repeats.in_flight,
            "againAfterAnswer": repeats.after_answer,
        })
    }

    fn refuses_this(&self) -> bool {
        let refuses = self.refuses > 0.0 && lock(&self.chance).f64() < self.refuses;
        self.refused.fetch_add(u64::from(refuses), Ordering::SeqCst);
        refuses
    }

    fn answer(&self, body: &[u8], (agent, done): &(String, usize)) -> Vec<u8> {
        let done = *done;
        self.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        if self.requests.fetch_add(1, Ordering::SeqCst) == 0
            && let Ok(mut first) = self.first.lock()
        {
            *first = body.to_vec();
        }
        let mut text = String::with_capacity(1_600);
        if done < self.turns {
            let arguments = self
                .arguments
                .replace("AGENT", agent)
                .replace('N', &done.to_string());
            let quoted = serde_json::Value::String(arguments).to_string();
            // Models stream a call in several chunks.
            let begin = format!(
                "{{\"index\":0,\"id\":\"call_{done}\",\"type\":\"function\",\"function\":{{\"name\":\"{}\",\"arguments\":\"\"}}}}",
                self.tool
            );
            chunk(
                &mut text,
                &format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{begin}]}}"),
                "null",
            );
            let rest = format!("{{\"index\":0,\"function\":{{\"arguments\":{quoted}}}}}");
            chunk(&mut text, &format!("{{\"tool_calls\":[{rest}]}}"), "null");
            chunk(&mut text, "{}", "\"tool_calls\"");
        } else {
            chunk(
                &mut text,
                "{\"role\":\"assistant\",\"content\":\"Done.\"}",
                "null",
            );
            chunk(&mut text, "{}", "\"stop\"");
        }
        let prompt = body.len() / 4;
        text.push_str(&format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"scripted\",\"choices\":[],\
             \"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":20,\"total_tokens\":{}}}}}\n\ndata: [DONE]\n\n",
            prompt + 20
        ));
        whole("text/event-stream", &text)
    }
}

impl Repeats {
    fn begin(&mut self, key: &(String, usize)) {
        match self.answered.insert(key.clone(), false) {
            None => {}
            Some(true) => self.after_answer += 1,
            Some(false) => self.in_flight += 1,
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refusal() -> Vec<u8> {
    let body =
        r#"{"error":{"message":"Slow down.","type":"rate_limit","code":"rate_limit_exceeded"}}"#;
    format!(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn chunk(text: &mut String, delta: &str, finish: &str) {
    text.push_str(&format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"scripted\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    ));
}

fn whole(kind: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Returns the first `worker-N` in a text.
fn mark(body: &[u8]) -> String {
    let Some(at) = find(body, b"worker-") else {
        return "nobody".to_owned();
    };
    let rest = body.get(at..).unwrap_or_default();
    let end = rest
        .iter()
        .skip(7)
        .position(|b| !b.is_ascii_digit())
        .map_or(rest.len(), |end| end + 7);
    String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

fn count(text: &[u8], what: &[u8]) -> usize {
    memchr::memmem::find_iter(text, what).count()
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}
