//! Shared helpers of the board tests: the team, and reading and writing boards.

use serde_json::Value;

use crate::board::{Answer, Board};

/// Registered agents: id, role, layer, supervisor.
const TEAM: [(&str, &str, &str, &str); 8] = [
    ("ana", "team-lead", "top", ""),
    ("ada", "architect", "mid", "ana"),
    ("quinn", "test-leader", "mid", "ana"),
    ("dev-1", "backend-leader", "bottom", "ada"),
    ("dev-2", "backend-leader", "bottom", "dev-1"),
    ("loner", "backend-leader", "bottom", ""),
    ("gone-top", "team-lead", "top", ""),
    ("gone-mid", "architect", "mid", "ana"),
];

/// Registers the team and retires the two former members.
pub(crate) fn register(board: &Board) {
    for (id, role, layer, supervisor) in TEAM {
        add(board, id, role, layer, supervisor);
    }
    for gone in ["gone-top", "gone-mid"] {
        board.ok("user", &["agent", "retire", gone]);
    }
}

/// Registers an agent.
pub(crate) fn add(board: &Board, id: &str, role: &str, layer: &str, supervisor: &str) {
    let mut args = vec!["agent", "add", id, "--role", role, "--layer", layer];
    if !supervisor.is_empty() {
        args.extend(["--supervisor", supervisor]);
    }
    board.ok("user", &args);
}

/// Writes `polis.toml`.
pub(crate) fn configure(board: &Board, text: &str) {
    std::fs::write(board.workspace("polis.toml"), text).unwrap();
}

impl Board {
    /// Returns the output of `board read` for the user.
    pub(crate) fn view(&self, name: &str) -> Value {
        self.ok("user", &["board", "read", name])
    }

    /// Returns a board's text.
    pub(crate) fn text(&self, name: &str) -> String {
        content(&self.view(name)).to_owned()
    }

    /// Returns a board's version.
    pub(crate) fn version(&self, name: &str) -> u64 {
        version(&self.view(name))
    }

    /// Writes a board's whole text as the user. Returns the new version.
    pub(crate) fn put(&self, name: &str, text: &str) -> u64 {
        let write = ["board", "write", name, "--content", "-", "--force"];
        version(&self.run_with("user", &write, text.as_bytes()).document())
    }

    /// Returns the versions in the history, newest first.
    pub(crate) fn versions(&self, name: &str) -> Vec<u64> {
        let history = self.ok("user", &["board", "history", name]);
        let versions = history["versions"].as_array().unwrap();
        versions.iter().map(version).collect()
    }

    /// Returns the kinds of events about a board, oldest first.
    pub(crate) fn told(&self, name: &str) -> Vec<String> {
        let subject = format!("board/{name}");
        let about = |event: &Value| event["subject"] == subject.as_str();
        let kind = |event: Value| event["kind"].as_str().unwrap().to_owned();
        self.log().into_iter().filter(about).map(kind).collect()
    }

    /// Returns the bytes of a board's file.
    pub(crate) fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.workspace(file)).unwrap()
    }
}

impl Answer {
    /// Asserts a refusal and returns the whole error, including its details.
    pub(crate) fn error(&self, exit: i32, code: &str) -> Value {
        self.refusal(exit, code);
        let document: Value = serde_json::from_str(&self.stderr).unwrap();
        document["error"].clone()
    }
}

/// Returns the version in an answer.
pub(crate) fn version(answer: &Value) -> u64 {
    answer["version"].as_u64().unwrap()
}

/// Returns the text in an answer.
pub(crate) fn content(answer: &Value) -> &str {
    answer["content"].as_str().unwrap()
}
