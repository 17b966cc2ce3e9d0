//! Write timeout: closes a connection whose peer has stopped reading.
//!
//! A server stops polling a response body while the socket buffer is full, so the body cannot time out by
//! itself; the timeout has to be on the socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes fail with `TimedOut` if they make no progress for a while. Must wrap the socket
/// directly, below TLS.
#[derive(Debug)]
pub struct WriteLimit<S> {
    inner: S,
    at_most: Duration,
    /// Timer that runs while a write is pending.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteLimit<S> {
    /// Wraps a stream with this write timeout.
    pub fn new(inner: S, at_most: Duration) -> Self {
        Self {
            inner,
            at_most,
            stalled: None,
        }
    }

    /// Applies the timeout to a pending write.
    fn limited<T>(
        &mut self,
        answer: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            self.stalled = None;
            return answer;
        }
        let at_most = self.at_most;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(at_most)));
        ready!(stalled.as_mut().poll(cx));
        // Polling again fails again immediately.
        stalled.as_mut().reset(Instant::now());
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the other side takes nothing",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteLimit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(cx, data);
        self.limited(answer, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, data);
        self.limited(answer, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_flush(cx);
        self.limited(answer, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.limited(answer, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_write_that_makes_no_progress_fails() {
        let (ours, _theirs) = duplex(8);
        let mut ours = WriteLimit::new(ours, LIMIT);
        let begin = Instant::now();
        let error = ours.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begin.elapsed() >= LIMIT && begin.elapsed() < LIMIT * 2);
        let again = ours.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_not_a_dead_one() {
        let (ours, mut theirs) = duplex(8);
        let mut ours = WriteLimit::new(ours, LIMIT);
        let reading = tokio::spawn(async move {
            let mut read = 0;
            while read < 100 {
                sleep(LIMIT - Duration::from_secs(1)).await;
                read += theirs.read(&mut [0; 8]).await.unwrap();
            }
            theirs
        });
        let begin = Instant::now();
        ours.write_all(&[0; 100]).await.unwrap();
        assert!(begin.elapsed() > LIMIT * 5);
        let mut theirs = reading.await.unwrap();
        // Reads have no timeout.
        let answer = tokio::spawn(async move {
            sleep(LIMIT * 3).await;
            theirs.write_all(b"x").await.unwrap();
            theirs
        });
        assert_eq!(ours.read(&mut [0; 1]).await.unwrap(), 1);
        drop(answer.await.unwrap());
    }
}
