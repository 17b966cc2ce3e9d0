//! Tests that no action is offered that would be refused for the session or its agent.

use http::StatusCode;
use polis_core::AgentId;
use polis_ops::op;
use serde_json::json;

use crate::tasks::htmx;
use crate::town::{Browser, Town};

/// Creates two versions of a board, and a decision on it.
async fn plan(person: &mut Browser<'_>) {
    for text in ["one", "two"] {
        let form = format!("content={text}");
        person.submit("/boards/global/append", &form).await;
    }
    let propose = "act=propose&content=Use+Rust";
    person.submit("/boards/global/decide", propose).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_read_is_given_no_form_to_fill_in() {
    let town = Town::new().await;
    town.create_task("s").await;
    let mut person = town.person().await;
    plan(&mut person).await;
    let deeds = [
        "/tasks/new",
        "/tasks/1/edit",
        "/tasks/1/delete",
        "/agents/ada/retire",
        "/boards/global/edit",
        "/boards/global/restore?version=1",
        "/boards/global/decide?id=1&act=veto",
    ];
    let mut reader = town.agent("user", "read").await;
    for path in deeds {
        person.get(path).await.good();
        let refused = reader.get(path).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        assert!(refused.text.contains("insufficient_scope"), "{path}");
    }
    for path in ["/tasks", "/tasks/1", "/boards/global/decide?id=1"] {
        reader.get(path).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_offered_what_it_may_do() {
    let town = Town::new().await;
    let mut person = town.person().await;
    plan(&mut person).await;
    let offers = [
        ("/", "data-decision"),
        ("/boards/global", "value=\"sign\""),
        ("/boards/global/decide?id=1", "value=\"veto\""),
        ("/boards/global/history", "/boards/global/restore?version=1"),
        ("/agents/ada", "/agents/ada/retire"),
    ];
    // An agent below the top layer cannot sign, write the top board, or retire agents.
    let mut below = town.agent("ada", "all").await;
    for (path, offer) in offers {
        assert!(
            person.get(path).await.good().text.contains(offer),
            "{path}: {offer}"
        );
        assert!(
            !below.get(path).await.good().text.contains(offer),
            "{path}: {offer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_decision_stands_in_a_list_with_its_beginning() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let long = "word ".repeat(10_000);
    let propose = format!("act=propose&content={long}");
    person.submit("/boards/global/decide", &propose).await;
    for path in ["/", "/boards/global"] {
        let page = person.get(path).await.good().text;
        let (_, card) = page.split_once("data-decision").unwrap();
        let (card, _) = card.split_once("</article>").unwrap();
        assert!(card.matches("word ").count() < 120, "{path}: {card}");
    }
    let alone = person.get("/boards/global/decide?id=1").await.good().text;
    assert!(alone.matches("word ").count() > 9_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_follows_the_filter() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for (part, address) in [
        ("/tasks/filter?q=a+b", "/tasks?q=a%20b"),
        ("/boards/list?q=glo", "/boards?q=glo"),
        ("/workspaces/list?q=ad", "/workspaces?q=ad"),
        ("/agents/tree?q=ad&all=1", "/agents?q=ad&all=1"),
        ("/agents/tree", "/agents"),
    ] {
        let answer = person.part(part).await.good();
        assert_eq!(answer.header("hx-replace-url"), address, "{part}");
        person.get(address).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_in_plain_words() {
    let town = Town::new().await;
    town.create_task("s").await;
    let mut person = town.person().await;
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
async fn refusal_on_a_page_names_no_command_option_or_tool() {
    let town = Town::new().await;
    let task = json!({"subject": "s", "requiredRole": "backend-leader"});
    let task = serde_json::from_value(task).unwrap();
    op::create_task(&town.polis, &AgentId::user(), &task)
        .await
        .unwrap();
    let mut person = town.person().await;
    for (lang, next) in [
        ("en", "Next: assign it to an agent with that role"),
        ("zh", "下一步：请指派给具有该角色的智能体"),
    ] {
        let form = format!("lang={lang}");
        person.submit("/taste", &form).await;
        let refused = htmx(&mut person, "/tasks/1/act", "deed=claim&version=1").await;
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
