//! Tests for several sessions of one agent: whose claims are respected, and for how long.

use std::sync::Arc;
use std::time::Duration;

use polis_core::RefusalCode;
use polis_core::agent_session::{ProcessState, http_session_id, stdio_session_id};
use polis_ops::op::{self, OpenSession};
use polis_ops::port::ProcessInspector;
use polis_testkit::store_factory::{new_test_app, parse_agent_id};
use polis_testkit::{MemoryStore, run_test};
use serde_json::json;

/// Reports the process `killed` as ended.
#[derive(Debug)]
struct TestProcesses;

impl ProcessInspector for TestProcesses {
    fn with_identity(&self, name: &str) -> String {
        name.to_owned()
    }

    fn process_state(&self, holder: &str) -> ProcessState {
        match holder {
            "killed" => ProcessState::Ended,
            _ => ProcessState::Unknown,
        }
    }
}

#[test]
fn claim_of_a_dead_process_can_be_taken_over() {
    run_test(async {
        for (holder, is_refused) in [("elsewhere", true), ("killed", false)] {
            let app = new_test_app(Arc::new(MemoryStore::default()));
            let app = app.with_processes(Arc::new(TestProcesses));
            let dev = parse_agent_id("dev");
            let task = serde_json::from_value(json!({"subject": "s"})).unwrap();
            op::create_task(&app.request(&parse_agent_id("user")), &task)
                .await
                .unwrap();
            let (first, second) = (
                http_session_id(&dev, "first"),
                http_session_id(&dev, "second"),
            );
            let opened = OpenSession::open(&app, first.clone(), &dev, holder).await;
            assert!(opened.unwrap().is_some());
            let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
            let claimed = async |session: &str| {
                let request = app.request(&dev).in_session(session);
                op::claim_task(&request, &claim).await
            };
            assert_eq!(claimed(&first).await.unwrap().task.owner, "dev");
            let again = claimed(&second).await;
            let code = again.as_ref().err().map(polis_ops::OpError::code);
            let expected = is_refused.then_some(RefusalCode::HELD_BY_OTHER_SESSION);
            assert_eq!(code, expected, "{holder}: {again:?}");
        }
    });
}

#[test]
fn task_with_expired_lease_can_be_claimed_by_another_session() {
    run_test(async {
        let app = new_test_app(Arc::new(MemoryStore::default()));
        let dev = parse_agent_id("dev");
        let task = serde_json::from_value(json!({"subject": "s"})).unwrap();
        op::create_task(&app.request(&parse_agent_id("user")), &task)
            .await
            .unwrap();
        let (first, second) = (
            http_session_id(&dev, "first"),
            http_session_id(&dev, "second"),
        );
        let opened = OpenSession::open(&app, first.clone(), &dev, "elsewhere").await;
        assert!(opened.unwrap().is_some());
        let claim = serde_json::from_value(json!({"leaseMs": 1})).unwrap();
        let claimed = op::claim_task(&app.request(&dev).in_session(&first), &claim).await;
        let lease = claimed.unwrap().task.lease_expires_at.unwrap();
        while app.clock.now_millis() <= lease.millis().unwrap() {
            app.clock.sleep(Duration::from_millis(1)).await;
        }
        let claim = serde_json::from_value(json!({})).unwrap();
        let claimed = op::claim_task(&app.request(&dev).in_session(&second), &claim).await;
        assert_eq!(claimed.unwrap().task.id.to_string(), "1");
    });
}

#[test]
fn closed_session_leaves_a_record_only_for_a_numbered_name() {
    run_test(async {
        let app = new_test_app(Arc::new(MemoryStore::default()));
        let (dev, second) = (parse_agent_id("dev"), parse_agent_id("dev-2"));
        for (name, numbered_for) in [(&dev, None), (&second, Some(&dev))] {
            let id = stdio_session_id(name);
            let opened = OpenSession::open_numbered(&app, id.clone(), name, "me", numbered_for);
            let opened = opened.await.unwrap().unwrap();
            opened.close(&app).await.unwrap();
            assert_eq!(
                op::agent_of_numbered_session(&app, name)
                    .await
                    .unwrap()
                    .as_ref(),
                numbered_for
            );
            // The next process that opens it does not need to know what the name was generated for.
            let again = OpenSession::open(&app, id, name, "other").await;
            assert!(again.unwrap().is_some(), "{name}");
            assert_eq!(
                op::agent_of_numbered_session(&app, name)
                    .await
                    .unwrap()
                    .as_ref(),
                numbered_for
            );
        }
    });
}
