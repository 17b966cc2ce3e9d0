//! Listening sockets: a TCP address or a Unix domain socket.
//!
//! Parses the address, refuses plaintext on a network interface unless it is explicitly allowed, and binds.
//! Unix sockets are accessible to their owner only.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use polis_core::Refusal;
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixStream};

use crate::refusal_tables::ListenRefusal;

/// Maximum number of connections waiting to be accepted.
const ACCEPT_BACKLOG: u32 = 1_024;
/// Prefix of Unix socket paths.
const UNIX_PREFIX: &str = "unix:";

/// Address to listen on, before the socket is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// IP address and port.
    Tcp(SocketAddr),
    /// A Unix domain socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// Parses `127.0.0.1:7707`, `[::1]:7707`, `localhost:7707` or `unix:PATH`. Fails with `InvalidInput` if
    /// the text has another form or the host name cannot be resolved.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if let Some(path) = text.strip_prefix(UNIX_PREFIX) {
            if path.is_empty() || path.contains('\0') {
                return Err(invalid_listen_address());
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let mut found = text
            .to_socket_addrs()
            .map_err(|_| invalid_listen_address())?;
        found
            .next()
            .map(Self::Tcp)
            .ok_or_else(invalid_listen_address)
    }

    /// Fails with `InvalidInput` if tokens would be sent unencrypted over a network.
    pub fn check_encryption(&self, encrypted: bool, allow_plaintext: bool) -> Result<(), Refusal> {
        match self {
            Self::Tcp(address)
                if !address.ip().to_canonical().is_loopback() && !encrypted && !allow_plaintext =>
            {
                Err(Refusal::from(ListenRefusal::PlaintextReachable {
                    address: address.to_string(),
                }))
            }
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
        }
    }

    /// Binds the socket. Must be called within the tokio runtime. Fails if the address is in use.
    pub async fn bind(&self) -> io::Result<BoundListener> {
        match self {
            Self::Tcp(address) => {
                let socket = if address.is_ipv4() {
                    TcpSocket::new_v4()?
                } else {
                    TcpSocket::new_v6()?
                };
                // Connections of a server that just ended remain in TIME_WAIT and would keep the address in
                // use.
                socket.set_reuseaddr(true)?;
                socket.bind(*address)?;
                Ok(BoundListener::Tcp(socket.listen(ACCEPT_BACKLOG)?))
            }
            Self::Unix(path) => bind_unix(path).await,
        }
    }
}

/// A bound listening socket.
#[derive(Debug)]
pub enum BoundListener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix domain socket.
    Unix(UnixListener, SocketFile),
}

impl BoundListener {
    /// Returns the URL clients use; `encrypted` selects the scheme.
    pub fn url(&self, encrypted: bool) -> String {
        let scheme = if encrypted { "https" } else { "http" };
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("{scheme}://{address}"),
                Err(_) => format!("{scheme}://?"),
            },
            Self::Unix(_, file) => format!("{UNIX_PREFIX}{}", file.path.display()),
        }
    }

    /// Returns the IP address it listens on; `None` for a Unix socket.
    pub fn ip_address(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(|address| address.ip()),
            Self::Unix(..) => None,
        }
    }
}

/// The file of a Unix socket. Removed on drop, unless another server has replaced it.
pub struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl fmt::Debug for SocketFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketFile").finish_non_exhaustive()
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if socket_inode(&self.path).is_some_and(|inode| inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn socket_inode(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    found
        .file_type()
        .is_socket()
        .then(|| (found.dev(), found.ino()))
}

/// Binds a Unix socket that only its owner can connect to.
///
/// The socket is bound under a temporary name, restricted to its owner, and then renamed: it is never visible
/// at its path with open permissions, and an old socket is replaced atomically instead of being removed
/// first.
async fn bind_unix(path: &Path) -> io::Result<BoundListener> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the path exists and is not a socket",
            ));
        }
        if UnixStream::connect(path).await.is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another server is listening on it",
            ));
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    let listener = UnixListener::bind(&temporary)?;
    let result = std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o600))
        .and_then(|()| std::fs::rename(&temporary, path));
    if let Err(error) = result {
        let _ = std::fs::remove_file(&temporary);
        return Err(error);
    }
    let inode = socket_inode(path).unwrap_or_default();
    let file = SocketFile {
        path: path.to_owned(),
        inode,
    };
    Ok(BoundListener::Unix(listener, file))
}

fn invalid_listen_address() -> Refusal {
    Refusal::from(ListenRefusal::InvalidAddress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_core::RefusalCode;

    #[test]
    fn listen_address_on_network_without_tls_is_refused() {
        let parse = |text: &str| ListenAddress::parse(text).unwrap();
        assert_eq!(parse("unix:/tmp/x"), ListenAddress::Unix("/tmp/x".into()));
        for bad in ["", "127.0.0.1", "unix:", ":::", "127.0.0.1:99999"] {
            assert_eq!(
                ListenAddress::parse(bad).unwrap_err().code,
                RefusalCode::INVALID_INPUT,
                "{bad}"
            );
        }
        for (text, plain) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("unix:x", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            assert_eq!(
                parse(text).check_encryption(false, false).is_ok(),
                plain,
                "{text}"
            );
            assert!(parse(text).check_encryption(true, false).is_ok());
            assert!(parse(text).check_encryption(false, true).is_ok());
        }
    }

    #[tokio::test]
    async fn unix_socket_bind_replaces_only_stale_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("polis.sock");
        let listen = ListenAddress::Unix(path.clone());
        let first = listen.bind().await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            listen.bind().await.unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        // A stale file left by a killed server.
        let BoundListener::Unix(socket, file) = first else {
            panic!()
        };
        drop(socket);
        std::mem::forget(file);
        assert!(path.exists());
        let second = listen.bind().await.unwrap();
        assert!(UnixStream::connect(&path).await.is_ok());
        drop(second);
        assert!(!path.exists());
        std::fs::write(&path, "a file").unwrap();
        assert_eq!(
            listen.bind().await.unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
