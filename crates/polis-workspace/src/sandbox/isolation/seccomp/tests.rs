//! Tests of the seccomp filter, run by an interpreter of its BPF instructions.

use super::*;

/// Returns the action of the filter for a call.
fn evaluate_filter(
    filter: &SeccompFilter,
    convention: u32,
    number: u32,
    arguments: [u64; 6],
) -> u32 {
    let mut data = vec![];
    data.extend(number.to_ne_bytes());
    data.extend(convention.to_ne_bytes());
    data.extend(0_u64.to_ne_bytes());
    data.extend(arguments.iter().flat_map(|a| a.to_ne_bytes()));
    let (mut index, mut loaded) = (0, 0);
    for count in 0.. {
        assert!(count < 60, "the way to {number} is long");
        let step = filter.instructions()[index];
        index += 1;
        let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            BPF_LD_W_ABS => {
                let at = usize::try_from(step.k).unwrap();
                loaded = u32::from_ne_bytes(data[at..at + 4].try_into().unwrap());
            }
            BPF_JMP_JEQ_K => index += jump(loaded == step.k),
            BPF_JMP_JGT_K => index += jump(loaded > step.k),
            BPF_JMP_JSET_K => index += jump(loaded & step.k != 0),
            BPF_RET_K => return step.k,
            BPF_JMP_JGE_K => index += jump(loaded >= step.k),
            BPF_JMP_JA => index += usize::try_from(step.k).unwrap(),
            other => panic!("{other:#x}"),
        }
    }
    unreachable!("a program ends with an answer")
}

const ALL_SOCKET_POLICIES: [SocketPolicy; 3] = [
    SocketPolicy::None,
    SocketPolicy::Internet,
    SocketPolicy::Any,
];
#[cfg(target_arch = "x86_64")]
const NATIVE_ARCH: u32 = AUDIT_ARCH_X86_64;
#[cfg(target_arch = "aarch64")]
const NATIVE_ARCH: u32 = AUDIT_ARCH_AARCH64;

fn evaluate_native_call(needs: SeccompOptions, call: i64, arguments: &[i64]) -> u32 {
    let filter = SeccompFilter::compile(needs).unwrap();
    let mut all = [0; 6];
    for (slot, value) in all.iter_mut().zip(arguments) {
        *slot = value.cast_unsigned();
    }
    evaluate_filter(&filter, NATIVE_ARCH, u32::try_from(call).unwrap(), all)
}

#[test]
fn calls_a_build_never_needs_are_denied() {
    for sockets in ALL_SOCKET_POLICIES {
        for no_hidden_memory in [true, false] {
            let needs = SeccompOptions {
                sockets,
                deny_unaccounted_memory: no_hidden_memory,
                shares_host_namespaces: sockets == SocketPolicy::None,
                shares_user: true,
            };
            for &call in DENIED_CALLS {
                assert_eq!(evaluate_native_call(needs, call, &[]), RET_EPERM, "{call}");
            }
            for call in [libc::SYS_clone3, libc::SYS_openat2, 470, 1000] {
                assert_eq!(evaluate_native_call(needs, call, &[]), RET_ENOSYS, "{call}");
            }
            for call in [
                libc::SYS_read,
                libc::SYS_execve,
                libc::SYS_clone,
                libc::SYS_openat,
                libc::SYS_kill,
                libc::SYS_futex,
                libc::SYS_prctl,
                libc::SYS_wait4,
            ] {
                assert_eq!(
                    evaluate_native_call(needs, call, &[]),
                    SECCOMP_RET_ALLOW,
                    "{call}"
                );
            }
            let hidden = if no_hidden_memory {
                RET_ENOSYS
            } else {
                SECCOMP_RET_ALLOW
            };
            assert_eq!(
                evaluate_native_call(needs, libc::SYS_memfd_create, &[]),
                hidden
            );
        }
    }
}

#[test]
fn foreign_architecture_kills_the_process() {
    let filter = SeccompFilter::compile(SeccompOptions {
        sockets: SocketPolicy::Any,
        deny_unaccounted_memory: true,
        shares_host_namespaces: true,
        shares_user: true,
    })
    .unwrap();
    assert!(
        filter.instructions().len() < 500,
        "{}",
        filter.instructions().len()
    );
    for convention in [0x4000_0003, 0x4000_0028, 0, 1, u32::MAX] {
        assert_eq!(
            evaluate_filter(&filter, convention, 0, [0; 6]),
            SECCOMP_RET_KILL_PROCESS
        );
    }
    for number in [0x4000_0000, 0x4000_0001, 0x4000_01d5, 0x7fff_ffff, u32::MAX] {
        assert_eq!(
            evaluate_filter(&filter, NATIVE_ARCH, number, [0; 6]),
            SECCOMP_RET_KILL_PROCESS
        );
    }
}

#[test]
fn call_with_denied_flags_or_modes_is_denied() {
    let needs = SeccompOptions {
        sockets: SocketPolicy::Any,
        deny_unaccounted_memory: false,
        shares_host_namespaces: false,
        shares_user: true,
    };
    let refused = |call, arguments: &[i64]| match evaluate_native_call(needs, call, arguments) {
        RET_EPERM => true,
        SECCOMP_RET_ALLOW => false,
        other => panic!("{other:#x}"),
    };
    let (create, temporary) = (i64::from(libc::O_CREAT), i64::from(libc::O_TMPFILE));
    for flag in [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        assert!(refused(libc::SYS_clone, &[i64::from(flag | libc::SIGCHLD)]));
    }
    assert!(!refused(
        libc::SYS_clone,
        &[i64::from(
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD
        )]
    ));
    assert!(!refused(libc::SYS_clone, &[0x3d0f00]), "a thread");
    for bad in [0o4755, 0o2755, 0o6755] {
        assert!(refused(libc::SYS_fchmod, &[3, bad]));
        assert!(refused(libc::SYS_fchmodat, &[3, 0, bad]));
        assert!(refused(libc::SYS_fchmodat2, &[3, 0, bad]));
        assert!(refused(libc::SYS_mkdirat, &[3, 0, bad]));
        assert!(refused(libc::SYS_mknodat, &[3, 0, bad]));
        assert!(refused(libc::SYS_openat, &[3, 0, create, bad]));
        assert!(refused(libc::SYS_openat, &[3, 0, temporary, bad]));
        assert!(!refused(libc::SYS_openat, &[3, 0, 0, bad]), "no mode");
        assert!(
            !refused(libc::SYS_openat, &[3, 0, i64::from(libc::O_DIRECTORY), bad]),
            "no mode either"
        );
    }
    for good in [0o755, 0o1777, 0] {
        assert!(!refused(libc::SYS_fchmod, &[3, good]));
        assert!(!refused(libc::SYS_openat, &[3, 0, create, good]));
    }
    for (persona, bad) in [(0, false), (-1, false), (0x4_0000, false), (8, true)] {
        assert_eq!(refused(libc::SYS_personality, &[persona]), bad);
    }
    assert!(refused(libc::SYS_ioctl, &[0, 0x5412]));
    assert!(refused(libc::SYS_ioctl, &[0, 0x1_0000_5412]), "upper half");
    assert!(!refused(libc::SYS_ioctl, &[0, 0x5401]));
}

#[test]
fn limits_and_priorities_of_other_processes_are_denied() {
    let evaluate = |among_others, call, arguments: &[i64]| {
        let needs = SeccompOptions {
            sockets: SocketPolicy::Any,
            deny_unaccounted_memory: false,
            shares_host_namespaces: among_others,
            shares_user: true,
        };
        evaluate_native_call(needs, call, arguments)
    };
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ] {
        for (among_others, process, expected) in [
            (false, 0, SECCOMP_RET_ALLOW),
            (false, 1, RET_EPERM),
            (false, 2, SECCOMP_RET_ALLOW),
            (true, 0, SECCOMP_RET_ALLOW),
            (true, 1, RET_EPERM),
            (true, 4711, RET_EPERM),
        ] {
            assert_eq!(evaluate(among_others, call, &[process, 7, 99]), expected);
        }
    }
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        for among_others in [true, false] {
            assert_eq!(
                evaluate(among_others, call, &[process, 0, 9]),
                SECCOMP_RET_ALLOW
            );
            assert_eq!(evaluate(among_others, call, &[process, 1, 9]), RET_EPERM);
            assert_eq!(
                evaluate(among_others, call, &[process + 1, 0, 9]),
                RET_EPERM
            );
            assert_eq!(
                evaluate(among_others, call, &[process + 2, 0, 9]),
                RET_EPERM
            );
        }
    }
    for &call in DENIED_CALLS_ON_HOST {
        assert_eq!(evaluate(true, call, &[]), RET_EPERM);
        assert_eq!(evaluate(false, call, &[]), SECCOMP_RET_ALLOW);
    }
}

#[test]
fn core_limit_change_is_faked() {
    let needs = SeccompOptions {
        sockets: SocketPolicy::Any,
        deny_unaccounted_memory: false,
        shares_host_namespaces: false,
        shares_user: true,
    };
    let prlimit = |arguments: &[i64]| evaluate_native_call(needs, libc::SYS_prlimit64, arguments);
    let core = i64::from(libc::RLIMIT_CORE);
    assert_eq!(prlimit(&[0, core, 0, 99]), SECCOMP_RET_ALLOW, "asking");
    assert_eq!(prlimit(&[0, core, 99, 0]), RET_FAKE_SUCCESS);
    assert_eq!(
        prlimit(&[0, core, 0x1_0000_0000, 0]),
        RET_FAKE_SUCCESS,
        "upper half"
    );
    assert_eq!(prlimit(&[0, core + 1, 99, 0]), SECCOMP_RET_ALLOW);
    assert_eq!(prlimit(&[1, core + 1, 99, 0]), RET_EPERM);
    assert_eq!(
        evaluate_native_call(needs, libc::SYS_setrlimit, &[core, 99]),
        RET_FAKE_SUCCESS
    );
    assert_eq!(
        evaluate_native_call(needs, libc::SYS_setrlimit, &[core + 1, 99]),
        SECCOMP_RET_ALLOW
    );
}

#[test]
fn sockets_are_allowed_by_family() {
    let refused = |sockets, call, arguments: &[i64]| {
        let needs = SeccompOptions {
            sockets,
            deny_unaccounted_memory: false,
            shares_host_namespaces: false,
            shares_user: true,
        };
        evaluate_native_call(needs, call, arguments) == RET_EPERM
    };
    let families = 0..60_i64;
    for family in families {
        let unix = family == i64::from(libc::AF_UNIX);
        let internet = family == i64::from(libc::AF_INET) || family == i64::from(libc::AF_INET6);
        let netlink = family == i64::from(libc::AF_NETLINK);
        let socket = |left| refused(left, libc::SYS_socket, &[family, 1, 0]);
        assert!(socket(SocketPolicy::None));
        assert_eq!(socket(SocketPolicy::Internet), !(internet || netlink));
        assert_eq!(socket(SocketPolicy::Any), !(internet || netlink || unix));
        for left in ALL_SOCKET_POLICIES {
            assert_eq!(refused(left, libc::SYS_socketpair, &[family, 1, 0]), !unix);
        }
    }
    let (unix, stays_open) = (i64::from(libc::AF_UNIX), 0x8_0800);
    for (kind, could_go_elsewhere) in [(1, false), (5, false), (2, true), (3, true)] {
        for left in ALL_SOCKET_POLICIES {
            let pair = refused(left, libc::SYS_socketpair, &[unix, kind | stays_open, 0]);
            assert_eq!(pair, could_go_elsewhere && left != SocketPolicy::Any);
        }
    }
    let netlink = i64::from(libc::AF_NETLINK);
    for protocol in 1..30 {
        assert!(refused(
            SocketPolicy::Any,
            libc::SYS_socket,
            &[netlink, 3, protocol]
        ));
    }
}
