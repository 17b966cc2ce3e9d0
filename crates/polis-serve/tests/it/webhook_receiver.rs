//! Test harness of webhooks: `WebhookReceiver` is an HTTP(S) server that behaves as scripted, records
//! requests, and verifies signatures with its own HMAC implementation.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::test_event_server::{RESULT_TIMEOUT, wait_until};

/// Certificate of the authority that issued the receiver's certificate.
pub(crate) const CERTIFICATE_AUTHORITY: &[u8] = include_bytes!("tls/authority.der");

/// Scripted reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum ReceiverAction {
    /// Responds with this status and these headers.
    Respond(u16, Vec<(&'static str, String)>),
    /// Responds with success and a body of this many bytes.
    RespondWithBody(usize),
    /// Waits this long, then responds with success.
    RespondAfter(Duration),
    /// Closes the connection without a response.
    Disconnect,
}

impl ReceiverAction {
    pub(crate) fn respond_with_status(status: u16) -> Self {
        Self::Respond(status, Vec::new())
    }
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) head: http::request::Parts,
    pub(crate) body: Bytes,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.head.headers[name].to_str().unwrap()
    }

    /// Returns the sequence number of its event.
    pub(crate) fn event_sequence(&self) -> u64 {
        self.json()["seq"].as_u64().unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns whether it was signed with this secret.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let mut text = Vec::new();
        for part in ["webhook-id", "webhook-timestamp"] {
            text.extend_from_slice(self.header(part).as_bytes());
            text.push(b'.');
        }
        text.extend_from_slice(&self.body);
        let wanted = format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &text)));
        self.header("webhook-signature") == wanted
    }
}

/// HMAC-SHA256, implemented from its definition.
fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64);
    let padded = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        block
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize();
    outer.to_vec()
}

#[derive(Debug, Default)]
struct ReceiverState {
    actions: VecDeque<ReceiverAction>,
    requests: Vec<ReceivedRequest>,
    connections: usize,
}

/// A running receiver; stops when it is dropped.
pub(crate) struct WebhookReceiver {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ReceiverState>>,
    task: JoinHandle<()>,
    stopping: CancellationToken,
    tls: bool,
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WebhookReceiver {
    /// Starts a receiver that performs these actions first, and responds with success afterwards.
    pub(crate) async fn start(acts: &[ReceiverAction]) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), acts, None).await
    }

    /// Starts a receiver with TLS.
    pub(crate) async fn start_tls() -> Self {
        let chain = vec![include_bytes!("tls/receiver.der").to_vec().into()];
        let key = include_bytes!("tls/receiver-key.der").to_vec();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key.into()))
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::start_at("127.0.0.1:0".parse().unwrap(), &[], Some(acceptor)).await
    }

    /// Starts a receiver on an address, retrying while an earlier receiver still occupies it.
    pub(crate) async fn start_at(
        address: SocketAddr,
        acts: &[ReceiverAction],
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = tokio::time::timeout(RESULT_TIMEOUT, async {
            loop {
                match TcpListener::bind(address).await {
                    Err(error) if error.kind() == ErrorKind::AddrInUse => {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                    bound => return bound.unwrap(),
                }
            }
        });
        let listener = listener.await.expect("the address stays in use");
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(ReceiverState {
            actions: acts.iter().cloned().collect(),
            ..ReceiverState::default()
        }));
        let shared = Arc::clone(&state);
        let encrypted = tls.is_some();
        let stopping = CancellationToken::new();
        let stopped = stopping.clone();
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            loop {
                let stream = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap().0,
                    () = stopped.cancelled() => break,
                };
                shared.lock().unwrap().connections += 1;
                let state = Arc::clone(&shared);
                let tls = tls.clone();
                open.spawn(async move {
                    match tls {
                        None => serve_connection(stream, state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve_connection(stream, state).await;
                            }
                        }
                    }
                });
            }
            open.shutdown().await;
        });
        Self {
            address,
            state,
            task,
            stopping,
            tls: encrypted,
        }
    }

    /// Stops the receiver and waits until it has closed its port and all connections. Returns the sequence
    /// numbers of the events it received. Dropping it instead stops it at some later time.
    pub(crate) async fn stop(mut self) -> Vec<u64> {
        self.stopping.cancel();
        (&mut self.task).await.unwrap();
        self.event_sequences()
    }

    /// Returns the URL for deliveries.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://localhost:{}/hook?x=1", self.address.port())
    }

    /// Returns the requests received so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Returns the sequence numbers of the received events.
    pub(crate) fn event_sequences(&self) -> Vec<u64> {
        self.requests()
            .iter()
            .map(ReceivedRequest::event_sequence)
            .collect()
    }

    /// Returns the number of connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// Waits until the event with this sequence number has arrived.
    pub(crate) async fn wait_for_event(&self, seq: u64) {
        wait_until(|| self.event_sequences().contains(&seq)).await;
    }
}

async fn serve_connection<S>(stream: S, state: Arc<Mutex<ReceiverState>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let act = {
                let mut state = state.lock().unwrap();
                state.requests.push(ReceivedRequest { head, body });
                state.actions.pop_front()
            };
            let text = |bytes| Full::new(Bytes::from(bytes));
            match act.unwrap_or_else(|| ReceiverAction::respond_with_status(204)) {
                ReceiverAction::Respond(status, headers) => {
                    let mut answer = Response::builder().status(status);
                    for (name, value) in headers {
                        answer = answer.header(name, value);
                    }
                    Ok(answer.body(text(Vec::new())).unwrap())
                }
                ReceiverAction::RespondWithBody(bytes) => {
                    Ok(Response::new(text(vec![b'x'; bytes])))
                }
                ReceiverAction::RespondAfter(time) => {
                    tokio::time::sleep(time).await;
                    let mut answer = Response::new(text(Vec::new()));
                    *answer.status_mut() = StatusCode::OK;
                    Ok(answer)
                }
                ReceiverAction::Disconnect => Err("disconnected"),
            }
        }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    drop(
        connection
            .serve_connection(TokioIo::new(stream), answer)
            .await,
    );
}
