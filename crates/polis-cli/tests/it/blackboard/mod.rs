//! The blackboard: shared files by path, as the real program and as `polis blackboard`.

mod appends;
mod cases;
mod killed;
mod others;
mod places;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::board::{Answer, BLACKBOARD, Board, bare_program};

/// Who may write everything, unless the configuration says otherwise.
pub(super) const PM: &str = "product-manager";

impl Board {
    /// The `blackboard` program as an agent, the way its document shows it.
    pub(crate) fn blackboard_command<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Command {
        let mut command = bare_program(BLACKBOARD, self.path());
        command.args(self.store_flags());
        command.args(["--as", agent]).args(args);
        command
    }

    /// Runs it.
    pub(crate) fn blackboard<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Answer {
        Answer::of(self.blackboard_command(agent, args).output().unwrap())
    }

    /// Runs `polis blackboard`.
    pub(super) fn polis_blackboard<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Answer {
        let mut command = self.command();
        command.args(["--as", agent, "blackboard"]).args(args);
        Answer::of(command.output().unwrap())
    }

    /// Overwrites a file with the agent that may.
    pub(super) fn overwrite(&self, path: &str, content: &str) {
        self.blackboard(
            PM,
            &["write", path, "--mode", "overwrite", "--content", content],
        )
        .done();
    }

    /// Adds to a file with the agent that may.
    pub(super) fn add(&self, path: &str, content: &str) {
        self.blackboard(
            PM,
            &["write", path, "--mode", "append", "--content", content],
        )
        .done();
    }

    /// What `blackboard read` prints.
    pub(super) fn printed(&self, path: &str) -> String {
        let answer = self.blackboard(PM, &["read", path]);
        assert_eq!((answer.exit, &*answer.stderr), (Some(0), ""), "{answer:?}");
        answer.stdout
    }

    /// A file of the blackboard on the disk.
    pub(crate) fn on_disk(&self, path: &str) -> PathBuf {
        self.workspace("blackboard").join(path)
    }

    /// The content of a file on the disk.
    pub(super) fn black_bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.on_disk(path)).unwrap()
    }

    /// Sets the configuration.
    pub(crate) fn configure(&self, toml: &str) {
        std::fs::create_dir_all(self.workspace("")).unwrap();
        std::fs::write(self.workspace("polis.toml"), toml).unwrap();
    }
}

impl Answer {
    /// A success, with nothing on standard error.
    pub(crate) fn done(&self) -> &Self {
        assert_eq!((self.exit, &*self.stderr), (Some(0), ""), "{self:?}");
        self
    }

    /// A failure as the document words it: the status first, and nothing on standard output.
    pub(super) fn status(&self, exit: i32, status: &str) -> &str {
        assert_eq!((self.exit, &*self.stdout), (Some(exit), ""), "{self:?}");
        let said = self.stderr.strip_prefix(status);
        said.and_then(|said| said.strip_prefix(": "))
            .unwrap_or_else(|| panic!("no {status:?} first: {self:?}"))
    }
}
