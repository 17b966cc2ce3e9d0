//! Tests of the cost of conversations in the embedded store: the size of the database file, and the query
//! plans (indexes) of frequent queries.

use std::sync::Arc;
use std::time::Duration;

use polis_core::changeset::{Changeset, StoreWrite, WritePrecondition};
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{AgentId, Timestamp};
use polis_ops::port::{CommitOutcome, Ledger as _};
use polis_store::EmbeddedStore;
use polis_store::embedded::{DATABASE_FILE, StoreMode};
use polis_testkit::run_test;
use rusqlite::Connection;

const STORE_TIMEOUT: Duration = Duration::from_secs(60);
const MEMBER_COUNT: u64 = 1_000;
const TURN_COUNT: u64 = 20;

/// Builds a changeset of a member: its state and its turn.
fn turn_changeset(member: u64, turn: u64) -> (usize, Changeset) {
    let name = format!("build-{:04}/backend-{member:05}", member / 10);
    // From 300 to 700 bytes.
    let body = "x".repeat(300 + usize::try_from((member * 7 + turn * 131) % 401).unwrap());
    let state = format!(r#"{{"status":"working","nextTurn":{turn:>60}}}"#);
    let size = body.len() + if turn == 0 { state.len() } else { 0 };
    let changes = Changeset {
        actor: AgentId::user(),
        at: Timestamp::from_millis(0),
        writes: vec![
            StoreWrite::PutRecord {
                name: RecordName::new(RecordKind::MemberState, name.as_str()),
                expect: match turn {
                    0 => WritePrecondition::Absent,
                    revision => WritePrecondition::Revision(revision),
                },
                expires_at: None,
                body: RecordBody::Text(state),
            },
            StoreWrite::AppendTurn {
                member: name,
                turn,
                body: RecordBody::Text(body),
            },
        ],
        events: Vec::new(),
    };
    (size, changes)
}

#[test]
fn conversations_need_little_more_disk_than_their_bytes() {
    run_test(async {
        let directory = tempfile::tempdir().unwrap();
        let open =
            || EmbeddedStore::create(directory.path(), StoreMode::Server, STORE_TIMEOUT).unwrap();
        let length = || {
            std::fs::metadata(directory.path().join(DATABASE_FILE))
                .unwrap()
                .len()
        };
        drop(open());
        let before = length();
        let store = Arc::new(open());
        let mut bytes = 0;
        for turn in 0..TURN_COUNT {
            let mut all = tokio::task::JoinSet::new();
            // Members do not commit in the order of their names.
            for member in (0..MEMBER_COUNT).map(|n| n * 617 % MEMBER_COUNT) {
                let (size, changes) = turn_changeset(member, turn);
                bytes += size as u64;
                let store = Arc::clone(&store);
                all.spawn(async move { store.commit(changes).await.unwrap() });
            }
            while let Some(outcome) = all.join_next().await {
                assert!(matches!(outcome.unwrap(), CommitOutcome::Committed(_)));
            }
        }
        drop(store);
        let grown = length() - before;
        let ratio = grown as f64 / bytes as f64;
        assert!(ratio < 1.3, "{grown} bytes for {bytes}: {ratio:.2}");
        assert!(ratio > 1.0, "{grown} bytes for {bytes}: {ratio:.2}");
    });
}

/// A worker's queries use an index, regardless of the rest of the data.
#[test]
fn worker_queries_use_an_index() {
    let directory = tempfile::tempdir().unwrap();
    drop(EmbeddedStore::create(directory.path(), StoreMode::OneShot, STORE_TIMEOUT).unwrap());
    let connection = Connection::open(directory.path().join(DATABASE_FILE)).unwrap();
    let plan = |sql: &str| -> String {
        let mut select = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let count = select.parameter_count();
        let lines = select
            .query_map(rusqlite::params_from_iter(vec![1; count]), |row| {
                row.get::<_, String>(3)
            })
            .unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let waiting = "read_at IS NULL AND recipient <> 'user'";
    for (sql, index) in [
        (
            format!(
                "SELECT task, recipient FROM messages WHERE {waiting} AND (task, recipient) > (?1, ?2) \
                 AND deliver_at + 0 <= ?3 ORDER BY task, recipient LIMIT 1"
            ),
            "messages_waiting ((task,recipient)>(?,?))",
        ),
        (
            format!(
                "SELECT id FROM messages WHERE recipient = $1 AND id > $2 AND deliver_at + 0 <= $3 \
                 AND {waiting} AND task = $4 ORDER BY id LIMIT $5"
            ),
            "messages_waiting (task=? AND recipient=? AND id>?)",
        ),
        (
            "SELECT min(deliver_at) FROM messages WHERE read_at IS NULL AND deliver_at > $1"
                .to_owned(),
            "messages_to_come (deliver_at>?)",
        ),
        (
            "SELECT id, payload FROM messages WHERE sender = 'user' AND recipient <> 'user' AND id < $1 \
             ORDER BY id DESC LIMIT $2"
                .to_owned(),
            "messages_of_person (id<?)",
        ),
        (
            "SELECT id, payload FROM messages WHERE sender = 'user' AND recipient <> 'user' ORDER BY id DESC LIMIT $1"
                .to_owned(),
            "messages_of_person",
        ),
        (
            "SELECT id, payload FROM messages WHERE sender = 'user' AND recipient <> 'user' AND recipient = $1 \
             ORDER BY id DESC LIMIT $2"
                .to_owned(),
            "messages_from_person (recipient=?)",
        ),
        (
            "SELECT body FROM records WHERE kind = 'command' AND substr(id, instr(id, '/') + 1) > ? \
             ORDER BY substr(id, instr(id, '/') + 1), id LIMIT ?"
                .to_owned(),
            "commands_by_name (kind=? AND <expr>>?)",
        ),
        (
            "SELECT body FROM agents WHERE run = ? AND role = ? ORDER BY id".to_owned(),
            "agents_by_run (run=? AND role=?)",
        ),
    ] {
        let plan = plan(&sql);
        assert!(plan.contains(index), "{plan}");
        assert!(!plan.contains("B-TREE"), "{plan}");
    }
}
