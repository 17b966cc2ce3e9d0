//! Test harness of MCP over HTTP: a server on its own socket, and an HTTP client.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use polis_core::AgentId;
use polis_core::agent::{AgentAdd, Layer};
use polis_core::token::Scopes;
use polis_core::workspace::command::CommandRun;
use polis_ops::port::{CommandOrder, SandboxReport, Site, Stream, Terminal};
use polis_ops::{Polis, PortFuture, Settings, op};
use polis_serve::events::Hub;
use polis_serve::{Identity, mcp};
use polis_testkit::{CountedChance, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

/// Timeout of any step of a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// Commands that print one line and run until they are cancelled.
#[derive(Debug, Default)]
pub(crate) struct Staying {
    pub(crate) running: AtomicUsize,
    pub(crate) ended: AtomicUsize,
}

struct Runs<'a>(&'a Staying);

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Terminal for Staying {
    fn run<'a>(&'a self, _: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let runs = Runs(self);
        Box::pin(async move {
            let _runs = runs;
            if let Some(watcher) = &order.watcher {
                watcher.output(Stream::Stdout, b"begun\n");
            }
            std::future::pending().await
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        Box::pin(std::future::pending())
    }
}

/// A running server.
pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) polis: Polis,
    pub(crate) service: mcp::HttpService,
    pub(crate) stop: CancellationToken,
    pub(crate) commands: Arc<Staying>,
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::open_with(|_| {}).await
    }

    /// Starts a server with settings. `Bearer NAME` authenticates as NAME; `NAME#TOKEN` adds a token id and
    /// `NAME:SCOPE` a scope.
    pub(crate) async fn open_with(set: impl FnOnce(&mut mcp::HttpOptions)) -> Self {
        let commands = Arc::<Staying>::default();
        let polis = Polis::new(
            Arc::new(MemoryStore::default()),
            Arc::new(FixedClock::default()),
            Arc::new(CountedChance::default()),
            Settings::default(),
        )
        .with_workspaces(
            Arc::new(MemoryWorkspaces::default()),
            Arc::<Staying>::clone(&commands),
        );
        for (id, layer) in [("ann", Layer::Top), ("bob", Layer::Bottom)] {
            let add = AgentAdd {
                id: id.parse().unwrap(),
                name: None,
                role: "architect".to_owned(),
                layer: Some(layer),
                supervisor: None,
                workspace_path: None,
            };
            op::add_agent(&polis, &AgentId::user(), &add).await.unwrap();
        }
        let stop = CancellationToken::new();
        let mut options = mcp::HttpOptions::new(stop.clone());
        set(&mut options);
        let service = mcp::service(polis.clone(), Hub::new(&polis), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept(listener, service.clone()));
        Self {
            address,
            polis,
            service,
            stop,
            commands,
        }
    }

    /// Sends a request and returns the response.
    pub(crate) async fn send(
        &self,
        method: Method,
        who: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Reply {
        self.send_to("/mcp", method, who, headers, body).await
    }

    pub(crate) async fn send_to(
        &self,
        path: &str,
        method: Method,
        who: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Reply {
        let socket = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(who) = who {
            request = request.header("authorization", format!("Bearer {who}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let response = timeout(PATIENCE, sender.send_request(request))
            .await
            .unwrap()
            .unwrap();
        let (parts, body) = response.into_parts();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body,
            buffer: String::new(),
            events: VecDeque::new(),
            connection: connection.abort_handle(),
            _sender: sender,
        }
    }

    /// Sends a request of the stateless revision.
    pub(crate) async fn ask(&self, who: &str, method: &str, params: Value) -> Reply {
        let name = params.get("name").or_else(|| params.get("uri"));
        let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        let body = request(1, method, stateless(params));
        self.send(Method::POST, Some(who), &headers, Some(body))
            .await
    }

    /// Starts a session and returns its id.
    pub(crate) async fn begin(&self, who: &str) -> String {
        self.begin_at(who, "2025-11-25").await
    }

    /// Starts a session with a protocol revision and returns its id.
    pub(crate) async fn begin_at(&self, who: &str, revision: &str) -> String {
        let params = json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let mut reply = self
            .send(
                Method::POST,
                Some(who),
                &[],
                Some(request(1, "initialize", params)),
            )
            .await;
        assert_eq!(reply.status, StatusCode::OK);
        let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(
            reply.answer(1).await["result"]["serverInfo"]["name"],
            "polis"
        );
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", revision),
        ];
        let reply = self
            .send(Method::POST, Some(who), &headers, Some(done))
            .await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        session
    }

    /// Sends a request in a session.
    pub(crate) async fn in_session(
        &self,
        who: &str,
        session: &str,
        method: Method,
        body: Option<Value>,
    ) -> Reply {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        self.send(method, Some(who), &headers, body).await
    }
}

/// Builds a JSON-RPC request.
pub(crate) fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Adds the metadata that the stateless revision requires.
pub(crate) fn stateless(mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    for (key, value) in meta.as_object().unwrap() {
        params["_meta"][key] = value.clone();
    }
    params
}

/// An event of a stream. A body that is not a stream becomes an event without an id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    /// Its message; `None` in an event that only names a position in the stream.
    pub(crate) message: Option<Value>,
}

impl Event {
    fn parse(text: &str) -> Self {
        let field = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
        };
        let data = field("data").filter(|data| !data.is_empty());
        Self {
            id: field("id").map(str::to_owned),
            retry: field("retry").map(|retry| retry.parse().unwrap()),
            message: data.map(|data| serde_json::from_str(data).unwrap()),
        }
    }
}

/// A response.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    buffer: String,
    events: VecDeque<Event>,
    connection: tokio::task::AbortHandle,
    _sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
}

impl Reply {
    fn is_stream(&self) -> bool {
        let kind = self
            .headers
            .get("content-type")
            .map(|kind| kind.to_str().unwrap());
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// Reads a complete body that is not a stream.
    pub(crate) async fn text(mut self) -> String {
        let bytes = timeout(PATIENCE, (&mut self.body).collect())
            .await
            .unwrap()
            .unwrap();
        String::from_utf8(bytes.to_bytes().to_vec()).unwrap()
    }

    /// Returns the next event; `None` at the end. Keep-alive comments are skipped.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let frame = timeout(PATIENCE, self.body.frame())
                .await
                .expect("no event came");
            let data = frame?.unwrap().into_data().unwrap();
            self.buffer.push_str(std::str::from_utf8(&data).unwrap());
            if !self.is_stream() {
                if let Ok(message) = serde_json::from_str(&self.buffer) {
                    self.events.push_back(Event {
                        message,
                        ..Event::default()
                    });
                }
                continue;
            }
            while let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let event = Event::parse(event);
                self.buffer = rest.to_owned();
                if event != Event::default() {
                    self.events.push_back(event);
                }
            }
        }
    }

    /// Returns the next message; `None` at the end.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.event().await?.message {
                return Some(message);
            }
        }
    }

    /// Returns the next message with this method.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        while let Some(message) = self.message().await {
            if message["method"] == method {
                return message;
            }
        }
        panic!("{method} did not come");
    }

    /// Returns the response to a request.
    pub(crate) async fn answer(&mut self, id: i64) -> Value {
        while let Some(message) = self.message().await {
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
        panic!("no answer came");
    }

    /// Drops the connection.
    pub(crate) fn hang_up(self) {
        self.connection.abort();
    }
}

/// Polls until a condition holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn accept(listener: TcpListener, service: mcp::HttpService) {
    while let Ok((socket, _)) = listener.accept().await {
        let service = service.clone();
        let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            let mut service = service.clone();
            let header = request.headers().get("authorization");
            let bearer = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
            if let Some(identity) = bearer.map(admitted) {
                request.extensions_mut().insert(identity);
            }
            service.call(request)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), answer);
        tokio::spawn(connection);
    }
}

fn admitted(bearer: &str) -> Identity {
    let (name, scope) = bearer.split_once(':').unwrap_or((bearer, "all"));
    let (agent, token) = name.split_once('#').unwrap_or((name, name));
    Identity {
        agent: agent.parse().unwrap(),
        scopes: scope.parse::<Scopes>().unwrap(),
        token: Some(token.to_owned()),
        entry: Default::default(),
    }
}
