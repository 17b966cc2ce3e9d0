//! Event stream tests: `GET /v1/events` with filters, start position, resumption by `Last-Event-ID`, refusals
//! and shutdown.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use polis_serve::events::{HubSettings, SseSettings};
use polis_testkit::run_test;

use crate::test_event_server::{TestEventServer, TestEventServerOptions, events_after, log_event};

#[test]
fn concurrent_readers_get_every_event_once_in_order() {
    run_test(async {
        let options = TestEventServerOptions {
            hub: HubSettings {
                max_events: 50,
                ..HubSettings::default()
            },
            ..TestEventServerOptions::default()
        };
        let server = Arc::new(TestEventServer::start(options).await);
        server.log_events(20).await;
        let (writers, each) = (4, 150);
        let total = 20 + writers * each;
        let mut readers = Vec::new();
        for n in 0..200 {
            // Some start at the beginning, some in the middle, some at the end; one in ten is an agent.
            let query = format!("?since={}", n % 21);
            let who = if n % 10 == 0 { "alice" } else { "user" };
            let mut reader = server.follow_as(who, &query, None).await;
            readers.push(tokio::spawn(async move {
                let first = n % 21 + 1;
                let due: Vec<u64> = (first..=total).collect();
                assert_eq!(reader.next_sequences(due.len()).await, due);
            }));
        }
        let writing: Vec<_> = (0..writers)
            .map(|_| {
                let server = Arc::clone(&server);
                tokio::spawn(async move { server.log_events(each).await })
            })
            .collect();
        for writer in writing {
            writer.await.unwrap();
        }
        for reader in readers {
            reader.await.unwrap();
        }
        assert_eq!(server.hub.metrics().head, total);
    });
}

#[test]
fn stream_blocks_match_events_of_log() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        let store = &*server.app.store;
        log_event(
            store,
            "task.commented",
            7,
            "alice",
            "two\nlines\r, 说明 and \"marks\"",
        )
        .await;
        log_event(store, "task.updated", 8, "bob", "").await;
        let mut reader = server.follow("?since=0").await;
        let begin = reader.next_block().await.unwrap();
        assert_eq!(
            (begin.comment.as_deref(), begin.id),
            (Some("at 0"), Some(0))
        );
        for event in events_after(store, 0).await {
            let block = reader.next_event().await.unwrap();
            assert_eq!(block.id, Some(event.seq));
            assert_eq!(block.event, Some(event.kind.clone()));
            assert_eq!(block.json(), serde_json::to_value(&event).unwrap());
        }
    });
}

#[test]
fn reader_starts_at_end_or_resumes_at_last_event_id() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        server.log_events(30).await;
        let mut now = server.follow("").await;
        assert_eq!(now.next_block().await.unwrap().id, Some(30));
        let mut whole = server.follow("?since=0&limit=12").await;
        assert_eq!(whole.next_sequences(12).await, (1..=12).collect::<Vec<_>>());
        assert_eq!(
            whole.next_event().await,
            None,
            "the stream ends after the limit"
        );
        let last = whole.last_event_id;
        assert_eq!(last, Some(12));
        drop(whole);

        // The URL still contains `since=0`, as it does when a browser reconnects.
        let mut resumed = server.follow_as("user", "?since=0", last).await;
        assert_eq!(resumed.next_block().await.unwrap().id, Some(12));
        server.log_events(3).await;
        assert_eq!(
            resumed.next_sequences(21).await,
            (13..=33).collect::<Vec<_>>()
        );
        assert_eq!(now.next_sequences(3).await, [31, 32, 33]);
    });
}

#[test]
fn reader_gets_only_events_matching_its_filter() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions {
            sse: SseSettings {
                heartbeat_interval: Duration::from_millis(30),
                ..SseSettings::default()
            },
            ..TestEventServerOptions::default()
        })
        .await;
        let store = &*server.app.store;
        let written = [
            ("task.updated", 5, "alice"),
            ("task.claimed", 6, "bob"),
            ("board.written", 5, "bob"),
            ("task.claimed", 55, "alice"),
            ("board.appended", 7, "carol"),
        ];
        for (kind, task, actor) in written {
            log_event(store, kind, task, actor, "").await;
        }
        let cases: [(&str, &[u64]); 9] = [
            ("kind=task.", &[1, 2, 4]),
            ("kind=task.claimed,board.written", &[2, 3, 4]),
            ("kind=task.claimed&kind=board.", &[2, 3, 4, 5]),
            ("subject=task/5", &[1, 3]),
            ("subject=task/", &[1, 2, 3, 4, 5]),
            ("actor=bob", &[2, 3]),
            ("actor=alice,carol", &[1, 4, 5]),
            ("kind=task.&actor=bob", &[2]),
            ("kind=task.claimed&limit=1", &[2]),
        ];
        for (query, wanted) in cases {
            // An event of a board about a task is damaged, so only the person sees it.
            let of_tasks: Vec<u64> = wanted
                .iter()
                .copied()
                .filter(|seq| ![3, 5].contains(seq))
                .collect();
            for (who, wanted) in [("user", wanted), ("alice", &of_tasks)] {
                let query = format!("?since=0&{query}");
                let mut reader = server.follow_as(who, &query, None).await;
                assert_eq!(reader.next_sequences(wanted.len()).await, wanted, "{query}");
            }
        }

        // No event matches, but the position to resume from advances.
        let mut reader = server.follow("?since=0&kind=agent.").await;
        while reader.last_event_id != Some(5) {
            let block = reader.next_block().await.unwrap();
            assert_eq!((&block.event, &block.data), (&None, &None));
        }
        // A heartbeat without progress contains only the position.
        let beat = loop {
            let block = reader.next_block().await.unwrap();
            if block.id.is_none() {
                break block;
            }
        };
        assert_eq!(beat.comment.as_deref(), Some("at 5"));
    });
}

#[test]
fn invalid_stream_request_is_refused() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions {
            sse: SseSettings {
                max_readers: 1,
                ..SseSettings::default()
            },
            ..TestEventServerOptions::default()
        })
        .await;
        server.log_events(3).await;
        let ask = async |query: &str, who: Option<&str>, last: Option<&str>| {
            let mut headers = Vec::new();
            headers.extend(who.map(|who| ("x-who", who.to_owned())));
            headers.extend(last.map(|last| ("last-event-id", last.to_owned())));
            let answer = server.get_events(query, &headers).await;
            let status = answer.status();
            assert_ne!(status, StatusCode::OK);
            let body = http_body_util::BodyExt::collect(answer.into_body()).await;
            let code = String::from_utf8(body.unwrap().to_bytes().to_vec()).unwrap();
            (status.as_u16(), code)
        };
        let person = Some("user");
        let refused = |code: &str| (400, code.to_owned());
        assert_eq!(
            ask("?since=4", person, None).await,
            refused("invalid_input")
        );
        assert_eq!(ask("", person, Some("4")).await, refused("invalid_input"));
        assert_eq!(ask("", person, Some("x")).await, refused("invalid_input"));
        assert_eq!(
            ask("?since=0", person, Some("-1")).await,
            refused("invalid_input")
        );
        assert_eq!(ask("?what=1", person, None).await, refused("invalid_input"));
        assert_eq!(ask("", None, None).await, (403, "unauthorized".to_owned()));
        let narrow = Some("alice t1 tasks");
        assert_eq!(
            ask("", narrow, None).await,
            (403, "insufficient_scope".to_owned())
        );
        let _one = server.follow_as("alice", "", None).await;
        assert_eq!(
            ask("", person, None).await,
            (503, "rate_limited".to_owned())
        );
        assert_eq!(server.hub.readers(), 1, "refused readers are not counted");
    });
}

#[test]
fn server_shutdown_sends_closing_event() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions::default()).await;
        server.log_events(2).await;
        let mut live = server.follow("?since=0&kind=agent.").await;
        let mut done = server.follow("?since=1").await;
        assert_eq!(done.next_sequences(1).await, [2]);
        assert_eq!(live.next_block().await.unwrap().id, Some(0));
        // The filtered reader must have skipped past both events.
        server.log_events(1).await;
        assert_eq!(done.next_sequences(1).await, [3]);
        crate::test_event_server::wait_until(|| server.hub.metrics().handed_out >= 5).await;
        server.hub.close();
        for mut reader in [live, done] {
            let closing = reader.next_event().await.unwrap();
            assert_eq!(closing.event.as_deref(), Some("closing"));
            assert_eq!(closing.id, Some(3));
            assert_eq!(
                closing.json(),
                serde_json::json!({"reason": "shutdown", "place": 3})
            );
            assert_eq!(reader.next_event().await, None);
        }
        crate::test_event_server::wait_until(|| server.hub.readers() == 0).await;
    });
}
