//! Connections to one endpoint: HTTP/1.1 straight on hyper, kept open between requests, with TLS and proxies.
//!
//! A connection is driven by whoever waits for its answer, not by a task of its own: that saves waking two tasks for
//! each piece of an answer, and a caller that goes away takes its connection with it.

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

/// How long a connection is kept that nobody uses.
const KEPT_IDLE: Duration = Duration::from_secs(30);

/// Which proxies are asked, as the environment names them (`HTTPS_PROXY` and so on).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For all addresses.
    pub all: String,
    /// For `http://`.
    pub http: String,
    /// For `https://`.
    pub https: String,
    /// For which hosts none is asked, with commas between them.
    pub no: String,
}

/// Addresses of proxies have passwords in them.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

/// Why there is no answer on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It may work another time.
    Now(&'static str),
    /// It will not.
    Never(&'static str),
    /// It took too long.
    Late(&'static str),
}

/// Connections to one address.
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
    /// Connections to this address; what is wrong with it if there can be none.
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

    /// The host, as a request names it.
    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// What a request's first line names: the path, or for a proxy the whole address.
    pub(crate) fn target(&self) -> Uri {
        if self.proxy.is_some() && self.tls.is_none() {
            return self.uri.clone();
        }
        let path = self.uri.path_and_query().cloned();
        path.map_or_else(Uri::default, Uri::from)
    }

    /// What a proxy wants to see in the request itself.
    pub(crate) fn proxy_authorization(&self) -> Option<&HeaderValue> {
        let proxy = self.proxy.as_ref().filter(|_| self.tls.is_none())?;
        proxy.basic_auth()
    }

    /// A connection: one that was kept, or a new one.
    pub(crate) async fn open(&self) -> Result<Open, Broken> {
        while let Some(mut open) = self.kept() {
            if open.used.elapsed() < KEPT_IDLE && !open.sender.is_closed() {
                open.reused = true;
                return Ok(open);
            }
        }
        self.fresh().await
    }

    /// A new connection.
    pub(crate) async fn fresh(&self) -> Result<Open, Broken> {
        let connecting = tokio::time::timeout(self.connect, self.connecting());
        match connecting.await {
            Ok(done) => done,
            Err(_) => Err(Broken::Late("no connection came about in time")),
        }
    }

    /// Keeps a connection for the next request.
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

/// A certificate that is not trusted will not be trusted the next time either.
fn tls_failure(error: &io::Error) -> Broken {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            Broken::Never("its certificate is not trusted")
        }
        _ => Broken::Now("no TLS connection came about"),
    }
}

/// What moves a connection's bytes, when it is polled.
type Driver = Pin<Box<Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// An open connection with at most one request under way.
pub(crate) struct Open {
    sender: SendRequest<Full<Bytes>>,
    connection: Option<Driver>,
    used: Instant,
    reused: bool,
}

impl Open {
    /// Whether it carried another request before: then it may have been closed in the meantime.
    pub(crate) fn reused(&self) -> bool {
        self.reused
    }

    /// Sends a request and waits for the answer's head.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        late: Pin<&mut Sleep>,
    ) -> Result<Response<Incoming>, Broken> {
        if !self.sender.is_ready() {
            // It has to notice that its last answer is over, or that the other side is gone.
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

    /// The next piece of an answer's body; none at its end.
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

/// Waits for something that a connection brings about; nothing if it is too late.
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
            // What still waits for it learns that it is gone.
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

/// A connection's bytes, encrypted or not.
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
