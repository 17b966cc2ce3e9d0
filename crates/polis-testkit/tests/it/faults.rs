//! Regression tests: scenarios the operations once handled wrongly.

use std::sync::Arc;

use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{Code, Raw, TaskId, TaskStatus};
use polis_ops::Polis;
use polis_ops::op::{self, TaskHistory, TaskImport, TaskRecommend, TaskView};
use polis_ops::port::Tasks as _;
use polis_testkit::test_store::{agent, polis};
use polis_testkit::{FixedClock, MemoryFiles, MemoryStore, run};

fn id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

async fn create(polis: &Polis, request: TaskCreate) -> TaskView {
    let request = TaskCreate {
        subject: "任务".to_owned(),
        ..request
    };
    op::create_task(polis, &agent("user"), &request)
        .await
        .unwrap()
}

async fn update(polis: &Polis, request: TaskUpdate) -> TaskView {
    op::update_task(polis, &agent("user"), &request)
        .await
        .unwrap()
}

fn most(limit: u32) -> TaskRecommend {
    TaskRecommend { limit: Some(limit) }
}

fn fresh() -> Polis {
    polis(Arc::new(MemoryStore::default()))
}

#[test]
fn a_task_with_another_open_blocker_is_not_reported_unblocked() {
    run(async {
        let polis = fresh();
        create(&polis, TaskCreate::default()).await;
        create(&polis, TaskCreate::default()).await;
        let waiting = TaskCreate {
            add_blocked_by: vec![id(2)],
            ..TaskCreate::default()
        };
        create(&polis, waiting).await;
        let begin = TaskUpdate {
            status: Some(TaskStatus::InProgress),
            ..TaskUpdate::of(id(1))
        };
        update(&polis, begin).await;
        let done = TaskUpdate {
            status: Some(TaskStatus::Completed),
            add_blocks: vec![id(3)],
            ..TaskUpdate::of(id(1))
        };
        assert_eq!(update(&polis, done).await.unblocked, []);
    });
}

#[test]
fn an_edge_that_an_import_drops_does_not_block() {
    run(async {
        let store = Arc::new(MemoryStore::default());
        let polis = polis(Arc::<MemoryStore>::clone(&store));
        create(&polis, TaskCreate::default()).await;
        let mut files = MemoryFiles::default();
        let one = r#"{"id":"1","subject":"other","status":"pending","blocks":["2"]}"#;
        let two = r#"{"id":"2","subject":"new","status":"pending","blockedBy":["1"]}"#;
        files.files.insert(id(1), one.to_owned());
        files.files.insert(id(2), two.to_owned());
        let user = agent("user");
        op::import_tasks(&polis, &user, &files, TaskImport::default(), &mut |_, _| {})
            .await
            .unwrap();
        let found = store.tasks(&[id(2)]).await.unwrap().pop().unwrap();
        assert_eq!(found.task.blocked_by, []);
        assert_eq!(found.open_blockers, 0);
    });
}

#[test]
fn a_very_long_lease_is_not_stale_at_once() {
    run(async {
        let polis = fresh();
        create(&polis, TaskCreate::default()).await;
        let claim = TaskClaim {
            task_id: Some(id(1)),
            lease_ms: Some(1_000_000_000_000_000),
            ..TaskClaim::default()
        };
        let claimed = op::claim_task(&polis, &agent("architect"), &claim).await;
        // A refusal would be correct too.
        assert!(claimed.is_err() || !claimed.unwrap().stale);
    });
}

#[test]
fn the_best_stale_task_is_recommended() {
    run(async {
        let clock = Arc::new(FixedClock::default());
        let mut polis = fresh();
        polis.clock = Arc::<FixedClock>::clone(&clock);
        create(&polis, TaskCreate::default()).await;
        let research = TaskCreate {
            task_type: Some("tech_research".to_owned()),
            ..TaskCreate::default()
        };
        create(&polis, research).await;
        for number in 1..=2 {
            let claim = TaskClaim {
                task_id: Some(id(number)),
                lease_ms: Some(10),
                ..TaskClaim::default()
            };
            op::claim_task(&polis, &agent("helper"), &claim)
                .await
                .unwrap();
        }
        clock.advance(11);
        let architect = agent("architect");
        let all = op::recommend_tasks(&polis, &architect, &most(10))
            .await
            .unwrap();
        let first = op::recommend_tasks(&polis, &architect, &most(1))
            .await
            .unwrap();
        assert_eq!(first.recommendations[..], all.recommendations[..1]);
    });
}

#[test]
fn the_deepest_metadata_can_be_read_back_from_the_log() {
    run(async {
        let polis = fresh();
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let metadata = [("a".to_owned(), Raw::parse(&deep).unwrap())];
        let request = TaskCreate {
            metadata: Some(metadata.into_iter().collect()),
            ..TaskCreate::default()
        };
        create(&polis, request).await;
        let rename = TaskUpdate {
            subject: Some("renamed".to_owned()),
            ..TaskUpdate::of(id(1))
        };
        update(&polis, rename).await;
        let params = TaskHistory {
            task_id: id(1),
            cursor: None,
            limit: None,
        };
        let read = op::task_history(&polis, &params).await.unwrap();
        let metadata = read.history[0]
            .changes
            .iter()
            .find(|c| c.field == "metadata");
        assert_eq!(
            metadata.unwrap().to.as_ref().unwrap().text(),
            format!("{{\"a\":{deep}}}")
        );
        let everything = op::LogRead::default();
        let page = op::read_log(&polis, &polis_core::AgentId::user(), &everything).await;
        assert_eq!(page.unwrap().events.len(), 2);
    });
}

#[test]
fn a_worker_that_comes_back_late_does_not_end_anothers_work() {
    run(async {
        let clock = Arc::new(FixedClock::default());
        let mut polis = fresh();
        polis.clock = Arc::<FixedClock>::clone(&clock);
        create(&polis, TaskCreate::default()).await;
        let claim = TaskClaim {
            task_id: Some(id(1)),
            lease_ms: Some(10),
            ..TaskClaim::default()
        };
        let (first, second) = (agent("helper-1"), agent("helper-2"));
        op::claim_task(&polis, &first, &claim).await.unwrap();
        clock.advance(11);
        op::claim_task(&polis, &second, &claim).await.unwrap();
        let done = TaskUpdate {
            status: Some(TaskStatus::Completed),
            ..TaskUpdate::of(id(1))
        };
        let late = op::update_task(&polis, &first, &done).await.unwrap_err();
        assert_eq!(late.code(), Code::NotOwner);
        op::update_task(&polis, &second, &done).await.unwrap();
    });
}

#[test]
fn who_completed_a_task_stays_on_record() {
    run(async {
        let polis = fresh();
        create(&polis, TaskCreate::default()).await;
        let claim = TaskClaim {
            task_id: Some(id(1)),
            ..TaskClaim::default()
        };
        let worker = agent("helper-1");
        op::claim_task(&polis, &worker, &claim).await.unwrap();
        let done = TaskUpdate {
            status: Some(TaskStatus::Completed),
            ..TaskUpdate::of(id(1))
        };
        op::update_task(&polis, &worker, &done).await.unwrap();
        for owner in ["", "helper-2"] {
            let take = TaskUpdate {
                owner: Some(owner.to_owned()),
                expected_version: Some(3),
                ..TaskUpdate::of(id(1))
            };
            let refused = op::update_task(&polis, &worker, &take).await.unwrap_err();
            assert_eq!(refused.code(), Code::WrongState);
        }
    });
}
