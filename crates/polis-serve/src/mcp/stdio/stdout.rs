//! Standard output for bytes: non-blocking for a pipe or a socket; writes to a terminal or a file block.
//!
//! `write_some` writes what the client can take now, `write_all` waits until the rest is written. Messages, their
//! order and backpressure are in `transport`.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::stdin::as_socket;

/// Standard output.
#[derive(Debug)]
pub(super) enum StdoutWriter {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    /// A terminal or file, which accepts all writes.
    Plain(io::Stdout),
}

impl StdoutWriter {
    /// Opens standard output.
    pub(super) fn open() -> io::Result<Self> {
        if let Ok(pipe) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            return Ok(Self::Pipe(pipe));
        }
        Ok(match as_socket(io::stdout().as_fd())? {
            Some(socket) => Self::Socket(socket),
            None => Self::Plain(io::stdout()),
        })
    }

    /// Writes as much as possible without blocking and returns the number of bytes.
    pub(super) fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let result = match self {
                Self::Pipe(pipe) => pipe.try_write(rest),
                Self::Socket(socket) => socket.try_write(rest),
                Self::Plain(stdout) => stdout.write(rest).and_then(|n| stdout.flush().map(|()| n)),
            };
            match result {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Writes all bytes, waiting for the client where necessary.
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.write_some(bytes)?;
        while written < bytes.len() {
            match self {
                Self::Pipe(pipe) => pipe.writable().await?,
                Self::Socket(socket) => socket.writable().await?,
                Self::Plain(_) => {}
            }
            written += self.write_some(bytes.get(written..).unwrap_or_default())?;
        }
        Ok(())
    }
}
