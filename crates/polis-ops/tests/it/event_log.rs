//! Tests for reading the event log: forwards, backwards, and filtered.

use polis_core::AgentId;
use polis_ops::op::{self, LogPage, LogReadParams};
use polis_testkit::store_factory::{parse_agent_id, run_test};
use serde_json::json;

use crate::test_installation::TestInstallation;

/// Creates an installation with ninety tasks, the odd ones created by `lead`.
async fn installation_with_many_tasks() -> TestInstallation {
    let world = TestInstallation::new().await;
    for n in 1..=90_u64 {
        let by = if n % 2 == 1 { "lead" } else { "user" };
        let made = json!({ "subject": format!("Number {n}") });
        world.call_tool(by, "TaskCreate", made).await;
    }
    world
}

async fn read_log_page(world: &TestInstallation, by: &AgentId, ask: &LogReadParams) -> LogPage {
    op::read_log(&world.app.request(by), ask).await.unwrap()
}

fn sequence_numbers(page: &LogPage) -> Vec<u64> {
    page.events.iter().map(|event| event.seq).collect()
}

#[test]
fn pages_read_backwards_cover_the_whole_log() {
    run_test(async {
        let (world, user) = (installation_with_many_tasks().await, AgentId::user());
        let whole =
            sequence_numbers(&read_log_page(&world, &user, &LogReadParams::default()).await);
        for choice in [None, Some("task.")] {
            let mut ask = LogReadParams {
                before: Some(u64::MAX),
                limit: Some(7),
                kind: choice.map(str::to_owned),
                ..LogReadParams::default()
            };
            let mut found = Vec::new();
            loop {
                let page = read_log_page(&world, &user, &ask).await;
                assert!(page.events.is_sorted_by_key(|event| event.seq));
                found.splice(0..0, sequence_numbers(&page));
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
fn filters_return_only_matching_events() {
    run_test(async {
        let (world, user) = (installation_with_many_tasks().await, AgentId::user());
        let count =
            async |ask: LogReadParams| read_log_page(&world, &user, &ask).await.events.len();
        let by_lead = LogReadParams {
            actor: Some("lead".to_owned()),
            ..LogReadParams::default()
        };
        assert_eq!(count(by_lead.clone()).await, 45);
        let text = |text: &str| LogReadParams {
            text: Some(text.to_owned()),
            ..by_lead.clone()
        };
        assert_eq!(count(text("NUMBER 4")).await, 5, "41, 43, 45, 47, 49");
        assert_eq!(count(text("task/7")).await, 6, "7, 71, 73, 75, 77, 79");
        let kind = |kind: &str| LogReadParams {
            kind: Some(kind.to_owned()),
            ..LogReadParams::default()
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
fn filtered_pages_continue_where_the_last_one_ended() {
    run_test(async {
        let (world, user) = (installation_with_many_tasks().await, AgentId::user());
        let mut ask = LogReadParams {
            actor: Some("lead".to_owned()),
            limit: Some(20),
            ..LogReadParams::default()
        };
        let mut sizes = Vec::new();
        loop {
            let page = read_log_page(&world, &user, &ask).await;
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
fn events_invisible_to_the_caller_are_not_found() {
    run_test(async {
        let world = TestInstallation::new().await;
        let secret = json!({ "to": "lead", "payload": "x" });
        world.call_tool("user", "send_message", secret).await;
        let ask = LogReadParams {
            text: Some("mailbox".to_owned()),
            before: Some(u64::MAX),
            ..LogReadParams::default()
        };
        assert_eq!(
            read_log_page(&world, &parse_agent_id("lead"), &ask)
                .await
                .events
                .len(),
            1
        );
        assert_eq!(
            read_log_page(&world, &parse_agent_id("dev"), &ask)
                .await
                .events
                .len(),
            0
        );
    });
}

#[test]
fn backward_read_for_a_model_includes_the_next_cursor() {
    run_test(async {
        let world = installation_with_many_tasks().await;
        let asked = json!({ "before": 1_000, "limit": 5 });
        let told = world.call_for_model("lead", "read_log", asked).await;
        let first = told.document["events"][0]["seq"].as_u64().unwrap();
        assert_eq!(told.document["next"], first);
        assert!(
            told.text.contains(&format!("before={first}")),
            "{}",
            told.text
        );
    });
}
