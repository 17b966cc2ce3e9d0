//! Tests that pages stay small regardless of what agents write, and that every response has its security headers.

use axum::body::Body;
use http::{Method, StatusCode};
use polis_core::AgentId;
use polis_core::message::SendMessage;
use polis_core::workspace::file::WriteFile;
use polis_ops::op::{self, Desk};
use serde_json::json;

use crate::town::Town;

async fn create(town: &Town, task: serde_json::Value) {
    let params = serde_json::from_value(task).unwrap();
    let created = op::create_task(&town.polis, &AgentId::user(), &params).await;
    created.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_many_wait_for_has_a_small_page() {
    let town = Town::new().await;
    town.create_task("root").await;
    for number in 0..150 {
        let task = json!({"subject": format!("t{number}"), "addBlockedBy": ["1"]});
        create(&town, task).await;
    }
    let mut person = town.person().await;
    let page = person.get("/tasks/1").await.good().text;
    assert!(page.len() < 150_000, "{}", page.len());
    assert!(page.contains("<ins>#151</ins>"), "what came is told");
    assert!(
        page.contains("polis task history"),
        "there are earlier ones"
    );
    let request = op::TaskHistory {
        task_id: "1".parse().unwrap(),
        cursor: None,
        limit: None,
    };
    let told = op::task_history(&town.polis, &request).await.unwrap();
    let newest = serde_json::to_string(told.history.last().unwrap()).unwrap();
    assert!(newest.len() < 400, "{newest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_comments_and_descriptions_are_cut_and_shown_alone() {
    let town = Town::new().await;
    let long = format!("{}END", "word ".repeat(30_000));
    create(&town, json!({"subject": "s", "description": long})).await;
    for _ in 0..20 {
        let params = op::TaskComment {
            task_id: "1".parse().unwrap(),
            body: format!("{}END", "word ".repeat(10_000)),
            reply_to: None,
        };
        let said = op::comment_task(&town.polis, &AgentId::user(), &params).await;
        said.unwrap();
    }
    let mut person = town.person().await;
    let page = person.get("/tasks/1").await.good().text;
    assert!(page.len() < 500_000, "{}", page.len());
    assert!(!page.contains("END"));
    assert!(page.contains("/tasks/1/comments/20\"") && page.contains("/tasks/1/comments?before="));
    let older = person.part("/tasks/1/comments?before=3").await.good().text;
    assert!(older.contains("comment-2\"") && !older.contains("comment-3\""));
    for alone in ["/tasks/1/comments/20", "/tasks/1/description"] {
        assert!(
            person.get(alone).await.good().text.contains("END"),
            "{alone}"
        );
    }
    let lost = person.get("/tasks/1/comments/99").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_decisions_and_milestones_are_cut_and_a_decision_is_shown_alone() {
    let town = Town::new().await;
    let board = polis_core::board::BoardName::Top;
    let me = AgentId::user();
    for number in 0..60 {
        let act = op::DecisionAct::Propose {
            content: format!("{number} {}END", "word ".repeat(900)),
            milestone: None,
        };
        let params = op::Decide {
            board: board.clone(),
            act,
        };
        op::decide(&town.polis, &me, &params).await.unwrap();
        let params = op::MilestoneChange {
            board: board.clone(),
            title: format!("M{number}"),
            add: Some(format!("{}END", "word ".repeat(190))),
        };
        let added = op::change_milestone(&town.polis, &me, &params).await;
        added.unwrap();
    }
    let mut person = town.person().await;
    let about = person.part("/boards/top/about").await.good().text;
    assert!(about.len() < 500_000, "{}", about.len());
    assert!(!about.contains("END"));
    assert_eq!(about.matches("data-decision=").count(), 50);
    assert_eq!(about.matches("data-milestone=").count(), 50);
    assert!(about.contains("10 more stand in the board"), "{about}");
    let (_, alone) = about.split_once("href=\"/boards/top/decide?id=").unwrap();
    let alone = alone.split('"').next().unwrap();
    let page = person.get(&format!("/boards/top/decide?id={alone}")).await;
    let page = page.good().text;
    assert!(page.contains("END") && page.contains("value=\"sign\""));
    let now = person.get("/").await.good().text;
    assert!(
        now.contains("href=\"/boards/top/decide?id="),
        "what waits leads there: {now}"
    );
    let lost = person.get("/boards/top/decide?id=none").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_messages_are_cut_and_only_so_many_are_shown() {
    let town = Town::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for _ in 0..25 {
        let payload = format!("{}END", "word ".repeat(20_000));
        let params: SendMessage =
            serde_json::from_value(json!({"to": "user", "payload": payload})).unwrap();
        op::send_message(&town.polis, &ada, &params).await.unwrap();
    }
    let mut person = town.person().await;
    for path in ["/", "/agents/ada"] {
        let page = person.get(path).await.good().text;
        assert!(page.len() < 250_000, "{path}: {}", page.len());
        assert!(!page.contains("END"));
    }
    let page = person.get("/").await.good().text;
    assert_eq!(page.matches("data-question").count(), 20);
    let (_, rest) = page.split_once("href=\"/agents/letters/").unwrap();
    let number = rest.split('"').next().unwrap();
    let alone = person.get(&format!("/agents/letters/{number}")).await;
    assert!(alone.good().text.contains("END"));
    let lost = person.get("/agents/letters/999999").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_file_is_shown_in_parts() {
    let town = Town::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for (path, content) in [
        ("lines.txt", "x\n".repeat(5_000)),
        ("one.json", format!("[{}]", "1,".repeat(200_000))),
        ("marks.md", "|".repeat(200_000)),
    ] {
        let request = WriteFile {
            path: path.to_owned(),
            content,
            ..WriteFile::default()
        };
        let written = op::write_file(&town.polis, Desk::own(&ada), &request).await;
        written.unwrap();
    }
    let mut person = town.person().await;
    let page = person
        .get("/workspaces/ada/file/lines.txt")
        .await
        .good()
        .text;
    assert!(page.contains("id=\"L2000\"") && !page.contains("id=\"L2001\""));
    assert!(page.contains("from=2001"));
    let end = person.get("/workspaces/ada/file/lines.txt?from=4001").await;
    let end = end.good().text;
    assert!(end.contains("id=\"L5000\"") && end.contains("from=2001\""));
    assert!(!end.contains("from=5001"));
    for path in ["one.json", "marks.md", "marks.md?view=source"] {
        let page = person
            .get(&format!("/workspaces/ada/file/{path}"))
            .await
            .good()
            .text;
        assert!(page.len() < 1_500_000, "{path}: {}", page.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_with_all_it_needs_is_below_100_kb() {
    let town = Town::new().await;
    let user = AgentId::user();
    for number in 1..=60 {
        let id = format!("worker-{number}");
        let add = json!({"id": id, "role": "backend-leader", "layer": "bottom"});
        let add = serde_json::from_value(add).unwrap();
        op::add_agent(&town.polis, &user, &add).await.unwrap();
        create(&town, json!({"subject": format!("Implement part {number} 实现模块"), "taskType": "backend_implementation"})).await;
        let claim = serde_json::from_value(json!({"taskId": number.to_string()})).unwrap();
        let agent: AgentId = id.parse().unwrap();
        op::claim_task(&town.polis, &agent, &claim).await.unwrap();
    }
    let mut person = town.person().await;
    for lang in ["en", "zh"] {
        person.submit("/taste", &format!("lang={lang}")).await;
        let page = person.get("/").await.good().text;
        assert_eq!(page.matches("#60 ").count(), 1, "{page}");
        let mut assets: Vec<&str> = page
            .split('"')
            .filter(|quoted| quoted.starts_with("/assets/"))
            .collect();
        assets.sort_unstable();
        assets.dedup();
        assert_eq!(assets.len(), 5, "{assets:?}");
        let mut all = page.len();
        for asset in assets {
            all += person.get(asset).await.good().text.len();
        }
        assert!(all < 100_000, "{lang}: {all}, the page {}", page.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_its_headers() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let mut nobody = town.browser();
    let style = person.get("/tasks").await.good().text;
    let (_, style) = style.split_once("rel=\"stylesheet\" href=\"").unwrap();
    let style = style.split('"').next().unwrap().to_owned();
    for answer in [
        person.get("/tasks").await,
        person.get("/nowhere").await,
        person.get("/tasks/none").await,
        person.post("/events", "").await,
        person.get("/assets/0000000000000000/polis.css").await,
        nobody.get("/").await,
        nobody.part("/tasks/board").await,
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
    let style = nobody.get(&style).await.good();
    assert_eq!(style.header("x-content-type-options"), "nosniff");
    assert!(style.header("cache-control").contains("immutable"));
    let wrong = nobody.get("/assets/0000000000000000/polis.css").await;
    assert_eq!(wrong.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_may_be_as_large_as_promised_and_larger_ones_are_refused_in_words() {
    let town = Town::new().await;
    town.create_task("s").await;
    let mut person = town.person().await;
    let answer = person
        .submit(
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
    let word = person.word().await;
    let request = person
        .request(Method::POST, "/tasks/1/comments")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .body(Body::from(format!("csrf={word}&body=x")));
    let answer = person.send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_may_not_see_everything_begins_where_it_may() {
    let town = Town::new().await;
    let mut browser = town.agent("ada", "tasks:read").await;
    assert_eq!(browser.get("/").await.to(), "/tasks");
    let page = browser.get("/tasks").await.good().text;
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
    let mut hears = town.agent("ada", "tasks:read,events:read").await;
    let page = hears.get("/tasks").await.good().text;
    assert!(page.contains("data-live=\"task\""), "{page}");
}
