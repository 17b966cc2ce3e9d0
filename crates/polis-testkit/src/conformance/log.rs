//! Guarantees of `Events`: a gapless log in commit order, queries, and waiting for new events.

use std::sync::Arc;
use std::time::Duration;

use polis_core::{AgentId, NewEvent, Subject};
use polis_ops::port::EventQuery;

use super::sample::{changes, commit, event, log, moment, open};
use crate::Ground;

const LONG: Duration = Duration::from_secs(60);

/// Sequence numbers have no gaps with many committers on several handles and several events per changeset;
/// every receipt names the sequence number of its own last event.
pub async fn sequences_have_no_gaps_in_commit_order(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await, open(ground).await];
    let committing = (0..12_u64).map(|who| {
        let store = Arc::clone(&handles[who as usize % handles.len()]);
        tokio::spawn(async move {
            let mut receipts = Vec::new();
            for n in 0..5_u64 {
                let mut all = changes();
                for part in 0..=(n % 3) {
                    let data = format!("{who}.{n}.{part}");
                    let kind = if part == n % 3 { "last" } else { "part" };
                    all.events
                        .push(NewEvent::of(kind, Subject::CreatedTask, &data));
                }
                receipts.push((
                    commit(&store, all).await.sequence,
                    format!("{who}.{n}.{}", n % 3),
                ));
            }
            receipts
        })
    });
    let mut receipts = Vec::new();
    for one in committing.collect::<Vec<_>>() {
        let own = one.await.unwrap();
        assert!(own.is_sorted(), "a later commit has an earlier place");
        receipts.extend(own);
    }
    let events = log(&handles[0]).await;
    let places: Vec<u64> = events.iter().map(|e| e.seq).collect();
    assert_eq!(places, (1..=events.len() as u64).collect::<Vec<_>>());
    for (place, data) in receipts {
        let last = &events[usize::try_from(place).unwrap() - 1];
        assert_eq!(last.data.to::<String>(), Some(data));
    }
    // The events of one changeset are adjacent.
    for pair in events.windows(2).filter(|pair| pair[0].kind == "part") {
        let stem = |n: usize| {
            let text = pair[n].data.to::<String>().unwrap();
            text.rsplit_once('.').unwrap().0.to_owned()
        };
        assert_eq!(stem(0), stem(1));
    }
}

/// When an event is readable, all earlier ones are: a reader on another handle never sees a sequence number
/// skipped that is filled later, while many commit.
pub async fn a_readable_event_is_preceded_by_all_earlier_ones(ground: &dyn Ground) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 15;
    let handles = [open(ground).await, open(ground).await];
    let reader = open(ground).await;
    for writer in 0..WRITERS {
        let store = Arc::clone(&handles[writer as usize % 2]);
        tokio::spawn(async move {
            for _ in 0..EACH {
                commit(&store, changes().event(event(1)).event(event(2))).await;
            }
        });
    }
    let mut seen = 0;
    while seen < WRITERS * EACH * 2 {
        let query = EventQuery {
            after: seen,
            limit: 7,
            ..EventQuery::default()
        };
        for found in reader.events(&query).await.unwrap() {
            assert_eq!(found.seq, seen + 1);
            seen = found.seq;
        }
        assert!(reader.last_sequence().await.unwrap() >= seen);
        tokio::task::yield_now().await;
    }
    assert_eq!(reader.last_sequence().await.unwrap(), seen);
}

/// Events are read after and before a sequence number, the oldest or the newest up to a limit, and of one
/// subject if requested; always in commit order.
pub async fn events_are_read_by_place_and_subject(ground: &dyn Ground) {
    let store = open(ground).await;
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    for n in 0..12_u64 {
        commit(&store, changes().event(event(n % 3 + 1))).await;
    }
    let all = log(&store).await;
    assert_eq!(all.len(), 12);
    for subject in [None, Some("task/2"), Some("task/22"), Some("task")] {
        for after in [0, 1, 5, 11, 12, 900] {
            for (limit, before) in [(0, None), (1, Some(9)), (3, None), (100, Some(8))] {
                let mut query = EventQuery {
                    after,
                    limit,
                    before,
                    newest: false,
                    subject: subject.map(str::to_owned),
                    except: &[],
                };
                let mut expected = all.clone();
                expected.retain(|e| {
                    e.seq > after
                        && before.is_none_or(|before| e.seq < before)
                        && subject.is_none_or(|s| s == e.subject)
                });
                let most = expected.len().min(limit as usize);
                let oldest = &expected[..most];
                assert_eq!(store.events(&query).await.unwrap(), oldest, "{query:?}");
                query.newest = true;
                let newest = &expected[expected.len() - most..];
                assert_eq!(store.events(&query).await.unwrap(), newest, "{query:?}");
            }
        }
    }
}

/// Events of excluded kinds are left out and do not count toward the limit.
pub async fn events_of_kinds_not_wanted_are_left_out(ground: &dyn Ground) {
    let store = open(ground).await;
    for n in 0..12_u64 {
        let kind = ["a", "b", "c"][n as usize % 3];
        let subject = Subject::Agent(AgentId::user());
        commit(&store, changes().event(NewEvent::of(kind, subject, &n))).await;
    }
    for (except, newest, limit, expected) in [
        (&["b"][..], false, 3, vec![1, 3, 4]),
        (&["b"][..], true, 3, vec![9, 10, 12]),
        (&["a", "c"][..], false, 100, vec![2, 5, 8, 11]),
        (&["a", "b", "c"][..], false, 100, vec![]),
        (&["d"][..], false, 2, vec![1, 2]),
    ] {
        for subject in [None, Some("agent/user".to_owned())] {
            let query = EventQuery {
                limit,
                newest,
                subject,
                except,
                ..EventQuery::default()
            };
            let found = store.events(&query).await.unwrap();
            let places: Vec<u64> = found.iter().map(|event| event.seq).collect();
            assert_eq!(places, expected, "{query:?}");
        }
    }
}

/// An event keeps its actor, kind, time and subject, and its data byte for byte.
pub async fn an_event_keeps_what_it_was_given(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    all.actor = "程序员-2".parse().unwrap();
    all.at = moment(1_234);
    let data = r#"{"n":123456789012345678901234567890.10,"s":"日本 🚀 \u0000 \" '","a":[null,{}]}"#;
    let subjects = [
        (Subject::Agent(AgentId::user()), "agent/user"),
        (Subject::CreatedTask, "task"),
    ];
    for (subject, _) in &subjects {
        all.events.push(NewEvent {
            kind: "test.kind",
            subject: subject.clone(),
            data: data.to_owned(),
        });
    }
    assert_eq!(commit(&store, all).await.sequence, 2);
    for (found, (_, subject)) in log(&store).await.iter().zip(subjects) {
        assert_eq!(found.at, moment(1_234));
        assert_eq!(found.actor, "程序员-2");
        assert_eq!(found.kind, "test.kind");
        assert_eq!(found.subject, subject);
        assert_eq!(found.data.text(), data);
    }
}

/// `wait_beyond` returns immediately if there is already a later event.
pub async fn waiting_for_what_is_there_ends_at_once(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, changes().event(event(1)).event(event(2))).await;
    assert_eq!(store.wait_beyond(0, LONG).await.unwrap(), 2);
    assert_eq!(store.wait_beyond(1, LONG).await.unwrap(), 2);
}

/// A commit on another handle wakes a waiter, as if from another process.
pub async fn waiting_ends_with_another_handles_commit(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    for place in 0..5 {
        let waiting = {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.wait_beyond(place, LONG).await.unwrap() })
        };
        tokio::task::yield_now().await;
        commit(&other, changes().event(event(1))).await;
        assert_eq!(waiting.await.unwrap(), place + 1);
    }
}

/// Without an event `wait_beyond` returns the current end of the log when the timeout expires.
pub async fn waiting_ends_when_the_time_is_up(ground: &dyn Ground) {
    let store = open(ground).await;
    let brief = Duration::from_millis(20);
    assert_eq!(store.wait_beyond(0, brief).await.unwrap(), 0);
    commit(&store, changes().event(event(1))).await;
    assert_eq!(store.wait_beyond(1, brief).await.unwrap(), 1);
    assert_eq!(store.wait_beyond(8, Duration::ZERO).await.unwrap(), 1);
}
