//! Listening sockets: a TCP address or a Unix domain socket.
//!
//! Parses the address, refuses plaintext on a network interface, and binds. Unix sockets are accessible to
//! their owner only.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use polis_core::{Code, Refusal};
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixStream};

/// Maximum number of connections waiting to be accepted.
const BACKLOG: u32 = 1_024;
/// Prefix of Unix socket paths.
const UNIX: &str = "unix:";

/// Address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix domain socket.
    Unix(PathBuf),
}

impl Listen {
    /// Parses `127.0.0.1:7707`, `[::1]:7707`, `localhost:7707` or `unix:PATH`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if let Some(path) = text.strip_prefix(UNIX) {
            if path.is_empty() || path.contains('\0') {
                return Err(no_address());
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let mut found = text.to_socket_addrs().map_err(|_| no_address())?;
        found.next().map(Self::Tcp).ok_or_else(no_address)
    }

    /// Fails with `InvalidInput` if tokens would be sent unencrypted over a network.
    pub fn check(&self, encrypted: bool, allow_plaintext: bool) -> Result<(), Refusal> {
        match self {
            Self::Tcp(address)
                if !address.ip().to_canonical().is_loopback() && !encrypted && !allow_plaintext =>
            {
                Err(Refusal::new(
                    Code::InvalidInput,
                    format!(
                        "{address} can be reached from other machines, and without TLS everybody on the way \
                         reads the tokens."
                    ),
                    "give --tls-cert and --tls-key; or --allow-plaintext if something in front of it encrypts",
                ))
            }
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
        }
    }

    /// Binds the socket. Must be called within the tokio runtime.
    pub async fn bind(&self) -> io::Result<Listener> {
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
                Ok(Listener::Tcp(socket.listen(BACKLOG)?))
            }
            Self::Unix(path) => bind_unix(path).await,
        }
    }
}

/// A bound socket.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix domain socket.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Returns the URL clients use; `encrypted` selects the scheme.
    pub fn url(&self, encrypted: bool) -> String {
        let scheme = if encrypted { "https" } else { "http" };
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("{scheme}://{address}"),
                Err(_) => format!("{scheme}://?"),
            },
            Self::Unix(_, file) => format!("{UNIX}{}", file.path.display()),
        }
    }

    /// Returns the IP address it listens on; `None` for a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
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
        if inode(&self.path).is_some_and(|inode| inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
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
async fn bind_unix(path: &Path) -> io::Result<Listener> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something that is not a socket is in its place",
            ));
        }
        if UnixStream::connect(path).await.is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another server listens on it",
            ));
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let listener = UnixListener::bind(&beside)?;
    let placed = std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600))
        .and_then(|()| std::fs::rename(&beside, path));
    if let Err(error) = placed {
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    let inode = inode(path).unwrap_or_default();
    let file = SocketFile {
        path: path.to_owned(),
        inode,
    };
    Ok(Listener::Unix(listener, file))
}

fn no_address() -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        "That is not an address to listen on.",
        "give --listen 127.0.0.1:7707, [::1]:7707, a name and a port, or unix:PATH",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_open_ones_need_tls() {
        let parse = |text: &str| Listen::parse(text).unwrap();
        assert_eq!(parse("unix:/tmp/x"), Listen::Unix("/tmp/x".into()));
        for bad in ["", "127.0.0.1", "unix:", ":::", "127.0.0.1:99999"] {
            assert_eq!(
                Listen::parse(bad).unwrap_err().code,
                Code::InvalidInput,
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
            assert_eq!(parse(text).check(false, false).is_ok(), plain, "{text}");
            assert!(parse(text).check(true, false).is_ok());
            assert!(parse(text).check(false, true).is_ok());
        }
    }

    #[tokio::test]
    async fn a_socket_replaces_a_dead_one_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("polis.sock");
        let listen = Listen::Unix(path.clone());
        let first = listen.bind().await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            listen.bind().await.unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        // A stale file left by a killed server.
        let Listener::Unix(socket, file) = first else {
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
