//! What the filter answers, by an interpreter of its programs.

use super::*;

/// What the program answers to a call.
fn answer(filter: &Filter, convention: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = vec![];
    data.extend(number.to_ne_bytes());
    data.extend(convention.to_ne_bytes());
    data.extend(0_u64.to_ne_bytes());
    data.extend(arguments.iter().flat_map(|a| a.to_ne_bytes()));
    let (mut place, mut loaded) = (0, 0);
    for taken in 0.. {
        assert!(taken < 60, "the way to {number} is long");
        let step = filter.program()[place];
        place += 1;
        let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            LOAD => {
                let at = usize::try_from(step.k).unwrap();
                loaded = u32::from_ne_bytes(data[at..at + 4].try_into().unwrap());
            }
            IF_EQUAL => place += jump(loaded == step.k),
            IF_GREATER => place += jump(loaded > step.k),
            IF_ANY_BIT => place += jump(loaded & step.k != 0),
            ANSWER => return step.k,
            IF_AT_LEAST => place += jump(loaded >= step.k),
            JUMP => place += usize::try_from(step.k).unwrap(),
            other => panic!("{other:#x}"),
        }
    }
    unreachable!("a program ends with an answer")
}

const ALL: [Sockets; 3] = [Sockets::None, Sockets::Internet, Sockets::Any];
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

fn native(needs: Needs, call: i64, arguments: &[i64]) -> u32 {
    let filter = Filter::assemble(needs).unwrap();
    let mut all = [0; 6];
    for (place, value) in all.iter_mut().zip(arguments) {
        *place = value.cast_unsigned();
    }
    answer(&filter, NATIVE, u32::try_from(call).unwrap(), all)
}

#[test]
fn what_a_build_never_needs_is_refused() {
    for sockets in ALL {
        for no_hidden_memory in [true, false] {
            let needs = Needs {
                sockets,
                no_hidden_memory,
                among_others: sockets == Sockets::None,
                shares_user: true,
            };
            for &call in REFUSED {
                assert_eq!(native(needs, call, &[]), REFUSE, "{call}");
            }
            for call in [libc::SYS_clone3, libc::SYS_openat2, 470, 1000] {
                assert_eq!(native(needs, call, &[]), ABSENT, "{call}");
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
                assert_eq!(native(needs, call, &[]), ALLOW, "{call}");
            }
            let hidden = if no_hidden_memory { ABSENT } else { ALLOW };
            assert_eq!(native(needs, libc::SYS_memfd_create, &[]), hidden);
        }
    }
}

#[test]
fn other_conventions_end_the_process() {
    let filter = Filter::assemble(Needs {
        sockets: Sockets::Any,
        no_hidden_memory: true,
        among_others: true,
        shares_user: true,
    })
    .unwrap();
    assert!(filter.program().len() < 500, "{}", filter.program().len());
    for convention in [0x4000_0003, 0x4000_0028, 0, 1, u32::MAX] {
        assert_eq!(answer(&filter, convention, 0, [0; 6]), KILL_PROCESS);
    }
    for number in [0x4000_0000, 0x4000_0001, 0x4000_01d5, 0x7fff_ffff, u32::MAX] {
        assert_eq!(answer(&filter, NATIVE, number, [0; 6]), KILL_PROCESS);
    }
}

#[test]
fn flags_and_modes_decide_where_they_can() {
    let needs = Needs {
        sockets: Sockets::Any,
        no_hidden_memory: false,
        among_others: false,
        shares_user: true,
    };
    let refused = |call, arguments: &[i64]| match native(needs, call, arguments) {
        REFUSE => true,
        ALLOW => false,
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
fn limits_and_priorities_of_others_are_not_the_commands() {
    let of = |among_others, call, arguments: &[i64]| {
        let needs = Needs {
            sockets: Sockets::Any,
            no_hidden_memory: false,
            among_others,
            shares_user: true,
        };
        native(needs, call, arguments)
    };
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ] {
        for (among_others, process, expected) in [
            (false, 0, ALLOW),
            (false, 1, REFUSE),
            (false, 2, ALLOW),
            (true, 0, ALLOW),
            (true, 1, REFUSE),
            (true, 4711, REFUSE),
        ] {
            assert_eq!(of(among_others, call, &[process, 7, 99]), expected);
        }
    }
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        for among_others in [true, false] {
            assert_eq!(of(among_others, call, &[process, 0, 9]), ALLOW);
            assert_eq!(of(among_others, call, &[process, 1, 9]), REFUSE);
            assert_eq!(of(among_others, call, &[process + 1, 0, 9]), REFUSE);
            assert_eq!(of(among_others, call, &[process + 2, 0, 9]), REFUSE);
        }
    }
    for &call in REFUSED_AMONG_OTHERS {
        assert_eq!(of(true, call, &[]), REFUSE);
        assert_eq!(of(false, call, &[]), ALLOW);
    }
}

#[test]
fn the_limit_on_cores_only_seems_to_change() {
    let needs = Needs {
        sockets: Sockets::Any,
        no_hidden_memory: false,
        among_others: false,
        shares_user: true,
    };
    let prlimit = |arguments: &[i64]| native(needs, libc::SYS_prlimit64, arguments);
    let core = i64::from(libc::RLIMIT_CORE);
    assert_eq!(prlimit(&[0, core, 0, 99]), ALLOW, "asking");
    assert_eq!(prlimit(&[0, core, 99, 0]), PRETEND);
    assert_eq!(prlimit(&[0, core, 0x1_0000_0000, 0]), PRETEND, "upper half");
    assert_eq!(prlimit(&[0, core + 1, 99, 0]), ALLOW);
    assert_eq!(prlimit(&[1, core + 1, 99, 0]), REFUSE);
    assert_eq!(native(needs, libc::SYS_setrlimit, &[core, 99]), PRETEND);
    assert_eq!(native(needs, libc::SYS_setrlimit, &[core + 1, 99]), ALLOW);
}

#[test]
fn sockets_are_left_by_family() {
    let refused = |sockets, call, arguments: &[i64]| {
        let needs = Needs {
            sockets,
            no_hidden_memory: false,
            among_others: false,
            shares_user: true,
        };
        native(needs, call, arguments) == REFUSE
    };
    let families = 0..60_i64;
    for family in families {
        let unix = family == i64::from(libc::AF_UNIX);
        let internet = family == i64::from(libc::AF_INET) || family == i64::from(libc::AF_INET6);
        let netlink = family == i64::from(libc::AF_NETLINK);
        let socket = |left| refused(left, libc::SYS_socket, &[family, 1, 0]);
        assert!(socket(Sockets::None));
        assert_eq!(socket(Sockets::Internet), !(internet || netlink));
        assert_eq!(socket(Sockets::Any), !(internet || netlink || unix));
        for left in ALL {
            assert_eq!(refused(left, libc::SYS_socketpair, &[family, 1, 0]), !unix);
        }
    }
    let (unix, stays_open) = (i64::from(libc::AF_UNIX), 0x8_0800);
    for (kind, could_go_elsewhere) in [(1, false), (5, false), (2, true), (3, true)] {
        for left in ALL {
            let pair = refused(left, libc::SYS_socketpair, &[unix, kind | stays_open, 0]);
            assert_eq!(pair, could_go_elsewhere && left != Sockets::Any);
        }
    }
    let netlink = i64::from(libc::AF_NETLINK);
    for protocol in 1..30 {
        assert!(refused(
            Sockets::Any,
            libc::SYS_socket,
            &[netlink, 3, protocol]
        ));
    }
}
