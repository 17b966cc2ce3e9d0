//! Socket server: accepts connections, performs TLS handshakes, enforces connection limits and shuts down
//! gracefully.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::admission::Peer;
use super::app::App;
use super::background_services::Live;
use super::listen::Listener;
use crate::events::WriteLimit;
use crate::metrics::Going;

/// Maximum size of a request head, and of the read buffer.
const BUFFER: usize = 64 * 1_024;
/// Maximum number of request headers.
const HEADERS: usize = 100;
/// Backoff after a failed accept, when the machine is short of a resource.
const BREATH: Duration = Duration::from_millis(50);
/// How long to wait for cancelled operations to finish.
const LAST: Duration = Duration::from_secs(5);

/// A server ready to accept connections.
pub struct Server {
    app: Arc<App>,
    listener: Listener,
    tls: Option<TlsAcceptor>,
    live: Option<Live>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fields are omitted because the TLS acceptor contains the private key.
        f.debug_struct("Server")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server for an API on a socket.
    pub fn new(app: Arc<App>, listener: Listener, tls: Option<TlsAcceptor>) -> Self {
        Self {
            app,
            listener,
            tls,
            live: None,
        }
    }

    /// Adds background services, which are shut down with the server.
    #[must_use]
    pub fn with_live(mut self, live: Live) -> Self {
        self.live = Some(live);
        self
    }

    /// Returns the URL it listens on.
    pub fn url(&self) -> String {
        self.listener.url(self.tls.is_some())
    }

    /// Accepts connections until `stop`, then finishes accepted requests within the grace period. Returns
    /// whether all of them were finished.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let closing = self.app.closing().clone();
        let options = self.app.options().clone();
        let all = u32::try_from(options.max_connections).unwrap_or(u32::MAX);
        let room = Arc::new(Semaphore::new(options.max_connections));
        tokio::select! {
            () = stop => {}
            () = self.accept(&room) => {}
        }
        // No new connections from here on: the socket is closed, so clients can connect to another server.
        let Self {
            app,
            listener,
            live,
            ..
        } = self;
        drop(listener);
        closing.begun.cancel();
        let at_once = live.as_ref().map(Live::at_once);
        let live_ends = async {
            if let Some(live) = live {
                live.end().await;
            }
        };
        let all_gone = async {
            let _ = tokio::join!(room.acquire_many(all), live_ends);
        };
        let finished = tokio::time::timeout(options.grace, all_gone).await.is_ok();
        if let Some(at_once) = at_once {
            at_once.end();
        }
        closing.over.cancel();
        let settled = closing.settled(LAST).await;
        drop(app);
        finished && settled
    }

    async fn accept(&self, room: &Arc<Semaphore>) {
        loop {
            // At the connection limit, clients wait in the kernel's accept queue.
            let Ok(permit) = Arc::clone(room).acquire_owned().await else {
                return;
            };
            let accepted = match &self.listener {
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, remote)| {
                    // Responses are short and written as a whole; Nagle's algorithm would only delay them.
                    let _ = stream.set_nodelay(true);
                    let local = stream.local_addr().ok();
                    let stream = Some(stream);
                    (stream, None, Some(remote), local)
                }),
                Listener::Unix(listener, _) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| (None, Some(stream), None, None))
                }
            };
            match accepted {
                Ok((Some(stream), _, remote, local)) => self.begin(stream, remote, local, permit),
                Ok((None, Some(stream), ..)) => self.begin(stream, None, None, permit),
                Ok((None, None, ..)) => {}
                Err(error) => refused(&error).await,
            }
        }
    }

    fn begin<S>(
        &self,
        stream: S,
        remote: Option<SocketAddr>,
        local: Option<SocketAddr>,
        permit: OwnedSemaphorePermit,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let peer = Peer {
            remote: remote.map(|address| address.ip()),
            local: local.map(|address| address.ip()),
            secure: self.tls.is_some(),
        };
        let (app, tls) = (Arc::clone(&self.app), self.tls.clone());
        let stream = WriteLimit::new(stream, app.options().write_timeout);
        tokio::spawn(async move {
            let going = Going::on(&app.metrics().connections);
            match tls {
                None => serve(&app, peer, stream).await,
                Some(tls) => {
                    let greeting = tls.accept(stream);
                    match tokio::time::timeout(app.options().header_timeout, greeting).await {
                        Ok(Ok(stream)) => serve(&app, peer, stream).await,
                        Ok(Err(_)) | Err(_) => {
                            app.metrics().broken.inc();
                        }
                    }
                }
            }
            drop((going, permit));
        });
    }
}

/// Serves a connection until it ends.
async fn serve<S>(app: &Arc<App>, peer: Peer, stream: S)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let answering = Arc::clone(app);
    let service = service_fn(move |request| {
        let app = Arc::clone(&answering);
        async move { Ok::<_, std::convert::Infallible>(app.answer(&peer, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.options().header_timeout)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let closing = app.closing();
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.begun.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = closing.over.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended
        && (error.is_parse() || error.is_timeout() || error.is_incomplete_message())
    {
        app.metrics().broken.inc();
    }
}

/// Handles a failed accept: either one connection was lost, or the machine is short of a resource.
async fn refused(error: &io::Error) {
    let lost = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    );
    if !lost {
        tracing::error!(%error, "connections cannot be accepted");
        tokio::time::sleep(BREATH).await;
    }
}
