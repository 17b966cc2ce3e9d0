//! Conformance tests of the store port `EventLogReader`: a gapless event log in commit order, queries, and
//! waiting for new events.

use std::sync::Arc;
use std::time::Duration;

use polis_core::event::{Event, EventPayload};
use polis_core::{AgentId, EventKind, EventSubject, NewEvent, RawJson};
use polis_ops::port::EventLogQuery;

use super::store_fixtures::{
    commit_changeset, empty_changeset, open_store, read_log, task_event, timestamp_after_start,
};
use crate::StoreFactory;
use crate::sample_event::{comment_payload, sample_payload, task_changed_payload};

const LONG_TIMEOUT: Duration = Duration::from_secs(60);

/// Sequence numbers have no gaps with many committers on several handles and several events per changeset;
/// every receipt names the sequence number of its own last event.
pub async fn event_sequence_has_no_gaps(factory: &dyn StoreFactory) {
    let handles = [
        open_store(factory).await,
        open_store(factory).await,
        open_store(factory).await,
    ];
    let committing = (0..12_u64).map(|writer| {
        let store = Arc::clone(&handles[writer as usize % handles.len()]);
        tokio::spawn(async move {
            let mut receipts = Vec::new();
            for n in 0..5_u64 {
                let mut all = empty_changeset();
                for part in 0..=(n % 3) {
                    let text = format!("{writer}.{n}.{part}");
                    let payload = if part == n % 3 {
                        comment_payload(&text)
                    } else {
                        task_changed_payload(EventPayload::TaskUpdated, &text)
                    };
                    all.events
                        .push(NewEvent::new(EventSubject::CreatedTask, payload));
                }
                receipts.push((
                    commit_changeset(&store, all).await.sequence,
                    format!("{writer}.{n}.{}", n % 3),
                ));
            }
            receipts
        })
    });
    let mut receipts = Vec::new();
    for one in committing.collect::<Vec<_>>() {
        let own = one.await.unwrap();
        assert!(
            own.is_sorted(),
            "a later commit has an earlier sequence number"
        );
        receipts.extend(own);
    }
    let events = read_log(&handles[0]).await;
    let sequences: Vec<u64> = events.iter().map(|e| e.seq).collect();
    assert_eq!(sequences, (1..=events.len() as u64).collect::<Vec<_>>());
    for (sequence, text) in receipts {
        let last = &events[usize::try_from(sequence).unwrap() - 1];
        assert_eq!(last.payload(), Some(comment_payload(&text)));
    }
    // The events of one changeset are adjacent.
    let is_part = |event: &Event| event.known_kind() == Some(EventKind::TaskUpdated);
    for pair in events.windows(2).filter(|pair| is_part(&pair[0])) {
        let stem = |n: usize| {
            let text = event_text(&pair[n]);
            text.rsplit_once('.').unwrap().0.to_owned()
        };
        assert_eq!(stem(0), stem(1));
    }
}

/// Returns the text in an event's payload.
fn event_text(event: &Event) -> String {
    match event.payload().unwrap() {
        EventPayload::TaskCommented(comment) => comment.body,
        EventPayload::TaskUpdated(changed) => changed
            .changes
            .get("description")
            .unwrap()
            .parse_as()
            .unwrap(),
        other => panic!("no text in {other:?}"),
    }
}

/// When an event is readable, all earlier ones are: a reader on another handle never sees a sequence number
/// skipped that is filled later, while many commit.
pub async fn readable_event_implies_all_earlier_events(factory: &dyn StoreFactory) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 15;
    let handles = [open_store(factory).await, open_store(factory).await];
    let reader = open_store(factory).await;
    for writer in 0..WRITERS {
        let store = Arc::clone(&handles[writer as usize % 2]);
        tokio::spawn(async move {
            for _ in 0..EACH {
                commit_changeset(
                    &store,
                    empty_changeset()
                        .with_event(task_event(1))
                        .with_event(task_event(2)),
                )
                .await;
            }
        });
    }
    let mut last_seen = 0;
    while last_seen < WRITERS * EACH * 2 {
        let query = EventLogQuery {
            after: last_seen,
            limit: 7,
            ..EventLogQuery::default()
        };
        for found in reader.events(&query).await.unwrap() {
            assert_eq!(found.seq, last_seen + 1);
            last_seen = found.seq;
        }
        assert!(reader.last_sequence().await.unwrap() >= last_seen);
        tokio::task::yield_now().await;
    }
    assert_eq!(reader.last_sequence().await.unwrap(), last_seen);
}

/// Events are read after and before a sequence number, the oldest or the newest up to a limit, and of one
/// subject if requested; always in commit order.
pub async fn events_are_queried_by_sequence_and_subject(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    for n in 0..12_u64 {
        commit_changeset(&store, empty_changeset().with_event(task_event(n % 3 + 1))).await;
    }
    let all = read_log(&store).await;
    assert_eq!(all.len(), 12);
    for subject in [None, Some("task/2"), Some("task/22"), Some("task")] {
        for after in [0, 1, 5, 11, 12, 900] {
            for (limit, before) in [(0, None), (1, Some(9)), (3, None), (100, Some(8))] {
                let mut query = EventLogQuery {
                    after,
                    limit,
                    before,
                    newest: false,
                    subject: subject.map(str::to_owned),
                    excluded_kinds: &[],
                };
                let mut expected = all.clone();
                expected.retain(|e| {
                    e.seq > after
                        && before.is_none_or(|before| e.seq < before)
                        && subject.is_none_or(|s| s == e.subject)
                });
                let count = expected.len().min(limit as usize);
                let oldest = &expected[..count];
                assert_eq!(store.events(&query).await.unwrap(), oldest, "{query:?}");
                query.newest = true;
                let newest = &expected[expected.len() - count..];
                assert_eq!(store.events(&query).await.unwrap(), newest, "{query:?}");
            }
        }
    }
}

/// Events of excluded kinds are left out and do not count toward the limit.
pub async fn events_of_excluded_kinds_are_left_out(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    for n in 0..12_u64 {
        let kinds = [
            EventKind::TaskClaimed,
            EventKind::TaskStarted,
            EventKind::BoardWritten,
        ];
        let payload = sample_payload(kinds[n as usize % 3], "x");
        let subject = EventSubject::Agent(AgentId::user());
        commit_changeset(
            &store,
            empty_changeset().with_event(NewEvent::new(subject, payload)),
        )
        .await;
    }
    for (except, newest, limit, expected) in [
        (&[EventKind::TaskStarted][..], false, 3, vec![1, 3, 4]),
        (&[EventKind::TaskStarted][..], true, 3, vec![9, 10, 12]),
        (
            &[EventKind::TaskClaimed, EventKind::BoardWritten][..],
            false,
            100,
            vec![2, 5, 8, 11],
        ),
        (
            &[
                EventKind::TaskClaimed,
                EventKind::TaskStarted,
                EventKind::BoardWritten,
            ][..],
            false,
            100,
            vec![],
        ),
        (&[EventKind::CommandRun][..], false, 2, vec![1, 2]),
    ] {
        for subject in [None, Some("agent/user".to_owned())] {
            let query = EventLogQuery {
                limit,
                newest,
                subject,
                excluded_kinds: except,
                ..EventLogQuery::default()
            };
            let found = store.events(&query).await.unwrap();
            let sequences: Vec<u64> = found.iter().map(|event| event.seq).collect();
            assert_eq!(sequences, expected, "{query:?}");
        }
    }
}

/// An event keeps its actor, kind, time and subject, and its data byte for byte.
pub async fn event_fields_are_stored_unchanged(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    all.actor = "程序员-2".parse().unwrap();
    all.at = timestamp_after_start(1_234);
    let data = r#"{"version":2,"changes":{"n":123456789012345678901234567890.10,"s":"日本 🚀 \u0000 \" '","a":[null,{}]}}"#;
    let payload = EventPayload::parse(EventKind::TaskUpdated, &RawJson::parse(data).unwrap());
    let payload = payload.unwrap();
    let subjects = [
        (EventSubject::Agent(AgentId::user()), "agent/user"),
        (EventSubject::CreatedTask, "task"),
    ];
    for (subject, _) in &subjects {
        all.events
            .push(NewEvent::new(subject.clone(), payload.clone()));
    }
    assert_eq!(commit_changeset(&store, all).await.sequence, 2);
    for (found, (_, subject)) in read_log(&store).await.iter().zip(subjects) {
        assert_eq!(found.at, timestamp_after_start(1_234));
        assert_eq!(found.actor, "程序员-2");
        assert_eq!(found.kind, "task.updated");
        assert_eq!(found.subject, subject);
        assert_eq!(found.data.as_str(), data);
    }
}

/// `wait_for_event_after` returns immediately if there is already a later event.
pub async fn wait_for_existing_event_returns_immediately(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(
        &store,
        empty_changeset()
            .with_event(task_event(1))
            .with_event(task_event(2)),
    )
    .await;
    assert_eq!(
        store.wait_for_event_after(0, LONG_TIMEOUT).await.unwrap(),
        2
    );
    assert_eq!(
        store.wait_for_event_after(1, LONG_TIMEOUT).await.unwrap(),
        2
    );
}

/// A commit on another handle wakes a waiter, as if from another process.
pub async fn wait_returns_on_commit_of_other_handle(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    for sequence in 0..5 {
        let waiting = {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                store
                    .wait_for_event_after(sequence, LONG_TIMEOUT)
                    .await
                    .unwrap()
            })
        };
        tokio::task::yield_now().await;
        commit_changeset(&other, empty_changeset().with_event(task_event(1))).await;
        assert_eq!(waiting.await.unwrap(), sequence + 1);
    }
}

/// Without an event `wait_for_event_after` returns the current end of the log when the timeout expires.
pub async fn wait_without_event_returns_on_timeout(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let brief = Duration::from_millis(20);
    assert_eq!(store.wait_for_event_after(0, brief).await.unwrap(), 0);
    commit_changeset(&store, empty_changeset().with_event(task_event(1))).await;
    assert_eq!(store.wait_for_event_after(1, brief).await.unwrap(), 1);
    assert_eq!(
        store.wait_for_event_after(8, Duration::ZERO).await.unwrap(),
        1
    );
}
