//! Overview page tests: current work, items that need the user's attention, their actions, and statistics.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::message::SendMessageParams;
use polis_ops::op;
use serde_json::json;

use crate::test_server::TestServer;

async fn send_message_to_user(server: &TestServer, from: &str, text: &str) {
    let params: SendMessageParams =
        serde_json::from_value(json!({"to": "user", "payload": text})).unwrap();
    let from: AgentId = from.parse().unwrap();
    op::send_message(&server.app.request(&from), &params)
        .await
        .unwrap();
}

async fn claim_task_as(server: &TestServer, who: &str, lease_ms: Option<u64>) -> u64 {
    let who: AgentId = who.parse().unwrap();
    let mut params = json!({});
    if let Some(lease) = lease_ms {
        params["leaseMs"] = lease.into();
    }
    let params = serde_json::from_value(params).unwrap();
    let claimed = op::claim_task(&server.app.request(&who), &params)
        .await
        .unwrap();
    let view = serde_json::to_value(&claimed).unwrap();
    view["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn overview_shows_current_work_and_statistics() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/").await.expect_ok().text;
    assert!(page.contains("Nothing needs your attention."), "{page}");
    assert!(
        page.contains("Create a task"),
        "an empty page offers to create a task"
    );
    server.create_task("Write the <b>parser</b>").await;
    claim_task_as(&server, "ada", None).await;
    let part = person
        .get_fragment("/overview/refresh")
        .await
        .expect_ok()
        .text;
    assert!(part.contains("Write the &lt;b&gt;parser"), "{part}");
    assert!(part.contains("status-working"), "{part}");
    assert!(part.contains("claimed"), "{part}");
    assert!(!part.contains("<html"), "{part}");
    let figures = person
        .get_fragment("/overview/stats?by=hour")
        .await
        .expect_ok()
        .text;
    assert!(
        figures.contains("Role match") && figures.contains("<svg"),
        "{figures}"
    );
    assert!(figures.contains("100.0%"), "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn question_is_removed_when_answered_or_dismissed() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    send_message_to_user(&server, "ada", "May I use *SQLite*?").await;
    send_message_to_user(&server, "lead", "Shall we begin?").await;
    let page = person.get("/").await.expect_ok().text;
    assert!(page.contains("data-question=\"1\""), "{page}");
    assert!(page.contains("<em>SQLite</em>"), "{page}");
    let sent = person
        .post_with_csrf("/overview/reply", "id=1&text=Yes%2C+do.")
        .await;
    assert_eq!(sent.redirect_target(), "/");
    assert_eq!(
        person
            .post_with_csrf("/overview/dismiss", "id=2")
            .await
            .redirect_target(),
        "/"
    );
    let page = person.get("/").await.expect_ok().text;
    assert!(!page.contains("data-question"), "{page}");
    let (ada, all) = ("ada".parse().unwrap(), op::CheckMessagesParams::default());
    let mail = op::check_messages(&server.app.request(&ada), &all).await;
    let mail = mail.unwrap().messages;
    assert_eq!(mail.len(), 1);
    assert_eq!(mail[0].reply_to, Some(1));
    assert_eq!(mail[0].payload.parse_as::<String>().unwrap(), "Yes, do.");
    let lost = person
        .post_with_csrf("/overview/reply", "id=99&text=x")
        .await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

/// A run with its root paused, and a question of an agent.
#[tokio::test(flavor = "multi_thread")]
async fn paused_member_is_listed_once_and_can_be_resumed() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let user = AgentId::user();
    let start = serde_json::from_value(json!({"taskId": "r1", "requirement": "Paint"})).unwrap();
    op::start_run(&server.app.request(&user), &start)
        .await
        .unwrap();
    let hold =
        json!({"taskId": "r1", "agentId": "root", "reason": "its budget of turns is used up"});
    let hold = serde_json::from_value(hold).unwrap();
    op::pause_society(&server.app.request(&user), &hold)
        .await
        .unwrap();
    let page = person.get("/").await.expect_ok().text;
    assert_eq!(page.matches("data-held=\"root\"").count(), 1, "{page}");
    assert!(page.contains("its budget of turns is used up"), "{page}");
    assert!(!page.contains("data-question"), "{page}");
    let resumed = person
        .post_with_csrf("/overview/resume", "run=r1&agent=root")
        .await;
    assert_eq!(resumed.redirect_target(), "/");
    let page = person.get("/").await.expect_ok().text;
    assert!(!page.contains("data-held"), "{page}");
    let mut ada = server.login_as_agent("ada", "all").await;
    let refused = ada
        .post_with_csrf("/overview/resume", "run=r1&agent=root")
        .await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_task_can_be_released() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    server.create_task("Slow").await;
    let id = claim_task_as(&server, "ada", Some(60_000)).await;
    server.clock.advance_millis(61_000);
    let page = person.get("/").await.expect_ok().text;
    assert!(page.contains(&format!("data-stale=\"{id}\"")), "{page}");
    let old = person
        .post_with_csrf("/overview/release", &format!("id={id}&version=1"))
        .await;
    assert_eq!(old.status, StatusCode::CONFLICT, "{}", old.text);
    let released = person
        .post_with_csrf("/overview/release", &format!("id={id}"))
        .await;
    assert_eq!(released.redirect_target(), "/");
    let page = person.get("/").await.expect_ok().text;
    assert!(!page.contains("data-stale"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_session_cannot_see_messages_to_user() {
    let server = TestServer::new().await;
    send_message_to_user(&server, "lead", "Only for you").await;
    let mut ada = server.login_as_agent("ada", "all").await;
    let page = ada.get("/").await.expect_ok().text;
    assert!(!page.contains("Only for you"), "{page}");
    let refused = ada.post_with_csrf("/overview/reply", "id=1&text=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_decision_is_listed_only_for_other_signers() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let proposed = "act=propose&content=Use+Rust";
    person
        .post_with_csrf("/boards/global/decide", proposed)
        .await;
    let page = person.get("/").await.expect_ok().text;
    assert!(page.contains("data-decision=\"1\""), "{page}");
    let board = person.get("/boards/global").await.expect_ok().text;
    assert!(board.contains("value=\"sign\""), "{board}");
    person
        .post_with_csrf("/boards/global/decide", "act=sign&id=1")
        .await;
    let page = person.get("/").await.expect_ok().text;
    assert!(!page.contains("data-decision"), "{page}");
    let board = person.get("/boards/global").await.expect_ok().text;
    assert!(board.contains("Awaiting signatures"), "{board}");
    assert!(!board.contains("value=\"sign\""), "{board}");
    let lead = server
        .login_as_agent("lead", "all")
        .await
        .get("/")
        .await
        .expect_ok()
        .text;
    assert!(
        lead.contains("data-decision=\"1\""),
        "lead has not signed: {lead}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn message_with_text_field_is_rendered_as_markdown() {
    let server = TestServer::new().await;
    let params = json!({"to": "user", "payload": {"text": "May *I*?"}});
    let params: SendMessageParams = serde_json::from_value(params).unwrap();
    let ada: AgentId = "ada".parse().unwrap();
    op::send_message(&server.app.request(&ada), &params)
        .await
        .unwrap();
    let page = server.login_as_user().await.get("/").await.expect_ok().text;
    assert!(page.contains("May <em>I</em>?"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn out_of_band_fragments_use_morph_without_selector() {
    let server = TestServer::new().await;
    let part = server
        .login_as_user()
        .await
        .get_fragment("/overview/refresh")
        .await
        .expect_ok()
        .text;
    assert_eq!(part.matches("hx-swap-oob=\"morph\"").count(), 2, "{part}");
    assert_eq!(part.matches("hx-swap-oob").count(), 2, "{part}");
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_session_sees_questions_without_forms() {
    let server = TestServer::new().await;
    send_message_to_user(&server, "ada", "May I?").await;
    let mut reader = server.login_as_agent("user", "read").await;
    let page = reader.get("/").await.expect_ok().text;
    let (_, main) = page.split_once("<main").unwrap();
    assert!(
        main.contains("May I?") && !main.contains("method=\"post\""),
        "{main}"
    );
    let person = server.login_as_user().await.get("/").await.expect_ok().text;
    assert!(person.contains("action=\"/overview/reply\""), "{person}");
}
