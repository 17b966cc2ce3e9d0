//! HTTP/1.1 server on a socket: accepts connections, performs TLS handshakes, and enforces the limits of
//! connections, request heads and write time.
//!
//! Graceful shutdown: the listener is closed, accepted requests finish within a grace period, then the rest
//! is cancelled.

pub(super) mod background_services;
pub mod listen;
pub mod server_log;
pub mod tls;
pub(super) mod write_timeout;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use polis_core::number::saturating_cast;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::admission::ConnectionPeer;
use super::http_app::HttpApp;
use crate::metrics::GaugeGuard;
use background_services::BackgroundServices;
use listen::BoundListener;
use write_timeout::WriteTimeoutStream;

/// Maximum size of a request head, and of the read buffer.
const MAX_REQUEST_HEAD_BYTES: usize = 64 * 1_024;
/// Maximum number of request headers.
const MAX_REQUEST_HEADERS: usize = 100;
/// Backoff after a failed accept, when the machine is short of a resource.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);
/// Timeout for cancelled operations to finish at shutdown.
const CANCELLED_OPERATIONS_TIMEOUT: Duration = Duration::from_secs(5);

/// A server ready to accept connections.
pub struct HttpServer {
    app: Arc<HttpApp>,
    listener: BoundListener,
    tls: Option<TlsAcceptor>,
    background: Option<BackgroundServices>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fields are omitted because the TLS acceptor contains the private key.
        f.debug_struct("HttpServer")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Creates a server for an API on a socket.
    pub fn new(app: Arc<HttpApp>, listener: BoundListener, tls: Option<TlsAcceptor>) -> Self {
        Self {
            app,
            listener,
            tls,
            background: None,
        }
    }

    /// Adds background services, which are shut down with the server.
    #[must_use]
    pub fn with_background_services(mut self, live: BackgroundServices) -> Self {
        self.background = Some(live);
        self
    }

    /// Returns the URL it listens on.
    pub fn url(&self) -> String {
        self.listener.url(self.tls.is_some())
    }

    /// Accepts connections until `stop`, then finishes accepted requests within the grace period. Returns
    /// whether all of them were finished.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let closing = self.app.shutdown().clone();
        let options = self.app.options().clone();
        let all = saturating_cast::<u32>(options.max_connections);
        let permits = Arc::new(Semaphore::new(options.max_connections));
        tokio::select! {
            () = stop => {}
            () = self.accept_connections(&permits) => {}
        }
        // No new connections from here on: the socket is closed, so clients can connect to another server.
        let Self {
            app,
            listener,
            background: live,
            ..
        } = self;
        drop(listener);
        closing.started.cancel();
        let at_once = live.as_ref().map(BackgroundServices::force_stop_handle);
        let live_ends = async {
            if let Some(live) = live {
                live.shut_down().await;
            }
        };
        let drained = async {
            let _ = tokio::join!(permits.acquire_many(all), live_ends);
        };
        let finished = tokio::time::timeout(options.grace_period, drained)
            .await
            .is_ok();
        if let Some(at_once) = at_once {
            at_once.stop_now();
        }
        closing.grace_expired.cancel();
        let settled = closing
            .wait_for_operations(CANCELLED_OPERATIONS_TIMEOUT)
            .await;
        drop(app);
        finished && settled
    }

    async fn accept_connections(&self, permits: &Arc<Semaphore>) {
        loop {
            // At the connection limit, clients wait in the kernel's accept queue.
            let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
                return;
            };
            let accepted = match &self.listener {
                BoundListener::Tcp(listener) => listener.accept().await.map(|(stream, remote)| {
                    // Responses are short and written as a whole; Nagle's algorithm would only delay them.
                    let _ = stream.set_nodelay(true);
                    let local = stream.local_addr().ok();
                    let stream = Some(stream);
                    (stream, None, Some(remote), local)
                }),
                BoundListener::Unix(listener, _) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| (None, Some(stream), None, None))
                }
            };
            match accepted {
                Ok((Some(stream), _, remote, local)) => {
                    self.spawn_connection(stream, remote, local, permit);
                }
                Ok((None, Some(stream), ..)) => self.spawn_connection(stream, None, None, permit),
                Ok((None, None, ..)) => {}
                Err(error) => handle_accept_error(&error).await,
            }
        }
    }

    fn spawn_connection<S>(
        &self,
        stream: S,
        remote: Option<SocketAddr>,
        local: Option<SocketAddr>,
        permit: OwnedSemaphorePermit,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let peer = ConnectionPeer {
            remote: remote.map(|address| address.ip()),
            local: local.map(|address| address.ip()),
            is_tls: self.tls.is_some(),
        };
        let (app, tls) = (Arc::clone(&self.app), self.tls.clone());
        let stream = WriteTimeoutStream::new(stream, app.options().write_timeout);
        tokio::spawn(async move {
            let going = GaugeGuard::new(&app.metrics().connections);
            match tls {
                None => serve_connection(&app, peer, stream).await,
                Some(tls) => {
                    let greeting = tls.accept(stream);
                    match tokio::time::timeout(app.options().header_timeout, greeting).await {
                        Ok(Ok(stream)) => serve_connection(&app, peer, stream).await,
                        Ok(Err(_)) | Err(_) => {
                            app.metrics().broken_connections.inc();
                        }
                    }
                }
            }
            drop((going, permit));
        });
    }
}

/// Serves a connection until it ends.
async fn serve_connection<S>(app: &Arc<HttpApp>, peer: ConnectionPeer, stream: S)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shared_app = Arc::clone(app);
    let service = service_fn(move |request| {
        let app = Arc::clone(&shared_app);
        async move { Ok::<_, std::convert::Infallible>(app.handle(&peer, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.options().header_timeout)
        .max_buf_size(MAX_REQUEST_HEAD_BYTES)
        .max_headers(MAX_REQUEST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let closing = app.shutdown();
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = closing.started.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                result = connection.as_mut() => result,
                () = closing.grace_expired.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = result
        && (error.is_parse() || error.is_timeout() || error.is_incomplete_message())
    {
        app.metrics().broken_connections.inc();
    }
}

/// Handles a failed accept: either one connection was lost, or the machine is short of a resource.
async fn handle_accept_error(error: &io::Error) {
    let disconnected = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    );
    if !disconnected {
        tracing::error!(%error, "accepting a connection failed");
        tokio::time::sleep(ACCEPT_BACKOFF).await;
    }
}
