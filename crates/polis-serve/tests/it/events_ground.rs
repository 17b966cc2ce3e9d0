//! Test harness of events: a server with only `/v1/events`, and an SSE client.

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
use polis_core::token::Scopes;
use polis_core::{AgentId, Changeset, Event, NewEvent, Subject};
use polis_ops::port::{EventQuery, Store};
use polis_ops::{OpError, Outcome, Polis};
use polis_serve::Identity;
use polis_serve::events::{Hub, HubSettings, SseSettings, WriteLimit, router};
use polis_testkit::{FixedClock, MemoryStore, test_store};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

/// Timeout for expected results.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Settings of a test server.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) hub: HubSettings,
    pub(crate) sse: SseSettings,
    /// Write timeout of a socket.
    pub(crate) stalled: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hub: HubSettings::default(),
            sse: SseSettings::default(),
            stalled: SOON,
        }
    }
}

/// A test server of events.
pub(crate) struct Server {
    pub(crate) polis: Polis,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) hub: Hub,
    pub(crate) address: SocketAddr,
    /// Number of open connections.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server on a store of its own.
    pub(crate) async fn start(options: Options) -> Self {
        Self::on(Arc::new(MemoryStore::default()), options).await
    }

    /// Starts a server on this store.
    pub(crate) async fn on(store: Arc<dyn Store>, options: Options) -> Self {
        let clock = Arc::new(FixedClock::default());
        let mut polis = test_store::polis(store);
        polis.clock = Arc::<FixedClock>::clone(&clock);
        let hub = Hub::with(&polis, options.hub);
        let routes = router(hub.clone(), polis.clone(), options.sse, refuse);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let routes = routes.clone();
                let serve = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                    if let Some(identity) = identity(&request) {
                        request.extensions_mut().insert(identity);
                    }
                    routes.clone().oneshot(request.map(Body::new))
                });
                let stream = TokioIo::new(WriteLimit::new(stream, options.stalled));
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
            polis,
            clock,
            hub,
            address,
            connections,
        }
    }

    /// Logs `many` events. Returns the sequence number of the last.
    pub(crate) async fn tell(&self, many: u64) -> u64 {
        let mut last = 0;
        for _ in 0..many {
            last = note(&*self.polis.store, "task.updated", 1, "user", "x").await;
        }
        last
    }

    /// Follows the log as the user.
    pub(crate) async fn read(&self, query: &str) -> Reader {
        self.read_as("user", query, None).await
    }

    /// Follows the log as another caller, with an optional `Last-Event-ID`.
    pub(crate) async fn read_as(&self, who: &str, query: &str, last: Option<u64>) -> Reader {
        let mut headers = vec![("x-who", who.to_owned())];
        headers.extend(last.map(|last| ("last-event-id", last.to_string())));
        let answer = self.get(query, &headers).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Reader::of(answer.into_body())
    }

    /// Requests `/v1/events`.
    pub(crate) async fn get(
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
fn identity(request: &Request<Incoming>) -> Option<Identity> {
    let who = request.headers().get("x-who")?.to_str().unwrap();
    let mut words = who.split(' ');
    let agent: AgentId = words.next()?.parse().unwrap();
    let token = words.next().map(str::to_owned);
    let scopes = words.next();
    Some(Identity {
        scopes: scopes.map_or_else(Scopes::all, |scopes| scopes.parse().unwrap()),
        agent,
        token,
        entry: Default::default(),
    })
}

fn refuse(error: &OpError) -> Response {
    let status = match error.kind() {
        polis_core::Kind::Invalid => StatusCode::BAD_REQUEST,
        polis_core::Kind::Forbidden => StatusCode::FORBIDDEN,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, error.code().as_str()).into_response()
}

/// Logs an event without any change. Returns its sequence number.
pub(crate) async fn note(
    store: &dyn Store,
    kind: &'static str,
    task: u64,
    actor: &str,
    text: &str,
) -> u64 {
    let subject = Subject::Task(polis_core::TaskId::new(task).unwrap());
    let changes = Changeset {
        actor: actor.parse().unwrap(),
        at: polis_core::Timestamp::from_millis(polis_testkit::clock::BEGINNING),
        writes: Vec::new(),
        events: vec![NewEvent::of(kind, subject, &text)],
    };
    match store.commit(changes).await.unwrap() {
        Outcome::Committed(receipt) => receipt.sequence,
        Outcome::Conflict(key) => panic!("conflict on {key:?}"),
    }
}

/// Returns the events of the log after a sequence number.
pub(crate) async fn log_after(store: &dyn Store, after: u64) -> Vec<Event> {
    let query = EventQuery {
        after,
        limit: u32::MAX,
        ..EventQuery::default()
    };
    store.events(&query).await.unwrap()
}

/// One block of an SSE stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) comment: Option<String>,
    pub(crate) id: Option<u64>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
}

impl Block {
    /// Parses its data as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.data.as_deref().unwrap()).unwrap()
    }
}

/// Splits a stream into SSE blocks, following the standard.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    text: String,
}

impl Blocks {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.text.push_str(std::str::from_utf8(bytes).unwrap());
    }

    pub(crate) fn next(&mut self) -> Option<Block> {
        let end = self.text.find("\n\n")?;
        let rest = self.text.split_off(end + 2);
        let whole = std::mem::replace(&mut self.text, rest);
        let mut block = Block::default();
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

/// A reader of the log.
pub(crate) struct Reader {
    body: Incoming,
    blocks: Blocks,
    /// The sequence number from which a client would resume.
    pub(crate) last: Option<u64>,
}

impl Reader {
    pub(crate) fn of(body: Incoming) -> Self {
        Self {
            body,
            blocks: Blocks::default(),
            last: None,
        }
    }

    /// Returns the next block; `None` at the end.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        let found = tokio::time::timeout(SOON, async {
            loop {
                if let Some(block) = self.blocks.next() {
                    return Some(block);
                }
                match self.body.frame().await {
                    Some(Ok(frame)) => self.blocks.add(&frame.into_data().unwrap()),
                    Some(Err(_)) | None => return None,
                }
            }
        });
        let block = found.await.expect("nothing came");
        if let Some(id) = block.as_ref().and_then(|block| block.id) {
            self.last = Some(id);
        }
        block
    }

    /// Returns the next event or notice; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<Block> {
        loop {
            let block = self.block().await?;
            if block.event.is_some() {
                return Some(block);
            }
        }
    }

    /// Returns the sequence numbers of the next `many` events.
    pub(crate) async fn places(&mut self, many: usize) -> Vec<u64> {
        let mut places = Vec::with_capacity(many);
        while places.len() < many {
            let event = self.event().await.expect("the stream ended");
            assert_eq!(event.json()["seq"].as_u64(), event.id);
            places.push(event.id.unwrap());
        }
        places
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: impl Fn() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("it never came about");
}

/// Waits until an asynchronous condition holds.
pub(crate) async fn until_async(what: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !what().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("it never came about");
}
