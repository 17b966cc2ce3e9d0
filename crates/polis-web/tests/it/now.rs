//! Tests for the overview page: current work, items that need a person's attention, and statistics.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::message::SendMessage;
use polis_ops::op;
use serde_json::json;

use crate::town::Town;

async fn write(town: &Town, from: &str, text: &str) {
    let params: SendMessage =
        serde_json::from_value(json!({"to": "user", "payload": text})).unwrap();
    let from: AgentId = from.parse().unwrap();
    op::send_message(&town.polis, &from, &params).await.unwrap();
}

async fn claim(town: &Town, who: &str, lease_ms: Option<u64>) -> u64 {
    let who: AgentId = who.parse().unwrap();
    let mut params = json!({});
    if let Some(lease) = lease_ms {
        params["leaseMs"] = lease.into();
    }
    let params = serde_json::from_value(params).unwrap();
    let claimed = op::claim_task(&town.polis, &who, &params).await.unwrap();
    let view = serde_json::to_value(&claimed).unwrap();
    view["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_what_is_seen_at_once() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/").await.good().text;
    assert!(page.contains("Nothing waits for a person."), "{page}");
    assert!(page.contains("Create a task"), "an empty page teaches");
    town.create_task("Write the <b>parser</b>").await;
    claim(&town, "ada", None).await;
    let part = person.part("/now/look").await.good().text;
    assert!(part.contains("Write the &lt;b&gt;parser"), "{part}");
    assert!(part.contains("status-working"), "{part}");
    assert!(part.contains("claimed"), "{part}");
    assert!(!part.contains("<html"), "{part}");
    let figures = person.part("/now/figures?by=hour").await.good().text;
    assert!(
        figures.contains("Role match") && figures.contains("<svg"),
        "{figures}"
    );
    assert!(figures.contains("100.0%"), "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_or_laid_aside() {
    let town = Town::new().await;
    let mut person = town.person().await;
    write(&town, "ada", "May I use *SQLite*?").await;
    write(&town, "lead", "Shall we begin?").await;
    let page = person.get("/").await.good().text;
    assert!(page.contains("data-question=\"1\""), "{page}");
    assert!(page.contains("<em>SQLite</em>"), "{page}");
    let sent = person.submit("/now/answer", "id=1&text=Yes%2C+do.").await;
    assert_eq!(sent.to(), "/");
    assert_eq!(person.submit("/now/aside", "id=2").await.to(), "/");
    let page = person.get("/").await.good().text;
    assert!(!page.contains("data-question"), "{page}");
    let (ada, all) = ("ada".parse().unwrap(), op::CheckMessages::default());
    let mail = op::check_messages(&town.polis, &ada, &all).await;
    let mail = mail.unwrap().messages;
    assert_eq!(mail.len(), 1);
    assert_eq!(mail[0].reply_to, Some(1));
    assert_eq!(mail[0].payload.to::<String>().unwrap(), "Yes, do.");
    let lost = person.submit("/now/answer", "id=99&text=x").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

/// A run with its root paused, and a question of an agent.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_member_is_shown_once_and_resumed_from_the_page() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let user = AgentId::user();
    let start = serde_json::from_value(json!({"taskId": "r1", "requirement": "Paint"})).unwrap();
    op::start_run(&town.polis, &user, &start).await.unwrap();
    let hold =
        json!({"taskId": "r1", "agentId": "root", "reason": "its budget of turns is used up"});
    let hold = serde_json::from_value(hold).unwrap();
    op::pause_society(&town.polis, &user, &hold).await.unwrap();
    let page = person.get("/").await.good().text;
    assert_eq!(page.matches("data-held=\"root\"").count(), 1, "{page}");
    assert!(page.contains("its budget of turns is used up"), "{page}");
    assert!(!page.contains("data-question"), "{page}");
    let resumed = person.submit("/now/resume", "run=r1&agent=root").await;
    assert_eq!(resumed.to(), "/");
    let page = person.get("/").await.good().text;
    assert!(!page.contains("data-held"), "{page}");
    let mut ada = town.agent("ada", "all").await;
    let refused = ada.submit("/now/resume", "run=r1&agent=root").await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_owner_is_relieved() {
    let town = Town::new().await;
    let mut person = town.person().await;
    town.create_task("Slow").await;
    let id = claim(&town, "ada", Some(60_000)).await;
    town.clock.advance(61_000);
    let page = person.get("/").await.good().text;
    assert!(page.contains(&format!("data-stale=\"{id}\"")), "{page}");
    let old = person
        .submit("/now/release", &format!("id={id}&version=1"))
        .await;
    assert_eq!(old.status, StatusCode::CONFLICT, "{}", old.text);
    let released = person.submit("/now/release", &format!("id={id}")).await;
    assert_eq!(released.to(), "/");
    let page = person.get("/").await.good().text;
    assert!(!page.contains("data-stale"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_session_sees_no_letters_of_the_person() {
    let town = Town::new().await;
    write(&town, "lead", "Only for you").await;
    let mut ada = town.agent("ada", "all").await;
    let page = ada.get("/").await.good().text;
    assert!(!page.contains("Only for you"), "{page}");
    let refused = ada.submit("/now/answer", "id=1&text=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_has_signed_waits_for_others() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let proposed = "act=propose&content=Use+Rust";
    person.submit("/boards/global/decide", proposed).await;
    let page = person.get("/").await.good().text;
    assert!(page.contains("data-decision=\"1\""), "{page}");
    let board = person.get("/boards/global").await.good().text;
    assert!(board.contains("value=\"sign\""), "{board}");
    person
        .submit("/boards/global/decide", "act=sign&id=1")
        .await;
    let page = person.get("/").await.good().text;
    assert!(!page.contains("data-decision"), "{page}");
    let board = person.get("/boards/global").await.good().text;
    assert!(board.contains("waits for signatures"), "{board}");
    assert!(!board.contains("value=\"sign\""), "{board}");
    let lead = town.agent("lead", "all").await.get("/").await.good().text;
    assert!(
        lead.contains("data-decision=\"1\""),
        "others have not: {lead}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_with_a_text_is_shown_as_that_text() {
    let town = Town::new().await;
    let params = json!({"to": "user", "payload": {"text": "May *I*?"}});
    let params: SendMessage = serde_json::from_value(params).unwrap();
    let ada: AgentId = "ada".parse().unwrap();
    op::send_message(&town.polis, &ada, &params).await.unwrap();
    let page = town.person().await.get("/").await.good().text;
    assert!(page.contains("May <em>I</em>?"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_beside_others_name_no_selector() {
    let town = Town::new().await;
    let part = town.person().await.part("/now/look").await.good().text;
    assert_eq!(part.matches("hx-swap-oob=\"morph\"").count(), 2, "{part}");
    assert_eq!(part.matches("hx-swap-oob").count(), 2, "{part}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_may_only_look_sees_what_waits_and_no_buttons() {
    let town = Town::new().await;
    write(&town, "ada", "May I?").await;
    let mut reader = town.agent("user", "read").await;
    let page = reader.get("/").await.good().text;
    let (_, main) = page.split_once("<main").unwrap();
    assert!(
        main.contains("May I?") && !main.contains("method=\"post\""),
        "{main}"
    );
    let person = town.person().await.get("/").await.good().text;
    assert!(person.contains("action=\"/now/answer\""), "{person}");
}
