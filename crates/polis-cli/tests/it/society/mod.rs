//! Integration tests of societies on the command line: the real program against a scripted model served over HTTP.

mod crash;
pub(crate) mod first_run;
mod play;
mod questions;
mod runs;
mod steer;
mod team;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use polis_testkit::model_server::{ModelServer, Reply, Request};
use serde_json::{Value, json};

use crate::board::{Answer, Board, start};

/// API key. It must appear in requests to the model only.
const KEY: &str = "sk-s3cret";

/// Returns the number of model answers in a request's conversation.
fn answers(request: &Request) -> usize {
    let said = request.messages().iter();
    said.filter(|message| message["role"] == "assistant")
        .count()
}

/// Starts a model whose reply depends on the number of answers already in the conversation.
pub(crate) fn saying(replies: impl Fn(usize) -> Reply + Send + Sync + 'static) -> ModelServer {
    ModelServer::start(move |request| replies(answers(request)))
}

/// Returns a reply that calls `send_message` to the person.
pub(crate) fn to_user(id: &str, text: &str) -> Reply {
    Reply::call(
        id,
        "send_message",
        &json!({"to": "user", "payload": {"text": text}}),
    )
}

/// Returns the program with `--json` on a board, with the model's address and key in the environment.
pub(crate) fn with_model(board: &Board, model: &ModelServer, args: &[&str]) -> Command {
    let mut command = board.json_command("user", args);
    command
        .env("OPENAI_BASE_URL", model.base_url())
        .env("OPENAI_API_KEY", KEY);
    command
}

/// A running `polis run`.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    /// All documents read so far.
    seen: Vec<Value>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = start(command.stdin(Stdio::piped()));
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Reads documents until one is of this kind, and returns it.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            if read == 0 {
                let error = self.error();
                panic!("it ended before {kind}: {:?} {error}", self.seen);
            }
            assert!(!line.contains("s3cret"), "{line}");
            let document: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(document.clone());
            if document["kind"] == kind {
                return document;
            }
        }
    }

    /// Waits for the start and returns the run's name.
    fn id(&mut self) -> String {
        let started = self.until("started");
        started["taskId"].as_str().unwrap().to_owned()
    }

    /// Writes a line to standard input.
    fn types(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    fn error(&mut self) -> String {
        let mut text = String::new();
        let pipe = self.child.stderr.as_mut().unwrap();
        std::io::Read::read_to_string(pipe, &mut text).unwrap();
        text
    }

    /// Waits for the end. Returns the last document and the exit code.
    pub(crate) fn end(mut self) -> (Value, Option<i32>) {
        let last = self.until("ended");
        let output = self.child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !error.contains("panicked") && !error.contains("s3cret"),
            "{error}"
        );
        (last, output.status.code())
    }
}

/// Returns the JSON documents on standard output.
fn documents(answer: &Answer) -> Vec<Value> {
    let lines = answer.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
