//! Which system calls a command may make.
//!
//! Refused is what a build never needs and an attacker does: mounts, namespaces, tracing, keys,
//! kernel programs, asynchronous rings, modules, clocks. Calls newer than the last one that was
//! looked at do not exist for a command, and neither do other calling conventions of the processor.
//! Arguments are looked at only where they are numbers: a filter cannot follow pointers, so calls
//! that hide their flags behind one (`clone3`, `openat2`) are answered as if the kernel were older.

use std::collections::BTreeMap;

use libc::sock_filter;

/// What of the network the filter leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sockets {
    /// None but pairs: nothing else keeps the command from this machine's network.
    None,
    /// Of the internet, none of this machine: the command is in this machine's own network.
    Internet,
    /// Of the internet and of this machine: a namespace or Landlock decides whom they reach.
    Any,
}

/// What filters depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Needs {
    /// What of the network is left.
    pub(crate) sockets: Sockets,
    /// Whether memory that belongs to no process is refused, because nobody would count it.
    pub(crate) no_hidden_memory: bool,
    /// Whether the command is among this machine's own processes, queues and mounts.
    pub(crate) among_others: bool,
    /// Whether the kernel charges what the command takes to the user whom polis runs as.
    pub(crate) shares_user: bool,
}

/// A program for the kernel that answers to every system call.
///
/// Put together here and not by a library: those that there are know one answer besides "allow" and
/// no test of single bits, and look through their list from its beginning. The kernel goes through a
/// program once for every call there is when it is set, with every command, and that was a tenth of
/// the whole cost of a sandbox.
#[derive(Debug)]
pub(crate) struct Filter(Vec<sock_filter>);

/// Where the kernel shows a call's number, its convention and its arguments.
const NUMBER: u32 = 0;
const CONVENTION: u32 = 4;
const ARGUMENTS: u32 = 16;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER: u16 = 0x25;
const IF_AT_LEAST: u16 = 0x35;
const JUMP: u16 = 0x05;
const IF_ANY_BIT: u16 = 0x45;
const ANSWER: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM.unsigned_abs();
const ABSENT: u32 = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
/// Answered as if it had been done.
const PRETEND: u32 = 0x0005_0000;

/// The newest system call that was looked at (`file_setattr`); later ones do not exist.
const LAST_KNOWN_CALL: u32 = 469;

impl Filter {
    /// The program.
    pub(crate) fn program(&self) -> &[sock_filter] {
        &self.0
    }

    /// Puts the program together; none if this processor is not known.
    pub(crate) fn assemble(needs: Needs) -> Option<Self> {
        let native = match std::env::consts::ARCH {
            "x86_64" => 0xc000_003e,
            "aarch64" => 0xc000_00b7,
            "riscv64" => 0xc000_00f3,
            _ => return None,
        };
        // What is answered first for a call stands.
        let mut calls: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
        let among_others = if needs.among_others {
            REFUSED_AMONG_OTHERS
        } else {
            &[]
        };
        for (list, answer) in [
            (absent(needs).as_slice(), ABSENT),
            (REFUSED, REFUSE),
            (among_others, REFUSE),
        ] {
            for &call in list {
                let steps = calls.entry(u32::try_from(call).ok()?).or_default();
                steps.push(step(ANSWER, 0, 0, answer));
            }
        }
        let pretended = pretended().into_iter().map(|rules| (rules, PRETEND));
        let refused = conditional(needs).into_iter().map(|rules| (rules, REFUSE));
        for ((call, rules), answer) in pretended.chain(refused) {
            let steps = calls.entry(u32::try_from(call).ok()?).or_default();
            for rule in &rules {
                steps.extend(rule_steps(rule, answer)?);
            }
        }
        for steps in calls.values_mut() {
            // What is answered always needs no other answer.
            let always = steps.first().is_some_and(|first| first.code == ANSWER);
            if always {
                steps.truncate(1);
            } else {
                steps.push(step(ANSWER, 0, 0, ALLOW));
            }
        }
        let calls: Vec<_> = calls.into_iter().collect();
        let mut program = guard_convention(native);
        program.extend(tree(&calls)?);
        Some(Self(program))
    }
}

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Ends a process that calls by another convention (32-bit, x32), whose numbers mean other
/// calls. Leaves the number loaded.
fn guard_convention(native: u32) -> Vec<sock_filter> {
    const X32: u32 = 0x4000_0000;
    vec![
        step(LOAD, 0, 0, CONVENTION),
        step(IF_EQUAL, 1, 0, native),
        step(ANSWER, 0, 0, KILL_PROCESS),
        step(LOAD, 0, 0, NUMBER),
        step(IF_GREATER, 0, 3, LAST_KNOWN_CALL),
        step(IF_GREATER, 0, 1, X32 - 1),
        step(ANSWER, 0, 0, KILL_PROCESS),
        step(ANSWER, 0, 0, ABSENT),
    ]
}

/// Finds a call by halves. When a filter is set, the kernel runs it for every number there is, to
/// know which calls are always allowed: the way to each has to be short.
fn tree(calls: &[(u32, Vec<sock_filter>)]) -> Option<Vec<sock_filter>> {
    const FEW: usize = 4;
    let mut steps = Vec::new();
    if calls.len() <= FEW {
        for (call, answer) in calls {
            let length = u8::try_from(answer.len()).ok()?;
            steps.push(step(IF_EQUAL, 0, length, *call));
            steps.extend(answer);
        }
        steps.push(step(ANSWER, 0, 0, ALLOW));
        return Some(steps);
    }
    let (lower, upper) = calls.split_at(calls.len() / 2);
    let (first, _) = upper.first()?;
    let lower = tree(lower)?;
    // A jump that depends on something passes over at most 255 steps; one that does not, any number.
    steps.push(step(IF_AT_LEAST, 0, 1, *first));
    steps.push(step(JUMP, 0, 0, u32::try_from(lower.len()).ok()?));
    steps.extend(lower);
    steps.extend(tree(upper)?);
    Some(steps)
}

/// Answers if all tests of a rule hold, and goes on if not.
fn rule_steps(rule: &[Test], answer: u32) -> Option<Vec<sock_filter>> {
    let mut steps = Vec::new();
    let mut left = u8::try_from(rule.len() * 2 + 1).ok()?;
    for test in rule {
        // Two steps for a test; if it fails, the rest of the rule is passed over.
        left -= 2;
        let (argument, code, value, hold) = match *test {
            Test::Is(argument, value) => (argument, IF_EQUAL, value, true),
            Test::IsNot(argument, value) | Test::UpperIsNot(argument, value) => {
                (argument, IF_EQUAL, value, false)
            }
            Test::HasAny(argument, bits) => (argument, IF_ANY_BIT, bits, true),
        };
        let half = match test {
            Test::UpperIsNot(..) => 4,
            _ => 0,
        };
        let (jt, jf) = if hold { (0, left) } else { (left, 0) };
        steps.push(step(LOAD, 0, 0, ARGUMENTS + 8 * argument + half));
        steps.push(step(code, jt, jf, value));
    }
    steps.push(step(ANSWER, 0, 0, answer));
    Some(steps)
}

/// A test of the lower half of an argument. Nearly all that are tested are ints in the kernel,
/// which ignores the upper half too; for a pointer both halves are looked at.
#[derive(Debug, Clone, Copy)]
enum Test {
    Is(u32, u32),
    IsNot(u32, u32),
    HasAny(u32, u32),
    UpperIsNot(u32, u32),
}

/// Calls that are answered as if the kernel were older; programs know how to do without.
fn absent(needs: Needs) -> Vec<i64> {
    // The old asynchronous calls take from a pool that the whole machine shares.
    let mut calls = vec![libc::SYS_clone3, libc::SYS_openat2, libc::SYS_io_setup];
    if needs.no_hidden_memory {
        calls.extend([libc::SYS_memfd_create, libc::SYS_memfd_secret]);
    }
    calls
}

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Mounts and roots.
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
    OPEN_TREE_ATTR,
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
    // Other profiles of a security module.
    LSM_SET_SELF_ATTR,
];

/// Calls that reach this machine's own files, queues and mounts where the command has none of its own.
/// What they make outlives the command, and their owner is whoever runs polis.
const REFUSED_AMONG_OTHERS: &[i64] = &[
    // Landlock does not govern these, and they name files anywhere.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // Charged to the user, and there is no namespace whose limit would be lower than the user's own.
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
    STATMOUNT,
    LISTMOUNT,
];

/// Not yet in libc.
const OPEN_TREE_ATTR: i64 = 467;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const LSM_SET_SELF_ATTR: i64 = 460;

/// Calls that change nothing, whatever they say. A limit of 1 on core files is the only one that
/// also keeps the kernel from handing a core to this machine's own crash handler, which is root's:
/// a command may not make it smaller.
fn pretended() -> Vec<(i64, Vec<Vec<Test>>)> {
    let core = libc::RLIMIT_CORE;
    let set = vec![
        vec![Test::Is(1, core), Test::IsNot(2, 0)],
        vec![Test::Is(1, core), Test::UpperIsNot(2, 0)],
    ];
    vec![
        (libc::SYS_prlimit64, set),
        #[cfg(not(target_arch = "riscv64"))]
        (libc::SYS_setrlimit, vec![vec![Test::Is(0, core)]]),
    ]
}

/// Calls that are refused for some arguments: a list of rules for each, one of which has to hold.
fn conditional(needs: Needs) -> Vec<(i64, Vec<Vec<Test>>)> {
    let mut calls = vec![
        (
            libc::SYS_clone,
            vec![vec![Test::HasAny(0, new_namespaces())]],
        ),
        (libc::SYS_personality, vec![personalities()]),
        (libc::SYS_socket, sockets(needs.sockets)),
        (libc::SYS_socketpair, socket_pairs(needs.sockets)),
        (libc::SYS_ioctl, terminal_requests()),
    ];
    if needs.no_hidden_memory {
        for call in [libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget] {
            calls.push((call, vec![Vec::new()]));
        }
    }
    if needs.shares_user {
        // A user's pipes share a budget of pages; larger pipes would use it up with few descriptors.
        let set_size = libc::F_SETPIPE_SZ.unsigned_abs();
        calls.push((libc::SYS_fcntl, vec![vec![Test::Is(1, set_size)]]));
    }
    for (call, mode, flags) in mode_arguments() {
        calls.push((call, vec![set_id_bits(mode, flags)]));
    }
    calls.extend(limits_of_others(needs.among_others));
    calls
}

/// Limits and priorities of processes that are not the command's own. The kernel asks for no more
/// than the same user, which the warden is, and without namespaces polis too.
fn limits_of_others(among_others: bool) -> Vec<(i64, Vec<Vec<Test>>)> {
    // In a namespace of its own the only one is the first process. Elsewhere nobody but the caller
    // itself (0) is known to be the command's.
    let other = |argument| match among_others {
        true => Test::IsNot(argument, 0),
        false => Test::Is(argument, 1),
    };
    let by_number = [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ];
    // Those that can name a group or all of a user: only a process is left.
    let by_kind = [
        (libc::SYS_setpriority, libc::PRIO_PROCESS),
        (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
    ];
    let by_number = by_number.map(|call| (call, vec![vec![other(0)]]));
    let by_kind = by_kind.map(|(call, process)| {
        let process: u32 = process;
        (call, vec![vec![Test::IsNot(0, process)], vec![other(1)]])
    });
    by_number.into_iter().chain(by_kind).collect()
}

const IOPRIO_WHO_PROCESS: u32 = 1;

fn new_namespaces() -> u32 {
    let flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    flags.cast_unsigned()
}

/// Only asking, the usual one, and the one without address randomisation (debuggers, sanitizers).
fn personalities() -> Vec<Test> {
    const ASK: u32 = u32::MAX;
    const NO_RANDOMIZE: u32 = 0x0004_0000;
    vec![
        Test::IsNot(0, 0),
        Test::IsNot(0, ASK),
        Test::IsNot(0, NO_RANDOMIZE),
    ]
}

fn sockets(left: Sockets) -> Vec<Vec<Test>> {
    let unix = libc::AF_UNIX.unsigned_abs();
    let internet = [libc::AF_INET.unsigned_abs(), libc::AF_INET6.unsigned_abs()];
    let netlink = libc::AF_NETLINK.unsigned_abs();
    // A family outside of the list is refused, whatever it is; of netlink only routes are left.
    let families: Vec<u32> = match left {
        Sockets::None => Vec::new(),
        Sockets::Internet => internet.into_iter().chain([netlink]).collect(),
        Sockets::Any => internet.into_iter().chain([netlink, unix]).collect(),
    };
    let others = families.into_iter().map(|family| Test::IsNot(0, family));
    vec![
        others.collect(),
        vec![Test::Is(0, netlink), Test::IsNot(2, 0)],
    ]
}

/// A pair cannot be connected elsewhere, unless it is of datagrams.
fn socket_pairs(left: Sockets) -> Vec<Vec<Test>> {
    // The bit that datagrams have, and the raw type that is another name for them, and no other.
    const DATAGRAMS: u32 = 2;
    let mut rules = vec![vec![Test::IsNot(0, libc::AF_UNIX.unsigned_abs())]];
    if left != Sockets::Any {
        rules.push(vec![Test::HasAny(1, DATAGRAMS)]);
    }
    rules
}

/// Typing into a terminal on somebody's behalf.
fn terminal_requests() -> Vec<Vec<Test>> {
    const TIOCSTI: u32 = 0x5412;
    const TIOCLINUX: u32 = 0x541c;
    vec![vec![Test::Is(1, TIOCSTI)], vec![Test::Is(1, TIOCLINUX)]]
}

/// Where a call has the mode of a file: its argument, and that of its flags if the mode counts only
/// with some.
fn mode_arguments() -> Vec<(i64, u32, Option<u32>)> {
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

/// A set-user-id or set-group-id file made inside would be one on this machine too.
fn set_id_bits(mode: u32, flags: Option<u32>) -> Vec<Test> {
    let makes = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
    let bits = Test::HasAny(mode, libc::S_ISUID | libc::S_ISGID);
    let when = flags.map(|flags| Test::HasAny(flags, makes));
    when.into_iter().chain([bits]).collect()
}

#[cfg(test)]
mod tests;
