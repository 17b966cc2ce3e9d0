//! Tests for several sessions of one agent: whose claims are respected, and for how long.

use std::sync::Arc;
use std::time::Duration;

use polis_core::Code;
use polis_core::session::{ProcessState, http_id, stdio_id};
use polis_ops::op::{self, OpenSession};
use polis_ops::port::Processes;
use polis_testkit::test_store::{agent, polis};
use polis_testkit::{MemoryStore, run};
use serde_json::json;

/// Reports the process `killed` as ended.
#[derive(Debug)]
struct TestProcesses;

impl Processes for TestProcesses {
    fn with_identity(&self, name: &str) -> String {
        name.to_owned()
    }

    fn state_of(&self, holder: &str) -> ProcessState {
        match holder {
            "killed" => ProcessState::Ended,
            _ => ProcessState::Unknown,
        }
    }
}

#[test]
fn claim_of_a_killed_process_is_not_respected() {
    run(async {
        for (holder, is_refused) in [("elsewhere", true), ("killed", false)] {
            let polis = polis(Arc::new(MemoryStore::default()));
            let polis = polis.with_processes(Arc::new(TestProcesses));
            let dev = agent("dev");
            let task = serde_json::from_value(json!({"subject": "s"})).unwrap();
            op::create_task(&polis, &agent("user"), &task)
                .await
                .unwrap();
            let (first, second) = (http_id(&dev, "first"), http_id(&dev, "second"));
            let opened = OpenSession::open(&polis, first.clone(), &dev, holder).await;
            assert!(opened.unwrap().is_some());
            let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
            let claimed = async |session: &str| {
                let polis = polis.in_session(session);
                op::claim_task(&polis, &dev, &claim).await
            };
            assert_eq!(claimed(&first).await.unwrap().task.owner, "dev");
            let again = claimed(&second).await;
            let code = again.as_ref().err().map(polis_ops::OpError::code);
            let expected = is_refused.then_some(Code::HeldByOtherSession);
            assert_eq!(code, expected, "{holder}: {again:?}");
        }
    });
}

#[test]
fn task_whose_lease_ran_out_can_be_claimed_by_another_session() {
    run(async {
        let polis = polis(Arc::new(MemoryStore::default()));
        let dev = agent("dev");
        let task = serde_json::from_value(json!({"subject": "s"})).unwrap();
        op::create_task(&polis, &agent("user"), &task)
            .await
            .unwrap();
        let (first, second) = (http_id(&dev, "first"), http_id(&dev, "second"));
        let opened = OpenSession::open(&polis, first.clone(), &dev, "elsewhere").await;
        assert!(opened.unwrap().is_some());
        let claim = serde_json::from_value(json!({"leaseMs": 1})).unwrap();
        let claimed = op::claim_task(&polis.in_session(&first), &dev, &claim).await;
        let lease = claimed.unwrap().task.lease_expires_at.unwrap();
        while polis.clock.now_millis() <= lease.millis().unwrap() {
            polis.clock.sleep(Duration::from_millis(1)).await;
        }
        let claim = serde_json::from_value(json!({})).unwrap();
        let claimed = op::claim_task(&polis.in_session(&second), &dev, &claim).await;
        assert_eq!(claimed.unwrap().task.id.to_string(), "1");
    });
}

#[test]
fn closed_session_leaves_a_record_only_for_a_numbered_name() {
    run(async {
        let polis = polis(Arc::new(MemoryStore::default()));
        let (dev, second) = (agent("dev"), agent("dev-2"));
        for (name, numbered_for) in [(&dev, None), (&second, Some(&dev))] {
            let id = stdio_id(name);
            let opened = OpenSession::open_numbered(&polis, id.clone(), name, "me", numbered_for);
            let opened = opened.await.unwrap().unwrap();
            opened.close(&polis).await.unwrap();
            assert_eq!(
                polis.session_numbered_for(name).await.unwrap().as_ref(),
                numbered_for
            );
            // The next process that opens it does not need to know what the name was generated for.
            let again = OpenSession::open(&polis, id, name, "other").await;
            assert!(again.unwrap().is_some(), "{name}");
            assert_eq!(
                polis.session_numbered_for(name).await.unwrap().as_ref(),
                numbered_for
            );
        }
    });
}
