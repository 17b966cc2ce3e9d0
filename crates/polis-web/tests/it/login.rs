//! Login tests: login links, session cookies and their expiry, login throttle, logout, and the scopes of a
//! session.

use axum::body::Body;
use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::token::{BROWSER_SESSION_LIFETIME_MS, SIGN_IN_KEY_LIFETIME_MS};
use polis_ops::op;

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn login_link_works_only_once() {
    let server = TestServer::new().await;
    let key = server.create_login_key().await;
    let mut browser = server.open_browser();
    // Fetching the link does not consume the key.
    for _ in 0..2 {
        let page = browser.get(&format!("/signin?key={key}")).await.expect_ok();
        assert!(page.text.contains("data-auto"), "{}", page.text);
        assert!(browser.session_cookie().is_empty());
    }
    let answer = browser.post("/signin", &format!("key={key}")).await;
    assert_eq!(answer.redirect_target(), "/");
    let cookie = answer.header("set-cookie");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(
        !cookie.contains("Secure"),
        "the connection is not encrypted"
    );
    browser.get("/tasks").await.expect_ok();
    // The key cannot be used a second time.
    let mut other = server.open_browser();
    let refused = other.post("/signin", &format!("key={key}")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(other.session_cookie().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_use_of_login_link_admits_one_browser() {
    let server = TestServer::new().await;
    let key = &server.create_login_key().await;
    let enter = || async {
        let mut browser = server.open_browser();
        let answer = browser.post("/signin", &format!("key={key}")).await;
        answer.status == StatusCode::SEE_OTHER
    };
    let got_in = tokio::join!(enter(), enter(), enter(), enter());
    let got_in = [got_in.0, got_in.1, got_in.2, got_in.3];
    assert_eq!(got_in.into_iter().filter(|got| *got).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn login_link_and_session_expire() {
    let server = TestServer::new().await;
    let key = server.create_login_key().await;
    server.clock.advance_millis(SIGN_IN_KEY_LIFETIME_MS);
    let mut browser = server.open_browser();
    let refused = browser.post("/signin", &format!("key={key}")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.text.contains("polis open"), "{}", refused.text);
    let mut person = server.login_as_user().await;
    server.clock.advance_millis(BROWSER_SESSION_LIFETIME_MS - 1);
    person.get("/tasks").await.expect_ok();
    server.clock.advance_millis(1);
    assert_eq!(person.get("/tasks").await.redirect_target(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_logins_are_throttled_but_valid_key_works() {
    let server = TestServer::new().await;
    let mut browser = server.open_browser();
    let wrong = "a".repeat(76);
    let mut last = StatusCode::OK;
    for _ in 0..30 {
        last = browser
            .post("/signin", &format!("key={wrong}"))
            .await
            .status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let right = server.create_login_key().await;
    // Failed attempts from the same address do not lock out a valid key.
    let entered = browser.post("/signin", &format!("key={right}")).await;
    assert_eq!(entered.redirect_target(), "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_site_login_is_refused_and_keeps_key() {
    let server = TestServer::new().await;
    let browser = server.open_browser();
    let key = server.create_login_key().await;
    let request = browser
        .request_builder(Method::POST, "/signin")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .body(Body::from(format!("key={key}")));
    let answer = browser.send_raw(request.unwrap()).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    // The refused attempt did not consume the key.
    let mut browser = server.open_browser();
    assert_eq!(
        browser
            .post("/signin", &format!("key={key}"))
            .await
            .redirect_target(),
        "/"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn request_without_session_redirects_to_login() {
    let server = TestServer::new().await;
    let mut anonymous = server.open_browser();
    for path in ["/", "/tasks", "/tasks", "/no/such/page"] {
        assert_eq!(
            anonymous.get(path).await.redirect_target(),
            "/signin",
            "{path}"
        );
        let part = anonymous.get_fragment(path).await;
        assert_eq!(part.status, StatusCode::UNAUTHORIZED);
        assert_eq!(part.header("hx-redirect"), "/signin");
    }
    let refused = anonymous.post("/signout", "").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let door = anonymous.get("/signin").await.expect_ok();
    assert!(door.text.contains("polis open"));
    // An API token is not a session.
    anonymous.set_cookie(
        "polis-session-7707",
        &server.issue_token("user", "all").await,
    );
    assert_eq!(anonymous.get("/").await.redirect_target(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_is_not_accepted_by_api() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    assert_eq!(
        person.get("/v1/tasks").await.status,
        StatusCode::UNAUTHORIZED
    );
    let session = person.session_cookie();
    let request = server
        .open_browser()
        .request_builder(Method::GET, "/v1/tasks")
        .header("authorization", format!("Bearer {session}"))
        .body(Body::empty());
    let answer = person.send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.text);
    let unknown = person.get("/v1/nothing").await;
    assert_eq!(unknown.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_invalidates_session_cookie() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let session = person.session_cookie();
    let listed = op::list_tokens(&server.app.request(&AgentId::user()), None).await;
    let listed = listed.unwrap().tokens;
    assert!(listed.iter().any(|token| token.session), "{listed:?}");
    assert_eq!(
        person
            .post_with_csrf("/signout", "")
            .await
            .redirect_target(),
        "/signin"
    );
    assert!(person.session_cookie().is_empty());
    person.set_cookie("polis-session-7707", &session);
    assert_eq!(person.get("/").await.redirect_target(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_has_scopes_of_its_token() {
    let server = TestServer::new().await;
    let mut reader = server.login_as_agent("ada", "read").await;
    reader.get("/tasks").await.expect_ok();
    let refused = reader.post_with_csrf("/tasks", "subject=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    assert!(refused.text.contains("insufficient_scope"));
    let mut boards = server.login_as_agent("ada", "boards").await;
    assert_eq!(boards.get("/tasks").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn token_revocation_ends_its_session() {
    let server = TestServer::new().await;
    let mut ada = server.login_as_agent("ada", "all").await;
    ada.get("/tasks").await.expect_ok();
    let user = AgentId::user();
    let of = "ada".parse().unwrap();
    let tokens = op::list_tokens(&server.app.request(&user), Some(&of)).await;
    let tokens = tokens.unwrap().tokens;
    let with = tokens.iter().find(|token| !token.session).unwrap();
    op::revoke_token(&server.app.request(&user), &with.id)
        .await
        .unwrap();
    assert_eq!(ada.get("/tasks").await.redirect_target(), "/signin");
}
