//! Tests for login and logout, and the scopes of a session.

use axum::body::Body;
use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::token::{KEY_LIFE_MS, SESSION_LIFE_MS};
use polis_ops::op;

use crate::town::Town;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once() {
    let town = Town::new().await;
    let key = town.key().await;
    let mut browser = town.browser();
    // Fetching the link does not consume the key.
    for _ in 0..2 {
        let page = browser.get(&format!("/signin?key={key}")).await.good();
        assert!(page.text.contains("data-auto"), "{}", page.text);
        assert!(browser.session().is_empty());
    }
    let answer = browser.post("/signin", &format!("key={key}")).await;
    assert_eq!(answer.to(), "/");
    let cookie = answer.header("set-cookie");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(
        !cookie.contains("Secure"),
        "the connection is not encrypted"
    );
    browser.get("/tasks").await.good();
    // The key cannot be used a second time.
    let mut other = town.browser();
    let refused = other.post("/signin", &format!("key={key}")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(other.session().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_use_a_link_at_once_one_gets_in() {
    let town = Town::new().await;
    let key = &town.key().await;
    let enter = || async {
        let mut browser = town.browser();
        let answer = browser.post("/signin", &format!("key={key}")).await;
        answer.status == StatusCode::SEE_OTHER
    };
    let got_in = tokio::join!(enter(), enter(), enter(), enter());
    let got_in = [got_in.0, got_in.1, got_in.2, got_in.3];
    assert_eq!(got_in.into_iter().filter(|got| *got).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_ends_after_ten_minutes_and_a_session_after_thirty_days() {
    let town = Town::new().await;
    let key = town.key().await;
    town.clock.advance(KEY_LIFE_MS);
    let mut browser = town.browser();
    let refused = browser.post("/signin", &format!("key={key}")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.text.contains("polis open"), "{}", refused.text);
    let mut person = town.person().await;
    town.clock.advance(SESSION_LIFE_MS - 1);
    person.get("/tasks").await.good();
    town.clock.advance(1);
    assert_eq!(person.get("/tasks").await.to(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_counted() {
    let town = Town::new().await;
    let mut browser = town.browser();
    let wrong = "a".repeat(76);
    let mut last = StatusCode::OK;
    for _ in 0..30 {
        last = browser
            .post("/signin", &format!("key={wrong}"))
            .await
            .status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let right = town.key().await;
    // Failed attempts from the same address do not lock out a valid key.
    let entered = browser.post("/signin", &format!("key={right}")).await;
    assert_eq!(entered.to(), "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_signed_in_by_a_page_elsewhere() {
    let town = Town::new().await;
    let browser = town.browser();
    let key = town.key().await;
    let request = browser
        .request(Method::POST, "/signin")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .body(Body::from(format!("key={key}")));
    let answer = browser.raw(request.unwrap()).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    // The refused attempt did not consume the key.
    let mut browser = town.browser();
    assert_eq!(
        browser.post("/signin", &format!("key={key}")).await.to(),
        "/"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_session_is_shown_the_door() {
    let town = Town::new().await;
    let mut nobody = town.browser();
    for path in ["/", "/tasks", "/tasks", "/no/such/page"] {
        assert_eq!(nobody.get(path).await.to(), "/signin", "{path}");
        let part = nobody.part(path).await;
        assert_eq!(part.status, StatusCode::UNAUTHORIZED);
        assert_eq!(part.header("hx-redirect"), "/signin");
    }
    let refused = nobody.post("/signout", "").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let door = nobody.get("/signin").await.good();
    assert!(door.text.contains("polis open"));
    // An API token is not a session.
    nobody.keep("polis-session-7707", &town.token("user", "all").await);
    assert_eq!(nobody.get("/").await.to(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_counts_for_pages_alone() {
    let town = Town::new().await;
    let mut person = town.person().await;
    assert_eq!(
        person.get("/v1/tasks").await.status,
        StatusCode::UNAUTHORIZED
    );
    let session = person.session();
    let request = town
        .browser()
        .request(Method::GET, "/v1/tasks")
        .header("authorization", format!("Bearer {session}"))
        .body(Body::empty());
    let answer = person.send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.text);
    let unknown = person.get("/v1/nothing").await;
    assert_eq!(unknown.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_everywhere() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let session = person.session();
    let listed = op::list_tokens(&town.polis, &AgentId::user(), None).await;
    let listed = listed.unwrap().tokens;
    assert!(listed.iter().any(|token| token.session), "{listed:?}");
    assert_eq!(person.submit("/signout", "").await.to(), "/signin");
    assert!(person.session().is_empty());
    person.keep("polis-session-7707", &session);
    assert_eq!(person.get("/").await.to(), "/signin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_what_its_token_may() {
    let town = Town::new().await;
    let mut reader = town.agent("ada", "read").await;
    reader.get("/tasks").await.good();
    let refused = reader.submit("/tasks", "subject=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    assert!(refused.text.contains("insufficient_scope"));
    let mut boards = town.agent("ada", "boards").await;
    assert_eq!(boards.get("/tasks").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_the_token_it_was_begun_with() {
    let town = Town::new().await;
    let mut ada = town.agent("ada", "all").await;
    ada.get("/tasks").await.good();
    let user = AgentId::user();
    let of = "ada".parse().unwrap();
    let tokens = op::list_tokens(&town.polis, &user, Some(&of)).await;
    let tokens = tokens.unwrap().tokens;
    let with = tokens.iter().find(|token| !token.session).unwrap();
    op::revoke_token(&town.polis, &user, &with.id)
        .await
        .unwrap();
    assert_eq!(ada.get("/tasks").await.to(), "/signin");
}
