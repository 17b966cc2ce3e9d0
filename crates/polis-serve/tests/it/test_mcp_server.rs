//! Test harness of MCP over HTTP: `TestMcpServer` listens on a socket of its own, and `McpResponse` reads
//! JSON or SSE responses.

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
use polis_core::agent::{AgentAddParams, AgentLayer};
use polis_core::token::TokenScopes;
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandOutcome, OutputStream};
use polis_ops::port::{OutputWatcher, SandboxReport, SandboxedTerminal, WorkspaceLocation};
use polis_ops::{App, InstallationSettings, PortFuture, op};
use polis_serve::events::Hub;
use polis_serve::{CallerIdentity, mcp};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

/// Timeout of any step of a test.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Terminal whose commands print one line and run until they are cancelled.
#[derive(Debug, Default)]
pub(crate) struct EndlessCommands {
    pub(crate) running: AtomicUsize,
    pub(crate) ended: AtomicUsize,
}

/// Counts a command as ended when it is dropped.
struct RunningCommandGuard<'a>(&'a EndlessCommands);

impl Drop for RunningCommandGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl SandboxedTerminal for EndlessCommands {
    fn run<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: CommandRequest,
        watcher: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let runs = RunningCommandGuard(self);
        Box::pin(async move {
            let _runs = runs;
            watcher.on_output(OutputStream::Stdout, b"begun\n");
            std::future::pending().await
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        Box::pin(std::future::pending())
    }
}

/// A running MCP server over an in-memory store, with the agents `ann` and `bob`.
pub(crate) struct TestMcpServer {
    pub(crate) address: SocketAddr,
    pub(crate) app: App,
    pub(crate) service: mcp::McpHttpService,
    pub(crate) stop: CancellationToken,
    pub(crate) commands: Arc<EndlessCommands>,
}

impl TestMcpServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server with settings. `Bearer NAME` authenticates as NAME; `NAME#TOKEN` adds a token id and
    /// `NAME:SCOPE` a scope.
    pub(crate) async fn start_with(set: impl FnOnce(&mut mcp::McpHttpOptions)) -> Self {
        let commands = Arc::<EndlessCommands>::default();
        let app = App::new(
            Arc::new(MemoryStore::default()),
            Arc::new(FixedClock::default()),
            Arc::new(CountingRandomSource::default()),
            InstallationSettings::default(),
        )
        .with_workspaces(
            Arc::new(MemoryWorkspaces::default()),
            Arc::<EndlessCommands>::clone(&commands),
        );
        for (id, layer) in [("ann", AgentLayer::Top), ("bob", AgentLayer::Bottom)] {
            let add = AgentAddParams {
                id: id.parse().unwrap(),
                name: None,
                role: "architect".to_owned(),
                layer: Some(layer),
                supervisor: None,
                workspace_path: None,
            };
            op::add_agent(&app.request(&AgentId::user()), &add)
                .await
                .unwrap();
        }
        let stop = CancellationToken::new();
        let mut options = mcp::McpHttpOptions::new(stop.clone());
        set(&mut options);
        let service = mcp::mcp_http_service(app.clone(), Hub::new(&app), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept_connections(listener, service.clone()));
        Self {
            address,
            app,
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
    ) -> McpResponse {
        self.send_to("/mcp", method, who, headers, body).await
    }

    pub(crate) async fn send_to(
        &self,
        path: &str,
        method: Method,
        who: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> McpResponse {
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
        let response = timeout(STEP_TIMEOUT, sender.send_request(request))
            .await
            .unwrap()
            .unwrap();
        let (parts, body) = response.into_parts();
        McpResponse {
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
    pub(crate) async fn send_stateless(
        &self,
        who: &str,
        method: &str,
        params: Value,
    ) -> McpResponse {
        let name = params.get("name").or_else(|| params.get("uri"));
        let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        let body = json_rpc_request(1, method, with_stateless_metadata(params));
        self.send(Method::POST, Some(who), &headers, Some(body))
            .await
    }

    /// Starts a session and returns its id.
    pub(crate) async fn start_session(&self, who: &str) -> String {
        self.start_session_at(who, "2025-11-25").await
    }

    /// Starts a session with a protocol revision and returns its id.
    pub(crate) async fn start_session_at(&self, who: &str, revision: &str) -> String {
        let params = json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let mut reply = self
            .send(
                Method::POST,
                Some(who),
                &[],
                Some(json_rpc_request(1, "initialize", params)),
            )
            .await;
        assert_eq!(reply.status, StatusCode::OK);
        let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(
            reply.response_to(1).await["result"]["serverInfo"]["name"],
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
    pub(crate) async fn send_in_session(
        &self,
        who: &str,
        session: &str,
        method: Method,
        body: Option<Value>,
    ) -> McpResponse {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        self.send(method, Some(who), &headers, body).await
    }
}

/// Builds a JSON-RPC request.
pub(crate) fn json_rpc_request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Adds the metadata that the stateless revision requires.
pub(crate) fn with_stateless_metadata(mut params: Value) -> Value {
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
pub(crate) struct SseMessage {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    /// Its message; `None` in an event that only names a position in the stream.
    pub(crate) message: Option<Value>,
}

impl SseMessage {
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

/// A response whose body may be a stream.
pub(crate) struct McpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    buffer: String,
    events: VecDeque<SseMessage>,
    connection: tokio::task::AbortHandle,
    _sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
}

impl McpResponse {
    fn is_stream(&self) -> bool {
        let kind = self
            .headers
            .get("content-type")
            .map(|kind| kind.to_str().unwrap());
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// Reads a complete body that is not a stream.
    pub(crate) async fn read_text(mut self) -> String {
        let bytes = timeout(STEP_TIMEOUT, (&mut self.body).collect())
            .await
            .unwrap()
            .unwrap();
        String::from_utf8(bytes.to_bytes().to_vec()).unwrap()
    }

    /// Returns the next event; `None` at the end. Keep-alive comments are skipped.
    pub(crate) async fn next_event(&mut self) -> Option<SseMessage> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let frame = timeout(STEP_TIMEOUT, self.body.frame())
                .await
                .expect("no event within the timeout");
            let data = frame?.unwrap().into_data().unwrap();
            self.buffer.push_str(std::str::from_utf8(&data).unwrap());
            if !self.is_stream() {
                if let Ok(message) = serde_json::from_str(&self.buffer) {
                    self.events.push_back(SseMessage {
                        message,
                        ..SseMessage::default()
                    });
                }
                continue;
            }
            while let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let event = SseMessage::parse(event);
                self.buffer = rest.to_owned();
                if event != SseMessage::default() {
                    self.events.push_back(event);
                }
            }
        }
    }

    /// Returns the next message; `None` at the end.
    pub(crate) async fn next_message(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.next_event().await?.message {
                return Some(message);
            }
        }
    }

    /// Returns the next message with this method.
    pub(crate) async fn next_notification(&mut self, method: &str) -> Value {
        while let Some(message) = self.next_message().await {
            if message["method"] == method {
                return message;
            }
        }
        panic!("the stream ended before {method}");
    }

    /// Returns the response to a request.
    pub(crate) async fn response_to(&mut self, id: i64) -> Value {
        while let Some(message) = self.next_message().await {
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
        panic!("the stream ended before the response");
    }

    /// Drops the connection.
    pub(crate) fn disconnect(self) {
        self.connection.abort();
    }
}

/// Polls until a condition holds.
pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + STEP_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn accept_connections(listener: TcpListener, service: mcp::McpHttpService) {
    while let Ok((socket, _)) = listener.accept().await {
        let service = service.clone();
        let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            let mut service = service.clone();
            let header = request.headers().get("authorization");
            let bearer = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
            if let Some(identity) = bearer.map(identity_from_bearer) {
                request.extensions_mut().insert(identity);
            }
            service.call(request)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), answer);
        tokio::spawn(connection);
    }
}

/// Parses `NAME[#TOKEN][:SCOPE]` as the caller, which the real server derives from tokens.
fn identity_from_bearer(bearer: &str) -> CallerIdentity {
    let (name, scope) = bearer.split_once(':').unwrap_or((bearer, "all"));
    let (agent, token) = name.split_once('#').unwrap_or((name, name));
    CallerIdentity {
        agent: agent.parse().unwrap(),
        scopes: scope.parse::<TokenScopes>().unwrap(),
        token: Some(token.to_owned()),
        registry_entry: Default::default(),
        session: None,
    }
}
