//! Conformance tests of the store ports, for generic records (JSON documents with kind, id, revision and
//! expiry): conflicts, listing, expiry, and bodies computed from the receipt.

use std::sync::Arc;

use polis_core::changeset::StoreWrite;
use polis_core::record::{RecordKind, RecordName};
use polis_core::{RecordKey, WritePrecondition};
use polis_ops::port::CommitOutcome;

use super::board_fixtures::{millis_after_start, overwrite_global, put_board};
use super::field_round_trip::DIFFICULT_TEXT;
use super::record_fixtures::{
    assert_conflict, delete_expired_records, delete_record, format_receipt, list_records,
    new_message, put_expiring_record, put_receipt_record, put_record, read_record,
    reply_record_name, send_message,
};
use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, insert_tasks, new_comment, open_store,
    single_write, snapshot_store, task_event, task_id, task_record,
};
use crate::StoreFactory;

/// A record's body is stored unchanged; its revision starts at 1 and increases by one with every put. The
/// same id in another kind is another record.
pub async fn record_body_is_stored_unchanged(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    for (at, kind) in RecordKind::ALL.into_iter().enumerate() {
        let name = RecordName::new(kind, DIFFICULT_TEXT);
        assert_eq!(read_record(&other, &name).await, None);
        let first = format!("{DIFFICULT_TEXT} {at}");
        commit_changeset(
            &store,
            single_write(put_record(&name, WritePrecondition::Absent, &first)),
        )
        .await;
        assert_eq!(read_record(&other, &name).await, Some((1, first)));
    }
    let name = RecordName::new(RecordKind::Webhook, DIFFICULT_TEXT);
    for revision in 1..4 {
        let body = format!("\r\n {revision} \t");
        commit_changeset(
            &store,
            single_write(put_record(
                &name,
                WritePrecondition::Revision(revision),
                &body,
            )),
        )
        .await;
        assert_eq!(read_record(&other, &name).await, Some((revision + 1, body)));
    }
    let token = RecordName::new(RecordKind::Token, DIFFICULT_TEXT);
    assert_eq!(
        read_record(&other, &token).await,
        Some((1, format!("{DIFFICULT_TEXT} 0")))
    );
    commit_changeset(
        &store,
        single_write(put_record(&token, WritePrecondition::Revision(1), "")),
    )
    .await;
    assert_eq!(read_record(&other, &token).await, Some((2, String::new())));
}

/// A body of several megabytes is stored.
pub async fn largest_record_is_stored(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let name = RecordName::new(RecordKind::Artifact, "large");
    let body = "件🚀".repeat(polis_core::artifact::MAX_ARTIFACT_BYTES / 7);
    commit_changeset(
        &store,
        single_write(put_record(&name, WritePrecondition::Absent, &body)),
    )
    .await;
    let small = RecordName::new(RecordKind::Artifact, "small");
    commit_changeset(
        &store,
        single_write(put_record(&small, WritePrecondition::Absent, "{}")),
    )
    .await;
    let found = read_record(&store, &name).await.unwrap();
    assert!(found.1 == body, "a long body was changed");
    let listed = store.records(RecordKind::Artifact, Some("large"), 9).await;
    assert_eq!(listed.unwrap()[0].body, "{}");
}

/// Records are listed by id in byte order, after `after`, at most `limit`: over all pages, every record of
/// the kind and no other.
pub async fn records_are_listed_in_id_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    // In byte order, which is neither the collation of any language nor that of UTF-16.
    let ids = [
        "",
        " ",
        "A",
        "Z",
        "_",
        "a",
        "a b",
        "a-b",
        "aB",
        "ab",
        "e\u{301}",
        "z",
        "é",
        "程序员",
        "\u{ff61}",
        "🚀",
    ];
    let mut all = empty_changeset();
    for (at, id) in ids.iter().enumerate().rev() {
        all.writes.push(put_record(
            &reply_record_name(id),
            WritePrecondition::Absent,
            &at.to_string(),
        ));
        let elsewhere = RecordName::new(RecordKind::Token, format!("{id}a"));
        all.writes
            .push(put_record(&elsewhere, WritePrecondition::Absent, "another"));
    }
    commit_changeset(&store, all).await;
    let list = async |after: Option<&str>, limit: u32| -> Vec<String> {
        let found = store
            .records(RecordKind::IdempotencyResponse, after, limit)
            .await;
        found.unwrap().into_iter().map(|found| found.id).collect()
    };
    assert_eq!(list(None, u32::MAX).await, ids);
    assert_eq!(list(None, 0).await, [""; 0]);
    assert_eq!(list(Some("aA"), 2).await, ["aB", "ab"]);
    assert_eq!(list(Some("🚀"), 9).await, [""; 0]);
    for (at, id) in ids.iter().enumerate() {
        let rest = &ids[at + 1..];
        assert_eq!(list(Some(id), 3).await, &rest[..rest.len().min(3)]);
    }
    let found = list_records(&store, RecordKind::IdempotencyResponse).await;
    let bodies: Vec<String> = found.into_iter().map(|found| found.body).collect();
    assert_eq!(
        bodies,
        (0..ids.len()).map(|at| at.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(list_records(&store, RecordKind::Webhook).await, []);
}

/// `commands_of_all_owners` returns commands of all owners, ordered by the part of their ids after `OWNER/`
/// (as bytes), after `after`, at most `limit`.
pub async fn commands_of_all_owners_are_listed_in_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    for id in ["z/1", "a/3", "程/2", "b/2", "a/2/9", "b/程", "none", "a/"] {
        for kind in [RecordKind::Command, RecordKind::RunningCommand] {
            let name = RecordName::new(kind, id);
            all.writes
                .push(put_record(&name, WritePrecondition::Absent, id));
        }
    }
    commit_changeset(&store, all).await;
    let list = async |after: &str, limit: u32| -> Vec<String> {
        let found = store.commands_of_all_owners(after, limit).await.unwrap();
        for one in &found {
            assert_eq!((one.revision, &one.body), (1, &one.id));
        }
        found.into_iter().map(|one| one.id).collect()
    };
    let whole = ["z/1", "b/2", "程/2", "a/2/9", "a/3", "none", "b/程"];
    assert_eq!(list("", u32::MAX).await, whole);
    assert_eq!(list("", 2).await, whole[..2]);
    assert_eq!(list("1", 1).await, ["b/2"]);
    assert_eq!(list("2", 9).await, whole[3..]);
    assert_eq!(list("程", 9).await, [""; 0]);
}

/// `records_of_owner` returns the records of a kind whose id is `OWNER/…`, by id (as bytes), after the id
/// `after`, at most `limit`.
pub async fn records_of_owner_are_listed_in_id_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    for id in [
        "run", "run-", "run-/a", "run.", "run/", "run/a", "run/ab", "run/b", "run/程", "run0",
        "run0/a", "ru", "s/a", "程/a", "程/b",
    ] {
        for kind in [RecordKind::Member, RecordKind::SocietyRole] {
            let name = RecordName::new(kind, id);
            all.writes
                .push(put_record(&name, WritePrecondition::Absent, id));
        }
    }
    commit_changeset(&store, all).await;
    let list = async |owner: &str, after: Option<&str>, limit: u32| -> Vec<String> {
        let found = store.records_of_owner(RecordKind::Member, owner, after, limit);
        let found = found.await.unwrap();
        for one in &found {
            assert_eq!((one.revision, &one.body), (1, &one.id));
        }
        found.into_iter().map(|one| one.id).collect()
    };
    let whole = ["run/a", "run/ab", "run/b", "run/程"];
    assert_eq!(list("run", None, u32::MAX).await, whole);
    assert_eq!(list("run", None, 2).await, whole[..2]);
    assert_eq!(list("run", Some("run/ab"), 2).await, whole[2..]);
    assert_eq!(list("run", Some("run/aa"), 1).await, ["run/ab"]);
    assert_eq!(list("run", Some("run/程"), 9).await, [""; 0]);
    assert_eq!(list("run", Some("s"), 9).await, [""; 0]);
    assert_eq!(list("run", Some("a"), 9).await, whole);
    assert_eq!(list("程", None, 9).await, ["程/a", "程/b"]);
    assert_eq!(list("nobody", None, 9).await, [""; 0]);
}

/// A record that is not at the expected revision is a conflict that names it, and none of the changeset is
/// applied.
pub async fn record_revision_mismatch_conflicts(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let (existing, missing) = (reply_record_name("here"), reply_record_name("nowhere"));
    commit_changeset(
        &store,
        single_write(put_record(&existing, WritePrecondition::Absent, "1")),
    )
    .await;
    commit_changeset(
        &store,
        single_write(put_record(&existing, WritePrecondition::Revision(1), "2")),
    )
    .await;
    let before = snapshot_store(&store).await;
    let cases = [
        (
            put_record(&existing, WritePrecondition::Absent, "3"),
            &existing,
        ),
        (
            put_record(&existing, WritePrecondition::Revision(1), "3"),
            &existing,
        ),
        (
            put_record(&existing, WritePrecondition::Revision(3), "3"),
            &existing,
        ),
        (
            put_record(&missing, WritePrecondition::Revision(1), "3"),
            &missing,
        ),
        (
            put_record(&missing, WritePrecondition::Revision(0), "3"),
            &missing,
        ),
        (
            delete_record(&existing, WritePrecondition::Revision(1)),
            &existing,
        ),
        (
            delete_record(&existing, WritePrecondition::Absent),
            &existing,
        ),
        (
            delete_record(&missing, WritePrecondition::Revision(1)),
            &missing,
        ),
        (
            StoreWrite::PutRecord {
                name: existing.clone(),
                expect: WritePrecondition::Absent,
                expires_at: None,
                body: polis_core::record::RecordBody::FromReceipt(Arc::new(format_receipt)),
            },
            &existing,
        ),
    ];
    for (write, name) in cases {
        let all = empty_changeset()
            .with_write(create_task("new"))
            .with_write(put_record(
                &reply_record_name("beside"),
                WritePrecondition::Absent,
                "new",
            ))
            .with_write(send_message(&new_message("a", "b", "hello")))
            .with_write(delete_expired_records(RecordKind::Token, i64::MAX))
            .with_write(write)
            .with_event(task_event(1));
        assert_conflict(&store, all, RecordKey::Record(name.clone())).await;
    }
    assert_eq!(snapshot_store(&store).await, before);
    // A message that was not sent leaves no gap in the numbers.
    let receipt = commit_changeset(
        &store,
        single_write(send_message(&new_message("a", "b", "hello"))),
    )
    .await;
    assert_eq!(receipt.messages, [1]);
}

/// A deleted record is gone: writes that expect its revision conflict, and putting it again starts at
/// revision 1.
pub async fn deleted_record_does_not_exist(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let name = reply_record_name("one");
    let deleted_key = || RecordKey::Record(name.clone());
    commit_changeset(
        &store,
        single_write(put_record(&name, WritePrecondition::Absent, "1")),
    )
    .await;
    commit_changeset(
        &store,
        single_write(put_record(&name, WritePrecondition::Revision(1), "2")),
    )
    .await;
    commit_changeset(
        &store,
        single_write(delete_record(&name, WritePrecondition::Revision(2))),
    )
    .await;
    assert_eq!(read_record(&other, &name).await, None);
    assert_eq!(
        list_records(&other, RecordKind::IdempotencyResponse).await,
        []
    );
    assert_conflict(
        &other,
        single_write(put_record(&name, WritePrecondition::Revision(2), "3")),
        deleted_key(),
    )
    .await;
    assert_conflict(
        &other,
        single_write(delete_record(&name, WritePrecondition::Revision(2))),
        deleted_key(),
    )
    .await;
    commit_changeset(
        &other,
        single_write(put_record(&name, WritePrecondition::Absent, "again")),
    )
    .await;
    assert_eq!(
        read_record(&store, &name).await,
        Some((1, "again".to_owned()))
    );
}

/// Of several puts or deletes that expect the same revision, exactly one is committed: concurrently from
/// several handles, and from one.
pub async fn concurrent_writes_of_one_record_one_commits(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let name = reply_record_name("wanted");
    for round in 0..12_u64 {
        let found = read_record(&handles[0], &name).await;
        let expect = found.map_or(WritePrecondition::Absent, |(revision, _)| {
            WritePrecondition::Revision(revision)
        });
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let deletes = matches!(expect, WritePrecondition::Revision(3)) && n % 3 == 0;
            let write = if deletes {
                delete_record(&name, expect)
            } else {
                put_record(&name, expect, &format!("round {round} rival {n}"))
            };
            let all = single_write(write)
                .with_write(create_task("won"))
                .with_event(task_event(1));
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut committed = 0;
        for rival in rivals.collect::<Vec<_>>() {
            match rival.await.unwrap() {
                CommitOutcome::Committed(_) => committed += 1,
                CommitOutcome::Conflict(key) => assert_eq!(key, RecordKey::Record(name.clone())),
            }
        }
        assert_eq!(committed, 1, "round {round}");
    }
    assert_eq!(handles[1].last_sequence().await.unwrap(), 12);
    assert_eq!(handles[1].last_task_number().await.unwrap(), 12);
}

/// `StoreWrite::ForgetRecords` deletes the records of a kind that had expired at the given time, and no
/// others.
pub async fn expired_records_are_deleted_by_forget(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut all = empty_changeset();
    let ends = [
        ("before", Some(9)),
        ("at", Some(10)),
        ("after", Some(11)),
        ("stays", None),
    ];
    for (id, end) in ends {
        let end = end.map(millis_after_start);
        all.writes.push(put_expiring_record(
            &reply_record_name(id),
            WritePrecondition::Absent,
            end,
            id,
        ));
        let token = RecordName::new(RecordKind::Token, id);
        all.writes.push(put_expiring_record(
            &token,
            WritePrecondition::Absent,
            end,
            id,
        ));
    }
    commit_changeset(&store, all).await;
    let ids = async |kind| -> Vec<String> {
        let found = list_records(&other, kind).await;
        found.into_iter().map(|found| found.id).collect()
    };
    commit_changeset(
        &store,
        single_write(delete_expired_records(
            RecordKind::IdempotencyResponse,
            millis_after_start(8),
        )),
    )
    .await;
    assert_eq!(ids(RecordKind::IdempotencyResponse).await.len(), 4);
    commit_changeset(
        &store,
        single_write(delete_expired_records(
            RecordKind::IdempotencyResponse,
            millis_after_start(10),
        )),
    )
    .await;
    assert_eq!(
        ids(RecordKind::IdempotencyResponse).await,
        ["after", "stays"]
    );
    assert_eq!(ids(RecordKind::Token).await.len(), 4);
    // The expiry is that of the newest put.
    let later = put_expiring_record(
        &reply_record_name("after"),
        WritePrecondition::Revision(1),
        Some(millis_after_start(20)),
        "later",
    );
    let ending = put_expiring_record(
        &reply_record_name("stays"),
        WritePrecondition::Revision(1),
        Some(millis_after_start(5)),
        "ends",
    );
    commit_changeset(&store, single_write(later).with_write(ending)).await;
    commit_changeset(
        &store,
        single_write(delete_expired_records(
            RecordKind::IdempotencyResponse,
            millis_after_start(12),
        )),
    )
    .await;
    assert_eq!(ids(RecordKind::IdempotencyResponse).await, ["after"]);
    commit_changeset(
        &store,
        single_write(put_record(
            &reply_record_name("after"),
            WritePrecondition::Revision(2),
            "for ever",
        )),
    )
    .await;
    commit_changeset(
        &store,
        single_write(delete_expired_records(
            RecordKind::IdempotencyResponse,
            i64::MAX,
        )),
    )
    .await;
    assert_eq!(ids(RecordKind::IdempotencyResponse).await, ["after"]);
    // A forgotten record can be created again, and only so.
    let stale = put_record(
        &reply_record_name("at"),
        WritePrecondition::Revision(1),
        "stale",
    );
    assert_conflict(
        &store,
        single_write(stale),
        RecordKey::Record(reply_record_name("at")),
    )
    .await;
    commit_changeset(
        &store,
        single_write(put_record(
            &reply_record_name("at"),
            WritePrecondition::Absent,
            "new",
        )),
    )
    .await;
    assert_eq!(
        read_record(&other, &reply_record_name("at")).await,
        Some((1, "new".to_owned()))
    );
}

/// A changeset is checked against the state before it, and then written in order.
pub async fn record_writes_of_changeset_apply_in_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let end = Some(millis_after_start(5));
    let mut all = empty_changeset();
    for id in ["deleted", "forgotten", "kept", "ended"] {
        all.writes.push(put_expiring_record(
            &reply_record_name(id),
            WritePrecondition::Absent,
            end,
            "old",
        ));
    }
    commit_changeset(&store, all).await;
    let precondition = WritePrecondition::Revision(1);
    let all = empty_changeset()
        .with_write(delete_record(&reply_record_name("deleted"), precondition))
        .with_write(put_record(
            &reply_record_name("deleted"),
            precondition,
            "put after",
        ))
        .with_write(put_expiring_record(
            &reply_record_name("kept"),
            precondition,
            Some(millis_after_start(9)),
            "put before",
        ))
        .with_write(put_expiring_record(
            &reply_record_name("ended"),
            precondition,
            end,
            "put before",
        ))
        .with_write(put_expiring_record(
            &reply_record_name("new"),
            WritePrecondition::Absent,
            end,
            "put before",
        ))
        .with_write(delete_expired_records(
            RecordKind::IdempotencyResponse,
            millis_after_start(5),
        ))
        .with_write(put_record(
            &reply_record_name("forgotten"),
            precondition,
            "put after",
        ));
    commit_changeset(&store, all).await;
    let found = list_records(&store, RecordKind::IdempotencyResponse).await;
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.id.as_str(), one.revision, one.body.as_str()))
        .collect();
    let expected = [
        ("deleted", 1, "put after"),
        ("forgotten", 1, "put after"),
        ("kept", 2, "put before"),
    ];
    assert_eq!(found, expected);
}

/// A body computed from the receipt contains the complete receipt, and is committed with the rest.
pub async fn record_body_can_contain_complete_receipt(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut blocked = task_record(1);
    blocked.open_blockers = 1;
    insert_tasks(&store, &[blocked, task_record(2)]).await;
    commit_changeset(
        &store,
        single_write(send_message(&new_message("a", "b", "first"))).with_event(task_event(1)),
    )
    .await;
    let all = empty_changeset()
        .with_write(create_task("new"))
        .with_write(StoreWrite::AddComment {
            task: task_id(2),
            comment: new_comment("said"),
        })
        .with_write(StoreWrite::CloseBlocker {
            dependents: vec![task_id(1)],
        })
        .with_write(put_board(overwrite_global(None, "a line\n")))
        .with_write(send_message(&new_message("a", "b", "second")))
        .with_write(send_message(&new_message("a", "c", "third")))
        .with_write(put_receipt_record(&reply_record_name("answer")))
        .with_event(task_event(1))
        .with_event(task_event(2));
    let receipt = commit_changeset(&store, all).await;
    assert_eq!(receipt.sequence, 3);
    assert_eq!(receipt.created, Some(task_id(3)));
    assert_eq!(receipt.comment, Some(1));
    assert_eq!(receipt.board, Some(1));
    assert_eq!(receipt.messages, [2, 3]);
    assert_eq!(receipt.unblocked, [task_id(1)]);
    let found = read_record(&other, &reply_record_name("answer")).await;
    assert_eq!(found, Some((1, format_receipt(&receipt))));
}

/// In a group commit, each body is computed from its own changeset's receipt.
pub async fn record_body_uses_receipt_of_own_changeset(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let asking = (0..32_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let name = reply_record_name(&format!("answer {n}"));
        let all = empty_changeset()
            .with_write(create_task(&n.to_string()))
            .with_write(send_message(&new_message("a", "b", &n.to_string())))
            .with_write(put_receipt_record(&name))
            .with_event(task_event(1));
        tokio::spawn(async move { (name, commit_changeset(&store, all).await) })
    });
    for one in asking.collect::<Vec<_>>() {
        let (name, receipt) = one.await.unwrap();
        let found = read_record(&handles[0], &name).await;
        assert_eq!(found, Some((1, format_receipt(&receipt))));
    }
    assert_eq!(
        list_records(&handles[1], RecordKind::IdempotencyResponse)
            .await
            .len(),
        32
    );
}
