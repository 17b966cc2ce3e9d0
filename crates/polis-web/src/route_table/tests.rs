//! Tests of the router: which requests reach a handler. What each route declares is tested in
//! `tests/it/declared_routes.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::response::Response;
use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_ops::op::{self, LoginCredential};
use polis_ops::{App, InstallationSettings};
use polis_serve::events::Hub;
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore};

use super::*;
use crate::auth::csrf::csrf_token;

/// A router of test routes, all with a handler that counts its calls, and a session of the person.
struct CountingRouter {
    router: Router,
    calls: Arc<AtomicUsize>,
    session: String,
}

impl CountingRouter {
    async fn new(declarations: &[RouteDeclaration]) -> Self {
        let app = App::new(
            Arc::new(MemoryStore::default()),
            Arc::new(FixedClock::default()),
            Arc::new(CountingRandomSource::default()),
            InstallationSettings::default(),
        );
        let key = op::issue_sign_in_key(&app.request(&AgentId::user())).await;
        let key = key.unwrap().key;
        let session = op::sign_in(&app, LoginCredential::Key(&key)).await;
        let session = session.unwrap().token;
        let state = Arc::new(WebState::new(app.clone(), Hub::new(&app)));
        let calls = Arc::new(AtomicUsize::new(0));
        let route = |declaration: &RouteDeclaration| {
            let calls = Arc::clone(&calls);
            let handler = move || {
                calls.fetch_add(1, Ordering::SeqCst);
                std::future::ready("handled")
            };
            WebRoute {
                declaration: *declaration,
                handler: match declaration.method {
                    PageMethod::Get => routing::get(handler),
                    PageMethod::Post => routing::post(handler),
                },
            }
        };
        let routes = declarations.iter().map(route).collect();
        let router =
            guarded_router(routes, &state).fallback_service(undeclared_path_router(&state));
        Self {
            router,
            calls,
            session,
        }
    }

    /// Sends a request with the session and its CSRF token.
    async fn send_in_session(&self, method: &Method, path: &str) -> Response {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("cookie", format!("polis-session={}", self.session))
            .header("x-polis-csrf", csrf_token(&self.session))
            .body(Body::empty());
        self.router.clone().oneshot(request.unwrap()).await.unwrap()
    }

    /// Sends a request without a session.
    async fn send_anonymously(&self, method: &Method, path: &str) -> Response {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .body(Body::empty());
        self.router.clone().oneshot(request.unwrap()).await.unwrap()
    }

    fn handled_requests(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

const fn declare(
    method: PageMethod,
    path: &'static str,
    access: RouteAccess,
    csrf: CsrfCheck,
) -> RouteDeclaration {
    RouteDeclaration {
        method,
        path,
        access,
        csrf,
    }
}

const LIST: RouteDeclaration = declare(
    PageMethod::Get,
    "/list",
    RouteAccess::AnySession,
    CsrfCheck::NotNeeded,
);
const ITEM: RouteDeclaration = declare(
    PageMethod::Post,
    "/list/{id}/move",
    RouteAccess::AnySession,
    CsrfCheck::SessionToken,
);
const PUBLIC: RouteDeclaration = declare(
    PageMethod::Get,
    "/public",
    RouteAccess::Anonymous,
    CsrfCheck::NotNeeded,
);

#[tokio::test]
async fn undeclared_path_is_not_found_and_reaches_no_handler() {
    let server = CountingRouter::new(&[LIST, ITEM, PUBLIC]).await;
    for path in [
        "/lists",
        "/list/",
        "/list/1",
        "/list/1/moves",
        "/list/1/move/2",
        "/public/x",
        "//list",
        "/LIST",
        "/%6cist",
    ] {
        for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
            let answer = server.send_in_session(&method, path).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method} {path}");
            let answer = server.send_anonymously(&method, path).await;
            assert!(!answer.status().is_success(), "{method} {path}");
        }
    }
    assert_eq!(server.handled_requests(), 0);
    // The handlers do count the requests that reach them.
    server.send_in_session(&Method::GET, "/list").await;
    server.send_in_session(&Method::POST, "/list/1/move").await;
    server.send_anonymously(&Method::HEAD, "/public").await;
    assert_eq!(server.handled_requests(), 3);
}

#[tokio::test]
async fn undeclared_method_is_refused_and_reaches_no_handler() {
    let server = CountingRouter::new(&[LIST, ITEM, PUBLIC]).await;
    for (path, allowed) in [
        ("/list", "GET,HEAD"),
        ("/list/1/move", "POST"),
        ("/public", "GET,HEAD"),
    ] {
        for method in [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::OPTIONS,
        ] {
            if allowed.contains(method.as_str()) {
                continue;
            }
            let answer = server.send_in_session(&method, path).await;
            assert_eq!(
                answer.status(),
                StatusCode::METHOD_NOT_ALLOWED,
                "{method} {path}"
            );
            assert_eq!(answer.headers()["allow"], allowed);
            let answer = server.send_anonymously(&method, path).await;
            assert!(!answer.status().is_success(), "{method} {path}");
        }
    }
    assert_eq!(server.handled_requests(), 0);
}

#[tokio::test]
async fn route_without_session_cannot_require_its_token() {
    let contradictory = declare(
        PageMethod::Post,
        "/form",
        RouteAccess::Anonymous,
        CsrfCheck::SessionToken,
    );
    let server = CountingRouter::new(&[contradictory]).await;
    let answer = server.send_in_session(&Method::POST, "/form").await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(server.handled_requests(), 0);
}
