//! Tests for the deadline of retries after conflicts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use polis_core::changeset::{Receipt, StoreWrite, WritePrecondition};
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{Changeset, RecordKey, Refusal, RefusalCode};
use polis_ops::{CommitHook, ResponseBuilder, op};
use polis_testkit::run_test;
use serde_json::json;

use crate::test_installation::TestInstallation;

/// Makes the first commits fail with a conflict.
#[derive(Debug)]
struct ConflictingHook {
    conflicts_left: AtomicU32,
}

impl CommitHook for ConflictingHook {
    fn add_writes(&self, changes: Changeset, _: i64, _: ResponseBuilder) -> Changeset {
        let left = self.conflicts_left.load(Ordering::SeqCst);
        if left == 0 {
            return changes;
        }
        self.conflicts_left.store(left - 1, Ordering::SeqCst);
        changes.with_write(StoreWrite::PutRecord {
            name: RecordName::new(RecordKind::IdempotencyResponse, "missing"),
            expect: WritePrecondition::Revision(7),
            expires_at: None,
            body: RecordBody::Text("{}".to_owned()),
        })
    }

    fn refusal_on_conflict(&self, _: &RecordKey) -> Option<Refusal> {
        None
    }

    fn on_committed(&self, _: &Receipt) {}
}

/// A client may send its body slowly, and a check for messages may wait for a minute: neither takes anything
/// from the time for retries.
#[test]
fn retries_are_counted_from_the_first_attempt() {
    run_test(async {
        let (world, clock) = TestInstallation::with_required_approval().await;
        let hook = Arc::new(ConflictingHook {
            conflicts_left: AtomicU32::new(2),
        });
        let request = world.app.person_request().with_commit_hook(hook);
        clock.advance_millis(2 * world.app.settings.retry_timeout_ms);
        let params = serde_json::from_value(json!({ "subject": "late" })).unwrap();
        let created = op::create_task(&request, &params).await.unwrap();
        assert_eq!(created.task.subject, "late");
    });
}

/// Without a deadline of its own, an operation that conflicts forever would never end.
#[test]
fn retries_end_at_the_deadline() {
    run_test(async {
        let (mut world, _) = TestInstallation::with_required_approval().await;
        let mut settings = world.app.settings.as_ref().clone();
        settings.retry_timeout_ms = 0;
        world.app.settings = Arc::new(settings);
        let hook = Arc::new(ConflictingHook {
            conflicts_left: AtomicU32::new(2),
        });
        let request = world.app.person_request().with_commit_hook(hook);
        let params = serde_json::from_value(json!({ "subject": "never" })).unwrap();
        let refused = op::create_task(&request, &params).await.unwrap_err();
        assert_eq!(refused.code(), RefusalCode::STORE_BUSY);
    });
}
