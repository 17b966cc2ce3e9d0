//! Tests for the data of a task's page: comments in pages, newest history, time spent and graph neighbours.

use polis_core::task::time_tracking::TimeTracker;
use polis_core::{RefusalCode, TaskId};
use polis_ops::op::{self, TaskCommentsParams, TaskHistoryParams, TaskNeighbourhood};
use polis_ops::port::EventLogQuery;
use polis_testkit::store_factory::run_test;
use serde_json::json;

use crate::test_installation::TestInstallation;

fn task_id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

impl TestInstallation {
    /// Creates a task with comments, numbered from 1.
    async fn create_commented_task(&self, comments: u64) -> TaskId {
        let made = self.call_tool("user", "TaskCreate", json!({ "subject": "S" }));
        let id: TaskId = made.await.document["id"].as_str().unwrap().parse().unwrap();
        for n in 1..=comments {
            let said = json!({ "taskId": id, "body": format!("number {n}") });
            self.call_tool("user", "TaskComment", said).await;
        }
        id
    }

    async fn comment_page(
        &self,
        params: TaskCommentsParams,
    ) -> (Vec<u64>, Option<u64>, Option<u64>) {
        let page = op::list_task_comments(&self.app.person_request(), &params)
            .await
            .unwrap();
        let numbers = page.comments.iter().map(|one| one.id).collect();
        (numbers, page.next, page.earlier)
    }
}

#[test]
fn comments_are_paginated_from_either_end() {
    run_test(async {
        let world = TestInstallation::new().await;
        let task = world.create_commented_task(5).await;
        let of = || TaskCommentsParams::for_task(task);
        assert_eq!(
            world.comment_page(of()).await,
            (vec![1, 2, 3, 4, 5], None, None)
        );
        let limit = Some(2);
        let page = TaskCommentsParams { limit, ..of() };
        assert_eq!(world.comment_page(page).await, (vec![1, 2], Some(2), None));
        let cursor = Some(4);
        let page = TaskCommentsParams { cursor, ..of() };
        assert_eq!(world.comment_page(page).await, (vec![5], None, None));
        let back = |before| TaskCommentsParams {
            newest: true,
            before,
            limit,
            ..of()
        };
        assert_eq!(
            world.comment_page(back(None)).await,
            (vec![4, 5], None, Some(4))
        );
        assert_eq!(
            world.comment_page(back(Some(4))).await,
            (vec![2, 3], None, Some(2))
        );
        assert_eq!(
            world.comment_page(back(Some(2))).await,
            (vec![1], None, None)
        );
        assert_eq!(
            world.comment_page(back(Some(1))).await,
            (vec![], None, None)
        );
    });
}

#[test]
fn comment_is_found_by_number() {
    run_test(async {
        let world = TestInstallation::new().await;
        let task = world.create_commented_task(3).await;
        let found = op::get_task_comment(&world.app.person_request(), task, 2)
            .await
            .unwrap();
        assert_eq!(found.body, "number 2");
        for number in [0, 4] {
            let refused = op::get_task_comment(&world.app.person_request(), task, number).await;
            assert_eq!(refused.unwrap_err().code(), RefusalCode::COMMENT_NOT_FOUND);
        }
        let refused = op::get_task_comment(&world.app.person_request(), task_id(99), 1).await;
        assert_eq!(refused.unwrap_err().code(), RefusalCode::TASK_NOT_FOUND);
    });
}

/// A truncated page for a model keeps the newest comments if those were requested.
#[test]
fn truncated_comment_page_keeps_the_requested_end() {
    run_test(async {
        let world = TestInstallation::new().await;
        let task = world.create_commented_task(0).await;
        for n in 1..=10 {
            let said = json!({ "taskId": task, "body": format!("{n} {}", "x".repeat(7_000)) });
            world.call_tool("user", "TaskComment", said).await;
        }
        let told = |params| world.call_for_model("user", "TaskComments", params);
        let newest = told(json!({ "taskId": task, "newest": true })).await;
        let shown = newest.document["comments"].as_array().unwrap();
        assert!(shown.len() < 10);
        assert_eq!(shown.last().unwrap()["id"], 10);
        assert_eq!(newest.document["earlier"], shown[0]["id"]);
        assert_eq!(newest.document.get("next"), None);
        let before = shown[0]["id"].as_u64().unwrap();
        let earlier = told(json!({ "taskId": task, "before": before })).await;
        let shown = earlier.document["comments"].as_array().unwrap();
        assert_eq!(shown.last().unwrap()["id"], before - 1);
    });
}

/// The cached result equals a complete fold after every step, regardless of earlier calls.
#[test]
fn cached_task_time_equals_a_full_fold() {
    run_test(async {
        let world = TestInstallation::new().await;
        let task = world.create_commented_task(1).await;
        let steps = [
            (
                "lead",
                "TaskClaim",
                json!({ "taskId": task, "leaseMs": 60_000 }),
            ),
            ("lead", "TaskHeartbeat", json!({ "taskId": task })),
            (
                "lead",
                "TaskComment",
                json!({ "taskId": task, "body": "hm" }),
            ),
            ("lead", "TaskRelease", json!({ "taskId": task })),
            (
                "cto",
                "TaskClaim",
                json!({ "taskId": task, "leaseMs": 60_000 }),
            ),
            (
                "cto",
                "TaskUpdate",
                json!({ "taskId": task, "subject": "T" }),
            ),
            ("cto", "TaskHeartbeat", json!({ "taskId": task })),
            (
                "cto",
                "TaskUpdate",
                json!({ "taskId": task, "status": "completed" }),
            ),
        ];
        for (by, tool, params) in steps {
            world.call_tool(by, tool, params).await;
            let told = op::task_time(&world.app, task).await.unwrap();
            let query = EventLogQuery {
                subject: Some(format!("task/{task}")),
                limit: 1_000,
                ..EventLogQuery::default()
            };
            let mut all = TimeTracker::default();
            for event in world.app.store.events(&query).await.unwrap() {
                all.add_event(&event);
            }
            assert_eq!(
                told,
                all.time_spent_until(world.app.clock.now_millis()),
                "{tool}"
            );
        }
        let told = op::task_time(&world.app, task).await.unwrap();
        let owners: Vec<&str> = told
            .work_periods
            .iter()
            .map(|one| one.owner.as_str())
            .collect();
        assert_eq!(owners, ["lead", "cto"]);
        assert!(told.work_periods.iter().all(|one| one.to.is_some()));
        let refused = op::task_time(&world.app, task_id(99)).await.unwrap_err();
        assert_eq!(refused.code(), RefusalCode::TASK_NOT_FOUND);
    });
}

#[test]
fn newest_history_equals_the_end_of_the_full_history() {
    run_test(async {
        let world = TestInstallation::new().await;
        let task = world.create_commented_task(30).await;
        for n in 0..30 {
            let change = json!({ "taskId": task, "subject": format!("S{n}") });
            world.call_tool("user", "TaskUpdate", change).await;
        }
        let all = TaskHistoryParams {
            task_id: task,
            cursor: None,
            limit: None,
        };
        let all = op::task_history(&world.app.person_request(), &all)
            .await
            .unwrap()
            .history;
        assert_eq!(all.len(), 61);
        for most in [1, 19, 20, 21, 60, 61, 62, 500] {
            let newest = op::newest_task_history(&world.app.person_request(), task, most)
                .await
                .unwrap();
            let kept = most.min(all.len());
            assert_eq!(newest.has_earlier, most < all.len(), "{most}");
            assert_eq!(newest.history.len(), kept, "{most}");
            for (told, whole) in newest.history.iter().zip(all.iter().rev()) {
                let named = |one: &polis_core::task::history::TaskHistoryEntry| {
                    let fields = one.changes.iter();
                    let to: Vec<_> = fields.map(|f| (f.field.clone(), f.to.clone())).collect();
                    (one.seq, one.kind.clone(), one.version, to)
                };
                assert_eq!(named(told), named(whole), "{most}");
            }
            if most >= all.len() {
                assert!(newest.history.iter().eq(all.iter().rev()), "{most}");
            }
        }
    });
}

/// A chain 1 - 2 - … - 9 with 5 in the middle, and 10 unconnected.
#[test]
fn task_neighbourhood_lists_nearest_tasks_first() {
    run_test(async {
        let world = TestInstallation::new().await;
        for n in 1..=10_u64 {
            let mut task = json!({ "subject": format!("T{n}") });
            if (2..=9).contains(&n) {
                task["addBlockedBy"] = json!([(n - 1).to_string()]);
            }
            world.call_tool("user", "TaskCreate", task).await;
        }
        let near = |of: u64, most| {
            let app = &world.app;
            async move {
                op::task_neighbourhood(&app.person_request(), task_id(of), most)
                    .await
                    .unwrap()
            }
        };
        let numbers = |near: &TaskNeighbourhood| -> Vec<u64> {
            near.tasks.iter().map(|node| node.id.number()).collect()
        };
        let found = near(5, 5).await;
        assert_eq!(
            (numbers(&found), found.has_more),
            (vec![5, 4, 6, 3, 7], true)
        );
        let found = near(5, 4).await;
        assert_eq!((numbers(&found), found.has_more), (vec![5, 4, 6, 3], true));
        let found = near(5, 9).await;
        assert_eq!(numbers(&found), [5, 4, 6, 3, 7, 2, 8, 1, 9]);
        assert!(!found.has_more);
        assert_eq!(
            (numbers(&near(10, 9).await), near(10, 9).await.has_more),
            (vec![10], false)
        );
        let refused = op::task_neighbourhood(&world.app.person_request(), task_id(99), 5)
            .await
            .unwrap_err();
        assert_eq!(refused.code(), RefusalCode::TASK_NOT_FOUND);
    });
}
