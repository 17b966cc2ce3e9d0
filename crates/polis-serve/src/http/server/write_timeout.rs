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
pub struct WriteTimeoutStream<S> {
    inner: S,
    timeout: Duration,
    /// Timer that runs while a write is pending.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    /// Wraps a stream with this write timeout.
    pub fn new(inner: S, timeout: Duration) -> Self {
        Self {
            inner,
            timeout,
            timer: None,
        }
    }

    /// Applies the timeout to a pending write.
    fn apply_timeout<T>(
        &mut self,
        answer: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            self.timer = None;
            return answer;
        }
        let limit = self.timeout;
        let stalled = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(cx));
        // Polling again fails again immediately.
        stalled.as_mut().reset(Instant::now());
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer has stopped reading",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(cx, data);
        self.apply_timeout(answer, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, data);
        self.apply_timeout(answer, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_flush(cx);
        self.apply_timeout(answer, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.apply_timeout(answer, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn stalled_write_times_out() {
        let (ours, _theirs) = duplex(8);
        let mut ours = WriteTimeoutStream::new(ours, LIMIT);
        let start = Instant::now();
        let error = ours.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= LIMIT && start.elapsed() < LIMIT * 2);
        let second_error = ours.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(second_error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_does_not_time_out() {
        let (ours, mut theirs) = duplex(8);
        let mut ours = WriteTimeoutStream::new(ours, LIMIT);
        let reading = tokio::spawn(async move {
            let mut read = 0;
            while read < 100 {
                sleep(LIMIT - Duration::from_secs(1)).await;
                read += theirs.read(&mut [0; 8]).await.unwrap();
            }
            theirs
        });
        let start = Instant::now();
        ours.write_all(&[0; 100]).await.unwrap();
        assert!(start.elapsed() > LIMIT * 5);
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
