//! Test harness: `TestProject`, a temporary project directory on the embedded store or PostgreSQL, and
//! helpers that run the `polis` program in it and check its output (`CommandOutput`).

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::test_schema::TestSchema;

/// Path of the `polis` program under test.
pub(crate) const POLIS_EXE: &str = env!("CARGO_BIN_EXE_polis");
/// Path of the `blackboard` program.
pub(crate) const BLACKBOARD_EXE: &str = env!("CARGO_BIN_EXE_blackboard");

/// Generates two tests from each case: one for the embedded store and one for PostgreSQL.
macro_rules! on_both_stores {
    ($($case:ident),+ $(,)?) => {
        mod embedded {
            $(#[test] fn $case() { super::$case(&$crate::harness::test_project::TestProject::embedded()); })+
        }
        mod postgres {
            $(#[test] #[ignore = "needs PostgreSQL: scripts/test starts one"]
            fn $case() { super::$case(&$crate::harness::test_project::TestProject::postgres()); })+
        }
    };
}
pub(crate) use on_both_stores;

/// A temporary directory with a polis project in it.
pub(crate) struct TestProject {
    directory: TempDir,
    schema: Option<TestSchema>,
}

/// Output of a finished process.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Message and hint of a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RefusalText {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl TestProject {
    /// Creates a project in the embedded store.
    pub(crate) fn embedded() -> Self {
        Self::in_temp_dir(None).initialize()
    }

    /// Creates a project in its own PostgreSQL schema.
    pub(crate) fn postgres() -> Self {
        Self::in_temp_dir(Some(TestSchema::create())).initialize()
    }

    /// Creates another project in a store of the same kind.
    pub(crate) fn new_sibling(&self) -> Self {
        self.uninitialized_sibling().initialize()
    }

    /// Creates a directory without a project.
    pub(crate) fn uninitialized() -> Self {
        Self::in_temp_dir(None)
    }

    /// Creates a directory and a store of the same kind, without a project.
    pub(crate) fn uninitialized_sibling(&self) -> Self {
        Self::in_temp_dir(self.schema.as_ref().map(|_| TestSchema::create()))
    }

    fn in_temp_dir(schema: Option<TestSchema>) -> Self {
        let directory = TempDir::with_prefix("polis-it-").unwrap();
        Self { directory, schema }
    }

    fn initialize(self) -> Self {
        self.run_ok("user", &["init", "--lang", "en"]);
        self
    }

    /// Replaces the whole store by a dump of one.
    pub(crate) fn restore_store(&self, sqlite: &str, postgres: &str) {
        if let Some(schema) = &self.schema {
            schema.restore_dump(postgres);
            return;
        }
        for file in ["polis.db", "polis.db-wal", "polis.db-shm"] {
            let _ = std::fs::remove_file(self.data_path(file));
        }
        let database = rusqlite::Connection::open(self.data_path("polis.db")).unwrap();
        database.execute_batch(sqlite).unwrap();
    }

    /// Returns the project directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a path in the project directory.
    pub(crate) fn project_path(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Returns a path in the data directory.
    pub(crate) fn data_path(&self, name: &str) -> PathBuf {
        self.path().join(".agent-workspace").join(name)
    }

    /// Returns whether this is the embedded store.
    pub(crate) fn is_embedded(&self) -> bool {
        self.schema.is_none()
    }

    /// Returns the flags that name its store.
    pub(crate) fn store_flags(&self) -> Vec<String> {
        self.schema
            .iter()
            .flat_map(|schema| ["--store".to_owned(), schema.store_url()])
            .collect()
    }

    /// Returns the program in the project directory, on its store, with a clean environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = polis_command(self.path());
        command.args(self.store_flags());
        command
    }

    /// Returns the program with `--json`, as an agent.
    pub(crate) fn json_command<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Command {
        let mut command = self.command();
        command.args(["--json", "--as", agent]).args(args);
        command
    }

    /// Runs with `--json`, as an agent.
    pub(crate) fn run_json<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> CommandOutput {
        CommandOutput::from_output(self.json_command(agent, args).output().unwrap())
    }

    /// Runs with `--json`, as an agent, with data on stdin.
    pub(crate) fn run_json_with_stdin<S: AsRef<OsStr>>(
        &self,
        agent: &str,
        args: &[S],
        input: &[u8],
    ) -> CommandOutput {
        run_with_stdin(&mut self.json_command(agent, args), input)
    }

    /// Runs without `--json` and returns stdout.
    pub(crate) fn run_text<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> String {
        let mut command = self.command();
        let answer =
            CommandOutput::from_output(command.args(["--as", agent]).args(args).output().unwrap());
        assert_eq!(answer.exit_code, Some(0), "{answer:?}");
        assert_eq!(answer.stderr, "");
        answer.stdout
    }

    /// Runs a command that must succeed, and returns its document.
    pub(crate) fn run_ok<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Value {
        self.run_json(agent, args).expect_document()
    }

    /// Runs a command that must be refused. Returns the message and hint of the refusal.
    pub(crate) fn run_refused<S: AsRef<OsStr>>(
        &self,
        agent: &str,
        args: &[S],
        exit: i32,
        code: &str,
    ) -> RefusalText {
        self.run_json(agent, args).expect_refusal(exit, code)
    }

    /// Creates a task and returns its number.
    pub(crate) fn create_task(&self, args: &[&str]) -> String {
        let task = self.run_ok(
            "user",
            &[&["task", "create", "--subject", "work"], args].concat(),
        );
        task["id"].as_str().unwrap().to_owned()
    }

    /// Returns the document of a task (`polis task get`).
    pub(crate) fn get_task(&self, id: &str) -> Value {
        self.run_ok("user", &["task", "get", id])
    }

    /// Returns the numbers of a list of tasks.
    pub(crate) fn list_task_ids(&self, agent: &str, args: &[&str]) -> Vec<String> {
        let page = self.run_ok(agent, args);
        let tasks = page["tasks"].as_array().unwrap();
        tasks
            .iter()
            .map(|t| t["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the subjects of all tasks.
    pub(crate) fn list_task_subjects(&self) -> Vec<String> {
        let list = self.run_ok("user", &["task", "list"]);
        let subjects = list["tasks"].as_array().unwrap().iter();
        subjects
            .map(|task| task["subject"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the whole event log; asserts that its sequence is 1, 2, 3, … without a gap.
    pub(crate) fn read_log(&self) -> Vec<Value> {
        let answer = self.run_json("user", &["log"]);
        assert_eq!(answer.exit_code, Some(0), "{answer:?}");
        let events: Vec<Value> = answer
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for (n, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], n + 1, "a gap in the log");
        }
        events
    }
}

impl CommandOutput {
    /// Creates the output of a finished process.
    pub(crate) fn from_output(output: Output) -> Self {
        Self {
            exit_code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts success with a single document and empty stderr. Returns the document.
    pub(crate) fn expect_document(&self) -> Value {
        assert_eq!(self.exit_code, Some(0), "{self:?}");
        assert_eq!(self.stderr, "");
        assert!(
            self.stdout.ends_with('\n') && self.stdout.lines().count() == 1,
            "{self:?}"
        );
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts a refusal with a single error document that contains no path of this machine.
    pub(crate) fn expect_refusal(&self, exit: i32, code: &str) -> RefusalText {
        let refused = self.expect_refusal_with_paths(exit, code);
        let host_path = std::env::temp_dir().display().to_string();
        assert!(
            !self.stderr.contains(&host_path),
            "contains a host path: {self:?}"
        );
        refused
    }

    /// Like [`Self::expect_refusal`], for a refusal whose message may contain a path.
    pub(crate) fn expect_refusal_with_paths(&self, exit: i32, code: &str) -> RefusalText {
        assert_eq!(self.exit_code, Some(exit), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        let document: Value = serde_json::from_str(&self.stderr).unwrap();
        let error = &document["error"];
        assert_eq!(error["code"], code, "{self:?}");
        let text = |field: &str| error[field].as_str().unwrap().to_owned();
        let refused = RefusalText {
            message: text("message"),
            hint: text("hint"),
        };
        assert!(
            !refused.message.is_empty() && !refused.hint.is_empty(),
            "{self:?}"
        );
        assert!(!refused.message.contains("panicked"), "{self:?}");
        refused
    }
}

/// Returns the program in a directory, with a clean environment.
pub(crate) fn polis_command(directory: &Path) -> Command {
    program_command(POLIS_EXE, directory)
}

/// Like [`polis_command`], for any of the programs.
pub(crate) fn program_command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null());
    let others = ["POLIS_", "OPENAI_", "OTEL_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if others.iter().any(|other| text.starts_with(other)) {
            command.env_remove(name);
        }
    }
    for name in ["LANG", "LC_ALL", "LC_MESSAGES", "NO_COLOR", "CLAWOS_HOME"] {
        command.env_remove(name);
    }
    command.env("POLIS_STATE_DIR", test_state_dir());
    command
}

/// Returns the directory where programs under test record trusted projects, instead of the developer's home
/// directory.
pub(crate) fn test_state_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("state-{}", std::process::id()))
}

/// Runs a command with data on stdin.
pub(crate) fn run_with_stdin(command: &mut Command, input: &[u8]) -> CommandOutput {
    let mut child = spawn_captured(command.stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // On another thread: a program that answers before it has read everything must not block the test.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    CommandOutput::from_output(output)
}

/// Starts a command with its output captured.
pub(crate) fn spawn_captured(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a started child.
pub(crate) fn wait_for_output(child: Child) -> CommandOutput {
    CommandOutput::from_output(child.wait_with_output().unwrap())
}

/// Reads one line of a running child's stdout.
pub(crate) fn read_stdout_line(child: &mut Child) -> String {
    let stdout = child.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Polls until a condition holds; fails after a minute.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}
