//! Test harness: a server with pages over a store on disk, called without sockets, and a browser that keeps cookies.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_core::token::TokenIssue;
use polis_ops::{NoWorkspaces, Polis, op};
use polis_serve::events::Hub;
use polis_serve::http::{App, Options, Peer};
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use polis_testkit::{CountedChance, FixedClock};
use polis_web::Web;
use polis_workspace::files::WorkspaceFiles;
use serde_json::json;
use tempfile::TempDir;

/// A connection from this machine.
pub(crate) const HERE: Peer = Peer {
    remote: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    local: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    secure: false,
};

/// A server with pages.
pub(crate) struct Town {
    pub(crate) app: Arc<App>,
    pub(crate) polis: Polis,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) hub: Hub,
    _directory: TempDir,
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts that the response is a page (200).
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self
    }

    /// Asserts that the response is a redirect, and returns its target.
    #[track_caller]
    pub(crate) fn to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.text);
        self.header("location")
    }
}

impl Town {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(5);
        let store = EmbeddedStore::create(directory.path(), Use::Long, patience).unwrap();
        let clock = Arc::new(FixedClock::default());
        let polis = Polis::new(
            Arc::new(store),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            polis_ops::Settings::default(),
        );
        let files = WorkspaceFiles::new(directory.path());
        let polis = polis.with_workspaces(Arc::new(files), Arc::new(NoWorkspaces));
        for (id, role) in [("lead", "team-lead"), ("ada", "backend-leader")] {
            let add = serde_json::from_value(json!({"id": id, "role": role})).unwrap();
            op::add_agent(&polis, &AgentId::user(), &add).await.unwrap();
        }
        let hub = Hub::new(&polis);
        let options = Options {
            pages: true,
            ..Options::default()
        };
        let app = App::with(polis.clone(), options, |router, _| {
            Web::new(polis.clone(), hub.clone()).mount(router)
        });
        Self {
            app: Arc::new(app.unwrap()),
            polis,
            clock,
            hub,
            _directory: directory,
        }
    }

    /// Returns the key of a new sign-in link.
    pub(crate) async fn key(&self) -> String {
        let offer = op::offer_sign_in(&self.polis, &AgentId::user()).await;
        offer.unwrap().key
    }

    /// Returns a token of an agent.
    pub(crate) async fn token(&self, agent: &str, scope: &str) -> String {
        let params = TokenIssue {
            agent: agent.parse().unwrap(),
            scopes: scope.parse().unwrap(),
            expires_in_ms: None,
        };
        let issued = op::issue_token(&self.polis, &AgentId::user(), &params).await;
        issued.unwrap().token
    }

    /// Returns a browser without cookies.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser {
            town: self,
            cookies: Vec::new(),
        }
    }

    /// Returns a browser in which the person is signed in.
    pub(crate) async fn person(&self) -> Browser<'_> {
        let mut browser = self.browser();
        let form = format!("key={}", self.key().await);
        assert_eq!(browser.post("/signin", &form).await.to(), "/");
        browser
    }

    /// Returns a browser in which an agent is signed in with a token.
    pub(crate) async fn agent(&self, agent: &str, scope: &str) -> Browser<'_> {
        let mut browser = self.browser();
        let form = format!("token={}", self.token(agent, scope).await);
        assert_eq!(browser.post("/signin", &form).await.to(), "/");
        browser
    }

    pub(crate) async fn create_task(&self, subject: &str) {
        let params = serde_json::from_value(json!({"subject": subject})).unwrap();
        let created = op::create_task(&self.polis, &AgentId::user(), &params).await;
        created.unwrap();
    }
}

/// A test browser.
pub(crate) struct Browser<'a> {
    pub(crate) town: &'a Town,
    cookies: Vec<(String, String)>,
}

impl Browser<'_> {
    /// Starts a request with the headers that the browser always sends.
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:7707");
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self
                .cookies
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            request = request.header("cookie", pairs.join("; "));
        }
        request
    }

    pub(crate) async fn raw(&self, request: Request<Body>) -> Response<Body> {
        self.town.app.answer(&HERE, request).await
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> Answer {
        let answer = Answer::of(self.raw(request).await).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let text = cookie.to_str().unwrap();
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !text.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        answer
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let request = self.request(Method::GET, path).body(Body::empty());
        self.send(request.unwrap()).await
    }

    /// Fetches a fragment of a page, as htmx does.
    pub(crate) async fn part(&mut self, path: &str) -> Answer {
        let request = self.request(Method::GET, path).header("hx-request", "true");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Submits a form unchanged.
    pub(crate) async fn post(&mut self, path: &str, form: &str) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()));
        self.send(request.unwrap()).await
    }

    /// Returns the session's CSRF token.
    pub(crate) async fn word(&mut self) -> String {
        let page = self.get("/tasks").await.good();
        let (_, rest) = page.text.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Submits a form with the session's CSRF token.
    pub(crate) async fn submit(&mut self, path: &str, form: &str) -> Answer {
        let word = self.word().await;
        let form = format!("csrf={word}&{form}");
        self.post(path, &form).await
    }

    /// Returns the value of the session cookie.
    pub(crate) fn session(&self) -> String {
        let found = self
            .cookies
            .iter()
            .find(|(name, _)| name == "polis-session-7707");
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    pub(crate) fn keep(&mut self, name: &str, value: &str) {
        self.cookies.push((name.to_owned(), value.to_owned()));
    }
}
