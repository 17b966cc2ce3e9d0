//! Port guarantees: messages to and from the user.

use std::sync::Arc;

use polis_core::message::NewMessage;
use polis_ops::port::{PersonMailQuery, Store};

use super::board_sample::millis;
use super::plain_sample::{letter, mark_read, send};
use super::sample::{commit, only, open};
use crate::test_store::agent;
use crate::{Dice, Ground, MemoryStore};

const WHO: [&str; 4] = ["user", "a", "b", "root"];
const RUNS: [&str; 2] = ["one", "two"];

/// `person_mail` returns messages to and from the user, newest first; compared with the model over random
/// messages.
pub async fn the_persons_mail_is_what_the_conditions_admit(ground: &dyn Ground) {
    let mut dice = Dice::of(23);
    let store = open(ground).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    for number in 1..=80_u64 {
        let (from, to) = (*dice.pick(&WHO), *dice.pick(&WHO));
        let one = NewMessage {
            run: dice.maybe(&RUNS).map(|run| run.parse().unwrap()),
            deliver_at: millis(dice.below(4) as i64),
            reply_to: dice.once_in(3).then(|| dice.below(number)),
            ..letter(from, to, "text")
        };
        let mut writes = vec![send(&one)];
        writes.extend(dice.once_in(3).then(|| mark_read(to, &[number])));
        for write in writes {
            commit(&store, only(write.clone())).await;
            commit(&model, only(write)).await;
        }
    }
    let mut found = 0;
    for _ in 0..300 {
        let query = PersonMailQuery {
            with: dice.maybe(&WHO).map(agent),
            run: dice.maybe(&RUNS).map(|run| run.parse().unwrap()),
            open: dice.once_in(2),
            before: dice.once_in(2).then(|| dice.below(90)),
            now: millis(dice.below(4) as i64),
            limit: *dice.pick(&[0, 1, 3, 100]),
        };
        let mail = store.person_mail(&query).await.unwrap();
        found += mail.len();
        assert_eq!(mail, model.person_mail(&query).await.unwrap(), "{query:?}");
    }
    assert!(found > 150, "the letters say nothing: {found}");
}
