//! Connector of the HTTP client: TCP directly or through an HTTP proxy, and TLS with ALPN.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use tower_service::Service;

use crate::request_error::RequestError;
use crate::tls_roots::TlsRoots;

/// Opens connections for the pool of a client.
#[derive(Clone)]
pub(crate) struct TransportConnector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    tls_roots: Arc<TlsRoots>,
    connect_timeout: Duration,
}

impl TransportConnector {
    /// Creates a connector. The timeout is for the whole connection, with proxy and TLS.
    pub(crate) fn new(
        proxies: Arc<Matcher>,
        tls_roots: Arc<TlsRoots>,
        connect_timeout: Duration,
    ) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Divided among the addresses of a host name.
        tcp.set_connect_timeout(Some(connect_timeout));
        Self {
            tcp,
            proxies,
            tls_roots,
            connect_timeout,
        }
    }

    /// Connects to the origin of a URL.
    async fn connect(mut self, uri: Uri) -> Result<TransportStream, RequestError> {
        let proxy = self.proxies.intercept(&uri);
        let is_tls = uri.scheme() == Some(&Scheme::HTTPS);
        let stream = match &proxy {
            None => {
                let connecting = self.tcp.call(uri.clone()).await;
                connecting.map_err(|error| RequestError::from_connect_error(&error))?
            }
            Some(proxy) if is_tls => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp);
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                let opening = tunnel.call(uri.clone()).await;
                opening.map_err(|_| RequestError::TunnelRefused)?
            }
            Some(proxy) => {
                let connecting = self.tcp.call(proxy.uri().clone()).await;
                connecting.map_err(|_| RequestError::ProxyUnreachable)?
            }
        };
        let stream = stream.into_inner();
        if !is_tls {
            return Ok(TransportStream {
                io: TokioIo::new(Either::Left(stream)),
                is_proxied: proxy.is_some(),
                is_http2: false,
            });
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| RequestError::TlsHandshake(error.to_string()))?;
        let connector = TlsConnector::from(self.tls_roots.client_config().await?);
        let stream = connector.connect(name, stream).await;
        let stream = stream.map_err(|error| RequestError::from_tls_error(&error))?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(TransportStream {
            io: TokioIo::new(Either::Right(Box::new(stream))),
            is_proxied: false,
            is_http2,
        })
    }
}

impl Service<Uri> for TransportConnector {
    type Response = TransportStream;
    type Error = RequestError;
    type Future = Pin<Box<dyn Future<Output = Result<TransportStream, RequestError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.connect_timeout, self.clone().connect(uri));
        Box::pin(async move {
            connecting
                .await
                .unwrap_or(Err(RequestError::ConnectTimeout))
        })
    }
}

/// A connection's byte stream, encrypted or not.
pub(crate) struct TransportStream {
    io: TokioIo<Either<TcpStream, Box<TlsStream<TcpStream>>>>,
    /// Whether requests name the whole URL, because they go to a proxy without a tunnel.
    is_proxied: bool,
    is_http2: bool,
}

impl Connection for TransportStream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.is_proxied);
        if self.is_http2 {
            return connected.negotiated_h2();
        }
        connected
    }
}

impl Read for TransportStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

impl Write for TransportStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(context, slices)
    }
}
