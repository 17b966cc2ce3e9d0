//! The same attempts in other worlds: as an ordinary user, and in containers, where no namespaces
//! can be made.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use polis_core::workspace::policy::Tier;

use super::stage::{ATTACKER, TIERS, attacker, strengths};

/// A user that nobody else is, and nor is the next one.
const USER: u32 = 61_234;

/// What another world needs: these tests and the attacker, where everybody can read them, and a
/// place for temporary files.
struct World {
    place: tempfile::TempDir,
}

impl World {
    fn of(owner: Option<u32>) -> Self {
        let place = tempfile::Builder::new()
            .prefix("world")
            .tempdir_in("/tmp")
            .unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.path(), open.clone()).unwrap();
        for (from, name) in [
            (env::current_exe().unwrap(), "tests"),
            (attacker().to_owned(), "attacker"),
        ] {
            let copy = place.path().join(name);
            fs::copy(from, &copy).unwrap();
            fs::set_permissions(&copy, open.clone()).unwrap();
        }
        let temporary = place.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        if let Some(owner) = owner {
            chown(&temporary, Some(owner), Some(owner)).unwrap();
        }
        Self { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs the suite by a program that ends with running its arguments.
    fn suite(&self, launch: &[&str], user: Option<u32>, tiers: &str) {
        // One world after the other: where memory is watched and not limited, what a hog gets is a
        // matter of how soon the warden has its turn.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let tests = self.path("tests");
        let mut line: Vec<&Path> = launch.iter().map(Path::new).collect();
        line.push(&tests);
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(["escape::", "--skip", "escape::elsewhere"])
            // Properties of results, not of walls.
            .args(["--skip", "escape::property"])
            .current_dir("/")
            .env(ATTACKER, self.path("attacker"))
            .env(TIERS, tiers)
            .env("TMPDIR", self.path("tmp"))
            .env("HOME", self.path("tmp"));
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
fn as_an_ordinary_user() {
    if !is_root() {
        eprintln!("skipped: the whole suite is run as an ordinary user already");
        return;
    }
    let world = World::of(Some(USER));
    // Some systems keep ordinary users from making namespaces; then it is as in a container.
    let spaces = Command::new("unshare")
        .args(["-Ur", "true"])
        .uid(USER)
        .gid(USER)
        .status();
    let spaces = spaces.is_ok_and(|status| status.success());
    assert!(spaces || !strengths().iter().any(|found| found.tier == Tier::Watched));
    world.suite(&[], Some(USER), if spaces { "T0u,T1" } else { "T1" });
}

#[test]
fn in_a_container() {
    let world = World::of(None);
    let contained = [
        world.path("attacker").display().to_string(),
        "contained".to_owned(),
    ];
    let mut launch: Vec<&str> = contained.iter().map(String::as_str).collect();
    let capabilities = "-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,\
                        +setuid,+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write";
    if is_root() {
        launch.splice(0..0, ["setpriv", "--bounding-set", capabilities]);
    }
    world.suite(&launch, None, "T1");
}

#[test]
fn in_a_container_as_an_ordinary_user() {
    if !is_root() {
        eprintln!("skipped: `in_a_container` was run as an ordinary user already");
        return;
    }
    let world = World::of(Some(USER + 1));
    let contained = world.path("attacker").display().to_string();
    world.suite(&[&contained, "contained"], Some(USER + 1), "T1");
}

#[test]
fn in_a_container_with_users_of_its_own() {
    if !is_root() {
        eprintln!("skipped: only root can make such a container");
        return;
    }
    let world = World::of(Some(100_000));
    let attacker = world.path("attacker").display().to_string();
    world.suite(&[&attacker, "mapped", &attacker, "contained"], None, "T1");
}
