//! Asynchronous standard input, without a thread where possible.
//!
//! Programs start MCP servers with pipes or sockets. Both are read through the reactor: a thread in between
//! would cost more than most requests. Terminals and files are read by a thread, which is not joined at the
//! end.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// Number of bytes read at once.
pub(super) const READ_CHUNK_BYTES: usize = 64 << 10;
/// Maximum number of chunks the thread may read ahead.
const MAX_CHUNKS_AHEAD: usize = 4;

/// Standard input.
#[derive(Debug)]
pub(super) enum StdinReader {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    Thread(mpsc::Receiver<io::Result<Vec<u8>>>),
}

impl StdinReader {
    /// Opens standard input.
    pub(super) fn open() -> io::Result<Self> {
        // Reopened, so that non-blocking mode applies to this file description only and not to all processes
        // sharing it.
        if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Ok(Self::Pipe(pipe));
        }
        match as_socket(io::stdin().as_fd())? {
            Some(socket) => Ok(Self::Socket(socket)),
            None => Ok(Self::Thread(spawn_reader_thread()?)),
        }
    }

    /// Appends the next bytes to a buffer and returns their number; 0 at the end. Cancel safe.
    pub(super) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        buffer.reserve(READ_CHUNK_BYTES);
        match self {
            Self::Pipe(pipe) => pipe.read_buf(buffer).await,
            Self::Socket(socket) => socket.read_buf(buffer).await,
            Self::Thread(chunks) => match chunks.recv().await {
                Some(chunk) => {
                    let chunk = chunk?;
                    buffer.extend_from_slice(&chunk);
                    Ok(chunk.len())
                }
                None => Ok(0),
            },
        }
    }
}

/// Returns a file descriptor as a socket, if it is one.
pub(super) fn as_socket(stream: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<UnixStream>> {
    use std::os::unix::fs::FileTypeExt as _;

    let file = std::fs::File::from(stream.try_clone_to_owned()?);
    if !file.metadata()?.file_type().is_socket() {
        return Ok(None);
    }
    let socket = std::os::unix::net::UnixStream::from(std::os::fd::OwnedFd::from(file));
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket).map(Some)
}

fn spawn_reader_thread() -> io::Result<mpsc::Receiver<io::Result<Vec<u8>>>> {
    let (chunks, receiver) = mpsc::channel(MAX_CHUNKS_AHEAD);
    std::thread::Builder::new()
        .name("polis-stdin".to_owned())
        .spawn(move || {
            let mut buffer = vec![0; READ_CHUNK_BYTES];
            loop {
                let chunk = match io::stdin().lock().read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => Ok(buffer.get(..read).unwrap_or_default().to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = chunk.is_err();
                if chunks.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        })?;
    Ok(receiver)
}
