//! `rmcp` transport over standard input and output, with back pressure for clients that do not read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

use super::input::Input;
use super::lines::{Found, LONGEST, Lines};
use super::message::{Read, read};
use super::output::Output;

/// Maximum number of unread output bytes, beyond which no more input is read.
const UNREAD: usize = 4 << 20;

/// Transport over standard input and output.
#[derive(Debug)]
pub(super) struct Stdio {
    input: Input,
    lines: Lines,
    output: Arc<Outbox>,
    /// Cancelled at the end of input, or when the output is closed.
    ended: CancellationToken,
    /// Whether a request has arrived. Messages before the first request are ignored.
    begun: bool,
}

/// The output and the number of bytes waiting for it.
#[derive(Debug)]
struct Outbox {
    output: Arc<Mutex<Output>>,
    unread: AtomicUsize,
    taken: Notify,
}

impl Outbox {
    /// Sends a message: immediately if the client can take it and no other message is waiting.
    fn send(
        self: &Arc<Self>,
        message: &ServerJsonRpcMessage,
        ended: &CancellationToken,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let written = self.write(message);
        let (outbox, ended) = (Arc::clone(self), ended.clone());
        async move {
            let sent = match written {
                Ok(Written::All) => Ok(()),
                Ok(Written::Begun(mut output, rest)) => {
                    let sent = output.write_all(&rest).await;
                    drop(output);
                    outbox.took(rest.len());
                    sent
                }
                Ok(Written::Waits(bytes)) => {
                    let sent = outbox.output.lock().await.write_all(&bytes).await;
                    outbox.took(bytes.len());
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

    fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<Written> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        let Ok(mut output) = Arc::clone(&self.output).try_lock_owned() else {
            self.unread.fetch_add(bytes.len(), Ordering::Relaxed);
            return Ok(Written::Waits(bytes));
        };
        let written = output.write_some(&bytes)?;
        if written == bytes.len() {
            return Ok(Written::All);
        }
        let rest = bytes.split_off(written);
        self.unread.fetch_add(rest.len(), Ordering::Relaxed);
        Ok(Written::Begun(output, rest))
    }

    fn took(&self, bytes: usize) {
        self.unread.fetch_sub(bytes, Ordering::Relaxed);
        self.taken.notify_one();
    }
}

/// How much of a message was written.
enum Written {
    All,
    Begun(tokio::sync::OwnedMutexGuard<Output>, Vec<u8>),
    Waits(Vec<u8>),
}

impl Stdio {
    pub(super) fn new(input: Input, output: Output, ended: CancellationToken) -> Self {
        Self {
            input,
            lines: Lines::default(),
            output: Arc::new(Outbox {
                output: Arc::new(Mutex::new(output)),
                unread: AtomicUsize::new(0),
                taken: Notify::new(),
            }),
            ended,
            begun: false,
        }
    }

    /// Returns the next message; `None` at the end of input.
    async fn next(&mut self) -> io::Result<Option<ClientJsonRpcMessage>> {
        loop {
            // A client that sends without pause must not keep its own responses from being produced.
            tokio::task::consume_budget().await;
            while self.output.unread.load(Ordering::Relaxed) > UNREAD {
                self.output.taken.notified().await;
            }
            let line = match self.lines.next() {
                Found::Line(line) => line,
                Found::TooLong => {
                    let message = format!("The line is longer than {LONGEST} bytes.");
                    self.complain(ErrorData::invalid_request(message, None), None);
                    continue;
                }
                Found::Nothing => {
                    if self.input.read(&mut self.lines.buffer).await? == 0 {
                        return Ok(None);
                    }
                    continue;
                }
            };
            match read(&line) {
                Read::Message(message) => {
                    self.begun |= matches!(*message, ClientJsonRpcMessage::Request(_));
                    if self.begun {
                        return Ok(Some(*message));
                    }
                }
                Read::Wrong(error, id) => {
                    self.complain(error, id);
                }
                Read::Nothing => {}
            }
        }
    }

    /// Sends an error response to an invalid line.
    fn complain(&self, error: ErrorData, id: Option<RequestId>) {
        let message = ServerJsonRpcMessage::error(error, id);
        tokio::spawn(self.output.send(&message, &self.ended));
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(&message, &self.ended)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let ended = self.ended.clone();
        let next = tokio::select! {
            biased;
            () = ended.cancelled() => return None,
            next = self.next() => next,
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
