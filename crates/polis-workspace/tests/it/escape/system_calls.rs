//! Escape attempts with system calls that a build never needs: mounts, namespaces, privileges, BPF, keys,
//! modules. The seccomp filter denies them.

use super::test_sandbox::{DENIED_CALL_ERRORS, EscapeAttempt, escape_attempt, run_in_every_tier};

const SYSCALL_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt("mount", "./attacker mount", DENIED_CALL_ERRORS),
    escape_attempt("remount", "./attacker remount", DENIED_CALL_ERRORS),
    escape_attempt("bind", "./attacker bind", DENIED_CALL_ERRORS),
    escape_attempt("umount", "./attacker umount", DENIED_CALL_ERRORS),
    escape_attempt("open_tree", "./attacker open_tree", DENIED_CALL_ERRORS),
    escape_attempt(
        "open_tree_attr",
        "./attacker newest 467",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("move_mount", "./attacker move_mount", DENIED_CALL_ERRORS),
    escape_attempt("fsopen", "./attacker fsopen", DENIED_CALL_ERRORS),
    escape_attempt("fsmount", "./attacker fsmount", DENIED_CALL_ERRORS),
    escape_attempt("fspick", "./attacker fspick", DENIED_CALL_ERRORS),
    escape_attempt(
        "mount_setattr",
        "./attacker mount_setattr",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("pivot_root", "./attacker pivot_root", DENIED_CALL_ERRORS),
    escape_attempt("chroot", "./attacker chroot", DENIED_CALL_ERRORS),
    escape_attempt(
        "a new user namespace",
        "./attacker unshare 268435456",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "a new mount namespace",
        "./attacker unshare 131072",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "a new network",
        "./attacker unshare 1073741824",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "no sharing of files",
        "./attacker unshare 0",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "clone into a user namespace",
        "./attacker clone 268435456",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "clone into all",
        "./attacker clone 2114060288",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("clone3", "./attacker clone3", DENIED_CALL_ERRORS),
    escape_attempt("setns", "./attacker setns", DENIED_CALL_ERRORS),
    escape_attempt(
        "setns by process",
        "./attacker setns_pidfd",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "a tool that makes namespaces",
        "unshare -Ur true",
        &["unshare"],
    ),
    escape_attempt("setuid", "./attacker setuid", DENIED_OR_INVALID_ERRORS),
    escape_attempt("setgid", "./attacker setgid", DENIED_OR_INVALID_ERRORS),
    escape_attempt(
        "setresuid",
        "./attacker setresuid",
        DENIED_OR_INVALID_ERRORS,
    ),
    escape_attempt("setfsuid", "./attacker setfsuid", DENIED_CALL_ERRORS),
    escape_attempt(
        "setgroups",
        "./attacker setgroups",
        DENIED_OR_INVALID_ERRORS,
    ),
    escape_attempt("capset", "./attacker capset", DENIED_CALL_ERRORS),
    escape_attempt(
        "ambient capabilities",
        "./attacker ambient",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("seccomp off", "./attacker seccomp_off", &["refused EINVAL"]),
    escape_attempt(
        "new privileges",
        "./attacker new_privileges",
        &["refused EINVAL"],
    ),
    escape_attempt("io_uring", "./attacker io_uring", DENIED_CALL_ERRORS),
    escape_attempt("keyctl", "./attacker keyctl", DENIED_CALL_ERRORS),
    escape_attempt("add_key", "./attacker add_key", DENIED_CALL_ERRORS),
    escape_attempt("request_key", "./attacker request_key", DENIED_CALL_ERRORS),
    escape_attempt("bpf", "./attacker bpf", DENIED_CALL_ERRORS),
    escape_attempt("userfaultfd", "./attacker userfaultfd", DENIED_CALL_ERRORS),
    escape_attempt("perf", "./attacker perf", DENIED_CALL_ERRORS),
    escape_attempt("kexec", "./attacker kexec", DENIED_CALL_ERRORS),
    escape_attempt(
        "kexec of a file",
        "./attacker kexec_file",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("init_module", "./attacker init_module", DENIED_CALL_ERRORS),
    escape_attempt(
        "finit_module",
        "./attacker finit_module",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "delete_module",
        "./attacker delete_module",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("swapon", "./attacker swapon", DENIED_CALL_ERRORS),
    escape_attempt("reboot", "./attacker reboot", DENIED_CALL_ERRORS),
    escape_attempt(
        "settimeofday",
        "./attacker settimeofday",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "clock_settime",
        "./attacker clock_settime",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("adjtimex", "./attacker adjtimex", DENIED_CALL_ERRORS),
    escape_attempt("sethostname", "./attacker sethostname", DENIED_CALL_ERRORS),
    escape_attempt(
        "setdomainname",
        "./attacker setdomainname",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt("quotactl", "./attacker quotactl", DENIED_CALL_ERRORS),
    escape_attempt("syslog", "./attacker syslog", DENIED_CALL_ERRORS),
    escape_attempt("acct", "./attacker acct", DENIED_CALL_ERRORS),
    escape_attempt("fanotify", "./attacker fanotify", DENIED_CALL_ERRORS),
    escape_attempt("personality", "./attacker personality", DENIED_CALL_ERRORS),
    escape_attempt("open_by_handle_at", "./attacker handle", DENIED_CALL_ERRORS),
    escape_attempt("TIOCSTI", "./attacker type", DENIED_CALL_ERRORS),
    escape_attempt(
        "TIOCSTI with an upper half",
        "./attacker type_upper",
        DENIED_CALL_ERRORS,
    ),
    escape_attempt(
        "an unknown call number",
        "./attacker newest 480",
        &["refused ENOSYS"],
    ),
    escape_attempt(
        "a call number far out of range",
        "./attacker newest 100000",
        &["refused ENOSYS"],
    ),
];

const DENIED_OR_INVALID_ERRORS: &[&str] = &["refused EPERM", "refused EINVAL"];

#[cfg(target_arch = "x86_64")]
const X86_64_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt("iopl", "./attacker iopl", DENIED_CALL_ERRORS),
    escape_attempt("ioperm", "./attacker ioperm", DENIED_CALL_ERRORS),
    escape_attempt("modify_ldt", "./attacker modify_ldt", DENIED_CALL_ERRORS),
    escape_attempt("32-bit calls", "exec ./attacker old_call", &["SIGSYS"]),
    escape_attempt("x32 calls", "exec ./attacker x32", &["SIGSYS"]),
];

#[test]
fn privileged_system_calls_are_denied() {
    run_in_every_tier(|stage| stage.check_attempts_fail(SYSCALL_ATTEMPTS));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn x86_64_specific_calls_are_denied() {
    run_in_every_tier(|stage| stage.check_attempts_fail(X86_64_ATTEMPTS));
}
