//! Offered action tests: pages offer no form or button that the scopes of the session or the rights of its
//! agent would refuse.

use http::StatusCode;
use polis_core::AgentId;
use polis_ops::op;
use serde_json::json;

use crate::task_pages::post_with_htmx;
use crate::test_server::{TestBrowser, TestServer};

/// Creates two versions of a board, and a decision on it.
async fn create_board_with_decision(person: &mut TestBrowser<'_>) {
    for text in ["one", "two"] {
        let form = format!("content={text}");
        person.post_with_csrf("/boards/global/append", &form).await;
    }
    let propose = "act=propose&content=Use+Rust";
    person
        .post_with_csrf("/boards/global/decide", propose)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_session_cannot_open_forms() {
    let server = TestServer::new().await;
    server.create_task("s").await;
    let mut person = server.login_as_user().await;
    create_board_with_decision(&mut person).await;
    let deeds = [
        "/tasks/new",
        "/tasks/1/edit",
        "/tasks/1/delete",
        "/agents/ada/retire",
        "/boards/global/edit",
        "/boards/global/restore?version=1",
        "/boards/global/decide?id=1&act=veto",
    ];
    let mut reader = server.login_as_agent("user", "read").await;
    for path in deeds {
        person.get(path).await.expect_ok();
        let refused = reader.get(path).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        assert!(refused.text.contains("insufficient_scope"), "{path}");
    }
    for path in ["/tasks", "/tasks/1", "/boards/global/decide?id=1"] {
        reader.get(path).await.expect_ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_offered_only_permitted_actions() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    create_board_with_decision(&mut person).await;
    let offers = [
        ("/", "data-decision"),
        ("/boards/global", "value=\"sign\""),
        ("/boards/global/decide?id=1", "value=\"veto\""),
        ("/boards/global/history", "/boards/global/restore?version=1"),
        ("/agents/ada", "/agents/ada/retire"),
    ];
    // An agent below the top layer cannot sign, write the top board, or retire agents.
    let mut below = server.login_as_agent("ada", "all").await;
    for (path, offer) in offers {
        assert!(
            person.get(path).await.expect_ok().text.contains(offer),
            "{path}: {offer}"
        );
        assert!(
            !below.get(path).await.expect_ok().text.contains(offer),
            "{path}: {offer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_decision_is_truncated_in_lists() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let long = "word ".repeat(10_000);
    let propose = format!("act=propose&content={long}");
    person
        .post_with_csrf("/boards/global/decide", &propose)
        .await;
    for path in ["/", "/boards/global"] {
        let page = person.get(path).await.expect_ok().text;
        let (_, card) = page.split_once("data-decision").unwrap();
        let (card, _) = card.split_once("</article>").unwrap();
        assert!(card.matches("word ").count() < 120, "{path}: {card}");
    }
    let alone = person
        .get("/boards/global/decide?id=1")
        .await
        .expect_ok()
        .text;
    assert!(alone.matches("word ").count() > 9_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn url_follows_filter() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for (part, address) in [
        ("/tasks/filter?q=a+b", "/tasks?q=a%20b"),
        ("/boards/list?q=glo", "/boards?q=glo"),
        ("/workspaces/list?q=ad", "/workspaces?q=ad"),
        ("/agents/tree?q=ad&all=1", "/agents?q=ad&all=1"),
        ("/agents/tree", "/agents"),
    ] {
        let answer = person.get_fragment(part).await.expect_ok();
        assert_eq!(answer.header("hx-replace-url"), address, "{part}");
        person.get(address).await.expect_ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_query_is_refused_without_serde_error() {
    let server = TestServer::new().await;
    server.create_task("s").await;
    let mut person = server.login_as_user().await;
    for path in [
        "/tasks/1/comments?before=abc",
        "/boards/global/history?from=abc",
        "/live?about=task&after=-1",
    ] {
        let refused = person.get(path).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}");
        assert!(refused.text.contains("invalid_input"), "{path}");
        assert!(!refused.text.contains("deserialize"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_on_page_names_no_command_option_or_tool() {
    let server = TestServer::new().await;
    let task = json!({"subject": "s", "requiredRole": "backend-leader"});
    let task = serde_json::from_value(task).unwrap();
    op::create_task(&server.app.request(&AgentId::user()), &task)
        .await
        .unwrap();
    let mut person = server.login_as_user().await;
    for (lang, next) in [
        ("en", "Next: assign it to an agent with that role"),
        ("zh", "下一步：请指派给具有该角色的智能体"),
    ] {
        let form = format!("lang={lang}");
        person.post_with_csrf("/preferences", &form).await;
        let refused = post_with_htmx(&mut person, "/tasks/1/act", "action=claim&version=1").await;
        let text = refused.text;
        assert!(
            text.contains("role_mismatch") && text.contains(next),
            "{text}"
        );
        for foreign in ["polis task", "--", "TaskList", "roleFilter"] {
            assert!(!text.contains(foreign), "{foreign}: {text}");
        }
    }
}
