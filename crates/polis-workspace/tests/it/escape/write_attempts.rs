//! Escape attempts by writing: outside of the workspace and the private `/tmp`, to kernel settings, and files
//! that would have privileges on the machine (setuid, setgid, devices).

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::{fs, path::Path};

use polis_core::workspace::command_outcome::CommandEnding;

use super::test_sandbox::{
    DENIED_CALL_ERRORS, EscapeAttempt, FILE_ERRORS, escape_attempt, run_in_every_tier,
};

const FILE_WRITES: &[EscapeAttempt] = &[
    escape_attempt("the root", "echo owned > /owned", FILE_ERRORS),
    escape_attempt(
        "the root's directories",
        "mkdir /owned",
        &["Read-only", "Permission denied"],
    ),
    escape_attempt("programs", "echo owned > /usr/bin/owned", FILE_ERRORS),
    escape_attempt(
        "a program that is there",
        "echo owned > /bin/sh",
        FILE_ERRORS,
    ),
    escape_attempt("a program's end", "echo owned >> /usr/bin/env", FILE_ERRORS),
    escape_attempt("libraries", "touch /usr/lib/owned", FILE_ERRORS),
    escape_attempt("settings", "echo owned > /etc/ld.so.preload", FILE_ERRORS),
    escape_attempt(
        "users",
        "echo 'owned::0:0::/:/bin/sh' >> /etc/passwd",
        FILE_ERRORS,
    ),
    escape_attempt(
        "jobs",
        "echo '* * * * * root id' > /etc/cron.d/owned",
        FILE_ERRORS,
    ),
    escape_attempt(
        "a removal",
        "rm -f /usr/bin/env && ! test -e /usr/bin/env",
        FILE_ERRORS,
    ),
    escape_attempt("a move", "mv /usr/bin/env /usr/bin/owned", FILE_ERRORS),
    escape_attempt(
        "the home of root",
        "echo owned > /root/.bashrc",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "another workspace",
        "echo owned > \"$PLACE\"/other/notes.txt",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "another workspace by a link",
        "echo owned > link-directory/new",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "the database by a link",
        "echo owned > link",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "the database by going up",
        "echo owned > ../data/polis.db",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "the database's length",
        "./attacker truncate \"$PLACE\"/data/polis.db",
        &["refused EACCES", "refused ENOENT"],
    ),
    escape_attempt(
        "the database's removal",
        "rm \"$PLACE\"/data/polis.db",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the database by a new link",
        "ln -s \"$PLACE\"/data/polis.db fresh && echo owned > fresh",
        &["Permission denied", "nonexistent", "No such"],
    ),
    escape_attempt(
        "a file moved out",
        "./attacker rename victim \"$PLACE\"/other/owned",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    escape_attempt(
        "a hard link out",
        "./attacker link victim \"$PLACE\"/other/owned",
        &[
            "refused EXDEV",
            "refused EACCES",
            "refused ENOENT",
            "refused EPERM",
        ],
    ),
    escape_attempt("around the workspace", "echo owned > ../owned", FILE_ERRORS),
    escape_attempt(
        "the workspace itself",
        "rmdir \"$PWD\" || mv \"$PWD\" \"$PWD\".old",
        &[
            "busy",
            "Permission denied",
            "not empty",
            "cross-device",
            "Read-only",
        ],
    ),
    escape_attempt("devices", "touch /dev/owned", FILE_ERRORS),
    escape_attempt(
        "earlier output",
        "test -n \"$POLIS_OUTPUT\" || { echo cannot create >&2; false; }",
        FILE_ERRORS,
    ),
];

const KERNEL_WRITES: &[EscapeAttempt] = &[
    escape_attempt(
        "core dumps",
        "echo '|/bin/false' > /proc/sys/kernel/core_pattern",
        FILE_ERRORS,
    ),
    escape_attempt(
        "modules",
        "echo /bin/false > /proc/sys/kernel/modprobe",
        FILE_ERRORS,
    ),
    escape_attempt(
        "SysRq requests",
        "echo h > /proc/sysrq-trigger",
        FILE_ERRORS,
    ),
    escape_attempt(
        "polis's OOM score",
        "echo -17 > /proc/$POLIS/oom_score_adj",
        FILE_ERRORS,
    ),
    escape_attempt(
        "its own OOM score",
        "echo -1000 > /proc/self/oom_score_adj",
        FILE_ERRORS,
    ),
    escape_attempt("polis's memory", "echo x > /proc/$POLIS/mem", FILE_ERRORS),
    escape_attempt(
        "the first process's memory",
        "echo x > /proc/1/mem",
        FILE_ERRORS,
    ),
    escape_attempt(
        "settings of the network",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        FILE_ERRORS,
    ),
    escape_attempt(
        "namespaces",
        "echo 0 > /proc/sys/user/max_user_namespaces",
        FILE_ERRORS,
    ),
    escape_attempt(
        "maps of users",
        "echo '0 0 1' > /proc/self/uid_map",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the machine's name",
        "echo owned > /proc/sys/kernel/hostname",
        FILE_ERRORS,
    ),
    escape_attempt(
        "programs' formats",
        "echo ':x:M::x::/bin/sh:C' > /proc/sys/fs/binfmt_misc/register",
        FILE_ERRORS,
    ),
    escape_attempt(
        "events of devices",
        "echo x > /sys/kernel/uevent_helper",
        FILE_ERRORS,
    ),
    escape_attempt(
        "control groups",
        "mkdir /sys/fs/cgroup/owned /sys/fs/cgroup/memory/owned",
        FILE_ERRORS,
    ),
    escape_attempt("messages of the kernel", "echo x > /dev/kmsg", FILE_ERRORS),
    escape_attempt("disks", "echo x > /dev/vda", FILE_ERRORS),
    escape_attempt(
        "the scheduler of groups",
        "echo 1 > /proc/self/autogroup",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the root remounted",
        "mount -o remount,rw /",
        &["mount", "not found"],
    ),
    escape_attempt(
        "a program of the superuser",
        "su -c id; sudo -n id",
        &[
            "Authentication",
            "not found",
            "su:",
            "sudo:",
            "Permission denied",
        ],
    ),
];

#[test]
fn foreign_files_cannot_be_written() {
    run_in_every_tier(|stage| stage.check_attempts_fail(FILE_WRITES));
}

/// Changes that Landlock does not cover: only namespaces or another user prevent them.
const METADATA_CHANGES: &[EscapeAttempt] = &[
    escape_attempt("a mode", "chmod 777 \"$PLACE\"/data/polis.db", FILE_ERRORS),
    escape_attempt(
        "a mode by a link",
        "chmod 777 link",
        &["dangling", "not permitted"],
    ),
    escape_attempt(
        "a time",
        "touch -c -d 2001-01-01 \"$PLACE\"/data && touch -c -d 2001-01-01 \"$PLACE\"/data/polis.db && test -e \"$PLACE\"/data",
        &["Permission denied", "not permitted", ""],
    ),
    escape_attempt(
        "an owner",
        "chown $(id -u) \"$PLACE\"/data/polis.db",
        FILE_ERRORS,
    ),
    escape_attempt(
        "an attribute",
        "python3 -c 'import os; os.setxattr(os.environ[\"PLACE\"] + \"/data\", \"user.owned\", b\"x\")'",
        &[
            "Permission",
            "No such file",
            "not permitted",
            "not found",
            "not supported",
        ],
    ),
];

#[test]
fn metadata_of_foreign_files_cannot_be_changed() {
    run_in_every_tier(|stage| {
        if !stage.has_namespaces() && !rustix::process::geteuid().is_root() {
            eprintln!("not covered: modes and times, as an ordinary user without namespaces");
            return;
        }
        stage.check_attempts_fail(METADATA_CHANGES);
    });
}

#[test]
fn kernel_settings_cannot_be_changed() {
    let core_pattern = || fs::read("/proc/sys/kernel/core_pattern").unwrap();
    let hostname = || fs::read("/proc/sys/kernel/hostname").unwrap();
    let before = (core_pattern(), hostname());
    run_in_every_tier(|stage| stage.check_attempts_fail(KERNEL_WRITES));
    assert_eq!((core_pattern(), hostname()), before);
}

/// Each is run with the modes of a set-user-ID and of a set-group-ID file.
const SETID_ATTEMPTS: &[(&str, &str)] = &[
    ("chmod", ""),
    ("fchmod", ""),
    ("fchmodat2", ""),
    ("create_mode", "made-with-mode"),
    ("openat2_mode", "made-with-openat2"),
    ("tmpfile_mode", "made-with-tmpfile"),
    ("mkdir_mode", "made-directory"),
    ("mknod_mode", "made-node"),
    #[cfg(target_arch = "x86_64")]
    ("old_chmod", ""),
    #[cfg(target_arch = "x86_64")]
    ("old_create", "made-with-creat"),
    #[cfg(target_arch = "x86_64")]
    ("old_open", "made-with-open"),
    #[cfg(target_arch = "x86_64")]
    ("old_mkdir", "made-old-directory"),
    #[cfg(target_arch = "x86_64")]
    ("old_mknod", "made-old-node"),
];

fn setid_files(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap().flatten();
    entries
        .filter(|entry| entry.metadata().unwrap().mode() & 0o6000 != 0)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn setuid_and_setgid_bits_cannot_be_set() {
    run_in_every_tier(|stage| {
        for (name, made) in SETID_ATTEMPTS {
            for mode in [0o4755, 0o2755, 0o6777] {
                let run = stage.run(&format!("./attacker {name} {mode}"));
                assert_eq!(
                    run.ending,
                    CommandEnding::Exited(1),
                    "{name} {mode:o}: {run:?}"
                );
                assert!(
                    DENIED_CALL_ERRORS
                        .iter()
                        .any(|word| run.stdout.text.contains(word)),
                    "{name} {mode:o}: {run:?}"
                );
                assert_eq!(
                    setid_files(&stage.workspace()),
                    Vec::<String>::new(),
                    "{name}"
                );
            }
            // The call itself is allowed, so the mode was denied.
            if !matches!(*name, "openat2_mode" | "fchmodat2" | "tmpfile_mode") {
                assert_eq!(
                    stage.successful_output(&format!("./attacker {name} 493")),
                    "done\n",
                    "{name}"
                );
            }
            if !made.is_empty() {
                stage.run(&format!("rm -rf {made}"));
            }
        }
        for tricks in [
            "chmod u+s attacker; test -u attacker",
            "chmod g+s .; test -g .",
            "install -m 4755 attacker copy; test -u copy",
            "cp -p /usr/bin/su copy2; cp -a /usr/bin/passwd copy3; test -u copy2 || test -u copy3",
            "umask 0; mkdir -m 2777 there; test -g there",
            "python3 -c 'import os; os.chmod(\"victim\", 0o4755)'; test -u victim",
            "tar cf x.tar --mode=4755 victim; mkdir out; tar xpf x.tar -C out; test -u out/victim",
            "setcap cap_setuid+ep attacker",
            "chown 0:0 victim && test $(stat -c %u victim) = 0",
        ] {
            let run = stage.run(tricks);
            assert!(
                matches!(run.ending, CommandEnding::Exited(code) if code != 0),
                "{tricks}: {run:?}"
            );
            assert_eq!(
                setid_files(&stage.workspace()),
                Vec::<String>::new(),
                "{tricks}"
            );
        }
    });
}

#[test]
fn setuid_program_gains_nothing_inside() {
    run_in_every_tier(|stage| {
        // Created from outside, as by a careless user.
        let program = stage.workspace().join("powerful");
        fs::copy("/usr/bin/id", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        let said = stage.successful_output("./powerful -u; ./powerful -ru; id -u");
        let users: Vec<&str> = said.lines().collect();
        assert_eq!(users.len(), 3);
        assert!(
            users.iter().all(|user| *user == users[2] && *user != "0"),
            "{said}"
        );
    });
}

#[test]
fn new_files_belong_to_the_workspace_owner() {
    run_in_every_tier(|stage| {
        stage.successful_output("mkdir -p a/b && echo x > a/b/c && ln -s c a/b/d && mkfifo a/b/e");
        let owner = fs::metadata(stage.workspace()).unwrap().uid();
        for path in ["a", "a/b", "a/b/c", "a/b/d", "a/b/e"] {
            let made = fs::symlink_metadata(stage.workspace().join(path)).unwrap();
            assert_eq!(made.uid(), owner, "{path}");
            // No other user may write them; a link has no mode.
            let others = if made.is_symlink() { 0 } else { 0o002 };
            assert_eq!(made.mode() & (0o6000 | others), 0, "{path}");
        }
        assert_eq!(fs::read(stage.workspace().join("a/b/c")).unwrap(), b"x\n");
    });
}

#[test]
fn device_nodes_cannot_be_created() {
    run_in_every_tier(|stage| {
        for kind in [0o020_000, 0o060_000] {
            for device in [0x101, 0x103, 0xfe00] {
                let run = stage.run(&format!("./attacker mknod_device {kind} {device}"));
                assert_eq!(run.ending, CommandEnding::Exited(1), "{run:?}");
                assert!(run.stdout.text.starts_with("refused E"), "{run:?}");
                assert!(!stage.workspace().join("made-device").exists());
            }
        }
    });
}

#[test]
fn file_size_and_tmp_size_are_limited() {
    run_in_every_tier(|stage| {
        let run = stage.run("head -c 100M /dev/zero > large");
        assert_ne!(run.ending, CommandEnding::Exited(0), "{run:?}");
        let large = fs::metadata(stage.workspace().join("large")).unwrap().len();
        assert_eq!(large, stage.policy.limits.file_size);
        let run = stage.run(
            "for i in 1 2 3 4 5 6 7 8; do head -c 4M /dev/zero > \"$TMPDIR\"/$i || exit 9; done",
        );
        if stage.has_namespaces() {
            assert_eq!(run.ending, CommandEnding::Exited(9), "{run:?}");
            assert!(run.stderr.text.contains("No space left"), "{run:?}");
        }
        // The leftovers are gone in any case.
        assert_eq!(
            stage.successful_output("ls -A \"$TMPDIR\"/[0-9] 2>/dev/null | wc -l"),
            "0\n"
        );
    });
}
