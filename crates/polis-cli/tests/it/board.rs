//! A throw-away board, and the program run on it.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::schema::Schema;

/// The program under test.
pub(crate) const POLIS: &str = env!("CARGO_BIN_EXE_polis");
/// The same under the name that the blackboard's document gives it.
pub(crate) const BLACKBOARD: &str = env!("CARGO_BIN_EXE_blackboard");

/// Emits each case as a test of the embedded store and as one of PostgreSQL.
macro_rules! on_both_stores {
    ($($case:ident),+ $(,)?) => {
        mod embedded {
            $(#[test] fn $case() { super::$case(&$crate::board::Board::embedded()); })+
        }
        mod postgres {
            $(#[test] #[ignore = "needs PostgreSQL: scripts/test starts one"]
            fn $case() { super::$case(&$crate::board::Board::postgres()); })+
        }
    };
}
pub(crate) use on_both_stores;

/// A directory of its own with a board in it.
pub(crate) struct Board {
    directory: TempDir,
    schema: Option<Schema>,
}

/// What the program answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What a refusal said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Board {
    /// A board in the embedded store.
    pub(crate) fn embedded() -> Self {
        Self::empty(None).set_up()
    }

    /// A board in a PostgreSQL schema of its own.
    pub(crate) fn postgres() -> Self {
        Self::empty(Some(Schema::create())).set_up()
    }

    /// Another board in a store of the same kind.
    pub(crate) fn another(&self) -> Self {
        self.bare_like().set_up()
    }

    /// A directory without a board.
    pub(crate) fn bare() -> Self {
        Self::empty(None)
    }

    /// A directory, and a store of the same kind, without a board.
    pub(crate) fn bare_like(&self) -> Self {
        Self::empty(self.schema.as_ref().map(|_| Schema::create()))
    }

    fn empty(schema: Option<Schema>) -> Self {
        let directory = TempDir::with_prefix("polis-it-").unwrap();
        Self { directory, schema }
    }

    fn set_up(self) -> Self {
        self.ok("user", &["init", "--lang", "en"]);
        self
    }

    /// The project directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file or directory in the project directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A file of the workspace.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        self.path().join(".agent-workspace").join(name)
    }

    /// Whether this is the embedded store.
    pub(crate) fn is_embedded(&self) -> bool {
        self.schema.is_none()
    }

    /// The flags that name its store.
    pub(crate) fn store_flags(&self) -> Vec<String> {
        self.schema
            .iter()
            .flat_map(|schema| ["--store".to_owned(), schema.url()])
            .collect()
    }

    /// The program, in the board's directory and on its store, with nothing else around it.
    pub(crate) fn command(&self) -> Command {
        let mut command = bare_command(self.path());
        command.args(self.store_flags());
        command
    }

    /// The program with `--json`, as an agent.
    pub(crate) fn json_command<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Command {
        let mut command = self.command();
        command.args(["--json", "--as", agent]).args(args);
        command
    }

    /// Runs with `--json` as an agent.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Answer {
        Answer::of(self.json_command(agent, args).output().unwrap())
    }

    /// Runs with `--json` as an agent, with something on standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        agent: &str,
        args: &[S],
        input: &[u8],
    ) -> Answer {
        feed(&mut self.json_command(agent, args), input)
    }

    /// Runs as a person does, without `--json`, and answers what the screen shows.
    pub(crate) fn shown<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> String {
        let mut command = self.command();
        let answer = Answer::of(command.args(["--as", agent]).args(args).output().unwrap());
        assert_eq!(answer.exit, Some(0), "{answer:?}");
        assert_eq!(answer.stderr, "");
        answer.stdout
    }

    /// Runs what has to succeed and answers its document.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, agent: &str, args: &[S]) -> Value {
        self.run(agent, args).document()
    }

    /// Runs what has to be refused.
    pub(crate) fn refused<S: AsRef<OsStr>>(
        &self,
        agent: &str,
        args: &[S],
        exit: i32,
        code: &str,
    ) -> Refused {
        self.run(agent, args).refusal(exit, code)
    }

    /// Creates a task and answers its number.
    pub(crate) fn create(&self, args: &[&str]) -> String {
        let task = self.ok(
            "user",
            &[&["task", "create", "--subject", "work"], args].concat(),
        );
        task["id"].as_str().unwrap().to_owned()
    }

    /// A task as it stands.
    pub(crate) fn get(&self, id: &str) -> Value {
        self.ok("user", &["task", "get", id])
    }

    /// The numbers of a list of tasks.
    pub(crate) fn listed(&self, agent: &str, args: &[&str]) -> Vec<String> {
        let page = self.ok(agent, args);
        let tasks = page["tasks"].as_array().unwrap();
        tasks
            .iter()
            .map(|t| t["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The subjects of all tasks.
    pub(crate) fn listed_subjects(&self) -> Vec<String> {
        let list = self.ok("user", &["task", "list"]);
        let subjects = list["tasks"].as_array().unwrap().iter();
        subjects
            .map(|task| task["subject"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The whole commit log; its sequence is checked to be 1, 2, 3, … without a gap.
    pub(crate) fn log(&self) -> Vec<Value> {
        let answer = self.run("user", &["log"]);
        assert_eq!(answer.exit, Some(0), "{answer:?}");
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

impl Answer {
    /// What a finished process left behind.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one document of a success, with nothing beside it.
    pub(crate) fn document(&self) -> Value {
        assert_eq!(self.exit, Some(0), "{self:?}");
        assert_eq!(self.stderr, "");
        assert!(
            self.stdout.ends_with('\n') && self.stdout.lines().count() == 1,
            "{self:?}"
        );
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The error document of a refusal, with nothing beside it and no path of this machine in it.
    pub(crate) fn refusal(&self, exit: i32, code: &str) -> Refused {
        let refused = self.refusal_with_paths(exit, code);
        let host_path = std::env::temp_dir().display().to_string();
        assert!(
            !self.stderr.contains(&host_path),
            "names a path of the host: {self:?}"
        );
        refused
    }

    /// The same of a refusal that tells a person where something is.
    pub(crate) fn refusal_with_paths(&self, exit: i32, code: &str) -> Refused {
        assert_eq!(self.exit, Some(exit), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        let document: Value = serde_json::from_str(&self.stderr).unwrap();
        let error = &document["error"];
        assert_eq!(error["code"], code, "{self:?}");
        let text = |field: &str| error[field].as_str().unwrap().to_owned();
        let refused = Refused {
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

/// The program in a directory, with an environment that says nothing to it.
pub(crate) fn bare_command(directory: &Path) -> Command {
    bare_program(POLIS, directory)
}

/// One of the programs, in the same way.
pub(crate) fn bare_program(program: &str, directory: &Path) -> Command {
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
    command.env("POLIS_STATE_DIR", state_dir());
    command
}

/// Where the programs of these tests record which projects are trusted, instead of the developer's home directory.
pub(crate) fn state_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("state-{}", std::process::id()))
}

/// Runs a command with something on standard input.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Answer {
    let mut child = start(command.stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Beside the reading: a program that answers before it has read everything blocks nobody.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Answer::of(output)
}

/// Starts a command with its output caught.
pub(crate) fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a child that was started.
pub(crate) fn finish(child: Child) -> Answer {
    Answer::of(child.wait_with_output().unwrap())
}

/// Reads a running child's standard output up to the end of a line.
pub(crate) fn read_line(child: &mut Child) -> String {
    let stdout = child.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Looks until something holds; fails after a minute.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}
