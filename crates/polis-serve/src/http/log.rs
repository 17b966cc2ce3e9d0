//! Server log on standard error, as text or JSON.
//!
//! A separate thread writes the lines. If standard error blocks, lines are dropped, counted and reported; a
//! request is never blocked.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Maximum number of lines waiting to be written.
const WAITING: usize = 4_096;

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON document per line.
    Json,
}

/// Starts logging. Dropping the returned value ends it, after pending lines are written.
pub fn start(format: LogFormat) -> Log {
    let (send, lines) = sync_channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    let thread = {
        let lost = Arc::clone(&lost);
        std::thread::Builder::new()
            .name("polis-log".to_owned())
            .spawn(move || write_all(&lines, &lost))
            .ok()
    };
    let writer = Lines {
        send: send.clone(),
        lost,
    };
    let ours = Targets::new()
        .with_target("polis", Level::INFO)
        .with_default(Level::WARN)
        .and(filter_fn(|metadata| !is_closed_by_client(metadata)));
    let layer = fmt::layer().with_writer(writer);
    let set = match format {
        LogFormat::Text => tracing_subscriber::registry()
            .with(layer.with_ansi(false).with_filter(ours))
            .try_init(),
        LogFormat::Json => tracing_subscriber::registry()
            .with(layer.json().flatten_event(true).with_filter(ours))
            .try_init(),
    };
    // Another subscriber is already installed in this process; it stays in use.
    drop(set);
    Log { send, thread }
}

/// Returns whether a log line reports a response to a client that has already closed its connection, as every
/// client does in the end. rmcp logs these as errors. The only other errors it logs in this module are panics
/// of its tasks, which the panic hook reports.
fn is_closed_by_client(metadata: &Metadata<'_>) -> bool {
    metadata.target() == "rmcp::service" && *metadata.level() == Level::ERROR
}

/// The log of a running server.
#[derive(Debug)]
pub struct Log {
    send: SyncSender<Message>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = self.send.try_send(Message::End);
        let Some(thread) = self.thread.take() else {
            return;
        };
        // Standard error may be blocked; the server ends anyway.
        for _ in 0..100 {
            if thread.is_finished() {
                let _ = thread.join();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    End,
}

fn write_all(lines: &Receiver<Message>, lost: &AtomicU64) {
    let mut error = io::stderr();
    for message in lines {
        let Message::Line(line) = message else { return };
        // If standard error is closed, the failure cannot be reported anywhere.
        let _ = error.write_all(&line);
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(
                error,
                "{lost} lines of the log were lost: nobody read them in time"
            );
        }
    }
}

/// Sends lines to the writer thread.
#[derive(Debug, Clone)]
struct Lines {
    send: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            lines: self,
            text: Vec::with_capacity(256),
        }
    }
}

/// One line, sent when dropped.
#[derive(Debug)]
struct Line<'a> {
    lines: &'a Lines,
    text: Vec<u8>,
}

impl io::Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let line = Message::Line(std::mem::take(&mut self.text));
        if let Err(TrySendError::Full(_)) = self.lines.send.try_send(line) {
            self.lines.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
