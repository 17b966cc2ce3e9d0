//! Progress notifications of a running command: the last lines of its output, throttled.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::workspace::command_outcome::OutputStream;
use polis_core::workspace::output_tail::OutputTail;
use polis_ops::port::OutputWatcher;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Minimum interval between two notifications.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of lines in a notification.
const MAX_NOTIFIED_LINES: usize = 3;
/// Number of output bytes kept for notifications.
const MAX_TAIL_BYTES: usize = 1_024;
/// How long a finished command waits for a client that does not accept its last notification.
const LAST_NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(1);

/// The tail of a command's output.
#[derive(Debug)]
pub(crate) struct ProgressTail {
    tail: Mutex<OutputTail>,
    new_output: Notify,
    /// Whether a notification is being sent.
    is_sending: AtomicBool,
}

impl Default for ProgressTail {
    fn default() -> Self {
        Self {
            tail: Mutex::new(OutputTail::new(MAX_TAIL_BYTES)),
            new_output: Notify::new(),
            is_sending: AtomicBool::new(false),
        }
    }
}

impl OutputWatcher for ProgressTail {
    fn on_output(&self, _: OutputStream, bytes: &[u8]) {
        self.tail.lock().push(bytes);
        self.new_output.notify_one();
    }
}

impl ProgressTail {
    /// Returns the total number of bytes and the last lines.
    fn last_lines(&self) -> (u64, String) {
        let mut tail = self.tail.lock();
        let (text, _) = tail.text();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let first = lines.len().saturating_sub(MAX_NOTIFIED_LINES);
        let last = lines.get(first..).unwrap_or_default().join("\n");
        (tail.total_bytes(), last)
    }

    /// Sends a notification whenever there is new output; never returns.
    async fn send_notifications(&self, peer: &Peer<RoleServer>, token: &ProgressToken) {
        loop {
            self.new_output.notified().await;
            let (bytes, lines) = self.last_lines();
            #[expect(
                clippy::cast_precision_loss,
                reason = "the protocol counts in floating point; output is bounded far below its limit"
            )]
            let progress = ProgressNotificationParam::new(token.clone(), bytes as f64);
            self.is_sending.store(true, Ordering::Relaxed);
            // A disconnected client is detected when the response is sent.
            let _ = peer.notify_progress(progress.with_message(lines)).await;
            self.is_sending.store(false, Ordering::Relaxed);
            sleep(NOTIFY_INTERVAL).await;
        }
    }
}

/// Awaits `work` while sending its output as progress notifications.
///
/// If a notification is being sent when the work ends, it is awaited: none may follow the response.
pub(crate) async fn with_progress<T>(
    work: impl Future<Output = T>,
    tail: &ProgressTail,
    peer: &Peer<RoleServer>,
    token: &ProgressToken,
) -> T {
    let mut work = pin!(work);
    let mut sending = pin!(tail.send_notifications(peer, token));
    let answer = poll_fn(|cx| {
        let _: Poll<()> = sending.as_mut().poll(cx);
        work.as_mut().poll(cx)
    })
    .await;
    let last = poll_fn(|cx| {
        if !tail.is_sending.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        let _: Poll<()> = sending.as_mut().poll(cx);
        if tail.is_sending.load(Ordering::Relaxed) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    });
    let _ = timeout(LAST_NOTIFICATION_TIMEOUT, last).await;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tail_keeps_last_lines() {
        let tail = ProgressTail::default();
        assert_eq!(tail.last_lines(), (0, String::new()));
        tail.on_output(OutputStream::Stdout, b"one\ntwo\nthree\nfour\n");
        assert_eq!(tail.last_lines(), (19, "two\nthree\nfour".to_owned()));
        tail.on_output(OutputStream::Stderr, &vec![b'x'; 5_000]);
        let (bytes, lines) = tail.last_lines();
        assert_eq!(bytes, 5_019);
        assert_eq!(lines.len(), MAX_TAIL_BYTES);
        tail.on_output(OutputStream::Stdout, "\n\u{957f}".repeat(2_000).as_bytes());
        assert!(tail.last_lines().1.ends_with("\u{957f}\n\u{957f}"));
        tail.on_output(OutputStream::Stdout, b"\xff\xfe");
        assert!(tail.last_lines().1.ends_with('\u{fffd}'));
    }
}
