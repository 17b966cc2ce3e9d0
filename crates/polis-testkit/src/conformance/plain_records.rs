//! Port guarantees: generic records (kind, id, revision, body, expiry).

use std::sync::Arc;

use polis_core::changeset::Write;
use polis_core::record::{RecordKind, RecordName};
use polis_core::{Expect, RecordKey};
use polis_ops::port::Outcome;

use super::board_sample::{millis, whole, written};
use super::plain_sample::{
    all_of, conflicts, delete, forget, letter, put, put_receipt, put_until, receipt_text, reply,
    send, stored,
};
use super::records::HARD;
use super::sample::{
    changes, comment, commit, contents, create, event, fill, id, only, open, record,
};
use crate::Ground;

/// A record's body is stored unchanged; its revision starts at 1 and increases by one with every put. The
/// same id in another kind is another record.
pub async fn a_record_keeps_what_it_was_given(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    for (at, kind) in RecordKind::ALL.into_iter().enumerate() {
        let name = RecordName::new(kind, HARD);
        assert_eq!(stored(&other, &name).await, None);
        let first = format!("{HARD} {at}");
        commit(&store, only(put(&name, Expect::Absent, &first))).await;
        assert_eq!(stored(&other, &name).await, Some((1, first)));
    }
    let name = RecordName::new(RecordKind::Webhook, HARD);
    for revision in 1..4 {
        let body = format!("\r\n {revision} \t");
        commit(&store, only(put(&name, Expect::Revision(revision), &body))).await;
        assert_eq!(stored(&other, &name).await, Some((revision + 1, body)));
    }
    let token = RecordName::new(RecordKind::Token, HARD);
    assert_eq!(stored(&other, &token).await, Some((1, format!("{HARD} 0"))));
    commit(&store, only(put(&token, Expect::Revision(1), ""))).await;
    assert_eq!(stored(&other, &token).await, Some((2, String::new())));
}

/// A body of several megabytes is stored.
pub async fn the_largest_record_is_kept(ground: &dyn Ground) {
    let store = open(ground).await;
    let name = RecordName::new(RecordKind::Artifact, "large");
    let body = "件🚀".repeat(polis_core::artifact::MAX_BYTES / 7);
    commit(&store, only(put(&name, Expect::Absent, &body))).await;
    let small = RecordName::new(RecordKind::Artifact, "small");
    commit(&store, only(put(&small, Expect::Absent, "{}"))).await;
    let found = stored(&store, &name).await.unwrap();
    assert!(found.1 == body, "a long body was changed");
    let listed = store.records(RecordKind::Artifact, Some("large"), 9).await;
    assert_eq!(listed.unwrap()[0].body, "{}");
}

/// Records are listed by id in byte order, after `after`, at most `limit`: over all pages, every record of
/// the kind and no other.
pub async fn records_are_listed_by_id(ground: &dyn Ground) {
    let store = open(ground).await;
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
    let mut all = changes();
    for (at, id) in ids.iter().enumerate().rev() {
        all.writes
            .push(put(&reply(id), Expect::Absent, &at.to_string()));
        let elsewhere = RecordName::new(RecordKind::Token, format!("{id}a"));
        all.writes.push(put(&elsewhere, Expect::Absent, "another"));
    }
    commit(&store, all).await;
    let list = async |after: Option<&str>, limit: u32| -> Vec<String> {
        let found = store.records(RecordKind::Reply, after, limit).await;
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
    let found = all_of(&store, RecordKind::Reply).await;
    let bodies: Vec<String> = found.into_iter().map(|found| found.body).collect();
    assert_eq!(
        bodies,
        (0..ids.len()).map(|at| at.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(all_of(&store, RecordKind::Webhook).await, []);
}

/// `commands_of_all` returns commands of all owners, ordered by the part of their ids after `OWNER/` (as
/// bytes), after `after`, at most `limit`.
pub async fn commands_of_all_owners_are_listed(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    for id in ["z/1", "a/3", "程/2", "b/2", "a/2/9", "b/程", "none", "a/"] {
        for kind in [RecordKind::Command, RecordKind::RunningCommand] {
            let name = RecordName::new(kind, id);
            all.writes.push(put(&name, Expect::Absent, id));
        }
    }
    commit(&store, all).await;
    let list = async |after: &str, limit: u32| -> Vec<String> {
        let found = store.commands_of_all(after, limit).await.unwrap();
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

/// `records_of` returns the records of a kind whose id is `OWNER/…`, by id (as bytes), after the id `after`,
/// at most `limit`.
pub async fn records_of_an_owner_are_listed(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    for id in [
        "run", "run-", "run-/a", "run.", "run/", "run/a", "run/ab", "run/b", "run/程", "run0",
        "run0/a", "ru", "s/a", "程/a", "程/b",
    ] {
        for kind in [RecordKind::Member, RecordKind::Role] {
            let name = RecordName::new(kind, id);
            all.writes.push(put(&name, Expect::Absent, id));
        }
    }
    commit(&store, all).await;
    let list = async |owner: &str, after: Option<&str>, limit: u32| -> Vec<String> {
        let found = store.records_of(RecordKind::Member, owner, after, limit);
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
pub async fn a_conflict_names_the_plain_record(ground: &dyn Ground) {
    let store = open(ground).await;
    let (here, nowhere) = (reply("here"), reply("nowhere"));
    commit(&store, only(put(&here, Expect::Absent, "1"))).await;
    commit(&store, only(put(&here, Expect::Revision(1), "2"))).await;
    let before = contents(&store).await;
    let cases = [
        (put(&here, Expect::Absent, "3"), &here),
        (put(&here, Expect::Revision(1), "3"), &here),
        (put(&here, Expect::Revision(3), "3"), &here),
        (put(&nowhere, Expect::Revision(1), "3"), &nowhere),
        (put(&nowhere, Expect::Revision(0), "3"), &nowhere),
        (delete(&here, Expect::Revision(1)), &here),
        (delete(&here, Expect::Absent), &here),
        (delete(&nowhere, Expect::Revision(1)), &nowhere),
        (
            Write::PutRecord {
                name: here.clone(),
                expect: Expect::Absent,
                expires_at: None,
                body: polis_core::record::RecordBody::OfReceipt(Arc::new(receipt_text)),
            },
            &here,
        ),
    ];
    for (write, name) in cases {
        let all = changes()
            .write(create("new"))
            .write(put(&reply("beside"), Expect::Absent, "new"))
            .write(send(&letter("a", "b", "hello")))
            .write(forget(RecordKind::Token, i64::MAX))
            .write(write)
            .event(event(1));
        conflicts(&store, all, RecordKey::Record(name.clone())).await;
    }
    assert_eq!(contents(&store).await, before);
    // A message that was not sent leaves no gap in the numbers.
    let receipt = commit(&store, only(send(&letter("a", "b", "hello")))).await;
    assert_eq!(receipt.messages, [1]);
}

/// A deleted record is gone: writes that expect its revision conflict, and putting it again starts at
/// revision 1.
pub async fn a_deleted_record_is_gone(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let name = reply("one");
    let gone = || RecordKey::Record(name.clone());
    commit(&store, only(put(&name, Expect::Absent, "1"))).await;
    commit(&store, only(put(&name, Expect::Revision(1), "2"))).await;
    commit(&store, only(delete(&name, Expect::Revision(2)))).await;
    assert_eq!(stored(&other, &name).await, None);
    assert_eq!(all_of(&other, RecordKind::Reply).await, []);
    conflicts(&other, only(put(&name, Expect::Revision(2), "3")), gone()).await;
    conflicts(&other, only(delete(&name, Expect::Revision(2))), gone()).await;
    commit(&other, only(put(&name, Expect::Absent, "again"))).await;
    assert_eq!(stored(&store, &name).await, Some((1, "again".to_owned())));
}

/// Of several puts or deletes that expect the same revision, exactly one is committed: concurrently from
/// several handles, and from one.
pub async fn of_rivals_for_a_record_one_is_committed(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let name = reply("wanted");
    for round in 0..12_u64 {
        let found = stored(&handles[0], &name).await;
        let expect = found.map_or(Expect::Absent, |(revision, _)| Expect::Revision(revision));
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let gone = matches!(expect, Expect::Revision(3)) && n % 3 == 0;
            let write = if gone {
                delete(&name, expect)
            } else {
                put(&name, expect, &format!("round {round} rival {n}"))
            };
            let all = only(write).write(create("won")).event(event(1));
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut committed = 0;
        for rival in rivals.collect::<Vec<_>>() {
            match rival.await.unwrap() {
                Outcome::Committed(_) => committed += 1,
                Outcome::Conflict(key) => assert_eq!(key, RecordKey::Record(name.clone())),
            }
        }
        assert_eq!(committed, 1, "round {round}");
    }
    assert_eq!(handles[1].last_sequence().await.unwrap(), 12);
    assert_eq!(handles[1].last_task_number().await.unwrap(), 12);
}

/// `forget` deletes the records of a kind that had expired at the given time, and no others.
pub async fn records_whose_time_is_up_are_forgotten(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut all = changes();
    let ends = [
        ("before", Some(9)),
        ("at", Some(10)),
        ("after", Some(11)),
        ("stays", None),
    ];
    for (id, end) in ends {
        let end = end.map(millis);
        all.writes
            .push(put_until(&reply(id), Expect::Absent, end, id));
        let token = RecordName::new(RecordKind::Token, id);
        all.writes.push(put_until(&token, Expect::Absent, end, id));
    }
    commit(&store, all).await;
    let ids = async |kind| -> Vec<String> {
        let found = all_of(&other, kind).await;
        found.into_iter().map(|found| found.id).collect()
    };
    commit(&store, only(forget(RecordKind::Reply, millis(8)))).await;
    assert_eq!(ids(RecordKind::Reply).await.len(), 4);
    commit(&store, only(forget(RecordKind::Reply, millis(10)))).await;
    assert_eq!(ids(RecordKind::Reply).await, ["after", "stays"]);
    assert_eq!(ids(RecordKind::Token).await.len(), 4);
    // The expiry is that of the newest put.
    let later = put_until(
        &reply("after"),
        Expect::Revision(1),
        Some(millis(20)),
        "later",
    );
    let ending = put_until(
        &reply("stays"),
        Expect::Revision(1),
        Some(millis(5)),
        "ends",
    );
    commit(&store, only(later).write(ending)).await;
    commit(&store, only(forget(RecordKind::Reply, millis(12)))).await;
    assert_eq!(ids(RecordKind::Reply).await, ["after"]);
    commit(
        &store,
        only(put(&reply("after"), Expect::Revision(2), "for ever")),
    )
    .await;
    commit(&store, only(forget(RecordKind::Reply, i64::MAX))).await;
    assert_eq!(ids(RecordKind::Reply).await, ["after"]);
    // A forgotten record can be created again, and only so.
    let stale = put(&reply("at"), Expect::Revision(1), "stale");
    conflicts(&store, only(stale), RecordKey::Record(reply("at"))).await;
    commit(&store, only(put(&reply("at"), Expect::Absent, "new"))).await;
    assert_eq!(
        stored(&other, &reply("at")).await,
        Some((1, "new".to_owned()))
    );
}

/// A changeset is checked against the state before it, and then written in order.
pub async fn records_of_one_changeset_are_written_in_order(ground: &dyn Ground) {
    let store = open(ground).await;
    let end = Some(millis(5));
    let mut all = changes();
    for id in ["deleted", "forgotten", "kept", "ended"] {
        all.writes
            .push(put_until(&reply(id), Expect::Absent, end, "old"));
    }
    commit(&store, all).await;
    let known = Expect::Revision(1);
    let all = changes()
        .write(delete(&reply("deleted"), known))
        .write(put(&reply("deleted"), known, "put after"))
        .write(put_until(
            &reply("kept"),
            known,
            Some(millis(9)),
            "put before",
        ))
        .write(put_until(&reply("ended"), known, end, "put before"))
        .write(put_until(&reply("new"), Expect::Absent, end, "put before"))
        .write(forget(RecordKind::Reply, millis(5)))
        .write(put(&reply("forgotten"), known, "put after"));
    commit(&store, all).await;
    let found = all_of(&store, RecordKind::Reply).await;
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
pub async fn a_body_is_made_of_the_whole_receipt(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut blocked = record(1);
    blocked.open_blockers = 1;
    fill(&store, &[blocked, record(2)]).await;
    commit(
        &store,
        only(send(&letter("a", "b", "first"))).event(event(1)),
    )
    .await;
    let all = changes()
        .write(create("new"))
        .write(Write::AddComment {
            task: id(2),
            comment: comment("said"),
        })
        .write(Write::SettleBlocker {
            dependents: vec![id(1)],
        })
        .write(written(whole(None, "a line\n")))
        .write(send(&letter("a", "b", "second")))
        .write(send(&letter("a", "c", "third")))
        .write(put_receipt(&reply("answer")))
        .event(event(1))
        .event(event(2));
    let receipt = commit(&store, all).await;
    assert_eq!(receipt.sequence, 3);
    assert_eq!(receipt.created, Some(id(3)));
    assert_eq!(receipt.comment, Some(1));
    assert_eq!(receipt.board, Some(1));
    assert_eq!(receipt.messages, [2, 3]);
    assert_eq!(receipt.unblocked, [id(1)]);
    let found = stored(&other, &reply("answer")).await;
    assert_eq!(found, Some((1, receipt_text(&receipt))));
}

/// In a group commit, each body is computed from its own changeset's receipt.
pub async fn each_body_is_made_of_its_own_receipt(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let asking = (0..32_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let name = reply(&format!("answer {n}"));
        let all = changes()
            .write(create(&n.to_string()))
            .write(send(&letter("a", "b", &n.to_string())))
            .write(put_receipt(&name))
            .event(event(1));
        tokio::spawn(async move { (name, commit(&store, all).await) })
    });
    for one in asking.collect::<Vec<_>>() {
        let (name, receipt) = one.await.unwrap();
        let found = stored(&handles[0], &name).await;
        assert_eq!(found, Some((1, receipt_text(&receipt))));
    }
    assert_eq!(all_of(&handles[1], RecordKind::Reply).await.len(), 32);
}
