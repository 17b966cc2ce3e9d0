//! Where attempts are made: a workspace, secrets around it, and sandboxes of every strength.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{env, fs};

use polis_core::workspace::command::{CommandRun, Ending};
use polis_core::workspace::policy::{CommandPolicy, Tier};
use polis_workspace::sandbox::{Cancel, Job, Sandbox, SandboxError, Watcher};

/// The strengths that a run of these tests must find, as `T0u,T1`; set by `elsewhere`.
pub(crate) const TIERS: &str = "POLIS_ESCAPE_TIERS";
/// Where the compiled attacker is; set by `elsewhere`.
pub(crate) const ATTACKER: &str = "POLIS_ESCAPE_ATTACKER";

/// What no command may ever print.
pub(crate) const SECRET: &str = "what-no-command-may-see";

pub(crate) const MIB: u64 = 1 << 20;

/// The program of raw system calls, compiled once.
pub(crate) fn attacker() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        if let Some(path) = env::var_os(ATTACKER) {
            return path.into();
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/escape/attacker.c");
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacker");
        let new = made.with_extension(std::process::id().to_string());
        let compiled = Command::new("cc")
            .args(["-O1", "-w", "-o"])
            .args([&new, &source])
            .status()
            .unwrap();
        assert!(compiled.success(), "a C compiler is needed: {compiled}");
        fs::rename(&new, &made).unwrap();
        made
    })
}

/// A sandbox of one strength.
#[derive(Debug)]
pub(crate) struct Strength {
    pub(crate) tier: Tier,
    pub(crate) sandbox: Sandbox,
}

/// Sandboxes of every strength that this machine has, found by trying.
pub(crate) fn strengths() -> &'static [Strength] {
    static FOUND: OnceLock<Vec<Strength>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        let found: Vec<Strength> = [Tier::Full, Tier::Watched, Tier::Landlock]
            .into_iter()
            .filter_map(|tier| {
                let sandbox = Sandbox::at_most(tier);
                let policy = CommandPolicy {
                    weakest: tier,
                    ..CommandPolicy::default()
                };
                let job = Job {
                    hand_over: true,
                    ..Job::new(place.path(), "exit 42", &policy)
                };
                match sandbox.run(&job) {
                    Ok(run) => {
                        assert_eq!((run.ending, run.tier), (Ending::Exited(42), tier));
                        Some(Strength { tier, sandbox })
                    }
                    Err(SandboxError::Unavailable(why)) => {
                        eprintln!("not here: {}: {why}", tier.as_str());
                        None
                    }
                    Err(other) => panic!("{tier:?}: {other}"),
                }
            })
            .collect();
        let names: Vec<&str> = found.iter().map(|found| found.tier.as_str()).collect();
        eprintln!("strengths: {}", names.join(","));
        assert!(!found.is_empty(), "this machine has no sandbox at all");
        if let Some(wanted) = env::var_os(TIERS) {
            assert_eq!(OsString::from(names.join(",")), wanted);
        }
        found
    })
}

/// The turn of one who takes all the processes it may: without a namespace they are counted by the
/// user, so two of them would keep each other from it.
pub(crate) fn turn() -> impl Drop + use<> {
    static ONE: Mutex<()> = Mutex::new(());
    struct Turn(
        #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
        Option<File>,
    );
    impl Drop for Turn {
        fn drop(&mut self) {
            if let Some(file) = &self.1 {
                let _ = file.unlock();
            }
        }
    }
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Other worlds with the same user can open the same file.
    let file = File::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacker")).ok();
    if let Some(file) = &file {
        file.lock().unwrap();
    }
    Turn(turn, file)
}

/// Runs a test at every strength.
pub(crate) fn at_every_strength(test: impl Fn(&Stage)) {
    for strength in strengths() {
        test(&Stage::new(strength));
    }
}

/// A file or directory, as it is now.
type Seen = (PathBuf, u32, u32, u64, i64, Option<Vec<u8>>);

/// How a command is run, beside its policy.
#[derive(Default)]
pub(crate) struct Way<'a> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) output: Option<&'a Path>,
    pub(crate) cancel: Option<&'a Cancel>,
    pub(crate) watch: Option<&'a Watcher<'a>>,
}

/// A workspace with secrets around it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) strength: &'static Strength,
    pub(crate) policy: CommandPolicy,
    place: tempfile::TempDir,
    before: Vec<Seen>,
}

impl Stage {
    pub(crate) fn new(strength: &'static Strength) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        // Open to everybody: what is closed must be closed by the sandbox.
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["home/.ssh", "data", "other", "ws"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["home/.ssh/id_ed25519", "data/polis.db", "other/notes.txt"] {
            fs::write(root.join(file), format!("{SECRET}\n")).unwrap();
        }
        let program = root.join("other/program");
        fs::write(&program, format!("#!/bin/sh\necho {SECRET}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let workspace = root.join("ws");
        fs::copy(attacker(), workspace.join("attacker")).unwrap();
        fs::write(workspace.join("victim"), "mine").unwrap();
        symlink(root.join("data/polis.db"), workspace.join("link")).unwrap();
        symlink("../data/polis.db", workspace.join("link-up")).unwrap();
        symlink(root.join("other"), workspace.join("link-directory")).unwrap();
        symlink("/etc/shadow", workspace.join("link-shadow")).unwrap();
        symlink("/", workspace.join("link-root")).unwrap();
        let mut policy = CommandPolicy {
            weakest: strength.tier,
            timeout_ms: 20_000,
            ..CommandPolicy::default()
        };
        policy.limits.memory = 256 * MIB;
        policy.limits.file_size = 32 * MIB;
        policy.limits.tmp = 16 * MIB;
        let set = [
            ("PLACE", root.display().to_string()),
            ("POLIS", std::process::id().to_string()),
        ];
        policy.env = set.map(|(name, value)| (name.to_owned(), value)).into();
        let mut stage = Self {
            strength,
            policy,
            place,
            before: Vec::new(),
        };
        stage.before = stage.around();
        stage
    }

    /// The directory around the workspace.
    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.place().join("ws")
    }

    pub(crate) fn tier(&self) -> Tier {
        self.strength.tier
    }

    /// Whether the command sees files and processes of its own.
    pub(crate) fn has_spaces(&self) -> bool {
        self.tier() >= Tier::Watched
    }

    /// What is around now is how it has to stay.
    pub(crate) fn as_it_is(&mut self) {
        self.before = self.around();
    }

    /// Few processes, and nobody else who wants many.
    pub(crate) fn few_processes(&mut self) -> impl Drop + use<> {
        self.policy.limits.processes = 64;
        turn()
    }

    /// Everything around the workspace.
    fn around(&self) -> Vec<Seen> {
        let mut found = Vec::new();
        let mut left = vec![self.place().to_owned()];
        while let Some(path) = left.pop() {
            let stat = fs::symlink_metadata(&path).unwrap();
            if path != self.place() {
                let content = stat.is_file().then(|| fs::read(&path).unwrap());
                let facts = (stat.mode(), stat.uid(), stat.nlink(), stat.ctime());
                found.push((path.clone(), facts.0, facts.1, facts.2, facts.3, content));
            }
            if stat.is_dir() && path != self.workspace() {
                left.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            }
        }
        found.retain(|(path, ..)| *path != self.workspace());
        found.sort();
        found
    }

    /// Runs a command and sees to it that nothing around was touched or told.
    pub(crate) fn run(&self, command: &str) -> CommandRun {
        self.run_in_a_way(command, &Way::default())
    }

    /// The same, ended after some milliseconds.
    pub(crate) fn run_for(&self, timeout: Duration, command: &str) -> CommandRun {
        let way = Way {
            timeout: Some(timeout),
            ..Way::default()
        };
        self.run_in_a_way(command, &way)
    }

    pub(crate) fn run_in_a_way(&self, command: &str, way: &Way<'_>) -> CommandRun {
        let workspace = self.workspace();
        let mut job = Job {
            hand_over: true,
            output: way.output,
            cancel: way.cancel,
            watch: way.watch,
            ..Job::new(&workspace, command, &self.policy)
        };
        if let Some(timeout) = way.timeout {
            job.timeout = timeout;
        }
        let run = self.strength.sandbox.run(&job);
        let run = run.unwrap_or_else(|error| panic!("{:?}: {command}: {error}", self.tier()));
        assert_eq!(run.tier, self.tier());
        let said = format!("{}{}", run.stdout.text, run.stderr.text);
        assert!(!said.contains(SECRET), "{:?}: {command}: {said}", run.tier);
        assert_eq!(self.around(), self.before, "{:?}: {command}", run.tier);
        run
    }

    /// What a command that has to succeed wrote.
    pub(crate) fn output(&self, command: &str) -> String {
        let run = self.run(command);
        assert_eq!(run.ending, Ending::Exited(0), "{command}: {run:?}");
        run.stdout.text
    }

    /// Makes attempts, all of which have to fail with one of the given words.
    pub(crate) fn attempt(&self, attempts: &[Attempt]) {
        let mut held = true;
        for Attempt { name, script, says } in attempts {
            let run = self.run(script);
            let said = format!("{}{}", run.stdout.text, run.stderr.text);
            let failed = match &run.ending {
                Ending::Exited(code) => *code != 0,
                Ending::Killed(signal) => says.contains(&signal.as_str()),
                _ => false,
            };
            let visibly = matches!(run.ending, Ending::Killed(_))
                || says.iter().any(|word| said.contains(word));
            if !failed || !visibly {
                held = false;
                let tier = self.tier().as_str();
                eprintln!("{tier}: {name}: {:?}\n{}", run.ending, said.trim_end());
            }
        }
        assert!(held, "see above");
    }
}

/// Something that must not be possible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// What it would be.
    pub(crate) name: &'static str,
    /// A line of shell that succeeds if it is possible.
    pub(crate) script: &'static str,
    /// What it says, one of these, when it is not.
    pub(crate) says: &'static [&'static str],
}

/// An attempt.
pub(crate) const fn attempt(
    name: &'static str,
    script: &'static str,
    says: &'static [&'static str],
) -> Attempt {
    Attempt { name, script, says }
}

/// What the shell's programs say of files they may not have.
pub(crate) const CLOSED: &[&str] = &[
    "Permission denied",
    "No such file",
    "Operation not permitted",
    "Read-only file system",
    "cannot create",
    "cannot open",
];

/// What the attacker says of calls it may not make.
pub(crate) const NO_CALL: &[&str] = &["refused EPERM", "refused ENOSYS"];

/// Waits until something is so, for at most as long as given.
pub(crate) fn within(most: Duration, mut so: impl FnMut() -> bool) -> bool {
    let begun = std::time::Instant::now();
    loop {
        if so() {
            return true;
        }
        if begun.elapsed() > most {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The processes of this machine whose command line holds a text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            *pid != std::process::id() && String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}
