//! Tests of the route table: the list of all routes with what they declare, and requests to every one of them
//! without session, with too small a scope, and without a valid CSRF token.

use std::path::{Path, PathBuf};

use axum::body::Body;
use http::{Method, Request, StatusCode};
use polis_core::token::{AccessLevel, OperationArea};
use polis_web::{CsrfCheck, PageMethod, RouteAccess, RouteDeclaration, declared_routes};

use crate::test_server::{TestBrowser, TestServer};

/// The list of all routes, as reviewed. `POLIS_WRITE_REFERENCE=1` writes it.
const REVIEWED_ROUTES: &str = include_str!("declared_routes.txt");

#[test]
fn declared_routes_match_reviewed_list() {
    let line = |route: &RouteDeclaration| {
        let RouteDeclaration {
            method,
            path,
            access,
            csrf,
        } = route;
        format!("{method:4} {path:39} {access:51} {csrf}\n")
    };
    let header = format!(
        "{:4} {:39} {:51} csrf\n",
        "", "path", "session with these scopes"
    );
    let text: String = std::iter::once(header)
        .chain(declared_routes().iter().map(line))
        .collect();
    if std::env::vars_os().any(|(name, _)| name == "POLIS_WRITE_REFERENCE") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/declared_routes.txt");
        std::fs::write(file, &text).unwrap();
        return;
    }
    assert!(
        text == REVIEWED_ROUTES,
        "The routes differ from tests/it/declared_routes.txt. If the change of access is intended, write the \
         file with POLIS_WRITE_REFERENCE=1 cargo test -p polis-web --test it declared_routes\n{text}"
    );
}

#[test]
fn only_login_and_assets_need_no_session() {
    let public: Vec<&str> = declared_routes()
        .iter()
        .filter(|route| !route.access.needs_session())
        .map(|route| route.path)
        .collect();
    assert_eq!(public, ["/signin", "/signin", "/assets/{hash}/{name}"]);
}

#[test]
fn only_sign_in_replaces_csrf_token() {
    for route in declared_routes() {
        let expected = match (route.method, route.path) {
            (PageMethod::Get, _) => CsrfCheck::NotNeeded,
            (PageMethod::Post, "/signin") => CsrfCheck::SameSite,
            (PageMethod::Post, _) => CsrfCheck::SessionToken,
        };
        assert_eq!(route.csrf, expected, "{}", route.path);
    }
}

/// Returns the paths of all Rust files below a directory.
fn source_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                source_files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The compiler refuses handlers of requests outside the table. This finds routes without a handler of ours.
#[test]
fn routes_are_mounted_only_by_route_table() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let files = source_files(source);
    assert!(files.len() > 50, "{files:?}");
    for file in files {
        if file.starts_with(source.join("route_table")) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for call in [
            "Router::new",
            ".route(",
            ".route_service(",
            ".nest",
            "routing::",
        ] {
            assert!(!text.contains(call), "{call} in {}", file.display());
        }
    }
}

/// Returns a path that the route serves.
fn sample_path(route: &RouteDeclaration) -> String {
    let segments = route.path.split('/').map(|segment| match segment {
        "{id}" if route.path.starts_with("/tasks") => "1",
        "{number}" => "1",
        "{id}" => "ada",
        "{run}" => "shop",
        "{*path}" => "global",
        other => other,
    });
    segments.collect::<Vec<_>>().join("/")
}

fn http_method(route: &RouteDeclaration) -> Method {
    match route.method {
        PageMethod::Get => Method::GET,
        PageMethod::Post => Method::POST,
    }
}

/// Returns a request to a route, with a form if it takes one.
fn sample_request(
    browser: &TestBrowser<'_>,
    route: &RouteDeclaration,
    headers: &[(&str, &str)],
) -> Request<Body> {
    let mut request = browser
        .request_builder(http_method(route), &sample_path(route))
        .header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_with_session_refuses_requests_without_one() {
    let server = TestServer::new().await;
    let mut anonymous = server.open_browser();
    let api_token = server.issue_token("user", "all").await;
    for cookie in ["", "0", &api_token] {
        if !cookie.is_empty() {
            anonymous.set_cookie("polis-session-7707", cookie);
        }
        for route in declared_routes() {
            if !route.access.needs_session() {
                continue;
            }
            let shown = format!("{} {}", route.method, route.path);
            let answer = anonymous
                .send(sample_request(&anonymous, &route, &[]))
                .await;
            match route.method {
                PageMethod::Get => assert_eq!(answer.redirect_target(), "/signin", "{shown}"),
                PageMethod::Post => assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{shown}"),
            }
            let fragment = sample_request(&anonymous, &route, &[("hx-request", "true")]);
            let answer = anonymous.send(fragment).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{shown}");
            assert_eq!(answer.text, "", "{shown}");
        }
    }
}

/// Returns the scopes that include everything except this access.
fn scopes_without(missing: (OperationArea, AccessLevel)) -> String {
    let scopes = OperationArea::ALL
        .iter()
        .filter_map(|(area, name)| match missing {
            (excluded, _) if excluded != *area => Some((*name).to_owned()),
            (_, AccessLevel::Read) => None,
            (_, AccessLevel::Write) => Some(format!("{name}:read")),
        });
    scopes.collect::<Vec<_>>().join(",")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_session_without_one_of_its_scopes() {
    let server = TestServer::new().await;
    let mut refused_requests = 0;
    for (area, _) in OperationArea::ALL {
        for level in [AccessLevel::Read, AccessLevel::Write] {
            let concerned: Vec<RouteDeclaration> = declared_routes()
                .into_iter()
                .filter(|route| match route.access {
                    RouteAccess::Scoped(required) => required.contains(&(area, level)),
                    RouteAccess::Anonymous | RouteAccess::AnySession => false,
                })
                .collect();
            if concerned.is_empty() {
                continue;
            }
            let scopes = scopes_without((area, level));
            let mut browser = server.login_as_agent("user", &scopes).await;
            // Also with the CSRF token, as a form of an older page of the session would send it.
            let csrf = browser.csrf_token_of_any_page().await;
            for route in concerned {
                let headers = [("x-polis-csrf", csrf.as_str())];
                let answer = browser
                    .send(sample_request(&browser, &route, &headers))
                    .await;
                let shown = format!("{} {} without {area:?}", route.method, route.path);
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{shown}");
                let code = "data-code=\"insufficient_scope\"";
                assert!(answer.text.contains(code), "{shown}: {}", answer.text);
                refused_requests += 1;
            }
        }
    }
    let required = declared_routes()
        .into_iter()
        .map(|route| match route.access {
            RouteAccess::Scoped(required) => required.len(),
            RouteAccess::Anonymous | RouteAccess::AnySession => 0,
        });
    assert_eq!(refused_requests, required.sum::<usize>());
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_scopes_suffice_for_every_route() {
    let server = TestServer::new().await;
    server.create_task("one").await;
    for route in declared_routes() {
        let RouteAccess::Scoped(required) = route.access else {
            continue;
        };
        // The page that an action returns as a fragment may need more; a plain form is redirected.
        let scopes: Vec<String> = required
            .iter()
            .map(|(area, level)| match level {
                AccessLevel::Read => format!("{}:read", area.as_str()),
                AccessLevel::Write => area.as_str().to_owned(),
            })
            .collect();
        let mut browser = server.login_as_agent("user", &scopes.join(",")).await;
        let csrf = browser.csrf_token_of_any_page().await;
        let headers = [("x-polis-csrf", csrf.as_str())];
        let request = sample_request(&browser, &route, &headers);
        // The event stream does not end, so only the start of the response is read.
        let answer = browser.send_raw(request).await;
        let shown = format!("{} {}", route.method, route.path);
        assert_ne!(answer.status(), StatusCode::FORBIDDEN, "{shown}");
        assert_ne!(answer.status(), StatusCode::UNAUTHORIZED, "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_without_valid_csrf_token_is_refused() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let right = person.csrf_token().await;
    let mut other = server.login_as_user().await;
    let of_other_session = other.csrf_token().await;
    for route in declared_routes() {
        if route.csrf == CsrfCheck::NotNeeded {
            continue;
        }
        let shown = format!("{} {}", route.method, route.path);
        let attempts: &[&[(&str, &str)]] = match route.csrf {
            CsrfCheck::NotNeeded => &[],
            CsrfCheck::SameSite => &[
                &[("sec-fetch-site", "cross-site")],
                &[("sec-fetch-site", "same-site")],
            ],
            CsrfCheck::SessionToken => &[
                &[],
                &[("x-polis-csrf", "")],
                &[("x-polis-csrf", "00")],
                &[("x-polis-csrf", &of_other_session)],
                &[("x-polis-csrf", &right), ("sec-fetch-site", "cross-site")],
            ],
        };
        for headers in attempts {
            let answer = person.send(sample_request(&person, &route, headers)).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{shown} {headers:?}");
            let code = "data-code=\"origin_forbidden\"";
            assert!(answer.text.contains(code), "{shown}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_paths_below_every_route_are_not_found() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let csrf = person.csrf_token().await;
    for route in declared_routes() {
        if route.path.contains("{*") {
            continue;
        }
        let path = format!("{}/no/such/page", sample_path(&route).trim_end_matches('/'));
        // The paths of boards and files have any number of segments.
        if path.starts_with("/boards") {
            continue;
        }
        let request = person
            .request_builder(http_method(&route), &path)
            .header("x-polis-csrf", &csrf)
            .body(Body::empty());
        let answer = person.send(request.unwrap()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(
            answer.text.contains("data-code=\"route_not_found\""),
            "{path}: {}",
            answer.text
        );
    }
}
