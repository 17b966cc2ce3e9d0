//! Page limit tests: pages stay small whatever agents write (truncation, pagination, 50 kB budget), large
//! forms never get a plain-text error, and every response has its security headers.

use axum::body::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_core::message::SendMessageParams;
use polis_core::workspace::file_tools::WriteFileParams;
use polis_ops::op;
use serde_json::json;

use crate::test_server::{TestBrowser, TestServer};

async fn create_task_from_json(server: &TestServer, task: serde_json::Value) {
    let params = serde_json::from_value(task).unwrap();
    let created = op::create_task(&server.app.request(&AgentId::user()), &params).await;
    created.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn task_blocking_150_others_has_small_page() {
    let server = TestServer::new().await;
    server.create_task("root").await;
    for number in 0..150 {
        let task = json!({"subject": format!("t{number}"), "addBlockedBy": ["1"]});
        create_task_from_json(&server, task).await;
    }
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks/1").await.expect_ok().text;
    assert!(page.len() < 150_000, "{}", page.len());
    assert!(
        page.contains("<ins>#151</ins>"),
        "the newest change is shown"
    );
    assert!(
        page.contains("Earlier entries are on the events page."),
        "the page refers to earlier changes"
    );
    let request = op::TaskHistoryParams {
        task_id: "1".parse().unwrap(),
        cursor: None,
        limit: None,
    };
    let told = op::task_history(&server.app.person_request(), &request)
        .await
        .unwrap();
    let newest = serde_json::to_string(told.history.last().unwrap()).unwrap();
    assert!(newest.len() < 400, "{newest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_comments_and_descriptions_are_truncated_with_full_page() {
    let server = TestServer::new().await;
    let long = format!("{}END", "word ".repeat(30_000));
    create_task_from_json(&server, json!({"subject": "s", "description": long})).await;
    for _ in 0..20 {
        let params = op::TaskCommentParams {
            task_id: "1".parse().unwrap(),
            body: format!("{}END", "word ".repeat(10_000)),
            reply_to: None,
        };
        let said = op::comment_task(&server.app.request(&AgentId::user()), &params).await;
        said.unwrap();
    }
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks/1").await.expect_ok().text;
    assert!(page.len() < 500_000, "{}", page.len());
    assert!(!page.contains("END"));
    assert!(page.contains("/tasks/1/comments/20\"") && page.contains("/tasks/1/comments?before="));
    let older = person
        .get_fragment("/tasks/1/comments?before=3")
        .await
        .expect_ok()
        .text;
    assert!(older.contains("comment-2\"") && !older.contains("comment-3\""));
    for alone in ["/tasks/1/comments/20", "/tasks/1/description"] {
        assert!(
            person.get(alone).await.expect_ok().text.contains("END"),
            "{alone}"
        );
    }
    let lost = person.get("/tasks/1/comments/99").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_decisions_and_milestones_are_truncated_with_full_page() {
    let server = TestServer::new().await;
    let board = polis_core::board::BoardName::Top;
    let me = AgentId::user();
    for number in 0..60 {
        let act = op::DecisionAction::Propose {
            content: format!("{number} {}END", "word ".repeat(900)),
            milestone: None,
        };
        let params = op::DecisionChange {
            board: board.clone(),
            action: act,
        };
        op::change_decision(&server.app.request(&me), &params)
            .await
            .unwrap();
        let params = op::MilestoneChangeParams {
            board: board.clone(),
            title: format!("M{number}"),
            add: Some(format!("{}END", "word ".repeat(190))),
        };
        let added = op::change_milestone(&server.app.request(&me), &params).await;
        added.unwrap();
    }
    let mut person = server.login_as_user().await;
    let about = person
        .get_fragment("/boards/top/about")
        .await
        .expect_ok()
        .text;
    assert!(about.len() < 500_000, "{}", about.len());
    assert!(!about.contains("END"));
    assert_eq!(about.matches("data-decision=").count(), 50);
    assert_eq!(about.matches("data-milestone=").count(), 50);
    assert!(about.contains("10 more are in the board's text"), "{about}");
    let (_, alone) = about.split_once("href=\"/boards/top/decide?id=").unwrap();
    let alone = alone.split('"').next().unwrap();
    let page = person.get(&format!("/boards/top/decide?id={alone}")).await;
    let page = page.expect_ok().text;
    assert!(page.contains("END") && page.contains("value=\"sign\""));
    let now = person.get("/").await.expect_ok().text;
    assert!(
        now.contains("href=\"/boards/top/decide?id="),
        "the overview links to the decision: {now}"
    );
    let lost = person.get("/boards/top/decide?id=none").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_messages_are_truncated_and_limited_in_number() {
    let server = TestServer::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for _ in 0..25 {
        let payload = format!("{}END", "word ".repeat(20_000));
        let params: SendMessageParams =
            serde_json::from_value(json!({"to": "user", "payload": payload})).unwrap();
        op::send_message(&server.app.request(&ada), &params)
            .await
            .unwrap();
    }
    let mut person = server.login_as_user().await;
    for path in ["/", "/agents/ada"] {
        let page = person.get(path).await.expect_ok().text;
        assert!(page.len() < 250_000, "{path}: {}", page.len());
        assert!(!page.contains("END"));
    }
    let page = person.get("/").await.expect_ok().text;
    assert_eq!(page.matches("data-question").count(), 20);
    let (_, rest) = page.split_once("href=\"/agents/messages/").unwrap();
    let number = rest.split('"').next().unwrap();
    let alone = person.get(&format!("/agents/messages/{number}")).await;
    assert!(alone.expect_ok().text.contains("END"));
    let lost = person.get("/agents/messages/999999").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_file_is_paginated() {
    let server = TestServer::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for (path, content) in [
        ("lines.txt", "x\n".repeat(5_000)),
        ("one.json", format!("[{}]", "1,".repeat(200_000))),
        ("marks.md", "|".repeat(200_000)),
    ] {
        let request = WriteFileParams {
            path: path.to_owned(),
            content,
            ..WriteFileParams::default()
        };
        let written = op::write_file(&server.app.request(&ada), None, &request).await;
        written.unwrap();
    }
    let mut person = server.login_as_user().await;
    let page = person
        .get("/workspaces/ada/file/lines.txt")
        .await
        .expect_ok()
        .text;
    assert!(page.contains("id=\"L2000\"") && !page.contains("id=\"L2001\""));
    assert!(page.contains("from=2001"));
    let end = person.get("/workspaces/ada/file/lines.txt?from=4001").await;
    let end = end.expect_ok().text;
    assert!(end.contains("id=\"L5000\"") && end.contains("from=2001\""));
    assert!(!end.contains("from=5001"));
    for path in ["one.json", "marks.md", "marks.md?view=source"] {
        let page = person
            .get(&format!("/workspaces/ada/file/{path}"))
            .await
            .expect_ok()
            .text;
        assert!(page.len() < 1_500_000, "{path}: {}", page.len());
    }
}

/// Returns the size of a response as it is sent to a browser, which accepts gzip.
async fn compressed_bytes(person: &TestBrowser<'_>, path: &str) -> usize {
    let request = person
        .request_builder(Method::GET, path)
        .header("accept-encoding", "gzip")
        .body(Body::empty());
    let answer = person.send_raw(request.unwrap()).await;
    assert_eq!(answer.status(), 200, "{path}");
    answer.into_body().collect().await.unwrap().to_bytes().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn overview_with_assets_is_sent_in_less_than_50_kb() {
    let server = TestServer::new().await;
    let user = AgentId::user();
    for number in 1..=60 {
        let id = format!("worker-{number}");
        let add = json!({"id": id, "role": "backend-leader", "layer": "bottom"});
        let add = serde_json::from_value(add).unwrap();
        op::add_agent(&server.app.request(&user), &add)
            .await
            .unwrap();
        create_task_from_json(&server, json!({"subject": format!("Implement part {number} 实现模块"), "taskType": "backend_implementation"})).await;
        let claim = serde_json::from_value(json!({"taskId": number.to_string()})).unwrap();
        let agent: AgentId = id.parse().unwrap();
        op::claim_task(&server.app.request(&agent), &claim)
            .await
            .unwrap();
    }
    let mut person = server.login_as_user().await;
    for lang in ["en", "zh"] {
        person
            .post_with_csrf("/preferences", &format!("lang={lang}"))
            .await;
        let page = person.get("/").await.expect_ok().text;
        assert_eq!(page.matches("#60 ").count(), 1, "{page}");
        let mut assets: Vec<&str> = page
            .split('"')
            .filter(|quoted| quoted.starts_with("/assets/"))
            .collect();
        assets.sort_unstable();
        assets.dedup();
        assert_eq!(assets.len(), 5, "{assets:?}");
        let mut sent = compressed_bytes(&person, "/").await;
        for asset in assets {
            sent += compressed_bytes(&person, asset).await;
        }
        assert!(sent < 50_000, "{lang}: {sent}, the page {}", page.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_security_and_cache_headers() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let mut anonymous = server.open_browser();
    let style = person.get("/tasks").await.expect_ok().text;
    let (_, style) = style.split_once("rel=\"stylesheet\" href=\"").unwrap();
    let style = style.split('"').next().unwrap().to_owned();
    for answer in [
        person.get("/tasks").await,
        person.get("/nowhere").await,
        person.get("/tasks/none").await,
        person.post("/events", "").await,
        person.get("/assets/0000000000000000/polis.css").await,
        anonymous.get("/").await,
        anonymous.get_fragment("/tasks/board").await,
    ] {
        assert_eq!(
            answer.header("x-content-type-options"),
            "nosniff",
            "{answer:?}"
        );
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
        assert!(
            answer
                .header("content-security-policy")
                .contains("default-src 'none'")
        );
    }
    let style = anonymous.get(&style).await.expect_ok();
    assert_eq!(style.header("x-content-type-options"), "nosniff");
    assert!(style.header("cache-control").contains("immutable"));
    let wrong = anonymous.get("/assets/0000000000000000/polis.css").await;
    assert_eq!(wrong.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_form_gets_page_response_and_cross_site_form_is_refused() {
    let server = TestServer::new().await;
    server.create_task("s").await;
    let mut person = server.login_as_user().await;
    let answer = person
        .post_with_csrf(
            "/tasks/1/comments",
            &format!("body={}", "x".repeat(3 << 20)),
        )
        .await;
    assert_ne!(
        answer.header("content-type"),
        "text/plain; charset=utf-8",
        "{}",
        answer.text
    );
    assert!(answer.text.contains("data-code") || answer.status == StatusCode::SEE_OTHER);
    let word = person.csrf_token().await;
    let request = person
        .request_builder(Method::POST, "/tasks/1/comments")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .body(Body::from(format!("csrf={word}&body=x")));
    let answer = person.send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn limited_session_starts_on_first_permitted_page() {
    let server = TestServer::new().await;
    let mut browser = server.login_as_agent("ada", "tasks:read").await;
    assert_eq!(browser.get("/").await.redirect_target(), "/tasks");
    let page = browser.get("/tasks").await.expect_ok().text;
    assert!(page.contains("href=\"/tasks\" data-key"));
    assert!(!page.contains("href=\"/boards\" data-key") && !page.contains("href=\"/\" data-key"));
    // The session may not read events, so the page does not open an event stream.
    let refused = browser.get("/live?about=task").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    for of_stream in [
        "data-live",
        "data-place",
        "class=\"pulse\"",
        "id=\"offline\"",
    ] {
        assert!(!page.contains(of_stream), "{of_stream}: {page}");
    }
    let mut hears = server.login_as_agent("ada", "tasks:read,events:read").await;
    let page = hears.get("/tasks").await.expect_ok().text;
    assert!(page.contains("data-live=\"task\""), "{page}");
}
