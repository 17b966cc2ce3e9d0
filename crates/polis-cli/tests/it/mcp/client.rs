//! Small MCP client for the tests: writes requests to a server's stdin and reads its messages, with or without a
//! session.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::board::{Answer, Board};

/// Maximum time for any step before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Protocol variant that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`, at this revision.
    Session(&'static str),
    /// Stateless: every request is self-contained.
    Stateless,
}

pub(super) const OLD: Era = Era::Session("2025-06-18");
pub(crate) const LATER: Era = Era::Session("2025-11-25");
pub(super) const ALL: [Era; 3] = [OLD, LATER, Era::Stateless];

/// A client and its server.
pub(crate) struct Client {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Messages that arrived while the client waited for another one.
    kept: Vec<Value>,
    next: i64,
    era: Era,
}

impl Client {
    /// Starts a server for an agent and begins a conversation.
    pub(super) fn begin(board: &Board, agent: &str, era: Era) -> Self {
        Self::begin_with(board, agent, era, &[])
    }

    pub(crate) fn begin_with(board: &Board, agent: &str, era: Era, flags: &[&str]) -> Self {
        let mut client = Self::start(board.command().args(["mcp", "--agent", agent]).args(flags));
        client.era = era;
        if let Era::Session(version) = era {
            let answer = client.request("initialize", initialize(version));
            assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// Starts a server and sends nothing.
    pub(super) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // Stdout must contain nothing but messages.
                let message: Value = serde_json::from_str(&line).expect(&line);
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            kept: Vec::new(),
            next: 1,
            era: OLD,
        }
    }

    /// Writes a line unchanged.
    pub(super) fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request. Returns its id.
    pub(super) fn send(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        if self.era == Era::Stateless {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            });
            for (key, value) in meta.as_object().unwrap() {
                params["_meta"][key] = value.clone();
            }
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&message.to_string());
        id
    }

    /// Sends a request and waits for its response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Waits for the response to a request.
    pub(super) fn answer(&mut self, id: i64) -> Value {
        self.wait(&format!("the answer to {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Waits for the next notification of a method.
    pub(super) fn notification(&mut self, method: &str) -> Value {
        self.wait(method, |message| message["method"] == method)
    }

    /// Waits for the next message that matches; others are kept.
    pub(super) fn wait(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is) {
            return self.kept.remove(at);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) if is(&message) => return message,
                Ok(message) => self.kept.push(message),
                Err(RecvTimeoutError::Timeout) => panic!("{what} did not come: {:?}", self.kept),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the server went before {what} came: {:?}", self.kept)
                }
            }
        }
    }

    /// Returns the messages that arrived and were not consumed yet.
    pub(super) fn kept(&mut self) -> &[Value] {
        self.kept.extend(self.messages.try_iter());
        &self.kept
    }

    /// Calls a tool that must succeed. Returns its document.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty());
        result["structuredContent"].clone()
    }

    /// Calls a tool that must be refused. Returns the text of the refusal.
    pub(super) fn refused(&mut self, tool: &str, arguments: Value, code: &str) -> String {
        let result = self.result(tool, arguments);
        refusal_text(&result, code)
    }

    /// Calls a tool. Returns its result.
    pub(super) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a request that must fail with a protocol error. Returns the error.
    pub(super) fn wrong(&mut self, method: &str, params: Value, code: i64) -> Value {
        let answer = self.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"].clone()
    }

    /// Closes the server's stdin.
    pub(super) fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes the server's stdin and waits for the server to exit.
    pub(crate) fn finish(mut self) -> Answer {
        self.close();
        Answer::of(self.child.wait_with_output().unwrap())
    }
}

/// Asserts that a tool's result is a refusal with this code, and returns its text. It has no structured content: that
/// would have to match the tool's output schema.
pub(super) fn refusal_text(result: &Value, code: &str) -> String {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{code}: ")), "{text}");
    assert!(text.contains("\nNext: "), "{text}");
    text.to_owned()
}

/// Returns the parameters of `initialize`.
pub(super) fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}
