//! Tests of the blackboard, run with the `blackboard` program and with `polis blackboard`; this file has the helpers.

mod appends;
mod cases;
mod killed;
mod others;
mod places;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::board::{Answer, BLACKBOARD, Board, bare_program};

/// The agent that may write everything by default.
pub(super) const PM: &str = "product-manager";

impl Board {
    /// The `blackboard` program as an agent, called as in the source document.
    pub(crate) fn blackboard_command<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Command {
        let mut command = bare_program(BLACKBOARD, self.path());
        command.args(self.store_flags());
        command.args(["--as", agent]).args(args);
        command
    }

    /// Runs `blackboard`.
    pub(crate) fn blackboard<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Answer {
        Answer::of(self.blackboard_command(agent, args).output().unwrap())
    }

    /// Runs `polis blackboard`.
    pub(super) fn polis_blackboard<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Answer {
        let mut command = self.command();
        command.args(["--as", agent, "blackboard"]).args(args);
        Answer::of(command.output().unwrap())
    }

    /// Overwrites a file as the permitted agent.
    pub(super) fn overwrite(&self, path: &str, content: &str) {
        self.blackboard(
            PM,
            &["write", path, "--mode", "overwrite", "--content", content],
        )
        .done();
    }

    /// Appends to a file as the permitted agent.
    pub(super) fn add(&self, path: &str, content: &str) {
        self.blackboard(
            PM,
            &["write", path, "--mode", "append", "--content", content],
        )
        .done();
    }

    /// Returns the output of `blackboard read`.
    pub(super) fn printed(&self, path: &str) -> String {
        let answer = self.blackboard(PM, &["read", path]);
        assert_eq!((answer.exit, &*answer.stderr), (Some(0), ""), "{answer:?}");
        answer.stdout
    }

    /// Returns the path of a blackboard file on disk.
    pub(crate) fn on_disk(&self, path: &str) -> PathBuf {
        self.workspace("blackboard").join(path)
    }

    /// Returns the content of a file on disk.
    pub(super) fn black_bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.on_disk(path)).unwrap()
    }

    /// Writes `polis.toml`.
    pub(crate) fn configure(&self, toml: &str) {
        std::fs::create_dir_all(self.workspace("")).unwrap();
        std::fs::write(self.workspace("polis.toml"), toml).unwrap();
    }
}

impl Answer {
    /// Asserts success, with nothing on stderr.
    pub(crate) fn done(&self) -> &Self {
        assert_eq!((self.exit, &*self.stderr), (Some(0), ""), "{self:?}");
        self
    }

    /// Asserts a failure as the source document words it: the status first, and nothing on stdout. Returns the message.
    pub(super) fn status(&self, exit: i32, status: &str) -> &str {
        assert_eq!((self.exit, &*self.stdout), (Some(exit), ""), "{self:?}");
        let said = self.stderr.strip_prefix(status);
        said.and_then(|said| said.strip_prefix(": "))
            .unwrap_or_else(|| panic!("no {status:?} first: {self:?}"))
    }
}
