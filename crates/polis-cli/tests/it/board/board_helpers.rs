//! Helpers of the board tests: a registered team, and methods of `TestProject` that read and write boards.

use serde_json::Value;

use crate::harness::test_project::{CommandOutput, TestProject};

/// Registered agents: id, role, layer, supervisor.
const TEAM_AGENTS: [(&str, &str, &str, &str); 8] = [
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
pub(crate) fn register_team(project: &TestProject) {
    for (id, role, layer, supervisor) in TEAM_AGENTS {
        register_agent(project, id, role, layer, supervisor);
    }
    for gone in ["gone-top", "gone-mid"] {
        project.run_ok("user", &["agent", "retire", gone]);
    }
}

/// Registers an agent as the person; an empty supervisor means none.
pub(crate) fn register_agent(
    project: &TestProject,
    id: &str,
    role: &str,
    layer: &str,
    supervisor: &str,
) {
    let mut args = vec!["agent", "add", id, "--role", role, "--layer", layer];
    if !supervisor.is_empty() {
        args.extend(["--supervisor", supervisor]);
    }
    project.run_ok("user", &args);
}

/// Replaces the `polis.toml` of a project.
pub(crate) fn write_config(project: &TestProject, text: &str) {
    std::fs::write(project.data_path("polis.toml"), text).unwrap();
}

impl TestProject {
    /// Returns the output of `board read` as the person.
    pub(crate) fn read_board(&self, name: &str) -> Value {
        self.run_ok("user", &["board", "read", name])
    }

    /// Returns a board's text.
    pub(crate) fn board_text(&self, name: &str) -> String {
        content_field(&self.read_board(name)).to_owned()
    }

    /// Returns a board's version.
    pub(crate) fn board_version(&self, name: &str) -> u64 {
        version_field(&self.read_board(name))
    }

    /// Writes a board's whole text as the person. Returns the new version.
    pub(crate) fn write_board(&self, name: &str, text: &str) -> u64 {
        let write = ["board", "write", name, "--content", "-", "--force"];
        version_field(
            &self
                .run_json_with_stdin("user", &write, text.as_bytes())
                .expect_document(),
        )
    }

    /// Returns the versions in the history, newest first.
    pub(crate) fn board_versions(&self, name: &str) -> Vec<u64> {
        let history = self.run_ok("user", &["board", "history", name]);
        let versions = history["versions"].as_array().unwrap();
        versions.iter().map(version_field).collect()
    }

    /// Returns the kinds of events about a board, oldest first.
    pub(crate) fn board_event_kinds(&self, name: &str) -> Vec<String> {
        let subject = format!("board/{name}");
        let about = |event: &Value| event["subject"] == subject.as_str();
        let kind = |event: Value| event["kind"].as_str().unwrap().to_owned();
        self.read_log()
            .into_iter()
            .filter(about)
            .map(kind)
            .collect()
    }

    /// Returns the bytes of a board's file.
    pub(crate) fn data_file_bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.data_path(file)).unwrap()
    }
}

impl CommandOutput {
    /// Asserts a refusal and returns the whole error, including its details.
    pub(crate) fn expect_error(&self, exit: i32, code: &str) -> Value {
        self.expect_refusal(exit, code);
        let document: Value = serde_json::from_str(&self.stderr).unwrap();
        document["error"].clone()
    }
}

/// Returns the `version` field of a document.
pub(crate) fn version_field(answer: &Value) -> u64 {
    answer["version"].as_u64().unwrap()
}

/// Returns the `content` field of a document.
pub(crate) fn content_field(answer: &Value) -> &str {
    answer["content"].as_str().unwrap()
}
