//! Runs the escape suite in other environments: as an ordinary user, and in containers that cannot create
//! namespaces.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use parking_lot::Mutex;
use polis_core::workspace::command_policy::SandboxTier;

use super::test_sandbox::{ATTACKER_VAR, TIERS_VAR, attacker_program, available_sandboxes};

/// A user ID that is not in use; the next one is free as well.
const UNPRIVILEGED_UID: u32 = 61_234;

/// Files for another environment: the test binary and the attacker, readable by everyone, and a directory for
/// temporary files.
struct TestEnvironment {
    directory: tempfile::TempDir,
}

impl TestEnvironment {
    fn new(owner: Option<u32>) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("world")
            .tempdir_in("/tmp")
            .unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), open.clone()).unwrap();
        for (from, name) in [
            (env::current_exe().unwrap(), "tests"),
            (attacker_program().to_owned(), "attacker"),
        ] {
            let copy = directory.path().join(name);
            fs::copy(from, &copy).unwrap();
            fs::set_permissions(&copy, open.clone()).unwrap();
        }
        let temporary = directory.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        if let Some(owner) = owner {
            chown(&temporary, Some(owner), Some(owner)).unwrap();
        }
        Self { directory }
    }

    fn file_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the suite with a launcher program that executes its arguments.
    fn run_escape_suite(&self, launch: &[&str], user: Option<u32>, tiers: &str) {
        // One environment at a time: where memory is watched instead of limited, a memory hog gets more the
        // longer the warden waits for the processor.
        static SUITE_LOCK: Mutex<()> = Mutex::new(());
        let _one = SUITE_LOCK.lock();
        let tests = self.file_path("tests");
        let mut line: Vec<&Path> = launch.iter().map(Path::new).collect();
        line.push(&tests);
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(["escape::", "--skip", "escape::other_environments"])
            // These test properties of results, not the confinement.
            .args(["--skip", "escape::result_properties"])
            .current_dir("/")
            .env(ATTACKER_VAR, self.file_path("attacker"))
            .env(TIERS_VAR, tiers)
            .env("TMPDIR", self.file_path("tmp"))
            .env("HOME", self.file_path("tmp"));
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{complained}");
        let passed = said.split_once(" passed").map(|(before, _)| before);
        let passed = passed.and_then(|before| before.rsplit(' ').next());
        let passed: u32 = passed.unwrap().parse().unwrap();
        assert!(passed >= 35, "{said}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn escape_suite_passes_as_ordinary_user() {
    if !is_root() {
        eprintln!("skipped: the whole suite already runs as an ordinary user");
        return;
    }
    let world = TestEnvironment::new(Some(UNPRIVILEGED_UID));
    // Some systems forbid namespaces to ordinary users; then the result is as in a container.
    let spaces = Command::new("unshare")
        .args(["-Ur", "true"])
        .uid(UNPRIVILEGED_UID)
        .gid(UNPRIVILEGED_UID)
        .status();
    let spaces = spaces.is_ok_and(|status| status.success());
    assert!(
        spaces
            || !available_sandboxes()
                .iter()
                .any(|found| found.tier == SandboxTier::Watched)
    );
    world.run_escape_suite(
        &[],
        Some(UNPRIVILEGED_UID),
        if spaces { "T0u,T1" } else { "T1" },
    );
}

#[test]
fn escape_suite_passes_in_container() {
    let world = TestEnvironment::new(None);
    let contained = [
        world.file_path("attacker").display().to_string(),
        "contained".to_owned(),
    ];
    let mut launch: Vec<&str> = contained.iter().map(String::as_str).collect();
    let capabilities = "-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,\
                        +setuid,+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write";
    if is_root() {
        launch.splice(0..0, ["setpriv", "--bounding-set", capabilities]);
    }
    world.run_escape_suite(&launch, None, "T1");
}

#[test]
fn escape_suite_passes_in_container_as_ordinary_user() {
    if !is_root() {
        eprintln!("skipped: `escape_suite_passes_in_container` already ran as an ordinary user");
        return;
    }
    let world = TestEnvironment::new(Some(UNPRIVILEGED_UID + 1));
    let contained = world.file_path("attacker").display().to_string();
    world.run_escape_suite(&[&contained, "contained"], Some(UNPRIVILEGED_UID + 1), "T1");
}

#[test]
fn escape_suite_passes_in_container_with_mapped_users() {
    if !is_root() {
        eprintln!("skipped: only root can create such a container");
        return;
    }
    let world = TestEnvironment::new(Some(100_000));
    let attacker = world.file_path("attacker").display().to_string();
    world.run_escape_suite(&[&attacker, "mapped", &attacker, "contained"], None, "T1");
}
