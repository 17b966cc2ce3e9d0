//! Connection pool of one endpoint: HTTP/1.1 directly on hyper, with keep-alive, TLS and proxies.
//!
//! A connection is polled by the task that waits for its response, not by a separate task: that saves waking two tasks
//! for each chunk, and a caller that is dropped closes its connection.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service as _;

use super::trust::Trust;

/// How long an idle connection is kept.
const KEPT_IDLE: Duration = Duration::from_secs(30);

/// The proxies to use, as named in the environment (`HTTPS_PROXY` and so on).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For all URLs.
    pub all: String,
    /// For `http://`.
    pub http: String,
    /// For `https://`.
    pub https: String,
    /// Hosts for which no proxy is used, separated by commas.
    pub no: String,
}

/// Leaves out the addresses, which may contain passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

/// Why there is no response on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A transient failure.
    Now(&'static str),
    /// A permanent failure.
    Never(&'static str),
    /// A timeout.
    Late(&'static str),
}

/// Connections to one URL.
pub(crate) struct Lines {
    uri: Uri,
    host: HeaderValue,
    tls: Option<ServerName<'static>>,
    proxy: Option<Intercept>,
    trust: Arc<Trust>,
    connector: HttpConnector,
    connect: Duration,
    idle: Mutex<Vec<Open>>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    /// Creates a pool for this URL. Fails with a description if the URL or the proxy is not usable.
    pub(crate) fn new(
        uri: Uri,
        proxies: &Proxies,
        trust: Arc<Trust>,
        connect: Duration,
    ) -> Result<Self, &'static str> {
        let authority = uri.authority().ok_or("names no host")?;
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => {
                let bare = authority.host().trim_matches(['[', ']']).to_owned();
                Some(ServerName::try_from(bare).map_err(|_| "names no host that TLS knows")?)
            }
            _ => return Err("is neither http:// nor https://"),
        };
        let named = authority.as_str();
        let named = named.rsplit_once('@').map_or(named, |(_, host)| host);
        let host = HeaderValue::try_from(named).map_err(|_| "names no host")?;
        let proxy = Matcher::builder()
            .all(proxies.all.clone())
            .http(proxies.http.clone())
            .https(proxies.https.clone())
            .no(proxies.no.clone())
            .build()
            .intercept(&uri);
        if proxy
            .as_ref()
            .is_some_and(|p| p.uri().scheme_str() != Some("http"))
        {
            return Err("is behind a proxy that does not speak HTTP");
        }
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        Ok(Self {
            uri,
            host,
            tls,
            proxy,
            trust,
            connector,
            connect,
            idle: Mutex::default(),
        })
    }

    /// Returns the `Host` header.
    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// Returns the request target: the path, or the whole URL for a proxy.
    pub(crate) fn target(&self) -> Uri {
        if self.proxy.is_some() && self.tls.is_none() {
            return self.uri.clone();
        }
        let path = self.uri.path_and_query().cloned();
        path.map_or_else(Uri::default, Uri::from)
    }

    /// Returns the `Proxy-Authorization` header, if the proxy needs it in the request itself.
    pub(crate) fn proxy_authorization(&self) -> Option<&HeaderValue> {
        let proxy = self.proxy.as_ref().filter(|_| self.tls.is_none())?;
        proxy.basic_auth()
    }

    /// Returns an idle connection from the pool, or a new one.
    pub(crate) async fn open(&self) -> Result<Open, Broken> {
        while let Some(mut open) = self.kept() {
            if open.used.elapsed() < KEPT_IDLE && !open.sender.is_closed() {
                open.reused = true;
                return Ok(open);
            }
        }
        self.fresh().await
    }

    /// Opens a new connection.
    pub(crate) async fn fresh(&self) -> Result<Open, Broken> {
        let connecting = tokio::time::timeout(self.connect, self.connecting());
        match connecting.await {
            Ok(done) => done,
            Err(_) => Err(Broken::Late("no connection came about in time")),
        }
    }

    /// Returns a connection to the pool.
    pub(crate) fn keep(&self, mut open: Open) {
        if open.connection.is_none() || open.sender.is_closed() {
            return;
        }
        open.used = Instant::now();
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(open);
    }

    fn kept(&self) -> Option<Open> {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    async fn connecting(&self) -> Result<Open, Broken> {
        let mut connector = self.connector.clone();
        let no_way = Broken::Now("it cannot be reached");
        let stream = match (&self.proxy, &self.tls) {
            (None, _) => connector.call(self.uri.clone()).await.map_err(|_| no_way)?,
            (Some(proxy), None) => {
                let call = connector.call(proxy.uri().clone());
                call.await
                    .map_err(|_| Broken::Now("its proxy cannot be reached"))?
            }
            (Some(proxy), Some(_)) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), connector);
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                let call = tunnel.call(self.uri.clone());
                call.await
                    .map_err(|_| Broken::Now("its proxy gives no way to it"))?
            }
        };
        let stream = stream.into_inner();
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some(name) => {
                let connector =
                    TlsConnector::from(self.trust.config().await.map_err(Broken::Never)?);
                let call = connector.connect(name.clone(), stream);
                let stream = call.await.map_err(|error| tls_failure(&error))?;
                Stream::Tls(Box::new(stream))
            }
        };
        let shaken = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|_| no_way)?;
        Ok(Open {
            sender,
            connection: Some(Box::pin(connection)),
            used: Instant::now(),
            reused: false,
        })
    }
}

/// Classifies a TLS error. An untrusted certificate is permanent: a retry does not help.
fn tls_failure(error: &io::Error) -> Broken {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            Broken::Never("its certificate is not trusted")
        }
        _ => Broken::Now("no TLS connection came about"),
    }
}

/// The future that performs a connection's I/O when polled.
type Driver = Pin<Box<Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// An open connection with at most one request in progress.
pub(crate) struct Open {
    sender: SendRequest<Full<Bytes>>,
    connection: Option<Driver>,
    used: Instant,
    reused: bool,
}

impl Open {
    /// Returns whether it carried a request before: then the server may have closed it in the meantime.
    pub(crate) fn reused(&self) -> bool {
        self.reused
    }

    /// Sends a request and waits for the response head.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        late: Pin<&mut Sleep>,
    ) -> Result<Response<Incoming>, Broken> {
        if !self.sender.is_ready() {
            // Poll the connection until it notices that its last response has ended, or that the peer has closed it.
            let Self {
                sender, connection, ..
            } = self;
            let ready = pin!(sender.ready());
            match drive(connection, ready, None).await {
                Some(Ok(())) => {}
                _ => return Err(Broken::Now("the connection broke")),
            }
        }
        let sending = pin!(self.sender.send_request(request));
        match drive(&mut self.connection, sending, Some(late)).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(error)) => Err(broken(&error)),
            None => Err(Broken::Late("no answer began in time")),
        }
    }

    /// Returns the next chunk of a response body; `None` at its end.
    pub(crate) async fn next(
        &mut self,
        body: &mut Incoming,
        late: Pin<&mut Sleep>,
    ) -> Result<Option<Bytes>, Broken> {
        let frame = pin!(body.frame());
        match drive(&mut self.connection, frame, Some(late)).await {
            Some(None) => Ok(None),
            // Trailers have no data in them.
            Some(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Some(Err(error))) => Err(broken(&error)),
            None => Err(Broken::Late("the answer stopped half-way")),
        }
    }
}

/// Polls the connection until `work` is done; returns `None` on timeout.
async fn drive<C: Future, T>(
    connection: &mut Option<Pin<Box<C>>>,
    mut work: Pin<&mut impl Future<Output = T>>,
    mut late: Option<Pin<&mut Sleep>>,
) -> Option<T> {
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        if let Some(inner) = connection
            && inner.as_mut().poll(context).is_ready()
        {
            // Pending operations on it now fail with an error.
            *connection = None;
        }
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        match &mut late {
            Some(late) => late.as_mut().poll(context).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

fn broken(error: &hyper::Error) -> Broken {
    Broken::Now(if error.is_parse() {
        "what came was not HTTP"
    } else {
        "the connection broke"
    })
}

/// A connection's byte stream, encrypted or not.
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
