//! Test harness of the HTTP API: a team with tokens, and a server called without sockets.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_core::token::TokenIssue;
use polis_ops::{Polis, op};
use polis_serve::http::{App, Options, Peer};
use polis_testkit::{CountedChance, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::{Value, json};

/// A server over an in-memory store, with a team lead and two workers.
pub(crate) struct Town {
    pub(crate) app: Arc<App>,
    pub(crate) polis: Polis,
    pub(crate) clock: Arc<FixedClock>,
    /// Token of the user.
    pub(crate) user: String,
    /// Token of the team lead.
    pub(crate) lead: String,
    /// Token of a backend leader.
    pub(crate) ada: String,
    /// Token of another backend leader.
    pub(crate) bob: String,
}

/// A connection from this machine.
pub(crate) const HERE: Peer = Peer {
    remote: Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)),
    local: Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)),
    secure: false,
};

/// A connection from another machine.
pub(crate) fn elsewhere() -> Peer {
    Peer {
        remote: Some("192.0.2.9".parse().unwrap()),
        local: Some("192.0.2.1".parse().unwrap()),
        secure: true,
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) async fn of(response: Response<Body>) -> Self {
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
    pub(crate) fn good(&self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status.as_u16(), status, "{text}");
        assert_eq!(self.header("content-type"), "application/json");
        self.json()
    }

    /// Returns the problem of a refusal with this status and code.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
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

impl Town {
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let clock = Arc::new(FixedClock::default());
        let polis = Polis::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            polis_ops::Settings::default(),
        );
        let places = Arc::new(MemoryWorkspaces::default());
        let polis = polis.with_workspaces(Arc::<MemoryWorkspaces>::clone(&places), places);
        for (id, role) in [
            ("lead", "team-lead"),
            ("ada", "backend-leader"),
            ("bob", "backend-leader"),
        ] {
            let add = serde_json::from_value(json!({"id": id, "role": role})).unwrap();
            op::add_agent(&polis, &AgentId::user(), &add).await.unwrap();
        }
        let town = |name: &'static str| {
            let polis = polis.clone();
            async move { issue(&polis, name, "all", None).await }
        };
        Self {
            user: town("user").await,
            lead: town("lead").await,
            ada: town("ada").await,
            bob: town("bob").await,
            app: Arc::new(App::new(polis.clone(), options).unwrap()),
            polis,
            clock,
        }
    }

    /// Issues a token for an agent.
    pub(crate) async fn token(
        &self,
        agent: &str,
        scope: &str,
        expires_in_ms: Option<i64>,
    ) -> String {
        issue(&self.polis, agent, scope, expires_in_ms).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        Answer::of(self.app.answer(&HERE, request).await).await
    }

    /// Sends a request with a token and an optional body.
    pub(crate) async fn ask(&self, token: &str, method: Method, path: &str, body: Value) -> Answer {
        self.send(request(token, method, path, body)).await
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.ask(token, Method::GET, path, Value::Null).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: Value) -> Answer {
        self.ask(token, Method::POST, path, body).await
    }

    /// Sends a request with additional headers.
    pub(crate) async fn with_headers(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = request(token, method, path, body);
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
    pub(crate) async fn tasks(&self) -> usize {
        let list = self.get(&self.user, "/v1/tasks").await.good(200);
        list["tasks"].as_array().unwrap().len()
    }
}

async fn issue(polis: &Polis, agent: &str, scope: &str, expires_in_ms: Option<i64>) -> String {
    let params = TokenIssue {
        agent: agent.parse().unwrap(),
        scopes: scope.parse().unwrap(),
        expires_in_ms,
    };
    let issued = op::issue_token(polis, &AgentId::user(), &params).await;
    issued.unwrap().token
}

/// Builds a request as a client would send it.
pub(crate) fn request(token: &str, method: Method, path: &str, body: Value) -> Request<Body> {
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
