//! Test harness: `TestMcpClient`, a small MCP client that writes requests to a server's stdin and reads its
//! messages, with a session or stateless.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject};

/// Maximum time for any step before a test fails.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Protocol variant that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolMode {
    /// With `initialize`, at this revision.
    Session(&'static str),
    /// Stateless: every request is self-contained.
    Stateless,
}

pub(super) const SESSION_2025_06: ProtocolMode = ProtocolMode::Session("2025-06-18");
pub(crate) const SESSION_2025_11: ProtocolMode = ProtocolMode::Session("2025-11-25");
pub(super) const ALL_PROTOCOL_MODES: [ProtocolMode; 3] =
    [SESSION_2025_06, SESSION_2025_11, ProtocolMode::Stateless];

/// An MCP client and its server process.
pub(crate) struct TestMcpClient {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Messages that arrived while the client waited for another one.
    pending: Vec<Value>,
    next_id: i64,
    mode: ProtocolMode,
}

impl TestMcpClient {
    /// Starts a server for an agent and begins a conversation.
    pub(super) fn connect(board: &TestProject, agent: &str, era: ProtocolMode) -> Self {
        Self::connect_with_flags(board, agent, era, &[])
    }

    pub(crate) fn connect_with_flags(
        board: &TestProject,
        agent: &str,
        era: ProtocolMode,
        flags: &[&str],
    ) -> Self {
        let mut client =
            Self::spawn_server(board.command().args(["mcp", "--agent", agent]).args(flags));
        client.mode = era;
        if let ProtocolMode::Session(version) = era {
            let answer = client.request("initialize", initialize_params(version));
            assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// Starts a server and sends nothing.
    pub(super) fn spawn_server(command: &mut Command) -> Self {
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
            pending: Vec::new(),
            next_id: 1,
            mode: SESSION_2025_06,
        }
    }

    /// Writes a line unchanged.
    pub(super) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request. Returns its id.
    pub(super) fn send_request(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        if self.mode == ProtocolMode::Stateless {
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
        self.send_line(&message.to_string());
        id
    }

    /// Sends a request and waits for its response.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.wait_for_response(id)
    }

    /// Waits for the response to a request.
    pub(super) fn wait_for_response(&mut self, id: i64) -> Value {
        self.wait_for_message(&format!("the answer to {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Waits for the next notification of a method.
    pub(super) fn wait_for_notification(&mut self, method: &str) -> Value {
        self.wait_for_message(method, |message| message["method"] == method)
    }

    /// Waits for the next message that matches; other messages are queued.
    pub(super) fn wait_for_message(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.pending.iter().position(&is) {
            return self.pending.remove(at);
        }
        let deadline = Instant::now() + STEP_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) if is(&message) => return message,
                Ok(message) => self.pending.push(message),
                Err(RecvTimeoutError::Timeout) => panic!("{what} did not come: {:?}", self.pending),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the server went before {what} came: {:?}", self.pending)
                }
            }
        }
    }

    /// Returns the messages that arrived and were not consumed yet.
    pub(super) fn pending_messages(&mut self) -> &[Value] {
        self.pending.extend(self.messages.try_iter());
        &self.pending
    }

    /// Calls a tool that must succeed. Returns its document.
    pub(crate) fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_tool_result(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty());
        result["structuredContent"].clone()
    }

    /// Calls a tool that must be refused. Returns the text of the refusal.
    pub(super) fn call_refused_tool(&mut self, tool: &str, arguments: Value, code: &str) -> String {
        let result = self.call_tool_result(tool, arguments);
        expect_refusal_text(&result, code)
    }

    /// Calls a tool. Returns its result.
    pub(crate) fn call_tool_result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a request that must fail with a protocol error. Returns the error.
    pub(super) fn request_error(&mut self, method: &str, params: Value, code: i64) -> Value {
        let answer = self.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"].clone()
    }

    /// Closes the server's stdin.
    pub(super) fn close_stdin(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes the server's stdin and waits for the server to exit.
    pub(crate) fn close_and_wait(mut self) -> CommandOutput {
        self.close_stdin();
        CommandOutput::from_output(self.child.wait_with_output().unwrap())
    }
}

/// Asserts that a tool's result is a refusal with this code, and returns its text. It has no structured
/// content: that would have to match the tool's output schema.
pub(super) fn expect_refusal_text(result: &Value, code: &str) -> String {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{code}: ")), "{text}");
    assert!(text.contains("\nNext: "), "{text}");
    text.to_owned()
}

/// Returns the parameters of `initialize`.
pub(super) fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}
