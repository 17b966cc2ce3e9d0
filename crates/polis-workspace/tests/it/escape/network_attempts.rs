//! Escape attempts over the network: a command tries to reach listeners on this machine with every kind of
//! socket, for each network policy (off, loopback, on).

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::command_policy::{NetworkAccess, SandboxTier};
use polis_workspace::refusal_tables::SandboxProblem;
use polis_workspace::sandbox::{SandboxContext, SandboxError};

use super::test_sandbox::{EscapeAttempt, TestSandbox, available_sandboxes, escape_attempt};

const REFUSED_ERRORS: &[&str] = &["refused E"];

const INTERNET_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt("TCP", "./attacker tcp $TCP", REFUSED_ERRORS),
    escape_attempt("UDP", "./attacker udp $UDP", REFUSED_ERRORS),
    escape_attempt("MPTCP", "./attacker mptcp $TCP", REFUSED_ERRORS),
    escape_attempt(
        "TCP with data at once",
        "./attacker fastopen $TCP",
        REFUSED_ERRORS,
    ),
    escape_attempt("a name", "getent hosts example.org", &[""]),
];

const OTHER_FAMILY_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt("raw packets", "./attacker raw", REFUSED_ERRORS),
    escape_attempt(
        "packets of a device",
        "./attacker packet",
        &["refused EPERM"],
    ),
    escape_attempt(
        "the host of a virtual machine",
        "./attacker vsock",
        &["refused EPERM"],
    ),
    escape_attempt("audit", "./attacker netlink 9", &["refused EPERM"]),
    escape_attempt("the firewall", "./attacker netlink 12", &["refused EPERM"]),
    escape_attempt(
        "crypto of the kernel",
        "./attacker family 38",
        &["refused EPERM"],
    ),
    escape_attempt("bluetooth", "./attacker family 31", &["refused EPERM"]),
    escape_attempt("CAN", "./attacker family 29", &["refused EPERM"]),
    escape_attempt("XDP", "./attacker family 44", &["refused EPERM"]),
    escape_attempt("TIPC", "./attacker family 30", &["refused EPERM"]),
    escape_attempt("RDS", "./attacker family 21", &["refused EPERM"]),
    escape_attempt("keys of IPsec", "./attacker family 15", &["refused EPERM"]),
];

const UNIX_SOCKET_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt(
        "an abstract socket",
        "./attacker abstract $ABSTRACT",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "an abstract datagram",
        "./attacker abstract_datagram $ABSTRACT-d",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "an abstract datagram of a pair",
        "./attacker abstract_pair $ABSTRACT-d",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "a socket of a path",
        "./attacker socket_path \"$PLACE\"/other/socket",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "a datagram to a path",
        "./attacker datagram_path \"$PLACE\"/other/datagram",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "a datagram of a pair",
        "./attacker pair_path \"$PLACE\"/other/datagram",
        REFUSED_ERRORS,
    ),
    escape_attempt(
        "a raw datagram of a pair",
        "./attacker raw_pair_path \"$PLACE\"/other/datagram",
        REFUSED_ERRORS,
    ),
];

/// Listeners of every kind outside of the sandbox.
struct HostListeners {
    tcp: TcpListener,
    udp: UdpSocket,
    streams: [UnixListener; 2],
    datagrams: [UnixDatagram; 2],
}

impl HostListeners {
    fn start(stage: &mut TestSandbox) -> Self {
        let name = format!("polis-escape-{}", stage.base_path().display()).replace('/', "-");
        let abstract_name = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let other = stage.base_path().join("other");
        let found = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            streams: [
                UnixListener::bind_addr(&abstract_name(&name)).unwrap(),
                UnixListener::bind(other.join("socket")).unwrap(),
            ],
            datagrams: [
                UnixDatagram::bind_addr(&abstract_name(&format!("{name}-d"))).unwrap(),
                UnixDatagram::bind(other.join("datagram")).unwrap(),
            ],
        };
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        for socket in ["socket", "datagram"] {
            std::fs::set_permissions(other.join(socket), Clone::clone(&open)).unwrap();
        }
        found.tcp.set_nonblocking(true).unwrap();
        found.udp.set_nonblocking(true).unwrap();
        for stream in &found.streams {
            stream.set_nonblocking(true).unwrap();
        }
        for datagram in &found.datagrams {
            datagram.set_nonblocking(true).unwrap();
        }
        let set = [
            ("TCP", found.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", found.udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
        ];
        stage
            .policy
            .env
            .extend(set.map(|(name, value)| (name.to_owned(), value)));
        stage.accept_surroundings();
        found
    }

    /// Returns the listeners that were reached since the last call.
    fn take_reached(&self) -> Vec<&'static str> {
        let mut bytes = [0; 16];
        let tries = [
            ("tcp", self.tcp.accept().is_ok()),
            ("udp", self.udp.recv(&mut bytes).is_ok()),
            ("abstract", self.streams[0].accept().is_ok()),
            ("path", self.streams[1].accept().is_ok()),
            (
                "abstract datagram",
                self.datagrams[0].recv(&mut bytes).is_ok(),
            ),
            ("path datagram", self.datagrams[1].recv(&mut bytes).is_ok()),
        ];
        let reached = tries.into_iter().filter(|(_, reached)| *reached);
        reached.map(|(name, _)| name).collect()
    }
}

fn sandboxes_with_listeners(
    network: NetworkAccess,
) -> impl Iterator<Item = (TestSandbox, HostListeners)> {
    available_sandboxes().iter().map(move |strength| {
        let mut stage = TestSandbox::new(strength);
        stage.policy.network = network;
        let listeners = HostListeners::start(&mut stage);
        (stage, listeners)
    })
}

#[test]
fn network_off_reaches_no_listener() {
    for (stage, listeners) in sandboxes_with_listeners(NetworkAccess::Off) {
        stage.check_attempts_fail(INTERNET_ATTEMPTS);
        stage.check_attempts_fail(OTHER_FAMILY_ATTEMPTS);
        stage.check_attempts_fail(UNIX_SOCKET_ATTEMPTS);
        assert_eq!(listeners.take_reached(), Vec::<&str>::new());
        assert_eq!(
            stage.successful_output("./attacker udp 9 >/dev/null; echo $?"),
            "1\n"
        );
    }
}

#[test]
fn loopback_is_private_to_the_command() {
    for (stage, listeners) in sandboxes_with_listeners(NetworkAccess::Loopback) {
        if stage.tier() == SandboxTier::Landlock {
            // Without a namespace there is no private loopback, and the error says so.
            let workspace = stage.workspace();
            let context = SandboxContext {
                may_chown: true,
                ..SandboxContext::new(&workspace)
            };
            let request = CommandRequest::trusted("true", &stage.policy);
            let refused = stage.tier_sandbox.sandbox.run(&request, &context);
            assert!(
                matches!(
                    &refused,
                    Err(SandboxError::Unavailable(problems))
                        if problems.contains(&SandboxProblem::LoopbackWithoutNamespace)
                ),
                "{refused:?}"
            );
            continue;
        }
        assert_eq!(stage.successful_output("./attacker own_loopback"), "done\n");
        let tcp = &INTERNET_ATTEMPTS[..1];
        stage.check_attempts_fail(tcp);
        stage.check_attempts_fail(OTHER_FAMILY_ATTEMPTS);
        stage.check_attempts_fail(UNIX_SOCKET_ATTEMPTS);
        // UDP to a port without a listener succeeds at first, but reaches no one.
        stage.run("./attacker udp $UDP; ./attacker mptcp $TCP; ./attacker fastopen $TCP");
        assert_eq!(listeners.take_reached(), Vec::<&str>::new());
    }
}

#[test]
fn network_on_reaches_only_tcp_and_udp() {
    for (stage, listeners) in sandboxes_with_listeners(NetworkAccess::On) {
        assert_eq!(stage.successful_output("./attacker tcp $TCP"), "done\n");
        assert_eq!(stage.successful_output("./attacker udp $UDP"), "done\n");
        assert_eq!(listeners.take_reached(), ["tcp", "udp"]);
        stage.check_attempts_fail(OTHER_FAMILY_ATTEMPTS);
        stage.check_attempts_fail(UNIX_SOCKET_ATTEMPTS);
        assert_eq!(listeners.take_reached(), Vec::<&str>::new());
    }
}

#[test]
fn own_unix_sockets_work_with_namespaces() {
    for (stage, _listeners) in sandboxes_with_listeners(NetworkAccess::Off) {
        let script = "import socket, os\n\
             a, b = socket.socketpair()\n\
             a.send(b'x'); assert b.recv(1) == b'x'\n";
        std::fs::write(stage.workspace().join("pair.py"), script).unwrap();
        let run = stage.run("command -v python3 >/dev/null || exit 77; python3 pair.py");
        if run.ending == CommandEnding::Exited(77) {
            eprintln!("skipped: no python3 inside");
            return;
        }
        assert_eq!(run.ending, CommandEnding::Exited(0), "{run:?}");
        if stage.has_namespaces() {
            let script = "import socket\n\
                 s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen()\n\
                 c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); c.send(b'x')\n\
                 assert s.accept()[0].recv(1) == b'x'\n";
            std::fs::write(stage.workspace().join("own.py"), script).unwrap();
            stage.successful_output("python3 own.py");
        }
    }
}
