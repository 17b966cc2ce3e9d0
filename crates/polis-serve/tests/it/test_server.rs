//! Test harness of the HTTP API: `TestServer` is a server over an in-memory store, called without sockets,
//! with a token for each agent.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_core::token::TokenIssueParams;
use polis_ops::{App, op};
use polis_serve::http::{ConnectionPeer, HttpApp, ServerOptions};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::{Value, json};

/// A server over an in-memory store, with a team lead and two workers.
pub(crate) struct TestServer {
    pub(crate) http_app: Arc<HttpApp>,
    pub(crate) app: App,
    pub(crate) clock: Arc<FixedClock>,
    /// Token of the user.
    pub(crate) user_token: String,
    /// Token of the team lead.
    pub(crate) lead_token: String,
    /// Token of a backend leader.
    pub(crate) ada_token: String,
    /// Token of another backend leader.
    pub(crate) bob_token: String,
}

/// Peer of a connection from localhost.
pub(crate) const LOCAL_PEER: ConnectionPeer = ConnectionPeer {
    remote: Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)),
    local: Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)),
    is_tls: false,
};

/// Peer of a TLS connection from another machine.
pub(crate) fn remote_peer() -> ConnectionPeer {
    ConnectionPeer {
        remote: Some("192.0.2.9".parse().unwrap()),
        local: Some("192.0.2.1".parse().unwrap()),
        is_tls: true,
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl HttpResponse {
    pub(crate) async fn from_response(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            bytes: body.collect().await.unwrap().to_bytes().to_vec(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.bytes)))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the document of a successful response with this status.
    #[track_caller]
    pub(crate) fn expect_json(&self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status.as_u16(), status, "{text}");
        assert_eq!(self.header("content-type"), "application/json");
        self.json()
    }

    /// Returns the problem of a refusal with this status and code.
    #[track_caller]
    pub(crate) fn expect_problem(&self, status: u16, code: &str) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status.as_u16(), status, "{text}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{text}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:polis:problem:{code}"));
        for field in ["title", "detail"] {
            assert!(!problem[field].as_str().unwrap().is_empty(), "{text}");
        }
        assert!(!self.header("x-request-id").is_empty());
        problem
    }
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        Self::with_options(ServerOptions::default()).await
    }

    pub(crate) async fn with_options(options: ServerOptions) -> Self {
        let clock = Arc::new(FixedClock::default());
        let app = App::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            polis_ops::InstallationSettings::default(),
        );
        let places = Arc::new(MemoryWorkspaces::default());
        let app = app.with_workspaces(Arc::<MemoryWorkspaces>::clone(&places), places);
        for (id, role) in [
            ("lead", "team-lead"),
            ("ada", "backend-leader"),
            ("bob", "backend-leader"),
        ] {
            let add = serde_json::from_value(json!({"id": id, "role": role})).unwrap();
            op::add_agent(&app.request(&AgentId::user()), &add)
                .await
                .unwrap();
        }
        let issue_all_scopes = |name: &'static str| {
            let app = app.clone();
            async move { issue_token_for(&app, name, "all", None).await }
        };
        Self {
            user_token: issue_all_scopes("user").await,
            lead_token: issue_all_scopes("lead").await,
            ada_token: issue_all_scopes("ada").await,
            bob_token: issue_all_scopes("bob").await,
            http_app: Arc::new(HttpApp::new(app.clone(), options).unwrap()),
            app,
            clock,
        }
    }

    /// Issues a token for an agent.
    pub(crate) async fn issue_token(
        &self,
        agent: &str,
        scope: &str,
        expires_in_ms: Option<i64>,
    ) -> String {
        issue_token_for(&self.app, agent, scope, expires_in_ms).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> HttpResponse {
        HttpResponse::from_response(self.http_app.handle(&LOCAL_PEER, request).await).await
    }

    /// Sends a request with a token and an optional body.
    pub(crate) async fn send_json(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> HttpResponse {
        self.send(build_request(token, method, path, body)).await
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> HttpResponse {
        self.send_json(token, Method::GET, path, Value::Null).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: Value) -> HttpResponse {
        self.send_json(token, Method::POST, path, body).await
    }

    /// Sends a request with additional headers.
    pub(crate) async fn send_with_headers(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> HttpResponse {
        let mut request = build_request(token, method, path, body);
        for (name, value) in headers {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(
                name,
                http::HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        self.send(request).await
    }

    /// Returns the number of tasks.
    pub(crate) async fn count_tasks(&self) -> usize {
        let list = self
            .get(&self.user_token, "/v1/tasks")
            .await
            .expect_json(200);
        list["tasks"].as_array().unwrap().len()
    }
}

/// Issues a token for an agent.
async fn issue_token_for(
    app: &App,
    agent: &str,
    scope: &str,
    expires_in_ms: Option<i64>,
) -> String {
    let params = TokenIssueParams {
        agent: agent.parse().unwrap(),
        scopes: scope.parse().unwrap(),
        expires_in_ms,
    };
    let issued = op::issue_token(&app.request(&AgentId::user()), &params).await;
    issued.unwrap().token
}

/// Builds a request as a client would send it.
pub(crate) fn build_request(token: &str, method: Method, path: &str, body: Value) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7707");
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if body.is_null() {
        return request.body(Body::empty()).unwrap();
    }
    request
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}
