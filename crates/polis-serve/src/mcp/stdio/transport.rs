//! `rmcp` transport over standard input and output, with backpressure for clients that do not read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polis_i18n::{UiLanguage, msg};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

use super::json_rpc::{ParsedLine, parse_line};
use super::line_splitter::{LineResult, LineSplitter, MAX_LINE_BYTES};
use super::stdin::StdinReader;
use super::stdout::StdoutWriter;

/// Maximum number of unread output bytes, beyond which no more input is read.
const MAX_UNREAD_BYTES: usize = 4 << 20;

/// Transport over standard input and output.
#[derive(Debug)]
pub(super) struct StdioTransport {
    input: StdinReader,
    lines: LineSplitter,
    output: Arc<OutputQueue>,
    /// Cancelled at the end of input, or when the output is closed.
    ended: CancellationToken,
    /// Whether a request has arrived. Messages before the first request are ignored.
    has_seen_request: bool,
    /// Language of error texts.
    lang: UiLanguage,
}

/// The output and the number of bytes waiting for it.
#[derive(Debug)]
struct OutputQueue {
    output: Arc<Mutex<StdoutWriter>>,
    unread_bytes: AtomicUsize,
    drained: Notify,
}

impl OutputQueue {
    /// Sends a message: immediately if the client can take it and no other message is waiting.
    fn send_message(
        self: &Arc<Self>,
        message: &ServerJsonRpcMessage,
        ended: &CancellationToken,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let written = self.try_write(message);
        let (outbox, ended) = (Arc::clone(self), ended.clone());
        async move {
            let sent = match written {
                Ok(WriteProgress::Complete) => Ok(()),
                Ok(WriteProgress::Partial(mut output, rest)) => {
                    let sent = output.write_all(&rest).await;
                    drop(output);
                    outbox.mark_written(rest.len());
                    sent
                }
                Ok(WriteProgress::Queued(bytes)) => {
                    let sent = outbox.output.lock().await.write_all(&bytes).await;
                    outbox.mark_written(bytes.len());
                    sent
                }
                Err(error) => Err(error),
            };
            if sent.is_err() {
                // The client no longer reads, so the connection ends.
                ended.cancel();
            }
            sent
        }
    }

    fn try_write(&self, message: &ServerJsonRpcMessage) -> io::Result<WriteProgress> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        let Ok(mut output) = Arc::clone(&self.output).try_lock_owned() else {
            self.unread_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            return Ok(WriteProgress::Queued(bytes));
        };
        let written = output.write_some(&bytes)?;
        if written == bytes.len() {
            return Ok(WriteProgress::Complete);
        }
        let rest = bytes.split_off(written);
        self.unread_bytes.fetch_add(rest.len(), Ordering::Relaxed);
        Ok(WriteProgress::Partial(output, rest))
    }

    fn mark_written(&self, bytes: usize) {
        self.unread_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.drained.notify_one();
    }
}

/// How much of a message was written.
enum WriteProgress {
    Complete,
    Partial(tokio::sync::OwnedMutexGuard<StdoutWriter>, Vec<u8>),
    Queued(Vec<u8>),
}

impl StdioTransport {
    pub(super) fn new(
        input: StdinReader,
        output: StdoutWriter,
        ended: CancellationToken,
        lang: UiLanguage,
    ) -> Self {
        Self {
            input,
            lines: LineSplitter::default(),
            output: Arc::new(OutputQueue {
                output: Arc::new(Mutex::new(output)),
                unread_bytes: AtomicUsize::new(0),
                drained: Notify::new(),
            }),
            ended,
            has_seen_request: false,
            lang,
        }
    }

    /// Returns the next message; `None` at the end of input.
    async fn next_message(&mut self) -> io::Result<Option<ClientJsonRpcMessage>> {
        loop {
            // A client that sends without pause must not keep its own responses from being produced.
            tokio::task::consume_budget().await;
            while self.output.unread_bytes.load(Ordering::Relaxed) > MAX_UNREAD_BYTES {
                self.output.drained.notified().await;
            }
            let line = match self.lines.next_line() {
                LineResult::Line(line) => line,
                LineResult::TooLong => {
                    let message = msg::mcp_line_too_long(self.lang, MAX_LINE_BYTES);
                    self.send_error(ErrorData::invalid_request(message, None), None);
                    continue;
                }
                LineResult::Incomplete => {
                    if self.input.read(&mut self.lines.buffer).await? == 0 {
                        return Ok(None);
                    }
                    continue;
                }
            };
            match parse_line(&line, self.lang) {
                ParsedLine::Message(message) => {
                    self.has_seen_request |= matches!(*message, ClientJsonRpcMessage::Request(_));
                    if self.has_seen_request {
                        return Ok(Some(*message));
                    }
                }
                ParsedLine::Invalid(error, id) => {
                    self.send_error(error, id);
                }
                ParsedLine::Ignored => {}
            }
        }
    }

    /// Sends an error response to an invalid line.
    fn send_error(&self, error: ErrorData, id: Option<RequestId>) {
        let message = ServerJsonRpcMessage::error(error, id);
        tokio::spawn(self.output.send_message(&message, &self.ended));
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send_message(&message, &self.ended)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let ended = self.ended.clone();
        let next = tokio::select! {
            biased;
            () = ended.cancelled() => return None,
            next = self.next_message() => next,
        };
        match next {
            Ok(Some(message)) => Some(message),
            Ok(None) | Err(_) => {
                ended.cancel();
                None
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
