//! Tests for reading the event log: forwards, backwards, and filtered.

use polis_core::AgentId;
use polis_ops::op::{self, LogPage, LogRead};
use polis_testkit::test_store::{agent, run};
use serde_json::json;

use crate::world::World;

/// Creates a world with ninety tasks, the odd ones created by `lead`.
async fn busy() -> World {
    let world = World::new().await;
    for n in 1..=90_u64 {
        let by = if n % 2 == 1 { "lead" } else { "user" };
        let made = json!({ "subject": format!("Number {n}") });
        world.does(by, "TaskCreate", made).await;
    }
    world
}

async fn read(world: &World, by: &AgentId, ask: &LogRead) -> LogPage {
    op::read_log(&world.polis, by, ask).await.unwrap()
}

fn places(page: &LogPage) -> Vec<u64> {
    page.events.iter().map(|event| event.seq).collect()
}

#[test]
fn pages_read_backwards_join_to_the_whole_log() {
    run(async {
        let (world, user) = (busy().await, AgentId::user());
        let whole = places(&read(&world, &user, &LogRead::default()).await);
        for choice in [None, Some("task.")] {
            let mut ask = LogRead {
                before: Some(u64::MAX),
                limit: Some(7),
                kind: choice.map(str::to_owned),
                ..LogRead::default()
            };
            let mut found = Vec::new();
            loop {
                let page = read(&world, &user, &ask).await;
                assert!(page.events.is_sorted_by_key(|event| event.seq));
                found.splice(0..0, places(&page));
                match page.next {
                    Some(next) => ask.before = Some(next),
                    None => break,
                }
            }
            let first = if choice.is_some() { 90 } else { whole.len() };
            assert_eq!(found, whole[whole.len() - first..]);
        }
    });
}

#[test]
fn only_what_is_wanted_is_answered() {
    run(async {
        let (world, user) = (busy().await, AgentId::user());
        let count = async |ask: LogRead| read(&world, &user, &ask).await.events.len();
        let by_lead = LogRead {
            actor: Some("lead".to_owned()),
            ..LogRead::default()
        };
        assert_eq!(count(by_lead.clone()).await, 45);
        let text = |text: &str| LogRead {
            text: Some(text.to_owned()),
            ..by_lead.clone()
        };
        assert_eq!(count(text("NUMBER 4")).await, 5, "41, 43, 45, 47, 49");
        assert_eq!(count(text("task/7")).await, 6, "7, 71, 73, 75, 77, 79");
        let kind = |kind: &str| LogRead {
            kind: Some(kind.to_owned()),
            ..LogRead::default()
        };
        assert_eq!(count(kind("task.created")).await, 90);
        assert_eq!(count(kind("agent.")).await, 3);
        assert_eq!(
            count(kind("task")).await,
            0,
            "a kind is whole or ends with a point"
        );
    });
}

#[test]
fn a_page_of_what_is_wanted_goes_on_where_it_ended() {
    run(async {
        let (world, user) = (busy().await, AgentId::user());
        let mut ask = LogRead {
            actor: Some("lead".to_owned()),
            limit: Some(20),
            ..LogRead::default()
        };
        let mut sizes = Vec::new();
        loop {
            let page = read(&world, &user, &ask).await;
            sizes.push(page.events.len());
            match page.next {
                Some(next) => ask.since = next,
                None => break,
            }
        }
        assert_eq!(sizes, [20, 20, 5]);
    });
}

#[test]
fn what_may_not_be_seen_is_not_found() {
    run(async {
        let world = World::new().await;
        let secret = json!({ "to": "lead", "payload": "x" });
        world.does("user", "send_message", secret).await;
        let ask = LogRead {
            text: Some("mailbox".to_owned()),
            before: Some(u64::MAX),
            ..LogRead::default()
        };
        assert_eq!(read(&world, &agent("lead"), &ask).await.events.len(), 1);
        assert_eq!(read(&world, &agent("dev"), &ask).await.events.len(), 0);
    });
}

#[test]
fn a_model_that_reads_backwards_is_told_how_to_go_on() {
    run(async {
        let world = busy().await;
        let asked = json!({ "before": 1_000, "limit": 5 });
        let told = world.tells("lead", "read_log", asked).await;
        let first = told.document["events"][0]["seq"].as_u64().unwrap();
        assert_eq!(told.document["next"], first);
        assert!(
            told.text.contains(&format!("before={first}")),
            "{}",
            told.text
        );
    });
}
