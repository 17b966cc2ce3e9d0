//! Seccomp filter: restricts the system calls of a command. [`SeccompFilter::compile`] compiles it to BPF.
//!
//! Denied are calls that a build never needs and an attacker does: mounts, namespaces, tracing, keys, BPF
//! programs, io_uring, kernel modules, clocks. Calls newer than [`MAX_KNOWN_CALL`] fail with `ENOSYS`, and
//! calls of another architecture (32-bit, x32) kill the process. Only the argument values themselves are
//! checked: a filter cannot follow pointers, so calls that pass their flags behind one (`clone3`, `openat2`) fail with
//! `ENOSYS`, as on an older kernel.

use std::collections::BTreeMap;
use std::mem::offset_of;

use libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, seccomp_data, sock_filter,
};

/// Which socket families the filter allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SocketPolicy {
    /// Only socket pairs: nothing else isolates the command from this machine's network.
    None,
    /// Internet sockets but no Unix sockets: the command is in the host's network namespace.
    Internet,
    /// Internet and Unix sockets: a namespace or Landlock decides what they can reach.
    Any,
}

/// Options that a filter is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SeccompOptions {
    /// Allowed socket families.
    pub(crate) sockets: SocketPolicy,
    /// Whether memory that belongs to no process is denied, because nothing would count it.
    pub(crate) deny_unaccounted_memory: bool,
    /// Whether the command shares the host's processes, IPC queues and mounts.
    pub(crate) shares_host_namespaces: bool,
    /// Whether the kernel charges the command's resources to the user polis runs as.
    pub(crate) shares_user: bool,
}

/// BPF program that the kernel runs for every system call.
///
/// Compiled here and not by a library: `seccompiler` generates one program per action and searches it
/// linearly. When a filter is installed, the kernel runs it once for every system call number, with every
/// command; that was a tenth of the total cost of a sandbox.
#[derive(Debug)]
pub(crate) struct SeccompFilter(Vec<sock_filter>);

/// Byte offsets of the call number, the architecture and the arguments in the kernel's `struct seccomp_data`.
const SECCOMP_DATA_NR: u32 = field_offset(offset_of!(seccomp_data, nr));
const SECCOMP_DATA_ARCH: u32 = field_offset(offset_of!(seccomp_data, arch));
const SECCOMP_DATA_ARGS: u32 = field_offset(offset_of!(seccomp_data, args));

/// Classic BPF instructions, composed of libc's constants. libc declares them as `u32`, the kernel takes a
/// `u16`.
const BPF_LD_W_ABS: u16 = bpf_code(BPF_LD | BPF_W | BPF_ABS);
const BPF_JMP_JEQ_K: u16 = bpf_code(BPF_JMP | BPF_JEQ | BPF_K);
const BPF_JMP_JGT_K: u16 = bpf_code(BPF_JMP | BPF_JGT | BPF_K);
const BPF_JMP_JGE_K: u16 = bpf_code(BPF_JMP | BPF_JGE | BPF_K);
const BPF_JMP_JA: u16 = bpf_code(BPF_JMP | BPF_JA);
const BPF_JMP_JSET_K: u16 = bpf_code(BPF_JMP | BPF_JSET | BPF_K);
const BPF_RET_K: u16 = bpf_code(BPF_RET | BPF_K);

/// Denies a call: it fails with `EPERM`.
const RET_EPERM: u32 = SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
/// Hides a call, as on an older kernel: it fails with `ENOSYS`.
const RET_ENOSYS: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
/// Errno 0: the kernel skips the call and reports success.
const RET_FAKE_SUCCESS: u32 = SECCOMP_RET_ERRNO;

/// `AUDIT_ARCH_*` of `linux/audit.h`, which libc does not have: the ELF machine number and the flags for
/// 64-bit and little-endian.
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const AUDIT_ARCH_AARCH64: u32 = 0xc000_00b7;
const AUDIT_ARCH_RISCV64: u32 = 0xc000_00f3;

/// Returns the offset of a field as BPF takes it.
const fn field_offset(offset: usize) -> u32 {
    assert!(offset < size_of::<seccomp_data>());
    #[expect(clippy::cast_possible_truncation, reason = "checked in the line above")]
    let offset = offset as u32;
    offset
}

/// Returns the lower half of an instruction code; the upper half is always 0.
const fn bpf_code(code: u32) -> u16 {
    let [low, high, _, _] = code.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// Newest system call that was reviewed (`file_setattr`); later ones fail with `ENOSYS`.
const MAX_KNOWN_CALL: u32 = 469;

impl SeccompFilter {
    /// Returns the BPF instructions.
    pub(crate) fn instructions(&self) -> &[sock_filter] {
        &self.0
    }

    /// Compiles the filter. Returns `None` for an unknown processor architecture.
    pub(crate) fn compile(options: SeccompOptions) -> Option<Self> {
        let native = match std::env::consts::ARCH {
            "x86_64" => AUDIT_ARCH_X86_64,
            "aarch64" => AUDIT_ARCH_AARCH64,
            "riscv64" => AUDIT_ARCH_RISCV64,
            _ => return None,
        };
        // The first action for a call takes precedence.
        let mut calls: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
        let host_denials = if options.shares_host_namespaces {
            DENIED_CALLS_ON_HOST
        } else {
            &[]
        };
        for (list, action) in [
            (enosys_calls(options).as_slice(), RET_ENOSYS),
            (DENIED_CALLS, RET_EPERM),
            (host_denials, RET_EPERM),
        ] {
            for &call in list {
                let steps = calls.entry(u32::try_from(call).ok()?).or_default();
                steps.push(bpf_instruction(BPF_RET_K, 0, 0, action));
            }
        }
        let faked_rules = faked_calls()
            .into_iter()
            .map(|rules| (rules, RET_FAKE_SUCCESS));
        let refused = conditional_rules(options)
            .into_iter()
            .map(|rules| (rules, RET_EPERM));
        for ((call, rules), action) in faked_rules.chain(refused) {
            let steps = calls.entry(u32::try_from(call).ok()?).or_default();
            for rule in &rules {
                steps.extend(compile_rule(rule, action)?);
            }
        }
        for steps in calls.values_mut() {
            // An unconditional action makes all later ones unreachable.
            let always = steps.first().is_some_and(|first| first.code == BPF_RET_K);
            if always {
                steps.truncate(1);
            } else {
                steps.push(bpf_instruction(BPF_RET_K, 0, 0, SECCOMP_RET_ALLOW));
            }
        }
        let calls: Vec<_> = calls.into_iter().collect();
        let mut program = architecture_check(native);
        program.extend(binary_search_calls(&calls)?);
        Some(Self(program))
    }
}

fn bpf_instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Kills a process that calls with another architecture (32-bit, x32), whose numbers mean other calls. Leaves
/// the call number in the accumulator.
fn architecture_check(native: u32) -> Vec<sock_filter> {
    const X32_SYSCALL_BIT: u32 = 0x4000_0000;
    vec![
        bpf_instruction(BPF_LD_W_ABS, 0, 0, SECCOMP_DATA_ARCH),
        bpf_instruction(BPF_JMP_JEQ_K, 1, 0, native),
        bpf_instruction(BPF_RET_K, 0, 0, SECCOMP_RET_KILL_PROCESS),
        bpf_instruction(BPF_LD_W_ABS, 0, 0, SECCOMP_DATA_NR),
        bpf_instruction(BPF_JMP_JGT_K, 0, 3, MAX_KNOWN_CALL),
        bpf_instruction(BPF_JMP_JGT_K, 0, 1, X32_SYSCALL_BIT - 1),
        bpf_instruction(BPF_RET_K, 0, 0, SECCOMP_RET_KILL_PROCESS),
        bpf_instruction(BPF_RET_K, 0, 0, RET_ENOSYS),
    ]
}

/// Finds a call by binary search. When a filter is installed, the kernel runs it for every call number to
/// learn which are always allowed, so the path to each must be short.
fn binary_search_calls(calls: &[(u32, Vec<sock_filter>)]) -> Option<Vec<sock_filter>> {
    const MAX_LINEAR_CALLS: usize = 4;
    let mut steps = Vec::new();
    if calls.len() <= MAX_LINEAR_CALLS {
        for (call, action) in calls {
            let length = u8::try_from(action.len()).ok()?;
            steps.push(bpf_instruction(BPF_JMP_JEQ_K, 0, length, *call));
            steps.extend(action);
        }
        steps.push(bpf_instruction(BPF_RET_K, 0, 0, SECCOMP_RET_ALLOW));
        return Some(steps);
    }
    let (lower, upper) = calls.split_at(calls.len() / 2);
    let (first, _) = upper.first()?;
    let lower = binary_search_calls(lower)?;
    // A conditional jump skips at most 255 instructions; an unconditional one, any number.
    steps.push(bpf_instruction(BPF_JMP_JGE_K, 0, 1, *first));
    steps.push(bpf_instruction(
        BPF_JMP_JA,
        0,
        0,
        u32::try_from(lower.len()).ok()?,
    ));
    steps.extend(lower);
    steps.extend(binary_search_calls(upper)?);
    Some(steps)
}

/// Compiles a rule: returns the action if all its tests hold, and otherwise continues with the next rule.
fn compile_rule(rule: &[ArgumentTest], action: u32) -> Option<Vec<sock_filter>> {
    let mut steps = Vec::new();
    let mut left = u8::try_from(rule.len() * 2 + 1).ok()?;
    for test in rule {
        // Two instructions per test; if it fails, the rest of the rule is skipped.
        left -= 2;
        let (argument, code, value, hold) = match *test {
            ArgumentTest::Equals(argument, value) => (argument, BPF_JMP_JEQ_K, value, true),
            ArgumentTest::NotEquals(argument, value)
            | ArgumentTest::UpperHalfNotEquals(argument, value) => {
                (argument, BPF_JMP_JEQ_K, value, false)
            }
            ArgumentTest::HasAnyBit(argument, bits) => (argument, BPF_JMP_JSET_K, bits, true),
        };
        let half = match test {
            ArgumentTest::UpperHalfNotEquals(..) => 4,
            _ => 0,
        };
        let (jt, jf) = if hold { (0, left) } else { (left, 0) };
        steps.push(bpf_instruction(
            BPF_LD_W_ABS,
            0,
            0,
            SECCOMP_DATA_ARGS + 8 * argument + half,
        ));
        steps.push(bpf_instruction(code, jt, jf, value));
    }
    steps.push(bpf_instruction(BPF_RET_K, 0, 0, action));
    Some(steps)
}

/// A test of the lower half of an argument. Nearly all tested arguments are ints in the kernel, which ignores
/// the upper half as well; for a pointer both halves are tested.
#[derive(Debug, Clone, Copy)]
enum ArgumentTest {
    Equals(u32, u32),
    NotEquals(u32, u32),
    HasAnyBit(u32, u32),
    UpperHalfNotEquals(u32, u32),
}

/// Returns calls that fail with `ENOSYS`, as on an older kernel; programs have fallbacks for them.
fn enosys_calls(options: SeccompOptions) -> Vec<i64> {
    // The old asynchronous I/O calls draw on a pool that the whole machine shares.
    let mut calls = vec![libc::SYS_clone3, libc::SYS_openat2, libc::SYS_io_setup];
    if options.deny_unaccounted_memory {
        calls.extend([libc::SYS_memfd_create, libc::SYS_memfd_secret]);
    }
    calls
}

/// Calls that are denied regardless of their arguments.
const DENIED_CALLS: &[i64] = &[
    // Mounts and root directories.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    libc::SYS_lookup_dcookie,
    // Clocks.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Profiles of Linux security modules.
    SYS_LSM_SET_SELF_ATTR,
];

/// Calls that are also denied if the command shares the host's files, IPC queues and mounts. Most of them
/// change files without a check by Landlock, or create objects that outlive the command and belong to the
/// user polis runs as.
const DENIED_CALLS_ON_HOST: &[i64] = &[
    // Landlock does not cover these calls, and they accept any path.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    // Charged to the user, without a namespace that could have a lower limit.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
];

/// System calls that libc does not have yet.
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;
const SYS_STATMOUNT: i64 = 457;
const SYS_LISTMOUNT: i64 = 458;
const SYS_LSM_SET_SELF_ATTR: i64 = 460;

/// Returns calls that report success but change nothing. Only RLIMIT_CORE=1 also keeps the kernel from
/// passing a core to the machine's crash handler, which runs as root: a command may not lower it.
fn faked_calls() -> Vec<(i64, Vec<Vec<ArgumentTest>>)> {
    let core = libc::RLIMIT_CORE;
    let set = vec![
        vec![ArgumentTest::Equals(1, core), ArgumentTest::NotEquals(2, 0)],
        vec![
            ArgumentTest::Equals(1, core),
            ArgumentTest::UpperHalfNotEquals(2, 0),
        ],
    ];
    vec![
        (libc::SYS_prlimit64, set),
        #[cfg(not(target_arch = "riscv64"))]
        (
            libc::SYS_setrlimit,
            vec![vec![ArgumentTest::Equals(0, core)]],
        ),
    ]
}

/// Returns calls that are denied for certain arguments: a list of rules each, of which one has to match.
fn conditional_rules(options: SeccompOptions) -> Vec<(i64, Vec<Vec<ArgumentTest>>)> {
    let mut calls = vec![
        (
            libc::SYS_clone,
            vec![vec![ArgumentTest::HasAnyBit(0, clone_namespace_flags())]],
        ),
        (libc::SYS_personality, vec![personality_tests()]),
        (libc::SYS_socket, socket_rules(options.sockets)),
        (libc::SYS_socketpair, socketpair_rules(options.sockets)),
        (libc::SYS_ioctl, terminal_ioctl_rules()),
    ];
    if options.deny_unaccounted_memory {
        for call in [libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget] {
            calls.push((call, vec![Vec::new()]));
        }
    }
    if options.shares_user {
        // All pipes of a user share a budget of pages; larger pipes would exhaust it with few descriptors.
        let set_size = libc::F_SETPIPE_SZ.unsigned_abs();
        calls.push((
            libc::SYS_fcntl,
            vec![vec![ArgumentTest::Equals(1, set_size)]],
        ));
    }
    for (call, mode, flags) in file_mode_arguments() {
        calls.push((call, vec![setid_mode_tests(mode, flags)]));
    }
    calls.extend(foreign_process_rules(options.shares_host_namespaces));
    calls
}

/// Returns rules for limits and priorities of processes that are not the command's own. The kernel only
/// checks for the same user, which the warden has, and without namespaces polis as well.
fn foreign_process_rules(among_others: bool) -> Vec<(i64, Vec<Vec<ArgumentTest>>)> {
    // In a PID namespace the only foreign process is the first one. Elsewhere, only the caller itself (0) is
    // certain to belong to the command.
    let other = |argument| {
        if among_others {
            ArgumentTest::NotEquals(argument, 0)
        } else {
            ArgumentTest::Equals(argument, 1)
        }
    };
    let by_number = [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ];
    // These calls can also name a process group or all processes of a user: only single processes are
    // allowed.
    let by_kind = [
        (libc::SYS_setpriority, libc::PRIO_PROCESS),
        (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
    ];
    let by_number = by_number.map(|call| (call, vec![vec![other(0)]]));
    let by_kind = by_kind.map(|(call, process)| {
        let process: u32 = process;
        (
            call,
            vec![vec![ArgumentTest::NotEquals(0, process)], vec![other(1)]],
        )
    });
    by_number.into_iter().chain(by_kind).collect()
}

const IOPRIO_WHO_PROCESS: u32 = 1;

fn clone_namespace_flags() -> u32 {
    let flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    flags.cast_unsigned()
}

/// Returns the tests for a denied `personality`: anything but a query, the default, and the one without
/// address space randomization (debuggers, sanitizers).
fn personality_tests() -> Vec<ArgumentTest> {
    const QUERY_PERSONALITY: u32 = u32::MAX;
    vec![
        ArgumentTest::NotEquals(0, 0),
        ArgumentTest::NotEquals(0, QUERY_PERSONALITY),
        ArgumentTest::NotEquals(0, libc::ADDR_NO_RANDOMIZE.unsigned_abs()),
    ]
}

fn socket_rules(sockets: SocketPolicy) -> Vec<Vec<ArgumentTest>> {
    let unix = libc::AF_UNIX.unsigned_abs();
    let internet = [libc::AF_INET.unsigned_abs(), libc::AF_INET6.unsigned_abs()];
    let netlink = libc::AF_NETLINK.unsigned_abs();
    // All families that are not listed are denied; for netlink only routing is allowed.
    let families: Vec<u32> = match sockets {
        SocketPolicy::None => Vec::new(),
        SocketPolicy::Internet => internet.into_iter().chain([netlink]).collect(),
        SocketPolicy::Any => internet.into_iter().chain([netlink, unix]).collect(),
    };
    let others = families
        .into_iter()
        .map(|family| ArgumentTest::NotEquals(0, family));
    vec![
        others.collect(),
        vec![
            ArgumentTest::Equals(0, netlink),
            ArgumentTest::NotEquals(2, 0),
        ],
    ]
}

/// Returns the rules for `socketpair`: only Unix sockets, and no datagram sockets unless all sockets are
/// allowed, because only these could be connected elsewhere.
fn socketpair_rules(sockets: SocketPolicy) -> Vec<Vec<ArgumentTest>> {
    // Bit that is set in SOCK_DGRAM and in SOCK_RAW, which for Unix sockets is an alias of it, and in no
    // other type.
    const DATAGRAM_TYPE_BIT: u32 = 2;
    let mut rules = vec![vec![ArgumentTest::NotEquals(
        0,
        libc::AF_UNIX.unsigned_abs(),
    )]];
    if sockets != SocketPolicy::Any {
        rules.push(vec![ArgumentTest::HasAnyBit(1, DATAGRAM_TYPE_BIT)]);
    }
    rules
}

/// Returns rules against injecting input into a terminal.
fn terminal_ioctl_rules() -> Vec<Vec<ArgumentTest>> {
    // libc's constants have another type on each C library.
    const TIOCSTI: u32 = 0x5412;
    const TIOCLINUX: u32 = 0x541c;
    vec![
        vec![ArgumentTest::Equals(1, TIOCSTI)],
        vec![ArgumentTest::Equals(1, TIOCLINUX)],
    ]
}

/// Returns calls that take a file mode: index of the mode argument, and of the flags argument if the mode
/// counts only with certain flags.
fn file_mode_arguments() -> Vec<(i64, u32, Option<u32>)> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1, None),
        (libc::SYS_fchmodat, 2, None),
        (libc::SYS_fchmodat2, 2, None),
        (libc::SYS_mkdirat, 2, None),
        (libc::SYS_mknodat, 2, None),
        (libc::SYS_openat, 3, Some(2)),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_chmod, 1, None),
        (libc::SYS_mkdir, 1, None),
        (libc::SYS_mknod, 1, None),
        (libc::SYS_creat, 1, None),
        (libc::SYS_open, 2, Some(1)),
    ]);
    calls
}

/// Tests for set-user-ID and set-group-ID bits: such a file created inside would be one on the host as well.
fn setid_mode_tests(mode: u32, flags: Option<u32>) -> Vec<ArgumentTest> {
    let makes = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
    let bits = ArgumentTest::HasAnyBit(mode, libc::S_ISUID | libc::S_ISGID);
    let when = flags.map(|flags| ArgumentTest::HasAnyBit(flags, makes));
    when.into_iter().chain([bits]).collect()
}

#[cfg(test)]
mod tests;
