//! Guarantees of `Ledger::commit_stream`: many changesets committed as one transaction.

use polis_core::changeset::Write;
use polis_core::{Changeset, Code, RecordKey};
use polis_ops::PortError;
use polis_ops::port::{ChangesetSource, Outcome};

use super::sample::{
    changes, comment, commit, contents, create, event, id, insert, log, only, open, record,
};
use crate::Ground;

/// A source that yields its changesets, then ends or fails.
struct Source {
    changesets: std::vec::IntoIter<Changeset>,
    fails: bool,
}

impl Source {
    fn of(changesets: Vec<Changeset>) -> Self {
        Self {
            changesets: changesets.into_iter(),
            fails: false,
        }
    }
}

impl ChangesetSource for Source {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        match self.changesets.next() {
            None if self.fails => Err(PortError::new(Code::InvalidInput, "Stop.", "none")),
            next => Ok(next),
        }
    }
}

fn three() -> Vec<Changeset> {
    (1..=3)
        .map(|number| {
            let words = Write::AddComment {
                task: id(number),
                comment: comment("imported"),
            };
            only(insert(&record(number)))
                .write(words)
                .write(Write::RaiseTaskNumber(number + 10))
                .event(event(number))
        })
        .collect()
}

/// A stream is committed as one, in order, and the log has no gap.
pub async fn a_stream_is_committed_in_order(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, changes().event(event(9))).await;
    let outcome = store.commit_stream(&mut Source::of(three())).await.unwrap();
    let Outcome::Committed(receipt) = outcome else {
        panic!("a conflict");
    };
    assert_eq!(receipt.sequence, 4);
    let subjects: Vec<_> = log(&store).await.into_iter().map(|e| e.subject).collect();
    assert_eq!(subjects, ["task/9", "task/1", "task/2", "task/3"]);
    assert_eq!(store.tasks(&[1, 2, 3].map(id)).await.unwrap().len(), 3);
    assert_eq!(store.last_task_number().await.unwrap(), 13);
    commit(&store, only(create("after")).event(event(14))).await;
    assert_eq!(store.last_sequence().await.unwrap(), 5);
}

/// All or nothing: a conflict in the middle undoes everything before it.
pub async fn a_conflict_undoes_the_whole_stream(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(insert(&record(3)))).await;
    let before = contents(&store).await;
    let outcome = store.commit_stream(&mut Source::of(three())).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict(RecordKey::Task(id(3))));
    assert_eq!(contents(&store).await, before);
    commit(&store, only(create("after")).event(event(1))).await;
    assert_eq!(store.last_sequence().await.unwrap(), 1);
}

/// An error of the source undoes everything and is returned.
pub async fn an_error_of_the_source_undoes_the_whole_stream(ground: &dyn Ground) {
    let store = open(ground).await;
    let before = contents(&store).await;
    let mut source = Source {
        fails: true,
        ..Source::of(three())
    };
    let error = store.commit_stream(&mut source).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidInput);
    assert_eq!(contents(&store).await, before);
    commit(&store, only(create("after")).event(event(1))).await;
    assert_eq!(store.last_sequence().await.unwrap(), 1);
}

/// A changeset of a stream sees the effects of those before it.
pub async fn a_stream_sees_its_own_changesets(ground: &dyn Ground) {
    let store = open(ground).await;
    let first = record(1);
    let second = super::sample::replace(&first, |t| t.subject = "later".to_owned());
    let mut source = Source::of(vec![only(insert(&first)), only(second)]);
    let outcome = store.commit_stream(&mut source).await.unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    assert_eq!(super::sample::task(&store, 1).await.revision, 2);
}

/// An empty stream changes nothing.
pub async fn an_empty_stream_changes_nothing(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, changes().event(event(1))).await;
    let before = contents(&store).await;
    let outcome = store.commit_stream(&mut Source::of(Vec::new())).await;
    assert!(matches!(outcome.unwrap(), Outcome::Committed(_)));
    assert_eq!(contents(&store).await, before);
}
