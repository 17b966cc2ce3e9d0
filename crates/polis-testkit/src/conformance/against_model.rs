//! Model-based test: random changesets are committed to the store under test and to the in-memory model, and
//! the outcomes and contents are compared.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use polis_core::message::NewMessage;
use polis_core::record::{RecordKind, RecordName};
use polis_core::{Changeset, Expect};
use polis_ops::port::{ChangesetSource, Outcome, Store};
use polis_ops::{PortError, PortFuture};

use super::board_sample::millis;
use super::plain_sample::{
    append, delete, forget, letter, mark_read, put_receipt, put_until, send,
};
use super::sample::{MEMBERS, changes, contents, create, event, open};
use crate::test_store::run_named;
use crate::{Dice, Ground, MemoryStore};

const CASES: u64 = 256;
const KINDS: [RecordKind; 2] = [RecordKind::Reply, RecordKind::Token];

fn any_expect(dice: &mut Dice) -> Expect {
    match dice.below(4) {
        0 | 1 => Expect::Absent,
        revision => Expect::Revision(revision - 1),
    }
}

fn any_changeset(dice: &mut Dice) -> Changeset {
    let mut all = changes();
    for _ in 0..=dice.below(3) {
        let name = RecordName::new(*dice.pick(&KINDS), *dice.pick(&["a", "b", "c"]));
        let end = dice.maybe(&[1, 2, 3]).map(millis);
        let body = dice.below(100).to_string();
        let to = *dice.pick(&["architect", "helper"]);
        let of = *dice.pick(&MEMBERS);
        let write = match dice.below(11) {
            0..=2 => put_until(&name, any_expect(dice), end, &body),
            3 => delete(&name, any_expect(dice)),
            4 => forget(name.kind, millis(dice.below(4) as i64)),
            5 | 6 => send(&NewMessage {
                deliver_at: millis(dice.below(3) as i64),
                reply_to: dice.maybe(&[1, 2]),
                run: dice.maybe(&["run", "run-2"]).map(run_named),
                ..letter("architect", to, &body)
            }),
            7 => {
                let last = dice.below(6);
                mark_read(to, &[last, dice.below(6)][..=usize::from(dice.once_in(2))])
            }
            8 | 9 => append(of, dice.below(60), &body),
            _ => create(&body),
        };
        all.writes.push(write);
    }
    if dice.once_in(2) {
        all.events.push(event(dice.below(3) + 1));
    }
    if dice.once_in(3) {
        let name = RecordName::new(*dice.pick(&KINDS), *dice.pick(&["d", "e"]));
        all.writes.push(put_receipt(&name));
    }
    all
}

/// Starts all of these futures in order, and waits for them together.
async fn in_order<T>(mut all: Vec<PortFuture<'_, T>>) -> Vec<Result<T, PortError>> {
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
struct Source(std::vec::IntoIter<Changeset>);

impl ChangesetSource for Source {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok(self.0.next())
    }
}

/// Records, messages and turns that are written sequentially, in streams and concurrently give the same
/// result as in the model.
pub async fn records_messages_and_turns_are_those_of_the_model(ground: &dyn Ground) {
    let store = open(ground).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut dice = Dice::of(7);
    let (mut committed, mut conflicts) = (0, 0);
    for case in 0..CASES {
        let some: Vec<Changeset> = (0..=dice.below(4))
            .map(|_| any_changeset(&mut dice))
            .collect();
        if dice.once_in(3) {
            let mut source = Source(some.clone().into_iter());
            let expected = model.commit_stream(&mut source).await.unwrap();
            let mut source = Source(some.into_iter());
            let outcome = store.commit_stream(&mut source).await.unwrap();
            assert_eq!(outcome, expected, "case {case}");
        } else {
            // All are pending when the first is committed, so they may share a transaction; a store processes
            // them in the order in which they were submitted.
            let waiting = some.iter().map(|one| store.commit(one.clone()));
            let outcomes = in_order(waiting.collect()).await;
            for (one, outcome) in some.into_iter().zip(outcomes) {
                let expected = model.commit(one).await.unwrap();
                match expected {
                    Outcome::Committed(_) => committed += 1,
                    Outcome::Conflict(_) => conflicts += 1,
                }
                assert_eq!(outcome.unwrap(), expected, "case {case}");
            }
        }
        if case % 16 == 0 {
            assert_eq!(
                contents(&store).await,
                contents(&model).await,
                "case {case}"
            );
        }
    }
    assert_eq!(contents(&store).await, contents(&model).await);
    assert!(committed > 50 && conflicts > 50, "{committed} {conflicts}");
}
