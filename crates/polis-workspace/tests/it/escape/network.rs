//! Reaching what listens on this machine, by every kind of socket.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use polis_core::workspace::command::Ending;
use polis_core::workspace::policy::{Network, Tier};
use polis_workspace::sandbox::{Job, SandboxError};

use super::stage::{Attempt, Stage, attempt, strengths};

const REFUSED: &[&str] = &["refused E"];

const INTERNET: &[Attempt] = &[
    attempt("TCP", "./attacker tcp $TCP", REFUSED),
    attempt("UDP", "./attacker udp $UDP", REFUSED),
    attempt("MPTCP", "./attacker mptcp $TCP", REFUSED),
    attempt("TCP with data at once", "./attacker fastopen $TCP", REFUSED),
    attempt("a name", "getent hosts example.org", &[""]),
];

const OTHERS: &[Attempt] = &[
    attempt("raw packets", "./attacker raw", REFUSED),
    attempt(
        "packets of a device",
        "./attacker packet",
        &["refused EPERM"],
    ),
    attempt(
        "the host of a virtual machine",
        "./attacker vsock",
        &["refused EPERM"],
    ),
    attempt("audit", "./attacker netlink 9", &["refused EPERM"]),
    attempt("the firewall", "./attacker netlink 12", &["refused EPERM"]),
    attempt(
        "crypto of the kernel",
        "./attacker family 38",
        &["refused EPERM"],
    ),
    attempt("bluetooth", "./attacker family 31", &["refused EPERM"]),
    attempt("CAN", "./attacker family 29", &["refused EPERM"]),
    attempt("XDP", "./attacker family 44", &["refused EPERM"]),
    attempt("TIPC", "./attacker family 30", &["refused EPERM"]),
    attempt("RDS", "./attacker family 21", &["refused EPERM"]),
    attempt("keys of IPsec", "./attacker family 15", &["refused EPERM"]),
];

const SOCKETS: &[Attempt] = &[
    attempt(
        "an abstract socket",
        "./attacker abstract $ABSTRACT",
        REFUSED,
    ),
    attempt(
        "an abstract datagram",
        "./attacker abstract_datagram $ABSTRACT-d",
        REFUSED,
    ),
    attempt(
        "an abstract datagram of a pair",
        "./attacker abstract_pair $ABSTRACT-d",
        REFUSED,
    ),
    attempt(
        "a socket of a path",
        "./attacker socket_path \"$PLACE\"/other/socket",
        REFUSED,
    ),
    attempt(
        "a datagram to a path",
        "./attacker datagram_path \"$PLACE\"/other/datagram",
        REFUSED,
    ),
    attempt(
        "a datagram of a pair",
        "./attacker pair_path \"$PLACE\"/other/datagram",
        REFUSED,
    ),
    attempt(
        "a raw datagram of a pair",
        "./attacker raw_pair_path \"$PLACE\"/other/datagram",
        REFUSED,
    ),
];

/// Everything that listens outside.
struct Listeners {
    tcp: TcpListener,
    udp: UdpSocket,
    streams: [UnixListener; 2],
    datagrams: [UnixDatagram; 2],
}

impl Listeners {
    fn around(stage: &mut Stage) -> Self {
        let name = format!("polis-escape-{}", stage.place().display()).replace('/', "-");
        let abstract_name = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let other = stage.place().join("other");
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
        stage.as_it_is();
        found
    }

    /// Who was reached since the last time.
    fn reached(&self) -> Vec<&'static str> {
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

fn stages(network: Network) -> impl Iterator<Item = (Stage, Listeners)> {
    strengths().iter().map(move |strength| {
        let mut stage = Stage::new(strength);
        stage.policy.network = network;
        let listeners = Listeners::around(&mut stage);
        (stage, listeners)
    })
}

#[test]
fn without_a_network_nobody_is_reached() {
    for (stage, listeners) in stages(Network::Off) {
        stage.attempt(INTERNET);
        stage.attempt(OTHERS);
        stage.attempt(SOCKETS);
        assert_eq!(listeners.reached(), Vec::<&str>::new());
        assert_eq!(stage.output("./attacker udp 9 >/dev/null; echo $?"), "1\n");
    }
}

#[test]
fn its_own_loopback_is_nobody_elses() {
    for (stage, listeners) in stages(Network::Loopback) {
        if stage.tier() == Tier::Landlock {
            // Without a namespace there is none, and it is said.
            let workspace = stage.workspace();
            let job = Job {
                hand_over: true,
                ..Job::new(&workspace, "true", &stage.policy)
            };
            let refused = stage.strength.sandbox.run(&job);
            assert!(
                matches!(&refused, Err(SandboxError::Unavailable(why)) if why.contains("loopback")),
                "{refused:?}"
            );
            continue;
        }
        assert_eq!(stage.output("./attacker own_loopback"), "done\n");
        let tcp = &INTERNET[..1];
        stage.attempt(tcp);
        stage.attempt(OTHERS);
        stage.attempt(SOCKETS);
        // UDP to a port where nobody is succeeds at first; it reaches nobody.
        stage.run("./attacker udp $UDP; ./attacker mptcp $TCP; ./attacker fastopen $TCP");
        assert_eq!(listeners.reached(), Vec::<&str>::new());
    }
}

#[test]
fn with_the_network_only_the_network_is_reached() {
    for (stage, listeners) in stages(Network::On) {
        assert_eq!(stage.output("./attacker tcp $TCP"), "done\n");
        assert_eq!(stage.output("./attacker udp $UDP"), "done\n");
        assert_eq!(listeners.reached(), ["tcp", "udp"]);
        stage.attempt(OTHERS);
        stage.attempt(SOCKETS);
        assert_eq!(listeners.reached(), Vec::<&str>::new());
    }
}

#[test]
fn sockets_of_its_own_work_where_there_are_spaces() {
    for (stage, _listeners) in stages(Network::Off) {
        let script = "import socket, os\n\
             a, b = socket.socketpair()\n\
             a.send(b'x'); assert b.recv(1) == b'x'\n";
        std::fs::write(stage.workspace().join("pair.py"), script).unwrap();
        let run = stage.run("command -v python3 >/dev/null || exit 77; python3 pair.py");
        if run.ending == Ending::Exited(77) {
            eprintln!("skipped: no python3 inside");
            return;
        }
        assert_eq!(run.ending, Ending::Exited(0), "{run:?}");
        if stage.has_spaces() {
            let script = "import socket\n\
                 s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen()\n\
                 c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); c.send(b'x')\n\
                 assert s.accept()[0].recv(1) == b'x'\n";
            std::fs::write(stage.workspace().join("own.py"), script).unwrap();
            stage.output("python3 own.py");
        }
    }
}
