//! Tests of sign-in on the web pages: one-time link, session cookie that is valid for pages only, and CSRF
//! tokens.

use polis_testkit::test_browser::{self, BrowserOptions};
use serde_json::{Value, json};

use super::{project_with_team, with_signed_in_browser};
use crate::harness::test_project::TestProject;
use crate::harness::test_server::TestServer;

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn sign_in_link_works_once() {
    let project = TestProject::embedded();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        assert_eq!(browser.current_path().await, "/");
        // The key is not in the page's URL, and the cookie is not accessible to scripts (`HttpOnly`).
        let cookies = browser.run_script("return document.cookie").await;
        assert!(!cookies.as_str().unwrap().contains("session"), "{cookies}");
        assert_eq!(browser.console_errors().await, Vec::<String>::new());
    });
    test_browser::with_browser(&server.url, BrowserOptions::default(), async |browser| {
        // A used link is refused.
        browser.client.goto(&server.sign_in_url).await.unwrap();
        browser.wait_for_element(".notice.bad").await;
        browser.open_page("/tasks").await;
        assert!(browser.current_path().await.starts_with("/signin"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn revoked_session_token_signs_the_browser_out() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks").await;
        browser.wait_for_element("[data-task='2']").await;
        let tokens = project.run_ok("user", &["agent", "token", "list"]);
        let sessions: Vec<&Value> = tokens["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|t| t["agent"] == "user" && t["status"] == "active")
            .collect();
        assert_eq!(sessions.len(), 1, "{tokens}");
        project.run_ok(
            "user",
            &[
                "agent",
                "token",
                "revoke",
                sessions[0]["id"].as_str().unwrap(),
            ],
        );
        browser.open_page("/tasks").await;
        assert!(browser.current_path().await.starts_with("/signin"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn change_without_csrf_token_is_refused() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks").await;
        // The cookie is sent, the CSRF token is not.
        let status = browser
            .run_script("return fetch('/tasks/1/move', {method: 'POST', body: new URLSearchParams({status: 'in_progress', version: '1'})})
                   .then(answer => answer.status)")
            .await;
        assert_eq!(status, json!(403));
        // The cookie is not accepted by the API.
        let status = browser
            .run_script("return fetch('/v1/tasks').then(answer => answer.status)")
            .await;
        assert_eq!(status, json!(401));
        assert_eq!(project.get_task("1")["status"], "pending");
    });
    // A request from a foreign origin, without the cookie.
    let mut line = server.connect();
    let foreign = [
        ("Origin", "https://evil.example"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    line.send_request("", "POST /tasks/1/move", Value::Null, &foreign)
        .unwrap();
    assert_eq!(line.read_response_head().unwrap().status, 403);
}
