//! Finds the process that listens on a TCP address or a Unix socket of this machine, for the error message
//! when the address is already in use.
//!
//! For TCP it searches `/proc`, where it does not find processes of other users. For a Unix socket it
//! connects and asks the kernel for the peer (`SO_PEERCRED`).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// State code of a listening socket in `/proc/net/tcp`.
const TCP_LISTEN_STATE: &str = "0A";

/// A process that listens on an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortOwner {
    /// Name of the program.
    pub(crate) program: String,
    /// Process id (PID).
    pub(crate) pid: u32,
}

impl PortOwner {
    /// Returns the process that listens on an address, or on all addresses at its port.
    pub(crate) fn find(address: SocketAddr) -> Option<Self> {
        Self::find_by_inodes(&listening_inodes(address))
    }

    /// Returns the process that listens on a Unix socket.
    pub(crate) fn find_unix(path: &Path) -> Option<Self> {
        let stream = std::os::unix::net::UnixStream::connect(path).ok()?;
        let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
        let pid = u32::try_from(peer.pid.as_raw_pid()).ok()?;
        Some(Self {
            program: program_name(pid),
            pid,
        })
    }

    fn find_by_inodes(inodes: &[String]) -> Option<Self> {
        if inodes.is_empty() {
            return None;
        }
        let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .find(|pid| holds_socket(*pid, inodes))
            .map(|pid| Self {
                program: program_name(pid),
                pid,
            })
    }
}

/// Returns the inodes of the sockets that listen on an address, or on all addresses at its port.
fn listening_inodes(address: SocketAddr) -> Vec<String> {
    let mut inodes = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(state), Some(inode)) =
                (fields.get(1), fields.get(3), fields.get(9))
            else {
                continue;
            };
            let Some(found) = parse_proc_address(local).filter(|_| *state == TCP_LISTEN_STATE)
            else {
                continue;
            };
            let same = found.ip() == address.ip() || found.ip().is_unspecified();
            if same && found.port() == address.port() {
                inodes.push((*inode).to_owned());
            }
        }
    }
    inodes
}

/// Parses an address as the kernel writes it: hexadecimal, each 32-bit word in the byte order of the machine.
fn parse_proc_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

fn holds_socket(pid: u32, inodes: &[String]) -> bool {
    let directory = Path::new("/proc").join(pid.to_string()).join("fd");
    let Ok(descriptors) = fs::read_dir(directory) else {
        return false;
    };
    descriptors.filter_map(Result::ok).any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let inode = target
            .to_str()
            .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
        inode.is_some_and(|inode| inodes.iter().any(|candidate| candidate == inode))
    })
}

fn program_name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Waits until there is no owner: a process that another test is starting holds a copy of the socket
    /// between fork and exec.
    fn wait_until_unowned(find: impl Fn() -> Option<PortOwner>) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while let Some(owner) = find() {
            assert!(std::time::Instant::now() < deadline, "{owner:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    #[test]
    fn listening_process_is_found_by_port() {
        for bind in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(bind) else {
                continue;
            };
            let mut address = listener.local_addr().unwrap();
            if address.ip().is_unspecified() {
                address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
            }
            let owner = PortOwner::find(address).unwrap();
            assert_eq!(owner.pid, std::process::id(), "{bind}");
            assert!(!owner.program.is_empty());
            drop(listener);
            wait_until_unowned(|| PortOwner::find(address));
        }
    }

    #[test]
    fn listening_process_is_found_by_unix_socket() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a socket");
        assert_eq!(PortOwner::find_unix(&path), None);
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(PortOwner::find_unix(&path).unwrap().pid, std::process::id());
        drop(listener);
        wait_until_unowned(|| PortOwner::find_unix(&path));
    }

    #[test]
    fn proc_net_addresses_are_parsed() {
        let loopback = u32::from_ne_bytes([127, 0, 0, 1]);
        let text = format!("{loopback:08X}:1E1B");
        assert_eq!(
            parse_proc_address(&text),
            Some("127.0.0.1:7707".parse().unwrap())
        );
        for odd in ["", ":", "0100007F", "0100007F:zz", "01:1E1B", "é:1"] {
            assert_eq!(parse_proc_address(odd), None, "{odd}");
        }
    }
}
