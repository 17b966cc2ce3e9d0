//! Scripted model server: streams chat completions, at once or after a think time, optionally with random
//! rate limits (429).
//!
//! It does as little as possible, because it shares the machine's cores with the measured process: a request
//! is not parsed, only searched. An agent is identified by a marker in its prompt (`worker-7`), and its
//! progress by the number of assistant messages in the conversation. Each agent gets a fixed number of tool
//! calls and then a final response.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::bench_env::BenchResult;

/// The server's script and its counters.
#[derive(Debug)]
struct ModelScriptState {
    /// Number of tool calls for each agent.
    calls_per_agent: usize,
    /// Name of the tool to call.
    tool: String,
    /// The tool's arguments; `AGENT` and `N` are replaced.
    arguments: String,
    /// Delay before a response.
    think_time: Duration,
    /// Share of requests refused with 429, and the seeded RNG that selects them.
    refused_share: f64,
    refusal_rng: Mutex<fastrand::Rng>,
    requests: AtomicU64,
    refused: AtomicU64,
    bytes: AtomicU64,
    repeats: Mutex<RepeatedRequests>,
    /// Body of the first request, so that the loops to compare with can send the same.
    first_request: Mutex<Vec<u8>>,
}

/// Repeated requests for the same response: what a client lost when it was killed.
#[derive(Debug, Default)]
struct RepeatedRequests {
    /// Whether the newest request of this agent for this response was answered completely.
    answered: HashMap<(String, usize), bool>,
    /// Requests repeated although the previous one was not answered yet.
    in_flight: u64,
    /// Requests repeated although the previous one was answered completely.
    after_answer: u64,
}

/// Behaviour of the server: think time and rate limits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ModelBehaviour {
    /// Delay before a response, in milliseconds.
    pub(super) think_ms: u64,
    /// Percentage of requests refused with 429, selected at random.
    pub(super) refused_percent: u64,
    /// Seed of the random selection.
    pub(super) seed: u64,
}

/// Prints its port and serves until it is killed. `GET /figures` returns the number of requests, their bytes,
/// and the numbers of refused and of repeated ones; `GET /first` returns the first request.
pub(super) fn serve_model(
    turns: usize,
    tool: &str,
    arguments: &str,
    behaviour: ModelBehaviour,
) -> BenchResult<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let script = Arc::new(ModelScriptState {
        calls_per_agent: turns,
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        think_time: Duration::from_millis(behaviour.think_ms),
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        refused_share: behaviour.refused_percent as f64 / 100.0,
        refusal_rng: Mutex::new(fastrand::Rng::with_seed(behaviour.seed)),
        requests: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        repeats: Mutex::default(),
        first_request: Mutex::new(Vec::new()),
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
                let _ = script.serve_connection(stream).await;
            });
        }
    })
}

impl ModelScriptState {
    async fn serve_connection(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut read: Vec<u8> = Vec::with_capacity(64 * 1024);
        loop {
            let head = loop {
                if let Some(end) = find_bytes(&read, b"\r\n\r\n") {
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
            let mut request_key = None;
            let answer = if read.starts_with(b"GET /figures") {
                ok_response("application/json", &self.figures_json().to_string())
            } else if read.starts_with(b"GET /first") {
                let first = self.first_request.lock().clone();
                ok_response("application/json", &String::from_utf8_lossy(&first))
            } else if self.refuses_next_request() {
                rate_limit_response()
            } else {
                let key = (
                    worker_marker(body),
                    count_occurrences(body, b"\"assistant\""),
                );
                self.repeats.lock().record_request(&key);
                let answer = self.completion_response(body, &key);
                request_key = Some(key);
                if !self.think_time.is_zero() {
                    // If the client is killed meanwhile, its connection closes. Clients send nothing else
                    // before the response.
                    tokio::select! {
                        () = tokio::time::sleep(self.think_time) => {}
                        _ = stream.readable() => return Ok(()),
                    }
                }
                answer
            };
            stream.write_all(&answer).await?;
            if let Some(key) = request_key {
                self.repeats.lock().answered.insert(key, true);
            }
            read.drain(..head + length);
        }
    }

    fn figures_json(&self) -> serde_json::Value {
        let repeats = self.repeats.lock();
        serde_json::json!({
            "requests": self.requests.load(Ordering::SeqCst),
            "refused": self.refused.load(Ordering::SeqCst),
            "bytes": self.bytes.load(Ordering::SeqCst),
            "againInFlight": repeats.in_flight,
            "againAfterAnswer": repeats.after_answer,
        })
    }

    fn refuses_next_request(&self) -> bool {
        let refuses =
            self.refused_share > 0.0 && self.refusal_rng.lock().f64() < self.refused_share;
        self.refused.fetch_add(u64::from(refuses), Ordering::SeqCst);
        refuses
    }

    fn completion_response(&self, body: &[u8], (agent, done): &(String, usize)) -> Vec<u8> {
        let done = *done;
        self.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        if self.requests.fetch_add(1, Ordering::SeqCst) == 0 {
            *self.first_request.lock() = body.to_vec();
        }
        let mut text = String::with_capacity(1_600);
        if done < self.calls_per_agent {
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
            push_chunk(
                &mut text,
                &format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{begin}]}}"),
                "null",
            );
            let rest = format!("{{\"index\":0,\"function\":{{\"arguments\":{quoted}}}}}");
            push_chunk(&mut text, &format!("{{\"tool_calls\":[{rest}]}}"), "null");
            push_chunk(&mut text, "{}", "\"tool_calls\"");
        } else {
            push_chunk(
                &mut text,
                "{\"role\":\"assistant\",\"content\":\"Done.\"}",
                "null",
            );
            push_chunk(&mut text, "{}", "\"stop\"");
        }
        let prompt = body.len() / 4;
        text.push_str(&format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"scripted\",\"choices\":[],\
             \"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":20,\"total_tokens\":{}}}}}\n\ndata: [DONE]\n\n",
            prompt + 20
        ));
        ok_response("text/event-stream", &text)
    }
}

impl RepeatedRequests {
    fn record_request(&mut self, key: &(String, usize)) {
        match self.answered.insert(key.clone(), false) {
            None => {}
            Some(true) => self.after_answer += 1,
            Some(false) => self.in_flight += 1,
        }
    }
}

fn rate_limit_response() -> Vec<u8> {
    let body =
        r#"{"error":{"message":"Slow down.","type":"rate_limit","code":"rate_limit_exceeded"}}"#;
    format!(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn push_chunk(text: &mut String, delta: &str, finish: &str) {
    text.push_str(&format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"scripted\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    ));
}

fn ok_response(kind: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Returns the first `worker-N` in a text.
fn worker_marker(body: &[u8]) -> String {
    let Some(at) = find_bytes(body, b"worker-") else {
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

fn find_bytes(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

fn count_occurrences(text: &[u8], what: &[u8]) -> usize {
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
