//! `GET /v1/events`: filters, visibility, start position and resumption.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use polis_serve::events::{HubSettings, SseSettings};
use polis_testkit::run;

use crate::events_ground::{Options, Server, log_after, note};

#[test]
fn two_hundred_readers_get_every_event_once_in_order() {
    run(async {
        let options = Options {
            hub: HubSettings {
                events: 50,
                ..HubSettings::default()
            },
            ..Options::default()
        };
        let server = Arc::new(Server::start(options).await);
        server.tell(20).await;
        let (writers, each) = (4, 150);
        let total = 20 + writers * each;
        let mut readers = Vec::new();
        for n in 0..200 {
            // Some start at the beginning, some in the middle, some at the end; one in ten is an agent.
            let query = format!("?since={}", n % 21);
            let who = if n % 10 == 0 { "alice" } else { "user" };
            let mut reader = server.read_as(who, &query, None).await;
            readers.push(tokio::spawn(async move {
                let first = n % 21 + 1;
                let due: Vec<u64> = (first..=total).collect();
                assert_eq!(reader.places(due.len()).await, due);
            }));
        }
        let writing: Vec<_> = (0..writers)
            .map(|_| {
                let server = Arc::clone(&server);
                tokio::spawn(async move { server.tell(each).await })
            })
            .collect();
        for writer in writing {
            writer.await.unwrap();
        }
        for reader in readers {
            reader.await.unwrap();
        }
        assert_eq!(server.hub.figures().head, total);
    });
}

#[test]
fn a_stream_shows_the_log_s_own_documents() {
    run(async {
        let server = Server::start(Options::default()).await;
        let store = &*server.polis.store;
        note(
            store,
            "task.commented",
            7,
            "alice",
            "two\nlines\r, 说明 and \"marks\"",
        )
        .await;
        note(store, "task.updated", 8, "bob", "").await;
        let mut reader = server.read("?since=0").await;
        let begin = reader.block().await.unwrap();
        assert_eq!(
            (begin.comment.as_deref(), begin.id),
            (Some("at 0"), Some(0))
        );
        for event in log_after(store, 0).await {
            let block = reader.event().await.unwrap();
            assert_eq!(block.id, Some(event.seq));
            assert_eq!(block.event, Some(event.kind.clone()));
            assert_eq!(block.json(), serde_json::to_value(&event).unwrap());
        }
    });
}

#[test]
fn a_reader_begins_now_or_where_it_was() {
    run(async {
        let server = Server::start(Options::default()).await;
        server.tell(30).await;
        let mut now = server.read("").await;
        assert_eq!(now.block().await.unwrap().id, Some(30));
        let mut whole = server.read("?since=0&limit=12").await;
        assert_eq!(whole.places(12).await, (1..=12).collect::<Vec<_>>());
        assert_eq!(whole.event().await, None, "it ends after so many");
        let last = whole.last;
        assert_eq!(last, Some(12));
        drop(whole);

        // The URL still contains `since=0`, as it does when a browser reconnects.
        let mut resumed = server.read_as("user", "?since=0", last).await;
        assert_eq!(resumed.block().await.unwrap().id, Some(12));
        server.tell(3).await;
        assert_eq!(resumed.places(21).await, (13..=33).collect::<Vec<_>>());
        assert_eq!(now.places(3).await, [31, 32, 33]);
    });
}

#[test]
fn a_reader_gets_what_it_asked_for() {
    run(async {
        let server = Server::start(Options {
            sse: SseSettings {
                heartbeat: Duration::from_millis(30),
                ..SseSettings::default()
            },
            ..Options::default()
        })
        .await;
        let store = &*server.polis.store;
        let written = [
            ("task.created", 5, "alice"),
            ("task.claimed", 6, "bob"),
            ("board.written", 5, "bob"),
            ("task.claimed", 55, "alice"),
            ("board.appended", 7, "carol"),
        ];
        for (kind, task, actor) in written {
            note(store, kind, task, actor, "").await;
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
            for who in ["user", "alice"] {
                let query = format!("?since=0&{query}");
                let mut reader = server.read_as(who, &query, None).await;
                assert_eq!(reader.places(wanted.len()).await, wanted, "{query}");
            }
        }

        // No event matches, but the position to resume from advances.
        let mut reader = server.read("?since=0&kind=agent.").await;
        while reader.last != Some(5) {
            let block = reader.block().await.unwrap();
            assert_eq!((&block.event, &block.data), (&None, &None));
        }
        // A heartbeat without progress contains only the position.
        let beat = loop {
            let block = reader.block().await.unwrap();
            if block.id.is_none() {
                break block;
            }
        };
        assert_eq!(beat.comment.as_deref(), Some("at 5"));
    });
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    run(async {
        let server = Server::start(Options {
            sse: SseSettings {
                readers: 1,
                ..SseSettings::default()
            },
            ..Options::default()
        })
        .await;
        server.tell(3).await;
        let ask = async |query: &str, who: Option<&str>, last: Option<&str>| {
            let mut headers = Vec::new();
            headers.extend(who.map(|who| ("x-who", who.to_owned())));
            headers.extend(last.map(|last| ("last-event-id", last.to_owned())));
            let answer = server.get(query, &headers).await;
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
        let _one = server.read_as("alice", "", None).await;
        assert_eq!(
            ask("", person, None).await,
            (503, "rate_limited".to_owned())
        );
        assert_eq!(server.hub.readers(), 1, "whoever was refused does not read");
    });
}

#[test]
fn a_server_that_stops_says_so() {
    run(async {
        let server = Server::start(Options::default()).await;
        server.tell(2).await;
        let mut live = server.read("?since=0&kind=agent.").await;
        let mut done = server.read("?since=1").await;
        assert_eq!(done.places(1).await, [2]);
        assert_eq!(live.block().await.unwrap().id, Some(0));
        // The filtered reader must have skipped past both events.
        server.tell(1).await;
        assert_eq!(done.places(1).await, [3]);
        crate::events_ground::until(|| server.hub.figures().handed_out >= 5).await;
        server.hub.close();
        for mut reader in [live, done] {
            let closing = reader.event().await.unwrap();
            assert_eq!(closing.event.as_deref(), Some("closing"));
            assert_eq!(closing.id, Some(3));
            assert_eq!(
                closing.json(),
                serde_json::json!({"reason": "shutdown", "place": 3})
            );
            assert_eq!(reader.event().await, None);
        }
        crate::events_ground::until(|| server.hub.readers() == 0).await;
    });
}
