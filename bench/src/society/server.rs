//! A model's server that has nothing to think about: it answers chat completions by a script, as a stream.
//!
//! As lean as can be, because it shares the machine's cores with whoever is measured: a request is not parsed, only
//! searched. An agent is told apart by a mark in its prompt (`worker-7`), and how far it is by how many answers
//! of the model are in it. It asks for so many calls of a tool and then says that it is done.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::scene::Fallible;

/// What it does, and what it was asked.
#[derive(Debug)]
struct Script {
    /// How many calls it asks every agent for.
    turns: usize,
    /// The tool.
    tool: String,
    /// Its arguments; `AGENT` and `N` are replaced.
    arguments: String,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The first request, for those who are to ask the same.
    first: Mutex<Vec<u8>>,
}

/// Serves until it is ended: prints its port first. `GET /figures` tells how many requests came and how many bytes
/// they had, `GET /first` the first request.
pub(super) fn serve(turns: usize, tool: &str, arguments: &str) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let script = Arc::new(Script {
        turns,
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        requests: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
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
                // A client that goes away in the middle is one of the things that are measured.
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
            let answer = if read.starts_with(b"GET /figures") {
                let (requests, bytes) = (
                    self.requests.load(Ordering::SeqCst),
                    self.bytes.load(Ordering::SeqCst),
                );
                whole(
                    "application/json",
                    &format!("{{\"requests\":{requests},\"bytes\":{bytes}}}"),
                )
            } else if read.starts_with(b"GET /first") {
                let first = self
                    .first
                    .lock()
                    .map(|first| first.clone())
                    .unwrap_or_default();
                whole("application/json", &String::from_utf8_lossy(&first))
            } else {
                self.answer(body)
            };
            stream.write_all(&answer).await?;
            read.drain(..head + length);
        }
    }

    fn answer(&self, body: &[u8]) -> Vec<u8> {
        self.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        if self.requests.fetch_add(1, Ordering::SeqCst) == 0
            && let Ok(mut first) = self.first.lock()
        {
            *first = body.to_vec();
        }
        let done = count(body, b"\"assistant\"");
        let agent = mark(body);
        let mut text = String::with_capacity(1_600);
        if done < self.turns {
            let arguments = self
                .arguments
                .replace("AGENT", &agent)
                .replace('N', &done.to_string());
            let quoted = serde_json::Value::String(arguments).to_string();
            // Models send a call in several parts.
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

/// The first `worker-N` in a text.
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
