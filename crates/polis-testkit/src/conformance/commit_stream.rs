//! Conformance tests of `Ledger::commit_stream`: many changesets committed as one transaction, as an import
//! does.

use polis_core::Refusal;
use polis_core::changeset::StoreWrite;
use polis_core::refusal::Reason;
use polis_core::{Changeset, RecordKey, RefusalCode};
use polis_ops::PortError;
use polis_ops::port::{ChangesetSource, CommitOutcome};

use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, insert_task, new_comment, open_store, read_log,
    single_write, snapshot_store, task_event, task_id, task_record,
};
use crate::StoreFactory;

/// A source that yields its changesets, then ends or fails.
struct FallibleChangesetSource {
    changesets: std::vec::IntoIter<Changeset>,
    fails: bool,
}

impl FallibleChangesetSource {
    fn from_changesets(changesets: Vec<Changeset>) -> Self {
        Self {
            changesets: changesets.into_iter(),
            fails: false,
        }
    }
}

impl ChangesetSource for FallibleChangesetSource {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        match self.changesets.next() {
            None if self.fails => Err(PortError::from(Refusal::new(
                RefusalCode::INVALID_INPUT,
                Reason::new("test-failure"),
            ))),
            next => Ok(next),
        }
    }
}

fn three_changesets() -> Vec<Changeset> {
    (1..=3)
        .map(|number| {
            let comment = StoreWrite::AddComment {
                task: task_id(number),
                comment: new_comment("imported"),
            };
            single_write(insert_task(&task_record(number)))
                .with_write(comment)
                .with_write(StoreWrite::RaiseTaskNumber(number + 10))
                .with_event(task_event(number))
        })
        .collect()
}

/// A stream is committed as one, in order, and the log has no gap.
pub async fn stream_is_committed_in_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(&store, empty_changeset().with_event(task_event(9))).await;
    let outcome = store
        .commit_stream(&mut FallibleChangesetSource::from_changesets(
            three_changesets(),
        ))
        .await
        .unwrap();
    let CommitOutcome::Committed(receipt) = outcome else {
        panic!("a conflict");
    };
    assert_eq!(receipt.sequence, 4);
    let subjects: Vec<_> = read_log(&store)
        .await
        .into_iter()
        .map(|e| e.subject)
        .collect();
    assert_eq!(subjects, ["task/9", "task/1", "task/2", "task/3"]);
    assert_eq!(store.tasks(&[1, 2, 3].map(task_id)).await.unwrap().len(), 3);
    assert_eq!(store.last_task_number().await.unwrap(), 13);
    commit_changeset(
        &store,
        single_write(create_task("after")).with_event(task_event(14)),
    )
    .await;
    assert_eq!(store.last_sequence().await.unwrap(), 5);
}

/// All or nothing: a conflict in the middle undoes everything before it.
pub async fn conflict_rolls_back_whole_stream(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(&store, single_write(insert_task(&task_record(3)))).await;
    let before = snapshot_store(&store).await;
    let outcome = store
        .commit_stream(&mut FallibleChangesetSource::from_changesets(
            three_changesets(),
        ))
        .await
        .unwrap();
    assert_eq!(
        outcome,
        CommitOutcome::Conflict(RecordKey::Task(task_id(3)))
    );
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(
        &store,
        single_write(create_task("after")).with_event(task_event(1)),
    )
    .await;
    assert_eq!(store.last_sequence().await.unwrap(), 1);
}

/// An error of the source undoes everything and is returned.
pub async fn source_error_rolls_back_whole_stream(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let before = snapshot_store(&store).await;
    let mut source = FallibleChangesetSource {
        fails: true,
        ..FallibleChangesetSource::from_changesets(three_changesets())
    };
    let error = store.commit_stream(&mut source).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::INVALID_INPUT);
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(
        &store,
        single_write(create_task("after")).with_event(task_event(1)),
    )
    .await;
    assert_eq!(store.last_sequence().await.unwrap(), 1);
}

/// A changeset of a stream sees the effects of those before it.
pub async fn stream_changeset_sees_earlier_ones(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let first = task_record(1);
    let second = super::store_fixtures::replace_task(&first, |t| t.subject = "later".to_owned());
    let mut source = FallibleChangesetSource::from_changesets(vec![
        single_write(insert_task(&first)),
        single_write(second),
    ]);
    let outcome = store.commit_stream(&mut source).await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    assert_eq!(
        super::store_fixtures::read_task(&store, 1).await.revision,
        2
    );
}

/// An empty stream changes nothing.
pub async fn empty_stream_changes_nothing(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(&store, empty_changeset().with_event(task_event(1))).await;
    let before = snapshot_store(&store).await;
    let outcome = store
        .commit_stream(&mut FallibleChangesetSource::from_changesets(Vec::new()))
        .await;
    assert!(matches!(outcome.unwrap(), CommitOutcome::Committed(_)));
    assert_eq!(snapshot_store(&store).await, before);
}
