//! Tests of sign-in: a one-time link, a session cookie that is valid for pages only, and CSRF tokens for changes.

use polis_testkit::browser::{self, Setup};
use serde_json::{Value, json};

use super::{signed_in, team};
use crate::board::Board;
use crate::server::Server;

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_link_signs_in_once() {
    let board = Board::embedded();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        assert_eq!(browser.path().await, "/");
        // The key is not in the page's URL, and the cookie is not accessible to scripts (`HttpOnly`).
        let cookies = browser.js("return document.cookie").await;
        assert!(!cookies.as_str().unwrap().contains("session"), "{cookies}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
    });
    browser::with(&server.url, Setup::default(), async |browser| {
        // A used link is worthless.
        browser.client.goto(&server.sign_in).await.unwrap();
        browser.wait_for(".notice.bad").await;
        browser.open("/tasks").await;
        assert!(browser.path().await.starts_with("/signin"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_session_is_a_token_that_can_be_taken_back() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks").await;
        browser.wait_for("[data-task='2']").await;
        let tokens = board.ok("user", &["agent", "token", "list"]);
        let sessions: Vec<&Value> = tokens["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|t| t["agent"] == "user" && t["status"] == "active")
            .collect();
        assert_eq!(sessions.len(), 1, "{tokens}");
        board.ok(
            "user",
            &[
                "agent",
                "token",
                "revoke",
                sessions[0]["id"].as_str().unwrap(),
            ],
        );
        browser.open("/tasks").await;
        assert!(browser.path().await.starts_with("/signin"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_change_needs_the_word_of_our_own_pages() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks").await;
        // The cookie is sent, the CSRF token is not.
        let status = browser
            .js("return fetch('/tasks/1/move', {method: 'POST', body: new URLSearchParams({status: 'in_progress', version: '1'})})
                   .then(answer => answer.status)")
            .await;
        assert_eq!(status, json!(403));
        // The cookie is not accepted by the API.
        let status = browser
            .js("return fetch('/v1/tasks').then(answer => answer.status)")
            .await;
        assert_eq!(status, json!(401));
        assert_eq!(board.get("1")["status"], "pending");
    });
    // A request from a foreign origin, without the cookie.
    let mut line = server.connect();
    let foreign = [
        ("Origin", "https://evil.example"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    line.send("", "POST /tasks/1/move", Value::Null, &foreign)
        .unwrap();
    assert_eq!(line.head().unwrap().status, 403);
}
