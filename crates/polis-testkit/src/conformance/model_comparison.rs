//! Model-based test: random changesets (records, messages, turns, new tasks) are committed to the store under
//! test, as a stream or several pending at once, and to the in-memory store, which is the model; the outcomes
//! and contents are compared. Changesets pending together must take effect in the order of submission.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use polis_core::message::NewMessage;
use polis_core::record::{RecordKind, RecordName};
use polis_core::{Changeset, WritePrecondition};
use polis_ops::port::{ChangesetSource, CommitOutcome, Store};
use polis_ops::{PortError, PortFuture};

use super::board_fixtures::millis_after_start;
use super::record_fixtures::{
    append_turn, delete_expired_records, delete_record, mark_messages_read, new_message,
    put_expiring_record, put_receipt_record, send_message,
};
use super::store_fixtures::{
    MEMBER_NAMES, create_task, empty_changeset, open_store, snapshot_store, task_event,
};
use crate::store_factory::parse_run_id;
use crate::{MemoryStore, SeededRng, StoreFactory};

const CASE_COUNT: u64 = 256;
const RECORD_KINDS: [RecordKind; 2] = [RecordKind::IdempotencyResponse, RecordKind::Token];

fn random_expectation(rng: &mut SeededRng) -> WritePrecondition {
    match rng.below(4) {
        0 | 1 => WritePrecondition::Absent,
        revision => WritePrecondition::Revision(revision - 1),
    }
}

fn random_changeset(rng: &mut SeededRng) -> Changeset {
    let mut all = empty_changeset();
    for _ in 0..=rng.below(3) {
        let name = RecordName::new(*rng.choose(&RECORD_KINDS), *rng.choose(&["a", "b", "c"]));
        let end = rng.choose_optional(&[1, 2, 3]).map(millis_after_start);
        let body = rng.below(100).to_string();
        let to = *rng.choose(&["architect", "helper"]);
        let member = *rng.choose(&MEMBER_NAMES);
        let write = match rng.below(11) {
            0..=2 => put_expiring_record(&name, random_expectation(rng), end, &body),
            3 => delete_record(&name, random_expectation(rng)),
            4 => delete_expired_records(name.kind, millis_after_start(rng.below(4) as i64)),
            5 | 6 => send_message(&NewMessage {
                deliver_at: millis_after_start(rng.below(3) as i64),
                reply_to: rng.choose_optional(&[1, 2]),
                run: rng.choose_optional(&["run", "run-2"]).map(parse_run_id),
                ..new_message("architect", to, &body)
            }),
            7 => {
                let last = rng.below(6);
                mark_messages_read(to, &[last, rng.below(6)][..=usize::from(rng.one_in(2))])
            }
            8 | 9 => append_turn(member, rng.below(60), &body),
            _ => create_task(&body),
        };
        all.writes.push(write);
    }
    if rng.one_in(2) {
        all.events.push(task_event(rng.below(3) + 1));
    }
    if rng.one_in(3) {
        let name = RecordName::new(*rng.choose(&RECORD_KINDS), *rng.choose(&["d", "e"]));
        all.writes.push(put_receipt_record(&name));
    }
    all
}

/// Starts all of these futures in order, and waits for them together.
async fn join_in_order<T>(mut all: Vec<PortFuture<'_, T>>) -> Vec<Result<T, PortError>> {
    let mut answers: Vec<_> = all.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (one, answer) in all.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(done) = one.as_mut().poll(cx)
            {
                *answer = Some(done);
            }
        }
        if answers.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// A source that yields the changesets it holds.
struct ChangesetList(std::vec::IntoIter<Changeset>);

impl ChangesetSource for ChangesetList {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok(self.0.next())
    }
}

/// Records, messages and turns that are written sequentially, in streams and concurrently give the same
/// result as in the in-memory store.
pub async fn random_changesets_match_model(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut rng = SeededRng::from_seed(7);
    let (mut committed, mut conflicts) = (0, 0);
    for case in 0..CASE_COUNT {
        let some: Vec<Changeset> = (0..=rng.below(4))
            .map(|_| random_changeset(&mut rng))
            .collect();
        if rng.one_in(3) {
            let mut source = ChangesetList(some.clone().into_iter());
            let expected = model.commit_stream(&mut source).await.unwrap();
            let mut source = ChangesetList(some.into_iter());
            let outcome = store.commit_stream(&mut source).await.unwrap();
            assert_eq!(outcome, expected, "case {case}");
        } else {
            // All are pending when the first is committed, so they may share a transaction; a store processes
            // them in the order in which they were submitted.
            let waiting = some.iter().map(|one| store.commit(one.clone()));
            let outcomes = join_in_order(waiting.collect()).await;
            for (one, outcome) in some.into_iter().zip(outcomes) {
                let expected = model.commit(one).await.unwrap();
                match expected {
                    CommitOutcome::Committed(_) => committed += 1,
                    CommitOutcome::Conflict(_) => conflicts += 1,
                }
                assert_eq!(outcome.unwrap(), expected, "case {case}");
            }
        }
        if case % 16 == 0 {
            assert_eq!(
                snapshot_store(&store).await,
                snapshot_store(&model).await,
                "case {case}"
            );
        }
    }
    assert_eq!(snapshot_store(&store).await, snapshot_store(&model).await);
    assert!(committed > 50 && conflicts > 50, "{committed} {conflicts}");
}
