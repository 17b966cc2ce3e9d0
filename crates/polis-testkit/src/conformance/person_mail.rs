//! Conformance test of the store port `MessageReader`: `person_mail`, the query for messages to and from the
//! person (`user`), compared with the in-memory store.

use std::sync::Arc;

use polis_core::message::NewMessage;
use polis_ops::port::{PersonMailQuery, Store};

use super::board_fixtures::millis_after_start;
use super::record_fixtures::{mark_messages_read, new_message, send_message};
use super::store_fixtures::{commit_changeset, open_store, single_write};
use crate::store_factory::parse_agent_id;
use crate::{MemoryStore, SeededRng, StoreFactory};

const CORRESPONDENTS: [&str; 4] = ["user", "a", "b", "root"];
const RUN_NAMES: [&str; 2] = ["one", "two"];

/// `person_mail` returns messages to and from the person, newest first; compared with the in-memory store
/// over random messages.
pub async fn person_mail_matches_every_filter(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(23);
    let store = open_store(factory).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    for number in 1..=80_u64 {
        let (from, to) = (*rng.choose(&CORRESPONDENTS), *rng.choose(&CORRESPONDENTS));
        let one = NewMessage {
            run: rng
                .choose_optional(&RUN_NAMES)
                .map(|run| run.parse().unwrap()),
            deliver_at: millis_after_start(rng.below(4) as i64),
            reply_to: rng.one_in(3).then(|| rng.below(number)),
            ..new_message(from, to, "text")
        };
        let mut writes = vec![send_message(&one)];
        writes.extend(rng.one_in(3).then(|| mark_messages_read(to, &[number])));
        for write in writes {
            commit_changeset(&store, single_write(write.clone())).await;
            commit_changeset(&model, single_write(write)).await;
        }
    }
    let mut found = 0;
    for _ in 0..300 {
        let query = PersonMailQuery {
            correspondent: rng.choose_optional(&CORRESPONDENTS).map(parse_agent_id),
            run: rng
                .choose_optional(&RUN_NAMES)
                .map(|run| run.parse().unwrap()),
            open_only: rng.one_in(2),
            before: rng.one_in(2).then(|| rng.below(90)),
            now: millis_after_start(rng.below(4) as i64),
            limit: *rng.choose(&[0, 1, 3, 100]),
        };
        let mail = store.person_mail(&query).await.unwrap();
        found += mail.len();
        assert_eq!(mail, model.person_mail(&query).await.unwrap(), "{query:?}");
    }
    assert!(found > 150, "too few matches to test anything: {found}");
}
