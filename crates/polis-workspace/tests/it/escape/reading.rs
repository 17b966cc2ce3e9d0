//! Reading what is not the command's: secrets of the machine, of polis, of other workspaces, of
//! other processes and of the kernel.

use super::stage::{Attempt, CLOSED, at_every_strength, attempt};

const FILES: &[Attempt] = &[
    attempt("passwords", "cat /etc/shadow", CLOSED),
    attempt("group passwords", "cat /etc/gshadow /etc/sudoers", CLOSED),
    attempt("passwords by a link", "cat link-shadow", CLOSED),
    attempt("passwords by the root", "cat link-root/etc/shadow", CLOSED),
    attempt(
        "passwords by the attacker",
        "./attacker read /etc/shadow",
        &["refused EACCES"],
    ),
    attempt("host keys", "cat /etc/ssh/ssh_host_*", CLOSED),
    attempt("root's home", "ls /root/", CLOSED),
    attempt("root's keys", "cat /root/.ssh/*", CLOSED),
    attempt("root's history", "cat /root/.bash_history", CLOSED),
    attempt("homes", "ls /home/*/.ssh", CLOSED),
    attempt(
        "a home's key",
        "cat \"$PLACE\"/home/.ssh/id_ed25519",
        CLOSED,
    ),
    attempt("a home's listing", "ls \"$PLACE\"/home/.ssh/", CLOSED),
    attempt("the database", "cat \"$PLACE\"/data/polis.db", CLOSED),
    attempt("the database by a link", "cat link", CLOSED),
    attempt("the database by a relative link", "cat link-up", CLOSED),
    attempt("the database by going up", "cat ../data/polis.db", CLOSED),
    attempt(
        "the database by a new link",
        "ln -s \"$PLACE\"/data/polis.db new && cat new",
        CLOSED,
    ),
    attempt(
        "another workspace",
        "cat \"$PLACE\"/other/notes.txt",
        CLOSED,
    ),
    attempt(
        "another workspace by a link",
        "cat link-directory/notes.txt",
        CLOSED,
    ),
    attempt("another workspace's listing", "ls link-directory/", CLOSED),
    attempt(
        "another workspace's programs",
        "\"$PLACE\"/other/program",
        &["Permission denied", "not found"],
    ),
    attempt(
        "a loader of another's programs",
        "sh \"$PLACE\"/other/program",
        CLOSED,
    ),
    attempt("around the workspace", "ls \"$PLACE\"", CLOSED),
    attempt(
        "a hard link",
        "./attacker link \"$PLACE\"/data/polis.db hard",
        &[
            "refused EXDEV",
            "refused EPERM",
            "refused EACCES",
            "refused ENOENT",
        ],
    ),
    attempt(
        "a file moved in",
        "./attacker rename \"$PLACE\"/data/polis.db moved",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    attempt(
        "files exchanged",
        "./attacker exchange \"$PLACE\"/data/polis.db victim",
        &["refused EXDEV", "refused EACCES", "refused ENOENT"],
    ),
    attempt("services' state", "ls /run/ /var/", CLOSED),
    attempt("logs", "cat /var/log/*", CLOSED),
    attempt(
        "scheduled jobs",
        "cat /etc/crontab /var/spool/cron/*",
        CLOSED,
    ),
    attempt(
        "the machine's temporary files",
        "find /tmp/ -maxdepth 1 -name '.tmp*' | grep .",
        &[""],
    ),
    attempt("shared memory", "ls /dev/shm/* ", CLOSED),
];

const DEVICES: &[Attempt] = &[
    attempt("memory", "head -c1 /dev/mem", CLOSED),
    attempt("kernel memory", "head -c1 /dev/kmem /dev/port", CLOSED),
    attempt(
        "disks",
        "head -c1 /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0 /dev/dm-0",
        CLOSED,
    ),
    attempt("the kernel's log", "head -c1 /dev/kmsg", CLOSED),
    attempt(
        "terminals",
        "head -c1 /dev/tty /dev/console /dev/tty0 /dev/pts/0",
        CLOSED,
    ),
    attempt("new terminals", "head -c1 /dev/ptmx /dev/pts/ptmx", CLOSED),
    attempt(
        "virtual machines",
        "head -c1 /dev/kvm /dev/vhost-vsock /dev/vsock",
        CLOSED,
    ),
    attempt("file systems of users", "head -c1 /dev/fuse", CLOSED),
    attempt("network devices", "head -c1 /dev/net/tun", CLOSED),
    attempt("devices", "ls /sys/", CLOSED),
    attempt(
        "device facts",
        "cat /sys/kernel/notes /sys/class/dmi/id/product_uuid",
        CLOSED,
    ),
    attempt("control groups", "ls /sys/fs/cgroup/", CLOSED),
    attempt(
        "tracing",
        "ls /sys/kernel/debug/ /sys/kernel/tracing/",
        CLOSED,
    ),
    attempt("kernel memory in files", "head -c1 /proc/kcore", CLOSED),
    attempt(
        "the page map",
        "head -c1 /proc/kpagecount /proc/kpageflags",
        CLOSED,
    ),
    attempt(
        "kernel addresses",
        "grep -v '^0000000000000000 ' /proc/kallsyms | grep .",
        &["", "Permission denied"],
    ),
    attempt("the kernel's log in files", "head -c1 /proc/kmsg", CLOSED),
    attempt("keys", "grep . /proc/keys", &["", "Permission denied"]),
];

const PROCESSES: &[Attempt] = &[
    attempt(
        "the first process's environment",
        "grep -a . /proc/1/environ",
        CLOSED,
    ),
    attempt(
        "the first process's command line",
        "grep -a . /proc/1/cmdline",
        CLOSED,
    ),
    attempt("the first process's memory", "head -c1 /proc/1/mem", CLOSED),
    attempt("the first process's maps", "grep . /proc/1/maps", CLOSED),
    attempt("the first process's root", "ls /proc/1/root/", CLOSED),
    attempt("the first process's directory", "ls /proc/1/cwd/", CLOSED),
    attempt("the first process's descriptors", "ls /proc/1/fd/", CLOSED),
    attempt(
        "the first process's program",
        "head -c1 /proc/1/exe",
        CLOSED,
    ),
    attempt(
        "polis's environment",
        "grep -a . /proc/$POLIS/environ",
        CLOSED,
    ),
    attempt(
        "polis's command line",
        "grep -a . /proc/$POLIS/cmdline",
        CLOSED,
    ),
    attempt("polis's memory", "head -c1 /proc/$POLIS/mem", CLOSED),
    attempt("polis's root", "cat /proc/$POLIS/root/etc/shadow", CLOSED),
    attempt("polis's directory", "ls /proc/$POLIS/cwd/", CLOSED),
    attempt("polis's descriptors", "ls /proc/$POLIS/fd/", CLOSED),
    attempt("polis's threads", "ls /proc/$POLIS/task/", CLOSED),
    attempt(
        "the parent",
        "cat /proc/$PPID/environ && test $PPID -gt 0",
        CLOSED,
    ),
];

#[test]
fn files_of_others_cannot_be_read() {
    at_every_strength(|stage| stage.attempt(FILES));
}

#[test]
fn devices_and_the_kernel_cannot_be_read() {
    at_every_strength(|stage| stage.attempt(DEVICES));
}

#[test]
fn other_processes_cannot_be_read() {
    at_every_strength(|stage| stage.attempt(PROCESSES));
}

#[test]
fn a_search_of_everything_finds_no_secret() {
    at_every_strength(|stage| {
        // Not what is in /usr, which anybody may read; `run` looks for the secret in the answer.
        let found = stage.run(
            "find / -xdev -maxdepth 6 -path /usr -prune -o -type f -size -2 -print0 2>/dev/null \
             | xargs -0 -r cat 2>/dev/null | strings 2>/dev/null | head -c 900000; \
             grep -rsaI what-no-command /tmp \"$HOME\" . /etc 2>/dev/null; true",
        );
        assert_eq!(found.stdout.omitted, 0);
    });
}

#[test]
fn only_its_own_processes_are_seen() {
    at_every_strength(|stage| {
        let seen = stage.run("for p in /proc/[0-9]*; do echo $p; done; ls /proc/ 2>&1");
        let numbers = seen.stdout.text.lines().filter(|line| {
            let name = line.trim_start_matches("/proc/");
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
        });
        // The shell, and those of the pipeline: none of them the first, none of them polis.
        let numbers: Vec<&str> = numbers.collect();
        assert!(numbers.len() <= 4, "{numbers:?}");
        assert!(!numbers.contains(&"/proc/1"), "{numbers:?}");
    });
}
