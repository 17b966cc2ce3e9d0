//! Tests for the data of a task's page: comments in pages, newest history, time spent and graph neighbours.

use polis_core::task::time_tracking::Spending;
use polis_core::{Code, TaskId};
use polis_ops::op::{self, Near, TaskComments, TaskHistory};
use polis_ops::port::EventQuery;
use polis_testkit::test_store::run;
use serde_json::json;

use crate::world::World;

fn id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

impl World {
    /// Creates a task with comments, numbered from 1.
    async fn talked_about(&self, comments: u64) -> TaskId {
        let made = self.does("user", "TaskCreate", json!({ "subject": "S" }));
        let id: TaskId = made.await.document["id"].as_str().unwrap().parse().unwrap();
        for n in 1..=comments {
            let said = json!({ "taskId": id, "body": format!("number {n}") });
            self.does("user", "TaskComment", said).await;
        }
        id
    }

    async fn page(&self, params: TaskComments) -> (Vec<u64>, Option<u64>, Option<u64>) {
        let page = op::task_comments(&self.polis, &params).await.unwrap();
        let numbers = page.comments.iter().map(|one| one.id).collect();
        (numbers, page.next, page.earlier)
    }
}

#[test]
fn comments_are_read_from_either_end() {
    run(async {
        let world = World::new().await;
        let task = world.talked_about(5).await;
        let of = || TaskComments::of(task);
        assert_eq!(world.page(of()).await, (vec![1, 2, 3, 4, 5], None, None));
        let limit = Some(2);
        let page = TaskComments { limit, ..of() };
        assert_eq!(world.page(page).await, (vec![1, 2], Some(2), None));
        let cursor = Some(4);
        let page = TaskComments { cursor, ..of() };
        assert_eq!(world.page(page).await, (vec![5], None, None));
        let back = |before| TaskComments {
            newest: true,
            before,
            limit,
            ..of()
        };
        assert_eq!(world.page(back(None)).await, (vec![4, 5], None, Some(4)));
        assert_eq!(world.page(back(Some(4))).await, (vec![2, 3], None, Some(2)));
        assert_eq!(world.page(back(Some(2))).await, (vec![1], None, None));
        assert_eq!(world.page(back(Some(1))).await, (vec![], None, None));
    });
}

#[test]
fn a_comment_is_found_by_its_number() {
    run(async {
        let world = World::new().await;
        let task = world.talked_about(3).await;
        let found = op::task_comment(&world.polis, task, 2).await.unwrap();
        assert_eq!(found.body, "number 2");
        for number in [0, 4] {
            let refused = op::task_comment(&world.polis, task, number).await;
            assert_eq!(refused.unwrap_err().code(), Code::CommentNotFound);
        }
        let refused = op::task_comment(&world.polis, id(99), 1).await;
        assert_eq!(refused.unwrap_err().code(), Code::TaskNotFound);
    });
}

/// A truncated page for a model keeps the newest comments if those were requested.
#[test]
fn a_page_that_is_too_long_keeps_the_end_that_was_asked_for() {
    run(async {
        let world = World::new().await;
        let task = world.talked_about(0).await;
        for n in 1..=10 {
            let said = json!({ "taskId": task, "body": format!("{n} {}", "x".repeat(7_000)) });
            world.does("user", "TaskComment", said).await;
        }
        let told = |params| world.tells("user", "TaskComments", params);
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
fn time_is_told_as_if_all_events_were_read() {
    run(async {
        let world = World::new().await;
        let task = world.talked_about(1).await;
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
            world.does(by, tool, params).await;
            let told = op::task_time(&world.polis, task).await.unwrap();
            let query = EventQuery {
                subject: Some(format!("task/{task}")),
                limit: 1_000,
                ..EventQuery::default()
            };
            let mut all = Spending::default();
            for event in world.polis.store.events(&query).await.unwrap() {
                all.take(&event);
            }
            assert_eq!(told, all.until(world.polis.clock.now_millis()), "{tool}");
        }
        let told = op::task_time(&world.polis, task).await.unwrap();
        let owners: Vec<&str> = told.stints.iter().map(|one| one.owner.as_str()).collect();
        assert_eq!(owners, ["lead", "cto"]);
        assert!(told.stints.iter().all(|one| one.to.is_some()));
        let refused = op::task_time(&world.polis, id(99)).await.unwrap_err();
        assert_eq!(refused.code(), Code::TaskNotFound);
    });
}

#[test]
fn the_newest_history_is_the_end_of_all_of_it() {
    run(async {
        let world = World::new().await;
        let task = world.talked_about(30).await;
        for n in 0..30 {
            let change = json!({ "taskId": task, "subject": format!("S{n}") });
            world.does("user", "TaskUpdate", change).await;
        }
        let all = TaskHistory {
            task_id: task,
            cursor: None,
            limit: None,
        };
        let all = op::task_history(&world.polis, &all).await.unwrap().history;
        assert_eq!(all.len(), 61);
        for most in [1, 19, 20, 21, 60, 61, 62, 500] {
            let newest = op::newest_history(&world.polis, task, most).await.unwrap();
            let kept = most.min(all.len());
            assert_eq!(newest.earlier, most < all.len(), "{most}");
            assert_eq!(newest.history.len(), kept, "{most}");
            for (told, whole) in newest.history.iter().zip(all.iter().rev()) {
                let named = |one: &polis_core::task::history::HistoryEntry| {
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
fn the_nearest_tasks_are_found_first() {
    run(async {
        let world = World::new().await;
        for n in 1..=10_u64 {
            let mut task = json!({ "subject": format!("T{n}") });
            if (2..=9).contains(&n) {
                task["addBlockedBy"] = json!([(n - 1).to_string()]);
            }
            world.does("user", "TaskCreate", task).await;
        }
        let near = |of: u64, most| {
            let polis = &world.polis;
            async move { op::graph_near(polis, id(of), most).await.unwrap() }
        };
        let numbers =
            |near: &Near| -> Vec<u64> { near.tasks.iter().map(|node| node.id.number()).collect() };
        let found = near(5, 5).await;
        assert_eq!((numbers(&found), found.more), (vec![5, 4, 6, 3, 7], true));
        let found = near(5, 4).await;
        assert_eq!((numbers(&found), found.more), (vec![5, 4, 6, 3], true));
        let found = near(5, 9).await;
        assert_eq!(numbers(&found), [5, 4, 6, 3, 7, 2, 8, 1, 9]);
        assert!(!found.more);
        assert_eq!(
            (numbers(&near(10, 9).await), near(10, 9).await.more),
            (vec![10], false)
        );
        let refused = op::graph_near(&world.polis, id(99), 5).await.unwrap_err();
        assert_eq!(refused.code(), Code::TaskNotFound);
    });
}
