//! Tests for the event stream that notifies a page of changes.

use std::time::{Duration, Instant};

use axum::body::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use polis_core::AgentId;
use polis_ops::op;

use crate::town::{Browser, Town};

/// An open stream.
struct Ear(Body);

impl Ear {
    async fn open(browser: &Browser<'_>, about: &str) -> Self {
        let path = format!("/live?about={about}");
        let request = browser.request(Method::GET, &path).body(Body::empty());
        let answer = browser.raw(request.unwrap()).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let mut ear = Self(answer.into_body());
        assert!(ear.hear().await.unwrap().starts_with("retry:"));
        ear
    }

    /// Returns the next chunk; `None` at the end.
    async fn hear(&mut self) -> Option<String> {
        let frame = tokio::time::timeout(Duration::from_secs(10), self.0.frame()).await;
        let frame = frame.expect("something is told in time")?;
        let bytes = frame.unwrap().into_data().unwrap();
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_told_within_a_fifth_of_a_second() {
    let town = Town::new().await;
    let person = town.person().await;
    let mut ear = Ear::open(&person, "task,board/global").await;
    // The first event includes the start of the follower; only later ones are measured.
    town.create_task("one").await;
    assert!(ear.hear().await.unwrap().starts_with("event: task\ndata: "));
    // The best of several measurements: the machine may be busy, but a systematic delay would affect every one of them.
    let mut best = Duration::MAX;
    for n in 0..20 {
        tokio::time::sleep(Duration::from_millis(120)).await;
        let begun = Instant::now();
        town.create_task(&format!("two {n}")).await;
        let heard = ear.hear().await.unwrap();
        assert!(heard.starts_with("event: task\n"), "{heard}");
        best = best.min(begun.elapsed());
        if best < Duration::from_millis(200) {
            return;
        }
    }
    panic!("told after {best:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_file_of_the_blackboard_is_told_of_its_changes() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/boards/blackboard/notes.md").await.text;
    let (_, live) = page.split_once("data-live=\"").expect("a live page");
    let live = live.split('"').next().unwrap().to_owned();
    let mut ear = Ear::open(&person, &live).await;
    let write = op::BoardOverwrite {
        board: polis_core::board::BoardName::from_stored("blackboard/notes.md").unwrap(),
        content: "new".to_owned(),
        expected_version: None,
        merge: false,
        force: true,
    };
    let written = op::write_board(&town.polis, &AgentId::user(), &write).await;
    written.unwrap();
    let heard = ear.hear().await.unwrap();
    assert!(heard.starts_with(&format!("event: {live}\n")), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_told_as_a_few_and_its_last_is_told() {
    let town = Town::new().await;
    let person = town.person().await;
    let mut ear = Ear::open(&person, "task").await;
    for n in 0..50 {
        town.create_task(&format!("task {n}")).await;
    }
    let last = town.hub.now().await.unwrap();
    let mut told = 0;
    loop {
        let heard = ear.hear().await.unwrap();
        told += heard.matches("event: task").count();
        if heard.contains(&format!("data: {last}\n")) {
            break;
        }
    }
    assert!(told < 50, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_since_the_page_was_drawn_is_told_first() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/tasks").await.good().text;
    let (_, place) = page.split_once("data-place=\"").unwrap();
    let place = place.split('"').next().unwrap().to_owned();
    town.create_task("meanwhile").await;
    let last = town.hub.now().await.unwrap();
    let mut ear = Ear::open(&person, &format!("task&after={place}")).await;
    let heard = ear.hear().await.unwrap();
    assert_eq!(heard, format!("event: task\ndata: {last}\n\n"));
    // A page that was rendered just now is not notified of old events.
    let mut ear = Ear::open(&person, &format!("task&after={last}")).await;
    town.create_task("later").await;
    let heard = ear.hear().await.unwrap();
    assert!(!heard.contains(&format!("data: {last}\n")), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_long_ago_is_told_that_everything_changed() {
    let town = Town::new().await;
    let person = town.person().await;
    for n in 0..600 {
        town.create_task(&format!("task {n}")).await;
        town.create_task("another").await;
    }
    let now = town.hub.now().await.unwrap();
    for place in [0, now + 100] {
        let about = format!("board,command&after={place}");
        let mut ear = Ear::open(&person, &about).await;
        let heard = ear.hear().await.unwrap();
        let all = format!("event: board\ndata: {now}\n\nevent: command\ndata: {now}\n\n");
        assert_eq!(heard, all, "{place}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_may_be_seen_is_told() {
    let town = Town::new().await;
    let ada = town.agent("ada", "all").await;
    let mut ear = Ear::open(&ada, "message,task").await;
    let send = serde_json::json!({"to": "lead", "payload": "between us"});
    let send = serde_json::from_value(send).unwrap();
    op::send_message(&town.polis, &AgentId::user(), &send)
        .await
        .unwrap();
    town.create_task("for all").await;
    let heard = ear.hear().await.unwrap();
    assert!(heard.starts_with("event: task\n"), "{heard}");
    assert!(!heard.contains("event: message"), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_session() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let mut ear = Ear::open(&person, "task").await;
    person.submit("/signout", "").await;
    assert_eq!(ear.hear().await.unwrap(), "event: end\ndata: access\n\n");
    assert_eq!(ear.hear().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_server() {
    let town = Town::new().await;
    let person = town.person().await;
    let mut ear = Ear::open(&person, "event").await;
    town.hub.close();
    assert_eq!(ear.hear().await.unwrap(), "event: end\ndata: shutdown\n\n");
    assert_eq!(ear.hear().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_nothing_is_refused() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for path in ["/live", "/live?about=", "/live?about=a%0Ab"] {
        let refused = person.get(path).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}");
    }
}
