//! Test harness of event streams: `TestEventServer` serves only `/v1/events` on a socket, `SseReader` is its
//! client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use polis_core::token::TokenScopes;
use polis_core::{AgentId, Changeset, Event, EventKind, EventSubject, NewEvent};
use polis_ops::port::{EventLogQuery, Store};
use polis_ops::{App, CommitOutcome, OpError};
use polis_serve::CallerIdentity;
use polis_serve::events::{Hub, HubSettings, SseSettings, sse_router};
use polis_serve::http::WriteTimeoutStream;
use polis_testkit::sample_event::sample_payload;
use polis_testkit::{FixedClock, MemoryStore, store_factory};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

/// Timeout for expected results.
pub(crate) const RESULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Settings of a test server.
#[derive(Debug, Clone)]
pub(crate) struct TestEventServerOptions {
    pub(crate) hub: HubSettings,
    pub(crate) sse: SseSettings,
    /// Write timeout of a socket.
    pub(crate) write_timeout: Duration,
}

impl Default for TestEventServerOptions {
    fn default() -> Self {
        Self {
            hub: HubSettings::default(),
            sse: SseSettings::default(),
            write_timeout: RESULT_TIMEOUT,
        }
    }
}

/// A test server of events.
pub(crate) struct TestEventServer {
    pub(crate) app: App,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) hub: Hub,
    pub(crate) address: SocketAddr,
    /// Number of open connections.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl TestEventServer {
    /// Starts a server on a store of its own.
    pub(crate) async fn start(options: TestEventServerOptions) -> Self {
        Self::start_on_store(Arc::new(MemoryStore::default()), options).await
    }

    /// Starts a server on this store.
    pub(crate) async fn start_on_store(
        store: Arc<dyn Store>,
        options: TestEventServerOptions,
    ) -> Self {
        let clock = Arc::new(FixedClock::default());
        let mut app = store_factory::new_test_app(store);
        app.clock = Arc::<FixedClock>::clone(&clock);
        let hub = Hub::with_settings(&app, options.hub);
        let routes = sse_router(hub.clone(), app.clone(), options.sse, refusal_response);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let routes = routes.clone();
                let serve = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                    if let Some(identity) = identity_from_header(&request) {
                        request.extensions_mut().insert(identity);
                    }
                    routes.clone().oneshot(request.map(Body::new))
                });
                let stream = TokioIo::new(WriteTimeoutStream::new(stream, options.write_timeout));
                let connection = hyper::server::conn::http1::Builder::new()
                    .max_buf_size(64 << 10)
                    .serve_connection(stream, serve);
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    drop(connection.await);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            app,
            clock,
            hub,
            address,
            connections,
        }
    }

    /// Logs `many` events. Returns the sequence number of the last.
    pub(crate) async fn log_events(&self, many: u64) -> u64 {
        let mut last = 0;
        for _ in 0..many {
            last = log_event(&*self.app.store, "task.updated", 1, "user", "x").await;
        }
        last
    }

    /// Follows the log as the user.
    pub(crate) async fn follow(&self, query: &str) -> SseReader {
        self.follow_as("user", query, None).await
    }

    /// Follows the log as another caller, with an optional `Last-Event-ID`.
    pub(crate) async fn follow_as(&self, who: &str, query: &str, last: Option<u64>) -> SseReader {
        let mut headers = vec![("x-who", who.to_owned())];
        headers.extend(last.map(|last| ("last-event-id", last.to_string())));
        let answer = self.get_events(query, &headers).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        SseReader::from_body(answer.into_body())
    }

    /// Requests `/v1/events`.
    pub(crate) async fn get_events(
        &self,
        query: &str,
        headers: &[(&str, String)],
    ) -> http::Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let mut request = Request::get(format!("/v1/events{query}")).header("host", "x");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        sender.send_request(request).await.unwrap()
    }
}

/// Parses `x-who: AGENT [TOKEN [SCOPES]]` as the caller, which the real server derives from tokens.
fn identity_from_header(request: &Request<Incoming>) -> Option<CallerIdentity> {
    let who = request.headers().get("x-who")?.to_str().unwrap();
    let mut words = who.split(' ');
    let agent: AgentId = words.next()?.parse().unwrap();
    let token = words.next().map(str::to_owned);
    let scopes = words.next();
    Some(CallerIdentity {
        scopes: scopes.map_or_else(TokenScopes::all, |scopes| scopes.parse().unwrap()),
        agent,
        token,
        registry_entry: Default::default(),
        session: None,
    })
}

/// Maps an operation error to a plain response with its code.
fn refusal_response(error: &OpError) -> Response {
    let status = match error.kind() {
        polis_core::RefusalKind::Invalid => StatusCode::BAD_REQUEST,
        polis_core::RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, error.code().as_str()).into_response()
}

/// Logs an event without any change. Returns its sequence number.
pub(crate) async fn log_event(
    store: &dyn Store,
    kind: &str,
    task: u64,
    actor: &str,
    text: &str,
) -> u64 {
    let subject = EventSubject::Task(polis_core::TaskId::new(task).unwrap());
    let kind = EventKind::from_name(kind).unwrap();
    let changes = Changeset {
        actor: actor.parse().unwrap(),
        at: polis_core::Timestamp::from_millis(polis_testkit::clock::START_MILLIS),
        writes: Vec::new(),
        events: vec![NewEvent::new(subject, sample_payload(kind, text))],
    };
    match store.commit(changes).await.unwrap() {
        CommitOutcome::Committed(receipt) => receipt.sequence,
        CommitOutcome::Conflict(key) => panic!("conflict on {key:?}"),
    }
}

/// Returns the events of the log after a sequence number.
pub(crate) async fn events_after(store: &dyn Store, after: u64) -> Vec<Event> {
    let query = EventLogQuery {
        after,
        limit: u32::MAX,
        ..EventLogQuery::default()
    };
    store.events(&query).await.unwrap()
}

/// One block of an SSE stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseBlock {
    pub(crate) comment: Option<String>,
    pub(crate) id: Option<u64>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
}

impl SseBlock {
    /// Parses its data as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.data.as_deref().unwrap()).unwrap()
    }
}

/// Splits a stream into SSE blocks, following the standard.
#[derive(Debug, Default)]
pub(crate) struct SseBlockParser {
    text: String,
}

impl SseBlockParser {
    /// Adds received bytes.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.text.push_str(std::str::from_utf8(bytes).unwrap());
    }

    /// Removes and returns the next complete block.
    pub(crate) fn next_block(&mut self) -> Option<SseBlock> {
        let end = self.text.find("\n\n")?;
        let rest = self.text.split_off(end + 2);
        let whole = std::mem::replace(&mut self.text, rest);
        let mut block = SseBlock::default();
        for line in whole.lines().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match name {
                "" => block.comment = Some(value),
                "id" => block.id = Some(value.parse().unwrap()),
                "event" => block.event = Some(value),
                "data" => block.data = Some(value),
                "retry" => assert_eq!(value, "2000"),
                other => panic!("{other}"),
            }
        }
        Some(block)
    }
}

/// SSE client that follows the log.
pub(crate) struct SseReader {
    body: Incoming,
    blocks: SseBlockParser,
    /// The sequence number from which a client would resume.
    pub(crate) last_event_id: Option<u64>,
}

impl SseReader {
    pub(crate) fn from_body(body: Incoming) -> Self {
        Self {
            body,
            blocks: SseBlockParser::default(),
            last_event_id: None,
        }
    }

    /// Returns the next block; `None` at the end.
    pub(crate) async fn next_block(&mut self) -> Option<SseBlock> {
        let found = tokio::time::timeout(RESULT_TIMEOUT, async {
            loop {
                if let Some(block) = self.blocks.next_block() {
                    return Some(block);
                }
                match self.body.frame().await {
                    Some(Ok(frame)) => self.blocks.push_bytes(&frame.into_data().unwrap()),
                    Some(Err(_)) | None => return None,
                }
            }
        });
        let block = found.await.expect("no block within the timeout");
        if let Some(id) = block.as_ref().and_then(|block| block.id) {
            self.last_event_id = Some(id);
        }
        block
    }

    /// Returns the next event or notice; `None` at the end.
    pub(crate) async fn next_event(&mut self) -> Option<SseBlock> {
        loop {
            let block = self.next_block().await?;
            if block.event.is_some() {
                return Some(block);
            }
        }
    }

    /// Returns the sequence numbers of the next `many` events.
    pub(crate) async fn next_sequences(&mut self, many: usize) -> Vec<u64> {
        let mut places = Vec::with_capacity(many);
        while places.len() < many {
            let event = self.next_event().await.expect("the stream ended");
            assert_eq!(event.json()["seq"].as_u64(), event.id);
            places.push(event.id.unwrap());
        }
        places
    }
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(what: impl Fn() -> bool) {
    let waited = tokio::time::timeout(RESULT_TIMEOUT, async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("the condition never held");
}

/// Waits until an asynchronous condition holds.
pub(crate) async fn wait_until_async(what: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(RESULT_TIMEOUT, async {
        while !what().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("the condition never held");
}
