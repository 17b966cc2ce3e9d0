//! Progress notifications of a running command: the last lines of its output, throttled.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use polis_ops::port::{OutputWatcher, Stream};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Minimum interval between two notifications.
const EVERY: Duration = Duration::from_millis(100);
/// Maximum number of lines in a notification.
const LINES: usize = 3;
/// Number of output bytes kept for notifications.
const KEPT: usize = 1_024;
/// How long a finished command waits for a client that does not accept its last notification.
const PATIENCE: Duration = Duration::from_secs(1);

/// The tail of a command's output.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    seen: Mutex<Seen>,
    news: Notify,
    /// Whether a notification is being sent.
    telling: AtomicBool,
}

#[derive(Debug, Default)]
struct Seen {
    /// Total number of bytes.
    bytes: u64,
    /// The last bytes.
    end: Vec<u8>,
}

impl OutputWatcher for Tail {
    fn output(&self, _: Stream, bytes: &[u8]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.bytes = seen.bytes.saturating_add(bytes.len() as u64);
        let fresh = bytes.len().saturating_sub(KEPT);
        seen.end
            .extend_from_slice(bytes.get(fresh..).unwrap_or_default());
        let old = seen.end.len().saturating_sub(KEPT);
        seen.end.drain(..old);
        drop(seen);
        self.news.notify_one();
    }
}

impl Tail {
    /// Returns the total number of bytes and the last lines.
    fn look(&self) -> (u64, String) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&seen.end);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let first = lines.len().saturating_sub(LINES);
        let last = lines.get(first..).unwrap_or_default().join("\n");
        (seen.bytes, last)
    }

    /// Sends a notification whenever there is new output; never returns.
    async fn tell(&self, peer: &Peer<RoleServer>, token: &ProgressToken) {
        loop {
            self.news.notified().await;
            let (bytes, lines) = self.look();
            #[expect(
                clippy::cast_precision_loss,
                reason = "the protocol counts in floating point; output is bounded far below its limit"
            )]
            let progress = ProgressNotificationParam::new(token.clone(), bytes as f64);
            self.telling.store(true, Ordering::Relaxed);
            // A disconnected client is detected when the response is sent.
            let _ = peer.notify_progress(progress.with_message(lines)).await;
            self.telling.store(false, Ordering::Relaxed);
            sleep(EVERY).await;
        }
    }
}

/// Awaits `work` while sending its output as progress notifications.
///
/// If a notification is being sent when the work ends, it is awaited: none may follow the response.
pub(crate) async fn told<T>(
    work: impl Future<Output = T>,
    tail: &Tail,
    peer: &Peer<RoleServer>,
    token: &ProgressToken,
) -> T {
    let mut work = pin!(work);
    let mut telling = pin!(tail.tell(peer, token));
    let answer = poll_fn(|cx| {
        let _: Poll<()> = telling.as_mut().poll(cx);
        work.as_mut().poll(cx)
    })
    .await;
    let last = poll_fn(|cx| {
        if !tail.telling.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        let _: Poll<()> = telling.as_mut().poll(cx);
        if tail.telling.load(Ordering::Relaxed) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    });
    let _ = timeout(PATIENCE, last).await;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_whatever_comes() {
        let tail = Tail::default();
        assert_eq!(tail.look(), (0, String::new()));
        tail.output(Stream::Stdout, b"one\ntwo\nthree\nfour\n");
        assert_eq!(tail.look(), (19, "two\nthree\nfour".to_owned()));
        tail.output(Stream::Stderr, &vec![b'x'; 5_000]);
        let (bytes, lines) = tail.look();
        assert_eq!(bytes, 5_019);
        assert_eq!(lines.len(), KEPT);
        tail.output(Stream::Stdout, "\n\u{957f}".repeat(2_000).as_bytes());
        assert!(tail.look().1.ends_with("\u{957f}\n\u{957f}"));
        tail.output(Stream::Stdout, b"\xff\xfe");
        assert!(tail.look().1.ends_with('\u{fffd}'));
    }
}
