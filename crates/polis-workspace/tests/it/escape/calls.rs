//! System calls that a build never needs.

use super::stage::{Attempt, NO_CALL, at_every_strength, attempt};

const CALLS: &[Attempt] = &[
    attempt("mount", "./attacker mount", NO_CALL),
    attempt("remount", "./attacker remount", NO_CALL),
    attempt("bind", "./attacker bind", NO_CALL),
    attempt("umount", "./attacker umount", NO_CALL),
    attempt("open_tree", "./attacker open_tree", NO_CALL),
    attempt("open_tree_attr", "./attacker newest 467", NO_CALL),
    attempt("move_mount", "./attacker move_mount", NO_CALL),
    attempt("fsopen", "./attacker fsopen", NO_CALL),
    attempt("fsmount", "./attacker fsmount", NO_CALL),
    attempt("fspick", "./attacker fspick", NO_CALL),
    attempt("mount_setattr", "./attacker mount_setattr", NO_CALL),
    attempt("pivot_root", "./attacker pivot_root", NO_CALL),
    attempt("chroot", "./attacker chroot", NO_CALL),
    attempt(
        "a new user namespace",
        "./attacker unshare 268435456",
        NO_CALL,
    ),
    attempt(
        "a new mount namespace",
        "./attacker unshare 131072",
        NO_CALL,
    ),
    attempt("a new network", "./attacker unshare 1073741824", NO_CALL),
    attempt("no sharing of files", "./attacker unshare 0", NO_CALL),
    attempt(
        "clone into a user namespace",
        "./attacker clone 268435456",
        NO_CALL,
    ),
    attempt("clone into all", "./attacker clone 2114060288", NO_CALL),
    attempt("clone3", "./attacker clone3", NO_CALL),
    attempt("setns", "./attacker setns", NO_CALL),
    attempt("setns by process", "./attacker setns_pidfd", NO_CALL),
    attempt(
        "a tool that makes namespaces",
        "unshare -Ur true",
        &["unshare"],
    ),
    attempt("setuid", "./attacker setuid", NO_CALL_OR_UNKNOWN),
    attempt("setgid", "./attacker setgid", NO_CALL_OR_UNKNOWN),
    attempt("setresuid", "./attacker setresuid", NO_CALL_OR_UNKNOWN),
    attempt("setfsuid", "./attacker setfsuid", NO_CALL),
    attempt("setgroups", "./attacker setgroups", NO_CALL_OR_UNKNOWN),
    attempt("capset", "./attacker capset", NO_CALL),
    attempt("ambient capabilities", "./attacker ambient", NO_CALL),
    attempt("no filter", "./attacker seccomp_off", &["refused EINVAL"]),
    attempt(
        "new privileges",
        "./attacker new_privileges",
        &["refused EINVAL"],
    ),
    attempt("io_uring", "./attacker io_uring", NO_CALL),
    attempt("keyctl", "./attacker keyctl", NO_CALL),
    attempt("add_key", "./attacker add_key", NO_CALL),
    attempt("request_key", "./attacker request_key", NO_CALL),
    attempt("bpf", "./attacker bpf", NO_CALL),
    attempt("userfaultfd", "./attacker userfaultfd", NO_CALL),
    attempt("perf", "./attacker perf", NO_CALL),
    attempt("kexec", "./attacker kexec", NO_CALL),
    attempt("kexec of a file", "./attacker kexec_file", NO_CALL),
    attempt("init_module", "./attacker init_module", NO_CALL),
    attempt("finit_module", "./attacker finit_module", NO_CALL),
    attempt("delete_module", "./attacker delete_module", NO_CALL),
    attempt("swapon", "./attacker swapon", NO_CALL),
    attempt("reboot", "./attacker reboot", NO_CALL),
    attempt("settimeofday", "./attacker settimeofday", NO_CALL),
    attempt("clock_settime", "./attacker clock_settime", NO_CALL),
    attempt("adjtimex", "./attacker adjtimex", NO_CALL),
    attempt("sethostname", "./attacker sethostname", NO_CALL),
    attempt("setdomainname", "./attacker setdomainname", NO_CALL),
    attempt("quotactl", "./attacker quotactl", NO_CALL),
    attempt("syslog", "./attacker syslog", NO_CALL),
    attempt("acct", "./attacker acct", NO_CALL),
    attempt("fanotify", "./attacker fanotify", NO_CALL),
    attempt("personality", "./attacker personality", NO_CALL),
    attempt("open_by_handle_at", "./attacker handle", NO_CALL),
    attempt("TIOCSTI", "./attacker type", NO_CALL),
    attempt(
        "TIOCSTI with an upper half",
        "./attacker type_upper",
        NO_CALL,
    ),
    attempt(
        "a call nobody has looked at",
        "./attacker newest 480",
        &["refused ENOSYS"],
    ),
    attempt(
        "a call far away",
        "./attacker newest 100000",
        &["refused ENOSYS"],
    ),
];

const NO_CALL_OR_UNKNOWN: &[&str] = &["refused EPERM", "refused EINVAL"];

#[cfg(target_arch = "x86_64")]
const PROCESSOR: &[Attempt] = &[
    attempt("iopl", "./attacker iopl", NO_CALL),
    attempt("ioperm", "./attacker ioperm", NO_CALL),
    attempt("modify_ldt", "./attacker modify_ldt", NO_CALL),
    attempt("calls of 32 bits", "exec ./attacker old_call", &["SIGSYS"]),
    attempt("calls of x32", "exec ./attacker x32", &["SIGSYS"]),
];

#[test]
fn what_a_build_never_needs_is_refused() {
    at_every_strength(|stage| stage.attempt(CALLS));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_only_this_processor_has_is_refused() {
    at_every_strength(|stage| stage.attempt(PROCESSOR));
}
