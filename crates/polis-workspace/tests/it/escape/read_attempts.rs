//! Escape attempts by reading: secrets of the machine, of polis, of other workspaces, of other processes and
//! of the kernel.

use super::test_sandbox::{EscapeAttempt, FILE_ERRORS, escape_attempt, run_in_every_tier};

const FILE_READS: &[EscapeAttempt] = &[
    escape_attempt("passwords", "cat /etc/shadow", FILE_ERRORS),
    escape_attempt(
        "group passwords",
        "cat /etc/gshadow /etc/sudoers",
        FILE_ERRORS,
    ),
    escape_attempt("passwords by a link", "cat link-shadow", FILE_ERRORS),
    escape_attempt(
        "passwords by the root",
        "cat link-root/etc/shadow",
        FILE_ERRORS,
    ),
    escape_attempt(
        "passwords by the attacker",
        "./attacker read /etc/shadow",
        &["refused EACCES"],
    ),
    escape_attempt("host keys", "cat /etc/ssh/ssh_host_*", FILE_ERRORS),
    escape_attempt("root's home", "ls /root/", FILE_ERRORS),
    escape_attempt("root's keys", "cat /root/.ssh/*", FILE_ERRORS),
    escape_attempt("root's history", "cat /root/.bash_history", FILE_ERRORS),
    escape_attempt("homes", "ls /home/*/.ssh", FILE_ERRORS),
    escape_attempt(
        "a home's key",
        "cat \"$PLACE\"/home/.ssh/id_ed25519",
        FILE_ERRORS,
    ),
    escape_attempt("a home's listing", "ls \"$PLACE\"/home/.ssh/", FILE_ERRORS),
    escape_attempt("the database", "cat \"$PLACE\"/data/polis.db", FILE_ERRORS),
    escape_attempt("the database by a link", "cat link", FILE_ERRORS),
    escape_attempt(
        "the database by a relative link",
        "cat link-up",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the database by going up",
        "cat ../data/polis.db",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the database by a new link",
        "ln -s \"$PLACE\"/data/polis.db new && cat new",
        FILE_ERRORS,
    ),
    escape_attempt(
        "another workspace",
        "cat \"$PLACE\"/other/notes.txt",
        FILE_ERRORS,
    ),
    escape_attempt(
        "another workspace by a link",
        "cat link-directory/notes.txt",
        FILE_ERRORS,
    ),
    escape_attempt(
        "another workspace's listing",
        "ls link-directory/",
        FILE_ERRORS,
    ),
    escape_attempt(
        "another workspace's programs",
        "\"$PLACE\"/other/program",
        &["Permission denied", "not found"],
    ),
    escape_attempt(
        "a loader of another's programs",
        "sh \"$PLACE\"/other/program",
        FILE_ERRORS,
    ),
    escape_attempt("around the workspace", "ls \"$PLACE\"", FILE_ERRORS),
    escape_attempt(
        "a hard link",
        "./attacker link \"$PLACE\"/data/polis.db hard",
        &[
            "refused EXDEV",
            "refused EPERM",
            "refused EACCES",
            "refused ENOENT",
        ],
    ),
    escape_attempt(
        "a file moved in",
        "./attacker rename \"$PLACE\"/data/polis.db moved",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    escape_attempt(
        "files exchanged",
        "./attacker exchange \"$PLACE\"/data/polis.db victim",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    escape_attempt("services' state", "ls /run/ /var/", FILE_ERRORS),
    escape_attempt("logs", "cat /var/log/*", FILE_ERRORS),
    escape_attempt(
        "scheduled jobs",
        "cat /etc/crontab /var/spool/cron/*",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the machine's temporary files",
        "find /tmp/ -maxdepth 1 -name '.tmp*' | grep .",
        &[""],
    ),
    escape_attempt("shared memory", "ls /dev/shm/* ", FILE_ERRORS),
];

const DEVICE_READS: &[EscapeAttempt] = &[
    escape_attempt("memory", "head -c1 /dev/mem", FILE_ERRORS),
    escape_attempt("kernel memory", "head -c1 /dev/kmem /dev/port", FILE_ERRORS),
    escape_attempt(
        "disks",
        "head -c1 /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0 /dev/dm-0",
        FILE_ERRORS,
    ),
    escape_attempt("the kernel's log", "head -c1 /dev/kmsg", FILE_ERRORS),
    escape_attempt(
        "terminals",
        "head -c1 /dev/tty /dev/console /dev/tty0 /dev/pts/0",
        FILE_ERRORS,
    ),
    escape_attempt(
        "new terminals",
        "head -c1 /dev/ptmx /dev/pts/ptmx",
        FILE_ERRORS,
    ),
    escape_attempt(
        "virtual machines",
        "head -c1 /dev/kvm /dev/vhost-vsock /dev/vsock",
        FILE_ERRORS,
    ),
    escape_attempt("file systems of users", "head -c1 /dev/fuse", FILE_ERRORS),
    escape_attempt("network devices", "head -c1 /dev/net/tun", FILE_ERRORS),
    escape_attempt("devices", "ls /sys/", FILE_ERRORS),
    escape_attempt(
        "device facts",
        "cat /sys/kernel/notes /sys/class/dmi/id/product_uuid",
        FILE_ERRORS,
    ),
    escape_attempt("control groups", "ls /sys/fs/cgroup/", FILE_ERRORS),
    escape_attempt(
        "tracing",
        "ls /sys/kernel/debug/ /sys/kernel/tracing/",
        FILE_ERRORS,
    ),
    escape_attempt(
        "kernel memory in files",
        "head -c1 /proc/kcore",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the page map",
        "head -c1 /proc/kpagecount /proc/kpageflags",
        FILE_ERRORS,
    ),
    escape_attempt(
        "kernel addresses",
        "grep -v '^0000000000000000 ' /proc/kallsyms | grep .",
        &["", "Permission denied"],
    ),
    escape_attempt(
        "the kernel's log in files",
        "head -c1 /proc/kmsg",
        FILE_ERRORS,
    ),
    escape_attempt("keys", "grep . /proc/keys", &["", "Permission denied"]),
];

const PROCESS_READS: &[EscapeAttempt] = &[
    escape_attempt(
        "the first process's environment",
        "grep -a . /proc/1/environ",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the first process's command line",
        "grep -a . /proc/1/cmdline",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the first process's memory",
        "head -c1 /proc/1/mem",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the first process's maps",
        "grep . /proc/1/maps",
        FILE_ERRORS,
    ),
    escape_attempt("the first process's root", "ls /proc/1/root/", FILE_ERRORS),
    escape_attempt(
        "the first process's directory",
        "ls /proc/1/cwd/",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the first process's descriptors",
        "ls /proc/1/fd/",
        FILE_ERRORS,
    ),
    escape_attempt(
        "the first process's program",
        "head -c1 /proc/1/exe",
        FILE_ERRORS,
    ),
    escape_attempt(
        "polis's environment",
        "grep -a . /proc/$POLIS/environ",
        FILE_ERRORS,
    ),
    escape_attempt(
        "polis's command line",
        "grep -a . /proc/$POLIS/cmdline",
        FILE_ERRORS,
    ),
    escape_attempt("polis's memory", "head -c1 /proc/$POLIS/mem", FILE_ERRORS),
    escape_attempt(
        "polis's root",
        "cat /proc/$POLIS/root/etc/shadow",
        FILE_ERRORS,
    ),
    escape_attempt("polis's directory", "ls /proc/$POLIS/cwd/", FILE_ERRORS),
    escape_attempt("polis's descriptors", "ls /proc/$POLIS/fd/", FILE_ERRORS),
    escape_attempt("polis's threads", "ls /proc/$POLIS/task/", FILE_ERRORS),
    escape_attempt(
        "the parent",
        "cat /proc/$PPID/environ && test $PPID -gt 0",
        FILE_ERRORS,
    ),
];

#[test]
fn foreign_files_cannot_be_read() {
    run_in_every_tier(|stage| stage.check_attempts_fail(FILE_READS));
}

#[test]
fn devices_and_the_kernel_cannot_be_read() {
    run_in_every_tier(|stage| stage.check_attempts_fail(DEVICE_READS));
}

#[test]
fn other_processes_cannot_be_read() {
    run_in_every_tier(|stage| stage.check_attempts_fail(PROCESS_READS));
}

#[test]
fn search_of_the_whole_file_system_finds_no_secret() {
    run_in_every_tier(|stage| {
        // Without /usr, which is readable for all; `run` searches the output for the secret.
        let found = stage.run(
            "find / -xdev -maxdepth 6 -path /usr -prune -o -type f -size -2 -print0 2>/dev/null \
             | xargs -0 -r cat 2>/dev/null | strings 2>/dev/null | head -c 900000; \
             grep -rsaI what-no-command /tmp \"$HOME\" . /etc 2>/dev/null; true",
        );
        assert_eq!(found.stdout.omitted, 0);
    });
}

#[test]
fn only_own_processes_are_visible() {
    run_in_every_tier(|stage| {
        let seen = stage.run("for p in /proc/[0-9]*; do echo $p; done; ls /proc/ 2>&1");
        let numbers = seen.stdout.text.lines().filter(|line| {
            let name = line.trim_start_matches("/proc/");
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
        });
        // The shell and the processes of the pipeline: none of them is the first process or polis.
        let numbers: Vec<&str> = numbers.collect();
        assert!(numbers.len() <= 4, "{numbers:?}");
        assert!(!numbers.contains(&"/proc/1"), "{numbers:?}");
    });
}
