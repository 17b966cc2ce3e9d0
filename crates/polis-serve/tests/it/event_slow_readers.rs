//! Slow reader tests: clients that do not read from their socket delay no other reader, and are disconnected
//! by the write timeout.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use polis_serve::events::{HubSettings, SseSettings};
use polis_testkit::run_test;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::test_event_server::{
    RESULT_TIMEOUT, SseBlock, SseBlockParser, TestEventServer, TestEventServerOptions, log_event,
    wait_until,
};

/// Connects a client that sends its request but reads nothing, with a small receive buffer.
async fn connect_without_reading(server: &TestEventServer, since: u64) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let ask = format!(
        "GET /v1/events HTTP/1.1\r\nhost: x\r\nx-who: user\r\nlast-event-id: {since}\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    stream
}

/// Reads until the event with this sequence number has arrived completely, or until the end.
async fn read_until_event(stream: &mut TcpStream, last: u64) -> Vec<SseBlock> {
    let mut bytes = Vec::new();
    let mark = format!("id: {last}\n");
    let mut begun = false;
    loop {
        let read = tokio::time::timeout(RESULT_TIMEOUT, stream.read_buf(&mut bytes));
        let more = read.await.expect("no data within the timeout").unwrap_or(0);
        let new = &bytes[bytes.len().saturating_sub(more + mark.len())..];
        begun |= new.windows(mark.len()).any(|some| some == mark.as_bytes());
        if more == 0 || begun {
            let blocks = parse_chunked_response(&bytes);
            if more == 0 || blocks.iter().any(|block| block.id == Some(last)) {
                return blocks;
            }
        }
    }
}

/// Decodes the chunked response and returns its complete blocks.
fn parse_chunked_response(bytes: &[u8]) -> Vec<SseBlock> {
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Vec::new();
    };
    let mut rest = &bytes[head + 4..];
    let mut plain = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else {
            break;
        };
        plain.extend_from_slice(chunk);
        let Some(after) = rest.get(end + 2 + size + 2..) else {
            break;
        };
        rest = after;
    }
    let whole = plain
        .windows(2)
        .rposition(|two| two == b"\n\n")
        .map_or(0, |at| at + 2);
    let mut blocks = SseBlockParser::default();
    blocks.push_bytes(&plain[..whole]);
    std::iter::from_fn(|| blocks.next_block()).collect()
}

fn event_sequences(blocks: &[SseBlock]) -> Vec<u64> {
    let events = blocks.iter().filter(|block| block.data.is_some());
    events.filter_map(|block| block.id).collect()
}

#[test]
fn stalled_reader_delays_no_one_and_loses_no_event() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions {
            hub: HubSettings {
                max_events: 100,
                ..HubSettings::default()
            },
            sse: SseSettings {
                behind_threshold: 500,
                ..SseSettings::default()
            },
            ..TestEventServerOptions::default()
        })
        .await;
        let store = &*server.app.store;
        let mut slow = connect_without_reading(&server, 0).await;
        wait_until(|| server.hub.readers() == 1).await;
        let long = "x".repeat(4_000);
        let begin = Instant::now();
        for _ in 0..1_500 {
            log_event(store, "task.updated", 1, "user", &long).await;
        }
        let took = begin.elapsed();
        // For comparison: a fast reader on a store with the same number of events.
        wait_until(|| server.hub.head() == 1_500).await;
        let mut quick = server.follow("?since=1490").await;
        assert_eq!(
            quick.next_sequences(10).await,
            (1_491..=1_500).collect::<Vec<_>>()
        );
        let figures = server.hub.metrics();
        assert!(
            figures.handed_out < 1_500,
            "the slow reader was sent {} events of 6 MB without reading",
            figures.handed_out
        );
        let blocks = read_until_event(&mut slow, 1_500).await;
        assert_eq!(event_sequences(&blocks), (1..=1_500).collect::<Vec<_>>());
        let behind: Vec<&SseBlock> = blocks
            .iter()
            .filter(|block| block.event.as_deref() == Some("behind"))
            .collect();
        assert_eq!(behind.len(), 1, "one notice is sent");
        let told = behind[0].json();
        let next = told["next"].as_u64().unwrap();
        assert_eq!(
            told["behind"].as_u64().unwrap(),
            told["head"].as_u64().unwrap() + 1 - next
        );
        assert!(told["behind"].as_u64().unwrap() > 500);
        // The next event after the notice is the one it names.
        let at = blocks
            .iter()
            .position(|block| block.event.as_deref() == Some("behind"));
        assert_eq!(blocks[at.unwrap() + 1].id, Some(next));
        println!("1,500 writes in {took:?}");
    });
}

#[test]
fn stalled_socket_is_closed_and_reader_can_resume() {
    run_test(async {
        let server = TestEventServer::start(TestEventServerOptions {
            // Long enough for a reading client to make progress on a busy machine.
            write_timeout: Duration::from_secs(3),
            ..TestEventServerOptions::default()
        })
        .await;
        let store = &*server.app.store;
        let mut slow = connect_without_reading(&server, 0).await;
        wait_until(|| server.hub.readers() == 1).await;
        let long = "x".repeat(20_000);
        for _ in 0..500 {
            log_event(store, "task.updated", 1, "user", &long).await;
        }
        wait_until(|| server.hub.readers() == 0).await;
        wait_until(|| server.connections.load(Ordering::SeqCst) == 0).await;
        let got = event_sequences(&read_until_event(&mut slow, 500).await);
        assert!(got.len() < 500, "the socket took everything");
        let last = got.last().copied().unwrap_or(0);
        assert_eq!(got, (1..=last).collect::<Vec<_>>());
        let mut again = server.follow_as("user", "", Some(last)).await;
        let left = usize::try_from(500 - last).unwrap();
        assert_eq!(
            again.next_sequences(left).await,
            (last + 1..=500).collect::<Vec<_>>()
        );
    });
}
