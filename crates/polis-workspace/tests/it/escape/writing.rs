//! Writing anywhere but the workspace and the private `/tmp`, and making files that would have
//! power on the machine.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::{fs, path::Path};

use polis_core::workspace::command::Ending;

use super::stage::{Attempt, CLOSED, NO_CALL, at_every_strength, attempt};

const FILES: &[Attempt] = &[
    attempt("the root", "echo owned > /owned", CLOSED),
    attempt(
        "the root's directories",
        "mkdir /owned",
        &["Read-only", "Permission denied"],
    ),
    attempt("programs", "echo owned > /usr/bin/owned", CLOSED),
    attempt("a program that is there", "echo owned > /bin/sh", CLOSED),
    attempt("a program's end", "echo owned >> /usr/bin/env", CLOSED),
    attempt("libraries", "touch /usr/lib/owned", CLOSED),
    attempt("settings", "echo owned > /etc/ld.so.preload", CLOSED),
    attempt(
        "users",
        "echo 'owned::0:0::/:/bin/sh' >> /etc/passwd",
        CLOSED,
    ),
    attempt(
        "jobs",
        "echo '* * * * * root id' > /etc/cron.d/owned",
        CLOSED,
    ),
    attempt(
        "a removal",
        "rm -f /usr/bin/env && ! test -e /usr/bin/env",
        CLOSED,
    ),
    attempt("a move", "mv /usr/bin/env /usr/bin/owned", CLOSED),
    attempt(
        "the home of root",
        "echo owned > /root/.bashrc",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "another workspace",
        "echo owned > \"$PLACE\"/other/notes.txt",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "another workspace by a link",
        "echo owned > link-directory/new",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "the database by a link",
        "echo owned > link",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "the database by going up",
        "echo owned > ../data/polis.db",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "the database's length",
        "./attacker truncate \"$PLACE\"/data/polis.db",
        &["refused EACCES", "refused ENOENT"],
    ),
    attempt(
        "the database's removal",
        "rm \"$PLACE\"/data/polis.db",
        CLOSED,
    ),
    attempt(
        "the database by a new link",
        "ln -s \"$PLACE\"/data/polis.db fresh && echo owned > fresh",
        &["Permission denied", "nonexistent", "No such"],
    ),
    attempt(
        "a file moved out",
        "./attacker rename victim \"$PLACE\"/other/owned",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    attempt(
        "a hard link out",
        "./attacker link victim \"$PLACE\"/other/owned",
        &[
            "refused EXDEV",
            "refused EACCES",
            "refused ENOENT",
            "refused EPERM",
        ],
    ),
    attempt("around the workspace", "echo owned > ../owned", CLOSED),
    attempt(
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
    attempt("devices", "touch /dev/owned", CLOSED),
    attempt(
        "earlier output",
        "test -n \"$POLIS_OUTPUT\" || { echo cannot create >&2; false; }",
        CLOSED,
    ),
];

const KERNEL: &[Attempt] = &[
    attempt(
        "core dumps",
        "echo '|/bin/false' > /proc/sys/kernel/core_pattern",
        CLOSED,
    ),
    attempt(
        "modules",
        "echo /bin/false > /proc/sys/kernel/modprobe",
        CLOSED,
    ),
    attempt(
        "requests of the kernel",
        "echo h > /proc/sysrq-trigger",
        CLOSED,
    ),
    attempt(
        "who is ended first",
        "echo -17 > /proc/$POLIS/oom_score_adj",
        CLOSED,
    ),
    attempt(
        "its own turn to be ended",
        "echo -1000 > /proc/self/oom_score_adj",
        CLOSED,
    ),
    attempt("polis's memory", "echo x > /proc/$POLIS/mem", CLOSED),
    attempt("the first process's memory", "echo x > /proc/1/mem", CLOSED),
    attempt(
        "settings of the network",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        CLOSED,
    ),
    attempt(
        "namespaces",
        "echo 0 > /proc/sys/user/max_user_namespaces",
        CLOSED,
    ),
    attempt("maps of users", "echo '0 0 1' > /proc/self/uid_map", CLOSED),
    attempt(
        "the machine's name",
        "echo owned > /proc/sys/kernel/hostname",
        CLOSED,
    ),
    attempt(
        "programs' formats",
        "echo ':x:M::x::/bin/sh:C' > /proc/sys/fs/binfmt_misc/register",
        CLOSED,
    ),
    attempt(
        "events of devices",
        "echo x > /sys/kernel/uevent_helper",
        CLOSED,
    ),
    attempt(
        "control groups",
        "mkdir /sys/fs/cgroup/owned /sys/fs/cgroup/memory/owned",
        CLOSED,
    ),
    attempt("messages of the kernel", "echo x > /dev/kmsg", CLOSED),
    attempt("disks", "echo x > /dev/vda", CLOSED),
    attempt(
        "the scheduler of groups",
        "echo 1 > /proc/self/autogroup",
        CLOSED,
    ),
    attempt(
        "the root remounted",
        "mount -o remount,rw /",
        &["mount", "not found"],
    ),
    attempt(
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
fn files_elsewhere_cannot_be_written() {
    at_every_strength(|stage| stage.attempt(FILES));
}

/// What Landlock does not govern: only namespaces or another user keep these.
const FACTS: &[Attempt] = &[
    attempt("a mode", "chmod 777 \"$PLACE\"/data/polis.db", CLOSED),
    attempt(
        "a mode by a link",
        "chmod 777 link",
        &["dangling", "not permitted"],
    ),
    attempt(
        "a time",
        "touch -c -d 2001-01-01 \"$PLACE\"/data && touch -c -d 2001-01-01 \"$PLACE\"/data/polis.db && test -e \"$PLACE\"/data",
        &["Permission denied", "not permitted", ""],
    ),
    attempt(
        "an owner",
        "chown $(id -u) \"$PLACE\"/data/polis.db",
        CLOSED,
    ),
    attempt(
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
fn facts_of_files_elsewhere_cannot_be_changed() {
    at_every_strength(|stage| {
        if !stage.has_spaces() && !rustix::process::geteuid().is_root() {
            eprintln!("not covered: modes and times, as an ordinary user without namespaces");
            return;
        }
        stage.attempt(FACTS);
    });
}

#[test]
fn the_kernel_cannot_be_set() {
    let core_pattern = || fs::read("/proc/sys/kernel/core_pattern").unwrap();
    let hostname = || fs::read("/proc/sys/kernel/hostname").unwrap();
    let before = (core_pattern(), hostname());
    at_every_strength(|stage| stage.attempt(KERNEL));
    assert_eq!((core_pattern(), hostname()), before);
}

/// Each with the modes of a set-user-id and of a set-group-id file.
const POWERFUL: &[(&str, &str)] = &[
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

fn powerful(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap().flatten();
    entries
        .filter(|entry| entry.metadata().unwrap().mode() & 0o6000 != 0)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn no_file_gets_the_power_of_its_owner() {
    at_every_strength(|stage| {
        for (name, made) in POWERFUL {
            for mode in [0o4755, 0o2755, 0o6777] {
                let run = stage.run(&format!("./attacker {name} {mode}"));
                assert_eq!(run.ending, Ending::Exited(1), "{name} {mode:o}: {run:?}");
                assert!(
                    NO_CALL.iter().any(|word| run.stdout.text.contains(word)),
                    "{name} {mode:o}: {run:?}"
                );
                assert_eq!(powerful(&stage.workspace()), Vec::<String>::new(), "{name}");
            }
            // The call itself is there, so it was the mode that was refused.
            if !matches!(*name, "openat2_mode" | "fchmodat2" | "tmpfile_mode") {
                assert_eq!(
                    stage.output(&format!("./attacker {name} 493")),
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
                matches!(run.ending, Ending::Exited(code) if code != 0),
                "{tricks}: {run:?}"
            );
            assert_eq!(
                powerful(&stage.workspace()),
                Vec::<String>::new(),
                "{tricks}"
            );
        }
    });
}

#[test]
fn a_program_with_power_has_none_inside() {
    at_every_strength(|stage| {
        // Planted from outside, as somebody careless might.
        let program = stage.workspace().join("powerful");
        fs::copy("/usr/bin/id", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        let said = stage.output("./powerful -u; ./powerful -ru; id -u");
        let users: Vec<&str> = said.lines().collect();
        assert_eq!(users.len(), 3);
        assert!(
            users.iter().all(|user| *user == users[2] && *user != "0"),
            "{said}"
        );
    });
}

#[test]
fn what_is_written_is_the_owners_of_the_workspace() {
    at_every_strength(|stage| {
        stage.output("mkdir -p a/b && echo x > a/b/c && ln -s c a/b/d && mkfifo a/b/e");
        let owner = fs::metadata(stage.workspace()).unwrap().uid();
        for path in ["a", "a/b", "a/b/c", "a/b/d", "a/b/e"] {
            let made = fs::symlink_metadata(stage.workspace().join(path)).unwrap();
            assert_eq!(made.uid(), owner, "{path}");
            // Nobody else may write them; a link has no mode of its own.
            let others = if made.is_symlink() { 0 } else { 0o002 };
            assert_eq!(made.mode() & (0o6000 | others), 0, "{path}");
        }
        assert_eq!(fs::read(stage.workspace().join("a/b/c")).unwrap(), b"x\n");
    });
}

#[test]
fn devices_cannot_be_made() {
    at_every_strength(|stage| {
        for kind in [0o020_000, 0o060_000] {
            for device in [0x101, 0x103, 0xfe00] {
                let run = stage.run(&format!("./attacker mknod_device {kind} {device}"));
                assert_eq!(run.ending, Ending::Exited(1), "{run:?}");
                assert!(run.stdout.text.starts_with("refused E"), "{run:?}");
                assert!(!stage.workspace().join("made-device").exists());
            }
        }
    });
}

#[test]
fn disks_are_not_filled_by_one_file_or_by_tmp() {
    at_every_strength(|stage| {
        let run = stage.run("head -c 100M /dev/zero > large");
        assert_ne!(run.ending, Ending::Exited(0), "{run:?}");
        let large = fs::metadata(stage.workspace().join("large")).unwrap().len();
        assert_eq!(large, stage.policy.limits.file_size);
        let run = stage.run(
            "for i in 1 2 3 4 5 6 7 8; do head -c 4M /dev/zero > \"$TMPDIR\"/$i || exit 9; done",
        );
        if stage.has_spaces() {
            assert_eq!(run.ending, Ending::Exited(9), "{run:?}");
            assert!(run.stderr.text.contains("No space left"), "{run:?}");
        }
        // Whatever it was, it is gone.
        assert_eq!(
            stage.output("ls -A \"$TMPDIR\"/[0-9] 2>/dev/null | wc -l"),
            "0\n"
        );
    });
}
