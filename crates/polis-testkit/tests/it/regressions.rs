//! Regression tests: task operations in scenarios that were handled wrongly once (leases, imports, blockers).

use std::sync::Arc;

use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{RawJson, RefusalCode, TaskId, TaskStatus};
use polis_ops::App;
use polis_ops::op::{self, TaskHistoryParams, TaskImportParams, TaskRecommendParams, TaskView};
use polis_ops::port::TaskReader as _;
use polis_testkit::store_factory::{new_test_app, parse_agent_id};
use polis_testkit::{FixedClock, MemoryStore, MemoryTaskFiles, run_test};

fn task_id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

async fn create_task(app: &App, request: TaskCreateParams) -> TaskView {
    let request = TaskCreateParams {
        subject: "任务".to_owned(),
        ..request
    };
    op::create_task(&app.request(&parse_agent_id("user")), &request)
        .await
        .unwrap()
}

async fn update_task(app: &App, request: TaskUpdateParams) -> TaskView {
    op::update_task(&app.request(&parse_agent_id("user")), &request)
        .await
        .unwrap()
}

fn recommend_params(limit: u32) -> TaskRecommendParams {
    TaskRecommendParams { limit: Some(limit) }
}

fn new_app() -> App {
    new_test_app(Arc::new(MemoryStore::default()))
}

#[test]
fn task_with_another_open_blocker_is_not_reported_unblocked() {
    run_test(async {
        let app = new_app();
        create_task(&app, TaskCreateParams::default()).await;
        create_task(&app, TaskCreateParams::default()).await;
        let waiting = TaskCreateParams {
            add_blocked_by: vec![task_id(2)],
            ..TaskCreateParams::default()
        };
        create_task(&app, waiting).await;
        let begin = TaskUpdateParams {
            status: Some(TaskStatus::InProgress),
            ..TaskUpdateParams::new(task_id(1))
        };
        update_task(&app, begin).await;
        let done = TaskUpdateParams {
            status: Some(TaskStatus::Completed),
            add_blocks: vec![task_id(3)],
            ..TaskUpdateParams::new(task_id(1))
        };
        assert_eq!(update_task(&app, done).await.unblocked, []);
    });
}

#[test]
fn edge_dropped_by_import_does_not_block() {
    run_test(async {
        let store = Arc::new(MemoryStore::default());
        let app = new_test_app(Arc::<MemoryStore>::clone(&store));
        create_task(&app, TaskCreateParams::default()).await;
        let mut files = MemoryTaskFiles::default();
        let one = r#"{"id":"1","subject":"other","status":"pending","blocks":["2"]}"#;
        let two = r#"{"id":"2","subject":"new","status":"pending","blockedBy":["1"]}"#;
        files.files.insert(task_id(1), one.to_owned());
        files.files.insert(task_id(2), two.to_owned());
        let user = parse_agent_id("user");
        op::import_tasks(
            &app.request(&user),
            &files,
            TaskImportParams::default(),
            &mut |_, _| {},
        )
        .await
        .unwrap();
        let found = store.tasks(&[task_id(2)]).await.unwrap().pop().unwrap();
        assert_eq!(found.task.blocked_by, []);
        assert_eq!(found.open_blockers, 0);
    });
}

#[test]
fn very_long_lease_is_not_stale() {
    run_test(async {
        let app = new_app();
        create_task(&app, TaskCreateParams::default()).await;
        let claim = TaskClaimParams {
            task_id: Some(task_id(1)),
            lease_ms: Some(1_000_000_000_000_000),
            ..TaskClaimParams::default()
        };
        let claimed = op::claim_task(&app.request(&parse_agent_id("architect")), &claim).await;
        // A refusal would be correct too.
        assert!(claimed.is_err() || !claimed.unwrap().stale);
    });
}

#[test]
fn recommendation_with_limit_one_returns_best_stale_task() {
    run_test(async {
        let clock = Arc::new(FixedClock::default());
        let mut app = new_app();
        app.clock = Arc::<FixedClock>::clone(&clock);
        create_task(&app, TaskCreateParams::default()).await;
        let research = TaskCreateParams {
            task_type: Some("tech_research".to_owned()),
            ..TaskCreateParams::default()
        };
        create_task(&app, research).await;
        for number in 1..=2 {
            let claim = TaskClaimParams {
                task_id: Some(task_id(number)),
                lease_ms: Some(10),
                ..TaskClaimParams::default()
            };
            op::claim_task(&app.request(&parse_agent_id("helper")), &claim)
                .await
                .unwrap();
        }
        clock.advance_millis(11);
        let architect = parse_agent_id("architect");
        let all = op::recommend_tasks(&app.request(&architect), &recommend_params(10))
            .await
            .unwrap();
        let first = op::recommend_tasks(&app.request(&architect), &recommend_params(1))
            .await
            .unwrap();
        assert_eq!(first.recommendations[..], all.recommendations[..1]);
    });
}

#[test]
fn deeply_nested_metadata_is_readable_from_log() {
    run_test(async {
        let app = new_app();
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let metadata = [("a".to_owned(), RawJson::parse(&deep).unwrap())];
        let request = TaskCreateParams {
            metadata: Some(metadata.into_iter().collect()),
            ..TaskCreateParams::default()
        };
        create_task(&app, request).await;
        let rename = TaskUpdateParams {
            subject: Some("renamed".to_owned()),
            ..TaskUpdateParams::new(task_id(1))
        };
        update_task(&app, rename).await;
        let params = TaskHistoryParams {
            task_id: task_id(1),
            cursor: None,
            limit: None,
        };
        let read = op::task_history(&app.person_request(), &params)
            .await
            .unwrap();
        let metadata = read.history[0]
            .changes
            .iter()
            .find(|c| c.field == "metadata");
        assert_eq!(
            metadata.unwrap().to.as_ref().unwrap().as_str(),
            format!("{{\"a\":{deep}}}")
        );
        let everything = op::LogReadParams::default();
        let page = op::read_log(&app.request(&polis_core::AgentId::user()), &everything).await;
        assert_eq!(page.unwrap().events.len(), 2);
    });
}

#[test]
fn completion_after_lost_lease_is_refused() {
    run_test(async {
        let clock = Arc::new(FixedClock::default());
        let mut app = new_app();
        app.clock = Arc::<FixedClock>::clone(&clock);
        create_task(&app, TaskCreateParams::default()).await;
        let claim = TaskClaimParams {
            task_id: Some(task_id(1)),
            lease_ms: Some(10),
            ..TaskClaimParams::default()
        };
        let (first, second) = (parse_agent_id("helper-1"), parse_agent_id("helper-2"));
        op::claim_task(&app.request(&first), &claim).await.unwrap();
        clock.advance_millis(11);
        op::claim_task(&app.request(&second), &claim).await.unwrap();
        let done = TaskUpdateParams {
            status: Some(TaskStatus::Completed),
            ..TaskUpdateParams::new(task_id(1))
        };
        let late = op::update_task(&app.request(&first), &done)
            .await
            .unwrap_err();
        assert_eq!(late.code(), RefusalCode::NOT_OWNER);
        op::update_task(&app.request(&second), &done).await.unwrap();
    });
}

#[test]
fn owner_change_of_completed_task_is_refused() {
    run_test(async {
        let app = new_app();
        create_task(&app, TaskCreateParams::default()).await;
        let claim = TaskClaimParams {
            task_id: Some(task_id(1)),
            ..TaskClaimParams::default()
        };
        let worker = parse_agent_id("helper-1");
        op::claim_task(&app.request(&worker), &claim).await.unwrap();
        let done = TaskUpdateParams {
            status: Some(TaskStatus::Completed),
            ..TaskUpdateParams::new(task_id(1))
        };
        op::update_task(&app.request(&worker), &done).await.unwrap();
        for owner in ["", "helper-2"] {
            let take = TaskUpdateParams {
                owner: Some(owner.to_owned()),
                expected_version: Some(3),
                ..TaskUpdateParams::new(task_id(1))
            };
            let refused = op::update_task(&app.request(&worker), &take)
                .await
                .unwrap_err();
            assert_eq!(refused.code(), RefusalCode::WRONG_STATE);
        }
    });
}
