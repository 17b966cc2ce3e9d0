//! Server log on standard error, as text or JSON.
//!
//! A separate thread writes the lines from a bounded queue. If standard error blocks and the queue is full,
//! lines are dropped, counted and reported: logging never applies backpressure to requests.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Maximum number of lines waiting to be written.
const MAX_QUEUED_LINES: usize = 4_096;
/// How long the end of logging waits for the pending lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON document per line.
    Json,
}

/// Starts logging. Dropping the returned value ends it, after pending lines are written.
pub fn start_logging(format: LogFormat) -> LogGuard {
    let (writer, guard) = start_writer_thread(io::stderr(), MAX_QUEUED_LINES);
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
    guard
}

/// Starts the thread that writes lines to this output.
fn start_writer_thread<W>(output: W, max_queued_lines: usize) -> (NonBlocking, LogGuard)
where
    W: Write + Send + 'static,
{
    let dropped_lines = Arc::new(OnceLock::new());
    let output = DropReportingWriter {
        output,
        dropped_lines: Arc::clone(&dropped_lines),
        reported: 0,
    };
    let (writer, worker) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(max_queued_lines)
        .thread_name("polis-log")
        .finish(output);
    let _ = dropped_lines.set(writer.error_counter());
    let worker = Some(worker);
    (writer, LogGuard { worker })
}

/// Returns whether a log line reports a response to a client that has already closed its connection, as every
/// client does in the end. rmcp logs these as errors. The only other errors it logs in this module are panics
/// of its tasks, which the panic hook reports.
fn is_closed_by_client(metadata: &Metadata<'_>) -> bool {
    metadata.target() == "rmcp::service" && *metadata.level() == Level::ERROR
}

/// Guard of the server log; dropping it flushes and ends the writer thread.
#[derive(Debug)]
pub struct LogGuard {
    worker: Option<WorkerGuard>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let worker = self.worker.take();
        // Standard error may be blocked; the server ends anyway. In a thread, because the worker's guard then prints
        // to standard output, which may be blocked as well.
        let (finished, wait_finished) = mpsc::channel();
        let flush = move || {
            drop(worker);
            let _ = finished.send(());
        };
        if std::thread::Builder::new().spawn(flush).is_ok() {
            let _ = wait_finished.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Writes lines, and after them how many lines were dropped meanwhile.
#[derive(Debug)]
struct DropReportingWriter<W> {
    output: W,
    dropped_lines: Arc<OnceLock<ErrorCounter>>,
    reported: usize,
}

impl<W: Write> Write for DropReportingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        self.output.write_all(line)?;
        let counter = self.dropped_lines.get();
        let dropped = counter.map_or(0, ErrorCounter::dropped_lines);
        let unreported = dropped - self.reported;
        if unreported == 0 {
            return Ok(());
        }
        self.reported = dropped;
        let report = format!("{unreported} log lines were dropped: standard error was blocked\n");
        self.output.write_all(report.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use parking_lot::Mutex;

    use super::*;

    /// An output that accepts nothing until it is opened, and then everything.
    #[derive(Clone)]
    struct BlockedOutput {
        written: Arc<Mutex<String>>,
        opened: Arc<Mutex<mpsc::Receiver<()>>>,
    }

    impl BlockedOutput {
        fn new() -> (Self, mpsc::Sender<()>) {
            let (open, opened) = mpsc::channel();
            let output = Self {
                written: Arc::default(),
                opened: Arc::new(Mutex::new(opened)),
            };
            (output, open)
        }
    }

    impl Write for BlockedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Fails when the sender was dropped: the output is open from then on.
            let _ = self.opened.lock().recv();
            self.written
                .lock()
                .push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn dropped_lines_are_counted_and_reported() {
        let (output, open) = BlockedOutput::new();
        let (mut writer, guard) = start_writer_thread(output.clone(), 4);
        for n in 0..20 {
            writer.write_all(format!("line {n}\n").as_bytes()).unwrap();
        }
        let dropped = writer.error_counter().dropped_lines();
        // Four wait, and one or none is being written.
        assert!((15..=16).contains(&dropped), "{dropped}");
        drop(open);
        drop(guard);
        let written = output.written.lock().clone();
        assert!(written.starts_with("line 0\n"), "{written}");
        let report = format!("\n{dropped} log lines were dropped: standard error was blocked\n");
        assert_eq!(written.matches(&report).count(), 1, "{written}");
        assert_eq!(written.lines().count(), 20 - dropped + 1, "{written}");
    }

    #[test]
    fn pending_lines_are_written_when_logging_ends() {
        let (output, open) = BlockedOutput::new();
        drop(open);
        let (mut writer, guard) = start_writer_thread(output.clone(), 100);
        for n in 0..100 {
            writer.write_all(format!("line {n}\n").as_bytes()).unwrap();
        }
        drop(guard);
        assert_eq!(output.written.lock().lines().count(), 100);
    }

    #[test]
    fn blocked_output_does_not_prevent_the_end() {
        let (output, _open) = BlockedOutput::new();
        let (mut writer, guard) = start_writer_thread(output, 4);
        for n in 0..20 {
            writer.write_all(format!("line {n}\n").as_bytes()).unwrap();
        }
        let started = Instant::now();
        drop(guard);
        assert!(started.elapsed() < FLUSH_TIMEOUT * 5);
    }
}
