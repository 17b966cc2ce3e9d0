//! Test harness: `TestServer` serves the pages over an embedded store without sockets; `TestBrowser` sends
//! requests to it and keeps cookies.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_core::token::TokenIssueParams;
use polis_ops::{App, NoWorkspaces, op};
use polis_serve::events::Hub;
use polis_serve::http::{ConnectionPeer, HttpApp, ServerOptions};
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use polis_testkit::{CountingRandomSource, FixedClock};
use polis_web::WebInterface;
use polis_workspace::files::WorkspaceFiles;
use serde_json::json;
use tempfile::TempDir;

/// Peer of a connection from localhost.
pub(crate) const LOCAL_PEER: ConnectionPeer = ConnectionPeer {
    remote: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    local: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    is_tls: false,
};

/// A server with pages over an embedded store, a manual clock, and the agents `lead` and `ada`.
pub(crate) struct TestServer {
    pub(crate) http_app: Arc<HttpApp>,
    pub(crate) app: App,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) hub: Hub,
    _directory: TempDir,
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl HttpResponse {
    async fn from_response(response: Response<Body>) -> Self {
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
    pub(crate) fn expect_ok(self) -> Self {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self
    }

    /// Asserts that the response is a redirect, and returns its target.
    #[track_caller]
    pub(crate) fn redirect_target(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.text);
        self.header("location")
    }
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(5);
        let store = EmbeddedStore::create(directory.path(), StoreMode::Server, patience).unwrap();
        let clock = Arc::new(FixedClock::default());
        let app = App::new(
            Arc::new(store),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            polis_ops::InstallationSettings::default(),
        );
        let files = WorkspaceFiles::new(directory.path());
        let app = app.with_workspaces(Arc::new(files), Arc::new(NoWorkspaces));
        for (id, role) in [("lead", "team-lead"), ("ada", "backend-leader")] {
            let add = serde_json::from_value(json!({"id": id, "role": role})).unwrap();
            op::add_agent(&app.request(&AgentId::user()), &add)
                .await
                .unwrap();
        }
        let hub = Hub::new(&app);
        let options = ServerOptions {
            serves_web_pages: true,
            ..ServerOptions::default()
        };
        let http_app = HttpApp::with_routes(app.clone(), options, |router, _| {
            WebInterface::new(app.clone(), hub.clone()).mount(router)
        });
        Self {
            http_app: Arc::new(http_app.unwrap()),
            app,
            clock,
            hub,
            _directory: directory,
        }
    }

    /// Creates a login link and returns its key.
    pub(crate) async fn create_login_key(&self) -> String {
        let offer = op::issue_sign_in_key(&self.app.request(&AgentId::user())).await;
        offer.unwrap().key
    }

    /// Issues an API token for an agent.
    pub(crate) async fn issue_token(&self, agent: &str, scope: &str) -> String {
        let params = TokenIssueParams {
            agent: agent.parse().unwrap(),
            scopes: scope.parse().unwrap(),
            expires_in_ms: None,
        };
        let issued = op::issue_token(&self.app.request(&AgentId::user()), &params).await;
        issued.unwrap().token
    }

    /// Returns a browser without cookies.
    pub(crate) fn open_browser(&self) -> TestBrowser<'_> {
        TestBrowser {
            server: self,
            cookies: Vec::new(),
        }
    }

    /// Returns a browser that is logged in as the user.
    pub(crate) async fn login_as_user(&self) -> TestBrowser<'_> {
        let mut browser = self.open_browser();
        let form = format!("key={}", self.create_login_key().await);
        assert_eq!(browser.post("/signin", &form).await.redirect_target(), "/");
        browser
    }

    /// Returns a browser that is logged in as an agent, with a new token of this scope.
    pub(crate) async fn login_as_agent(&self, agent: &str, scope: &str) -> TestBrowser<'_> {
        let mut browser = self.open_browser();
        let form = format!("token={}", self.issue_token(agent, scope).await);
        assert_eq!(browser.post("/signin", &form).await.redirect_target(), "/");
        browser
    }

    pub(crate) async fn create_task(&self, subject: &str) {
        let params = serde_json::from_value(json!({"subject": subject})).unwrap();
        let created = op::create_task(&self.app.request(&AgentId::user()), &params).await;
        created.unwrap();
    }
}

/// A browser without JavaScript: keeps cookies between requests.
pub(crate) struct TestBrowser<'a> {
    pub(crate) server: &'a TestServer,
    cookies: Vec<(String, String)>,
}

impl TestBrowser<'_> {
    /// Starts a request with the headers that the browser always sends.
    pub(crate) fn request_builder(&self, method: Method, path: &str) -> http::request::Builder {
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

    /// Sends a request and returns the response with an unread body; cookies are not stored.
    pub(crate) async fn send_raw(&self, request: Request<Body>) -> Response<Body> {
        self.server.http_app.handle(&LOCAL_PEER, request).await
    }

    /// Sends a request and stores the cookies of the response.
    pub(crate) async fn send(&mut self, request: Request<Body>) -> HttpResponse {
        let answer = HttpResponse::from_response(self.send_raw(request).await).await;
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

    pub(crate) async fn get(&mut self, path: &str) -> HttpResponse {
        let request = self.request_builder(Method::GET, path).body(Body::empty());
        self.send(request.unwrap()).await
    }

    /// Fetches a fragment of a page, as htmx does.
    pub(crate) async fn get_fragment(&mut self, path: &str) -> HttpResponse {
        let request = self
            .request_builder(Method::GET, path)
            .header("hx-request", "true");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Submits a form as it is, without a CSRF token.
    pub(crate) async fn post(&mut self, path: &str, form: &str) -> HttpResponse {
        let request = self
            .request_builder(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()));
        self.send(request.unwrap()).await
    }

    /// Returns the session's CSRF token.
    pub(crate) async fn csrf_token(&mut self) -> String {
        let page = self.get("/tasks").await.expect_ok();
        let (_, rest) = page.text.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Returns the session's CSRF token from the "not found" page, which every session may see.
    pub(crate) async fn csrf_token_of_any_page(&mut self) -> String {
        let page = self.get("/no/such/page").await;
        let (_, rest) = page.text.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Submits a form with the session's CSRF token.
    pub(crate) async fn post_with_csrf(&mut self, path: &str, form: &str) -> HttpResponse {
        let word = self.csrf_token().await;
        let form = format!("csrf={word}&{form}");
        self.post(path, &form).await
    }

    /// Returns the value of the session cookie.
    pub(crate) fn session_cookie(&self) -> String {
        let found = self
            .cookies
            .iter()
            .find(|(name, _)| name == "polis-session-7707");
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Adds a cookie.
    pub(crate) fn set_cookie(&mut self, name: &str, value: &str) {
        self.cookies.push((name.to_owned(), value.to_owned()));
    }
}
