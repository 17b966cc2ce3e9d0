//! Test harness: an HTTP server over TCP or TLS that replies as scripted and counts connections.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use polis_http_client::{
    HttpClient, HttpClientSettings, PostResponse, ProxySettings, RequestError, RequestTimeouts,
    TlsRoots,
};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const AUTHORITY: &[u8] = include_bytes!("../../../polis-serve/tests/it/tls/authority.der");
const CERTIFICATE: &[u8] = include_bytes!("../../../polis-serve/tests/it/tls/receiver.der");
const KEY: &[u8] = include_bytes!("../../../polis-serve/tests/it/tls/receiver-key.der");

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedPost {
    pub(crate) uri: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug, Default)]
struct ServerTraffic {
    connections: usize,
    requests: Vec<ReceivedPost>,
}

/// Returns the response to a request.
type ServerScript = dyn Fn(&ReceivedPost) -> Response<Bytes> + Send + Sync;

/// A running server; serves until the test's runtime ends.
pub(crate) struct TestHttpServer {
    pub(crate) port: u16,
    traffic: Arc<Mutex<ServerTraffic>>,
}

impl TestHttpServer {
    /// Starts a server without TLS.
    pub(crate) async fn start(
        script: impl Fn(&ReceivedPost) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Arc::new(script), None).await
    }

    /// Starts a server without TLS that replies with an empty document.
    pub(crate) async fn start_accepting() -> Self {
        Self::start(|_| Response::new(Bytes::from_static(b"{}"))).await
    }

    /// Starts a server with TLS that offers these protocols (ALPN).
    pub(crate) async fn start_tls(protocols: &[&str]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CERTIFICATE.to_vec().into()],
                PrivateKeyDer::Pkcs8(KEY.to_vec().into()),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let script = |_: &ReceivedPost| Response::new(Bytes::from_static(b"{}"));
        Self::start_with(Arc::new(script), Some(acceptor)).await
    }

    async fn start_with(script: Arc<ServerScript>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let traffic = Arc::new(Mutex::new(ServerTraffic::default()));
        let recorded = Arc::clone(&traffic);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                recorded.lock().unwrap().connections += 1;
                let (script, traffic) = (Arc::clone(&script), Arc::clone(&recorded));
                let tls = tls.clone();
                tokio::spawn(async move {
                    let Some(tls) = tls else {
                        return serve_connection(stream, false, script, traffic).await;
                    };
                    // A client that does not trust the certificate disconnects here.
                    let Ok(stream) = tls.accept(stream).await else {
                        return;
                    };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    serve_connection(stream, is_http2, script, traffic).await;
                });
            }
        });
        Self { port, traffic }
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.traffic.lock().unwrap().connections
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedPost> {
        self.traffic.lock().unwrap().requests.clone()
    }
}

async fn serve_connection<S>(
    stream: S,
    is_http2: bool,
    script: Arc<ServerScript>,
    traffic: Arc<Mutex<ServerTraffic>>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let respond = service_fn(move |request: Request<Incoming>| {
        let (script, traffic) = (Arc::clone(&script), Arc::clone(&traffic));
        async move {
            let (head, body) = request.into_parts();
            let received = ReceivedPost {
                uri: head.uri.to_string(),
                version: head.version,
                headers: head.headers,
                body: body.collect().await.unwrap().to_bytes(),
            };
            let response = script(&received);
            traffic.lock().unwrap().requests.push(received);
            Ok::<_, Infallible>(response.map(Full::new))
        }
    });
    let stream = TokioIo::new(stream);
    // A client may close the connection at any time.
    if is_http2 {
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = connection.serve_connection(stream, respond).await;
    } else {
        let connection = hyper::server::conn::http1::Builder::new();
        let _ = connection.serve_connection(stream, respond).await;
    }
}

/// Returns a client that trusts the certificate of [`TestHttpServer::start_tls`].
pub(crate) fn trusting_client(proxies: ProxySettings) -> HttpClient {
    HttpClient::new(HttpClientSettings {
        proxies,
        tls_roots: TlsRoots::with_extra_certificates(vec![AUTHORITY.to_vec()]),
        ..HttpClientSettings::default()
    })
}

/// Posts a document.
pub(crate) async fn post(client: &HttpClient, url: &str) -> Result<PostResponse, RequestError> {
    let target = client.prepare(url, HeaderMap::new()).unwrap();
    let timeouts = RequestTimeouts::total(Duration::from_secs(20));
    let body = Bytes::from_static(b"{\"a\":1}");
    client.post(&target, HeaderMap::new(), body, timeouts).await
}

/// Posts a document, reads the response and returns the protocol version of the connection.
pub(crate) async fn post_and_read(client: &HttpClient, url: &str) -> Version {
    let mut response = post(client, url).await.unwrap();
    let body = response.read_body(1000).await.unwrap();
    assert!(body.is_complete);
    response.version()
}
