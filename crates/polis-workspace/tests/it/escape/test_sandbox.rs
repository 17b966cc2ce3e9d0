//! Test harness of the escape tests: a workspace with secret files around it, a sandbox for every tier, and
//! attempts that must fail.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

use parking_lot::{Mutex, MutexGuard};
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome};
use polis_core::workspace::command_policy::{CommandPolicy, SandboxTier};
use polis_core::workspace::signal::signal_name;
use polis_workspace::sandbox::{
    CancelHandle, OutputCallback, Sandbox, SandboxContext, SandboxError,
};

/// Environment variable with the tiers that a run of these tests must find, such as `T0u,T1`; set by
/// `other_environments`.
pub(crate) const TIERS_VAR: &str = "POLIS_ESCAPE_TIERS";
/// Environment variable with the path of the compiled attacker; set by `other_environments`.
pub(crate) const ATTACKER_VAR: &str = "POLIS_ESCAPE_ATTACKER";

/// Text that no command may ever print.
pub(crate) const SECRET: &str = "what-no-command-may-see";

pub(crate) const MIB: u64 = 1 << 20;

/// Returns the program for raw system calls, compiled once.
pub(crate) fn attacker_program() -> &'static Path {
    static ATTACKER_PATH: OnceLock<PathBuf> = OnceLock::new();
    ATTACKER_PATH.get_or_init(|| {
        if let Some(path) = env::var_os(ATTACKER_VAR) {
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

/// A sandbox limited to one tier.
#[derive(Debug)]
pub(crate) struct TierSandbox {
    pub(crate) tier: SandboxTier,
    pub(crate) sandbox: Sandbox,
}

/// Returns sandboxes of all tiers that this machine supports, found by trying.
pub(crate) fn available_sandboxes() -> &'static [TierSandbox] {
    static SANDBOXES: OnceLock<Vec<TierSandbox>> = OnceLock::new();
    SANDBOXES.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        let found: Vec<TierSandbox> = [
            SandboxTier::Full,
            SandboxTier::Watched,
            SandboxTier::Landlock,
        ]
        .into_iter()
        .filter_map(|tier| {
            let sandbox = Sandbox::with_max_tier(tier);
            let policy = CommandPolicy {
                weakest_tier: tier,
                ..CommandPolicy::default()
            };
            let request = CommandRequest::trusted("exit 42", &policy);
            let context = SandboxContext {
                may_chown: true,
                ..SandboxContext::new(place.path())
            };
            match sandbox.run(&request, &context) {
                Ok(run) => {
                    assert_eq!(run.ending, CommandEnding::Exited(42));
                    assert_eq!(run.tier, Some(tier));
                    Some(TierSandbox { tier, sandbox })
                }
                Err(SandboxError::Unavailable(problems)) => {
                    eprintln!("unavailable: {}: {problems:?}", tier.as_str());
                    None
                }
                Err(other) => panic!("{tier:?}: {other}"),
            }
        })
        .collect();
        let names: Vec<&str> = found.iter().map(|found| found.tier.as_str()).collect();
        eprintln!("tiers: {}", names.join(","));
        assert!(!found.is_empty(), "this machine has no sandbox at all");
        if let Some(wanted) = env::var_os(TIERS_VAR) {
            assert_eq!(OsString::from(names.join(",")), wanted);
        }
        found
    })
}

/// Lock for tests that use up their process limit: without a namespace processes are counted per user, so two
/// such tests would disturb each other.
pub(crate) fn lock_process_limit() -> impl Drop + use<> {
    static PROCESS_LIMIT_LOCK: Mutex<()> = Mutex::new(());
    struct ProcessLimitGuard(
        #[expect(dead_code, reason = "held until dropped")] MutexGuard<'static, ()>,
        Option<File>,
    );
    impl Drop for ProcessLimitGuard {
        fn drop(&mut self) {
            if let Some(file) = &self.1 {
                let _ = file.unlock();
            }
        }
    }
    let turn = PROCESS_LIMIT_LOCK.lock();
    // Test processes in other environments with the same user can open the same file.
    let file = File::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacker")).ok();
    if let Some(file) = &file {
        file.lock().unwrap();
    }
    ProcessLimitGuard(turn, file)
}

/// Runs a test in every tier.
pub(crate) fn run_in_every_tier(test: impl Fn(&TestSandbox)) {
    for strength in available_sandboxes() {
        test(&TestSandbox::new(strength));
    }
}

/// State of a file or directory.
type SurroundingFileState = (PathBuf, u32, u32, u64, i64, Option<Vec<u8>>);

/// Options of a command besides its policy.
#[derive(Default)]
pub(crate) struct RunOptions<'a> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) output_directory: Option<&'a Path>,
    pub(crate) cancel: Option<&'a CancelHandle>,
    pub(crate) watcher: Option<&'a OutputCallback<'a>>,
}

/// A workspace with secrets around it.
#[derive(Debug)]
pub(crate) struct TestSandbox {
    pub(crate) tier_sandbox: &'static TierSandbox,
    pub(crate) policy: CommandPolicy,
    base_dir: tempfile::TempDir,
    expected_surroundings: Vec<SurroundingFileState>,
}

impl TestSandbox {
    pub(crate) fn new(strength: &'static TierSandbox) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        // Accessible to everyone: the confinement must come from the sandbox alone.
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
        fs::copy(attacker_program(), workspace.join("attacker")).unwrap();
        fs::write(workspace.join("victim"), "mine").unwrap();
        symlink(root.join("data/polis.db"), workspace.join("link")).unwrap();
        symlink("../data/polis.db", workspace.join("link-up")).unwrap();
        symlink(root.join("other"), workspace.join("link-directory")).unwrap();
        symlink("/etc/shadow", workspace.join("link-shadow")).unwrap();
        symlink("/", workspace.join("link-root")).unwrap();
        let mut policy = CommandPolicy {
            weakest_tier: strength.tier,
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
            tier_sandbox: strength,
            policy,
            base_dir: place,
            expected_surroundings: Vec::new(),
        };
        stage.expected_surroundings = stage.surrounding_files();
        stage
    }

    /// Returns the directory that contains the workspace and the secrets.
    pub(crate) fn base_path(&self) -> &Path {
        self.base_dir.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.base_path().join("ws")
    }

    pub(crate) fn tier(&self) -> SandboxTier {
        self.tier_sandbox.tier
    }

    /// Returns whether the command has namespaces.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.tier() >= SandboxTier::Watched
    }

    /// Takes the current state of the surroundings as the expected one.
    pub(crate) fn accept_surroundings(&mut self) {
        self.expected_surroundings = self.surrounding_files();
    }

    /// Lowers the process limit, and locks out other tests that use many processes.
    pub(crate) fn limit_processes(&mut self) -> impl Drop + use<> {
        self.policy.limits.processes = 64;
        lock_process_limit()
    }

    /// Returns the state of everything around the workspace.
    fn surrounding_files(&self) -> Vec<SurroundingFileState> {
        let mut found = Vec::new();
        let mut left = vec![self.base_path().to_owned()];
        while let Some(path) = left.pop() {
            let stat = fs::symlink_metadata(&path).unwrap();
            if path != self.base_path() {
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

    /// Runs a command, and checks that nothing around the workspace was changed or printed.
    pub(crate) fn run(&self, command: &str) -> CommandOutcome {
        self.run_with_options(command, &RunOptions::default())
    }

    /// Like [`run`](Self::run), with a timeout.
    pub(crate) fn run_with_timeout(&self, timeout: Duration, command: &str) -> CommandOutcome {
        let way = RunOptions {
            timeout: Some(timeout),
            ..RunOptions::default()
        };
        self.run_with_options(command, &way)
    }

    pub(crate) fn run_with_options(&self, command: &str, way: &RunOptions<'_>) -> CommandOutcome {
        let workspace = self.workspace();
        let context = SandboxContext {
            may_chown: true,
            output_directory: way.output_directory,
            cancel: way.cancel,
            on_output: way.watcher,
            ..SandboxContext::new(&workspace)
        };
        let mut request = CommandRequest::trusted(command, &self.policy);
        if let Some(timeout) = way.timeout {
            request.timeout_ms = u64::try_from(timeout.as_millis()).unwrap();
        }
        let run = self.tier_sandbox.sandbox.run(&request, &context);
        let run = run.unwrap_or_else(|error| panic!("{:?}: {command}: {error}", self.tier()));
        assert_eq!(run.tier, Some(self.tier()));
        let said = format!("{}{}", run.stdout.text, run.stderr.text);
        assert!(!said.contains(SECRET), "{:?}: {command}: {said}", run.tier);
        assert_eq!(
            self.surrounding_files(),
            self.expected_surroundings,
            "{:?}: {command}",
            run.tier
        );
        run
    }

    /// Returns the stdout of a command that must succeed.
    pub(crate) fn successful_output(&self, command: &str) -> String {
        let run = self.run(command);
        assert_eq!(run.ending, CommandEnding::Exited(0), "{command}: {run:?}");
        run.stdout.text
    }

    /// Runs attempts, all of which must fail with one of the given messages.
    pub(crate) fn check_attempts_fail(&self, attempts: &[EscapeAttempt]) {
        let mut held = true;
        for EscapeAttempt {
            name,
            script,
            expected_messages: says,
        } in attempts
        {
            let run = self.run(script);
            let said = format!("{}{}", run.stdout.text, run.stderr.text);
            let failed = match &run.ending {
                CommandEnding::Exited(code) => *code != 0,
                CommandEnding::Killed(signal) => says.contains(&signal_name(*signal).as_str()),
                _ => false,
            };
            let visibly = matches!(run.ending, CommandEnding::Killed(_))
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

/// An attempt that must fail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EscapeAttempt {
    /// Short description.
    pub(crate) name: &'static str,
    /// Shell command line that succeeds if the attempt is possible.
    pub(crate) script: &'static str,
    /// Expected messages of a failed attempt, at least one of which is printed.
    pub(crate) expected_messages: &'static [&'static str],
}

/// Creates an attempt.
pub(crate) const fn escape_attempt(
    name: &'static str,
    script: &'static str,
    says: &'static [&'static str],
) -> EscapeAttempt {
    EscapeAttempt {
        name,
        script,
        expected_messages: says,
    }
}

/// Messages of shell programs about inaccessible files.
pub(crate) const FILE_ERRORS: &[&str] = &[
    "Permission denied",
    "No such file",
    "Operation not permitted",
    "Read-only file system",
    "cannot create",
    "cannot open",
];

/// Messages of the attacker about denied calls.
pub(crate) const DENIED_CALL_ERRORS: &[&str] = &["refused EPERM", "refused ENOSYS"];

/// Waits until a condition holds, at most for the given time. Returns whether it does.
pub(crate) fn becomes_true_within(most: Duration, mut so: impl FnMut() -> bool) -> bool {
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

/// Returns the processes of this machine whose command line contains a text.
pub(crate) fn processes_matching(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            *pid != std::process::id() && String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}
