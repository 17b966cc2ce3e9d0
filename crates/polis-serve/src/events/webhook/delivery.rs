//! HTTP client of webhook deliveries: posts one document over a keep-alive connection.
//!
//! HTTP/1.1 directly on hyper: redirects are not followed, proxies are never used, and a response body is
//! read only as far as keeping the connection is worth it. The courier decides when to send and when to
//! retry.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::target::Target;

/// Maximum number of response body bytes read to keep the connection alive.
const MOST_READ: usize = 64 << 10;
/// Timeout for reading the response body; the status is known before.
const READ_FOR: Duration = Duration::from_secs(1);
/// Connect timeout per address of a host name.
const DIAL_FOR: Duration = Duration::from_secs(5);
/// Idle time after which a kept connection is not reused.
const KEPT_IDLE: Duration = Duration::from_secs(30);
/// Value of the `User-Agent` header.
const AGENT: &str = concat!("polis/", env!("CARGO_PKG_VERSION"));

/// Why a delivery failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Message for the user, without the URL, which may contain a password.
    pub(super) what: String,
    /// The receiver's `Retry-After` header.
    pub(super) retry_after: Option<String>,
    /// Whether the receiver answered 410 Gone.
    pub(super) gone: bool,
}

impl Failed {
    fn of(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            retry_after: None,
            gone: false,
        }
    }
}

/// Trusted root certificates for TLS; read from the system on first use.
#[derive(Debug, Default)]
pub(super) struct Trust {
    extra: Vec<Vec<u8>>,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Trust {
    /// Trusts the system's certificates and these (DER).
    pub(super) fn with(extra: Vec<Vec<u8>>) -> Self {
        Self {
            extra,
            config: OnceLock::new(),
        }
    }

    async fn config(self: &Arc<Self>) -> Result<Arc<ClientConfig>, Failed> {
        if self.config.get().is_none() {
            let trust = Arc::clone(self);
            // Reads several hundred files, so it must not block the runtime.
            let read = move || {
                trust.config.get_or_init(|| trust.read());
            };
            let _ = tokio::task::spawn_blocking(read).await;
        }
        match self.config.get() {
            Some(Ok(config)) => Ok(Arc::clone(config)),
            Some(Err(what)) => Err(Failed::of(what.clone())),
            None => Err(Failed::of("The system's certificates could not be read.")),
        }
    }

    fn read(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        let extra = self.extra.iter().cloned().map(CertificateDer::from);
        roots.add_parsable_certificates(extra);
        if roots.is_empty() {
            return Err("The system has no certificates to trust (ca-certificates).".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be used: {error}."))?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Arc::new(config))
    }
}

/// A lazily opened keep-alive connection to one receiver.
#[derive(Debug)]
pub(super) struct Line {
    target: Target,
    trust: Arc<Trust>,
    at_most: Duration,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    used: Instant,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Line {
    /// Creates a connection to this receiver with a timeout per delivery. Connects on the first delivery.
    pub(super) fn new(target: Target, trust: Arc<Trust>, at_most: Duration) -> Self {
        Self {
            target,
            trust,
            at_most,
            open: None,
        }
    }

    /// Posts a document. Succeeds if the receiver answers with a 2xx status within the timeout.
    pub(super) async fn post(&mut self, headers: HeaderMap, body: Bytes) -> Result<(), Failed> {
        let at_most = self.at_most;
        match timeout(at_most, self.exchange(headers, body)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failed)) => Err(failed),
            Err(_) => {
                self.open = None;
                let seconds = at_most.as_secs_f32();
                Err(Failed::of(format!("No answer within {seconds} s.")))
            }
        }
    }

    async fn exchange(&mut self, headers: HeaderMap, body: Bytes) -> Result<(), Failed> {
        let kept = self.open.take();
        let kept = kept.filter(|open| !open.sender.is_closed() && open.used.elapsed() < KEPT_IDLE);
        if let Some(mut open) = kept {
            // The receiver may have just closed the idle connection; that is not a failed delivery.
            if let Ok(answer) = self.send(&mut open, &headers, &body).await {
                return self.judge(open, answer).await;
            }
        }
        let mut open = self.connect().await?;
        let answer = self.send(&mut open, &headers, &body).await;
        let answer =
            answer.map_err(|error| Failed::of(format!("No answer: {}.", plain(&error))))?;
        self.judge(open, answer).await
    }

    async fn send(
        &self,
        open: &mut Open,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.path.clone();
        let set = request.headers_mut();
        set.extend(headers.clone());
        set.insert(HOST, self.target.authority.clone());
        set.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        set.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if let Some(authorization) = &self.target.authorization {
            set.insert(AUTHORIZATION, authorization.clone());
        }
        open.sender.ready().await?;
        open.sender.send_request(request).await
    }

    /// Evaluates a response, and keeps the connection if its body was read completely.
    async fn judge(&mut self, mut open: Open, answer: Response<Incoming>) -> Result<(), Failed> {
        let status = answer.status();
        let retry_after = answer.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok().map(str::to_owned));
        let whole = timeout(READ_FOR, drained(answer.into_body())).await;
        if whole == Ok(true) {
            open.used = Instant::now();
            self.open = Some(open);
        }
        if status.is_success() {
            return Ok(());
        }
        let note = if status.is_redirection() {
            " (redirects are not followed)"
        } else {
            ""
        };
        Err(Failed {
            what: format!("The receiver answered {status}{note}."),
            retry_after,
            gone: status == StatusCode::GONE,
        })
    }

    async fn connect(&self) -> Result<Open, Failed> {
        let target = &self.target;
        let no_way = |error: io::Error| Failed::of(format!("No connection: {}.", error.kind()));
        let stream = dial(target).await.map_err(no_way)?;
        if !target.tls {
            return shake_hands(stream).await;
        }
        let name = ServerName::try_from(target.host.clone())
            .map_err(|_| Failed::of("The address names no host that TLS knows."))?;
        let connector = TlsConnector::from(self.trust.config().await?);
        let stream = connector.connect(name, stream).await;
        let stream = stream.map_err(|error| Failed::of(format!("No TLS connection: {error}.")))?;
        shake_hands(stream).await
    }
}

/// Connects to the first address of a host name that accepts.
async fn dial(target: &Target) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in lookup_host((target.host.as_str(), target.port)).await? {
        match timeout(DIAL_FOR, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

async fn shake_hands<S>(stream: S) -> Result<Open, Failed>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Failed::of(format!("No connection: {}.", plain(&error))))?;
    // A connection error is reported to the pending request.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok(Open {
        sender,
        driver,
        used: Instant::now(),
    })
}

/// Reads a response body to its end. Returns `false` if it is too long or the connection breaks.
async fn drained(mut body: Incoming) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MOST_READ {
            return false;
        }
    }
    true
}

fn plain(error: &hyper::Error) -> &'static str {
    if error.is_timeout() {
        "it took too long"
    } else if error.is_parse() {
        "what came was not HTTP"
    } else {
        "the connection broke"
    }
}
