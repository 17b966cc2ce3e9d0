//! Tests of the blackboard, run with the `blackboard` program and with `polis blackboard`; this file has the
//! helpers.

mod blackboard_concurrency;
mod blackboard_crash;
mod blackboard_location;
mod blackboard_read_write;
mod flock_interoperability;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::harness::test_project::{BLACKBOARD_EXE, CommandOutput, TestProject, program_command};

/// The agent that may write everything by default.
pub(super) const PRODUCT_MANAGER: &str = "product-manager";

impl TestProject {
    /// The `blackboard` program as an agent, called as in requirement 003 (docs/requirements.md).
    pub(crate) fn blackboard_command<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Command {
        let mut command = program_command(BLACKBOARD_EXE, self.path());
        command.args(self.store_flags());
        command.args(["--as", agent]).args(args);
        command
    }

    /// Runs the program `blackboard` as an agent.
    pub(crate) fn run_blackboard<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> CommandOutput {
        CommandOutput::from_output(self.blackboard_command(agent, args).output().unwrap())
    }

    /// Runs the command `polis blackboard` as an agent.
    pub(super) fn run_polis_blackboard<S: AsRef<OsStr>>(
        &self,
        agent: &str,
        args: &[S],
    ) -> CommandOutput {
        let mut command = self.command();
        command.args(["--as", agent, "blackboard"]).args(args);
        CommandOutput::from_output(command.output().unwrap())
    }

    /// Overwrites a file as the permitted agent.
    pub(super) fn overwrite_blackboard_file(&self, path: &str, content: &str) {
        self.run_blackboard(
            PRODUCT_MANAGER,
            &["write", path, "--mode", "overwrite", "--content", content],
        )
        .expect_success();
    }

    /// Appends to a file as the permitted agent.
    pub(super) fn append_blackboard_file(&self, path: &str, content: &str) {
        self.run_blackboard(
            PRODUCT_MANAGER,
            &["write", path, "--mode", "append", "--content", content],
        )
        .expect_success();
    }

    /// Returns the output of `blackboard read`.
    pub(super) fn read_blackboard_file(&self, path: &str) -> String {
        let answer = self.run_blackboard(PRODUCT_MANAGER, &["read", path]);
        assert_eq!(
            (answer.exit_code, &*answer.stderr),
            (Some(0), ""),
            "{answer:?}"
        );
        answer.stdout
    }

    /// Returns the path of a blackboard file on disk.
    pub(crate) fn blackboard_file_path(&self, path: &str) -> PathBuf {
        self.data_path("blackboard").join(path)
    }

    /// Returns the content of a file on disk.
    pub(super) fn blackboard_file_bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.blackboard_file_path(path)).unwrap()
    }

    /// Replaces the `polis.toml` of the project.
    pub(crate) fn write_polis_toml(&self, toml: &str) {
        std::fs::create_dir_all(self.data_path("")).unwrap();
        std::fs::write(self.data_path("polis.toml"), toml).unwrap();
    }
}

impl CommandOutput {
    /// Asserts success, with nothing on stderr.
    pub(crate) fn expect_success(&self) -> &Self {
        assert_eq!((self.exit_code, &*self.stderr), (Some(0), ""), "{self:?}");
        self
    }

    /// Asserts a failure in the wording of requirement 003 (docs/requirements.md): the status first, and
    /// nothing on stdout. Returns the message.
    pub(super) fn expect_status(&self, exit: i32, status: &str) -> &str {
        assert_eq!(
            (self.exit_code, &*self.stdout),
            (Some(exit), ""),
            "{self:?}"
        );
        let said = self.stderr.strip_prefix(status);
        said.and_then(|said| said.strip_prefix(": "))
            .unwrap_or_else(|| panic!("no {status:?} first: {self:?}"))
    }
}
