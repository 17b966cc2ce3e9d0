//! Integration tests of societies on the command line: the real program against a scripted model served over
//! HTTP.

pub(crate) mod first_run;
mod model_recordings;
mod open_questions;
mod run_lifecycle;
mod run_steering;
pub(crate) mod scripted_team;
mod society_crash;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use polis_testkit::scripted_model::{ModelHttpRequest, ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject, spawn_captured};

/// API key. It must appear in requests to the model only.
pub(crate) const MODEL_API_KEY: &str = "sk-s3cret";

/// Returns the number of model responses in the conversation of a request.
fn answer_count(request: &ModelHttpRequest) -> usize {
    let said = request.messages().iter();
    said.filter(|message| message["role"] == "assistant")
        .count()
}

/// Starts a model whose reply depends on the number of responses already in the conversation.
pub(crate) fn scripted_model_by_step(
    replies: impl Fn(usize) -> ScriptedReply + Send + Sync + 'static,
) -> ScriptedModel {
    ScriptedModel::start(move |request| replies(answer_count(request)))
}

/// Returns a model reply that calls `send_message` to the person.
pub(crate) fn message_user_reply(id: &str, text: &str) -> ScriptedReply {
    ScriptedReply::tool_call(
        id,
        "send_message",
        &json!({"to": "user", "payload": {"text": text}}),
    )
}

/// Returns the program with `--json` in a project, with the model's address and key in the environment.
pub(crate) fn command_with_model(
    project: &TestProject,
    model: &ScriptedModel,
    args: &[&str],
) -> Command {
    let mut command = project.json_command("user", args);
    command
        .env("OPENAI_BASE_URL", model.base_url())
        .env("OPENAI_API_KEY", MODEL_API_KEY);
    command
}

/// A running `polis run` process whose output is read document by document.
pub(crate) struct RunProcess {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    /// All documents read so far.
    documents: Vec<Value>,
}

impl RunProcess {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = spawn_captured(command.stdin(Stdio::piped()));
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            lines,
            documents: Vec::new(),
        }
    }

    /// Reads documents until one is of this kind, and returns it.
    pub(crate) fn read_until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            if read == 0 {
                let error = self.read_stderr();
                panic!("it ended before {kind}: {:?} {error}", self.documents);
            }
            assert!(!line.contains("s3cret"), "{line}");
            let document: Value = serde_json::from_str(&line).unwrap();
            self.documents.push(document.clone());
            if document["kind"] == kind {
                return document;
            }
        }
    }

    /// Waits for the start and returns the run's name.
    fn read_run_id(&mut self) -> String {
        let started = self.read_until("started");
        started["taskId"].as_str().unwrap().to_owned()
    }

    /// Writes a line to standard input.
    fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn send_signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    fn read_stderr(&mut self) -> String {
        let mut text = String::new();
        let pipe = self.child.stderr.as_mut().unwrap();
        std::io::Read::read_to_string(pipe, &mut text).unwrap();
        text
    }

    /// Waits for the end of the run. Returns the last document and the exit code.
    pub(crate) fn wait_for_end(mut self) -> (Value, Option<i32>) {
        let last = self.read_until("ended");
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
fn stdout_documents(answer: &CommandOutput) -> Vec<Value> {
    let lines = answer.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
