//! Fault injection tests of the PostgreSQL store: a proxy drops commits or responses, connections are killed,
//! and the server crashes. Acknowledged writes must survive, and errors must state correctly whether the
//! write took effect.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use polis_core::RawJson;
use polis_core::message::NewMessage;

use super::*;

/// A TCP proxy to the server that can drop traffic.
struct FaultyProxy {
    url: String,
    fault: Arc<AtomicU8>,
}

const NO_FAULT: u8 = 0;
/// The next COMMIT is lost on its way.
const DROP_COMMIT: u8 = 1;
/// The next COMMIT arrives, its response does not.
const DROP_COMMIT_RESPONSE: u8 = 2;
/// No traffic in either direction.
const DROP_EVERYTHING: u8 = 3;
/// Responses of the server are dropped.
const DROP_RESPONSES: u8 = 4;

impl FaultyProxy {
    /// Starts a proxy to the server of this address, which must contain host and port.
    fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("user@host:port/database");
        let (server, after) = rest.split_once('/').expect("host:port/database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let fault = Arc::new(AtomicU8::new(NO_FAULT));
        let of_wire = Arc::clone(&fault);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let (to, from) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let fault = Arc::clone(&of_wire);
                std::thread::spawn(move || forward_bytes(&client, &server, &fault, true));
                let fault = Arc::clone(&of_wire);
                std::thread::spawn(move || forward_bytes(&from, &to, &fault, false));
            }
        });
        Self {
            url: format!("{before}@{here}/{after}"),
            fault,
        }
    }

    fn set_fault(&self, fault: u8) {
        self.fault.store(fault, Ordering::SeqCst);
    }
}

/// Forwards bytes in one direction. A fault that cuts the connection applies once: the next connection works.
fn forward_bytes(mut from: &TcpStream, mut to: &TcpStream, fault: &AtomicU8, to_server: bool) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..n];
        let commits = to_server && bytes.windows(7).any(|w| w == b"COMMIT\0");
        match fault.load(Ordering::SeqCst) {
            DROP_EVERYTHING => continue,
            DROP_COMMIT if commits => {
                fault.store(NO_FAULT, Ordering::SeqCst);
                break;
            }
            DROP_COMMIT_RESPONSE if commits => {
                fault.store(DROP_RESPONSES, Ordering::SeqCst);
                to.write_all(bytes).unwrap();
                std::thread::sleep(Duration::from_millis(200));
                fault.store(NO_FAULT, Ordering::SeqCst);
                break;
            }
            DROP_RESPONSES if !to_server => continue,
            _ => {}
        }
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn lost_commit_or_response_is_reported_correctly() {
    let _shared = SERVER_LOCK.read().await;
    let url = create_schema("wire").await;
    // The tables are created by a connection with a longer timeout.
    drop(connect_store(&url).await);
    let wire = FaultyProxy::start(&url);
    let patience = Duration::from_secs(5);
    let store = PostgresStore::connect(&wire.url, patience).await.unwrap();
    commit_ok(&store, create_changeset()).await;

    wire.set_fault(DROP_COMMIT);
    let error = store.commit(create_changeset()).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE, "{error:?}");
    assert!(
        error
            .render(Surface::Cli, UiLanguage::En)
            .message
            .contains("Nothing was changed"),
        "{error:?}"
    );
    assert_eq!(store.last_task_number().await.unwrap(), 1);

    wire.set_fault(DROP_COMMIT_RESPONSE);
    let receipt_of_lost = commit_ok(&store, create_changeset()).await;
    assert_eq!(receipt_of_lost.created, Some(task_id(2)));
    assert_eq!(store.last_sequence().await.unwrap(), 2);
    wire.set_fault(DROP_COMMIT_RESPONSE);
    let mut stream =
        QueuedChangesets(vec![put_changeset(3, 0), settle_changeset(&[9])].into_iter());
    let streamed = store.commit_stream(&mut stream).await;
    assert_eq!(expect_receipt(streamed.unwrap()).sequence, 3);
    wire.set_fault(DROP_COMMIT);
    let mut stream = QueuedChangesets(vec![put_changeset(4, 0)].into_iter());
    let error = store.commit_stream(&mut stream).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE, "{error:?}");

    // A turn proves the commit it belongs to, like an event.
    let turn = |n: u64| {
        empty_changeset().with_write(StoreWrite::AppendTurn {
            member: "run/a".to_owned(),
            turn: n,
            body: RecordBody::Text(format!("turn {n}")),
        })
    };
    let member: MemberKey = "run/a".parse().unwrap();
    let spoken = async || store.last_turns(&member, 9).await.unwrap().len();
    commit_ok(&store, turn(0)).await;
    wire.set_fault(DROP_COMMIT_RESPONSE);
    commit_ok(&store, turn(1)).await;
    assert_eq!(spoken().await, 2);
    wire.set_fault(DROP_COMMIT);
    let error = store.commit(turn(2)).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE, "{error:?}");
    assert_eq!(spoken().await, 2);
    commit_ok(&store, turn(2)).await;
    // So does a message.
    let letter = |text: &str| {
        empty_changeset().with_write(StoreWrite::SendMessage(Box::new(NewMessage {
            from: AgentId::user(),
            to: "a".parse().unwrap(),
            created_at: Timestamp::from_millis(0),
            deliver_at: 0,
            reply_to: None,
            run: None,
            payload: RawJson::from_value(&text).unwrap(),
        })))
    };
    wire.set_fault(DROP_COMMIT_RESPONSE);
    assert_eq!(commit_ok(&store, letter("one")).await.messages, [1]);
    wire.set_fault(DROP_COMMIT);
    let error = store.commit(letter("two")).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE, "{error:?}");
    assert_eq!(commit_ok(&store, letter("two")).await.messages, [2]);
    // Without any of them the outcome cannot be known.
    wire.set_fault(DROP_COMMIT_RESPONSE);
    let unproven = empty_changeset().with_write(StoreWrite::RaiseTaskNumber(3));
    let error = store.commit(unproven).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::COMMIT_UNKNOWN, "{error:?}");

    wire.set_fault(DROP_EVERYTHING);
    let begun = Instant::now();
    let error = store.last_task_number().await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_BUSY, "{error:?}");
    let error = store.commit(create_changeset()).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE, "{error:?}");
    assert!(begun.elapsed() < 4 * patience);
    wire.set_fault(NO_FAULT);
    assert_eq!(
        commit_ok(&store, create_changeset()).await.created,
        Some(task_id(4))
    );
}

/// Returns whether a code means that nothing was written because the server is unreachable or too busy.
fn is_unavailable(code: RefusalCode) -> bool {
    matches!(
        code,
        RefusalCode::STORE_UNAVAILABLE | RefusalCode::STORE_BUSY
    )
}

/// Runs many writers while `trouble` happens. Acknowledged writes exist; writes reported as "nothing was
/// changed" do not.
async fn write_during_faults(name: &str, trouble: impl AsyncFnOnce()) {
    let url = create_schema(name).await;
    let (one, two) = tokio::join!(connect_store(&url), connect_store(&url));
    let stop = Arc::new(AtomicBool::new(false));
    let mut commits: Vec<Arc<AtomicU64>> = Vec::new();
    let mut workers = tokio::task::JoinSet::new();
    for n in 1..=32_u64 {
        let own = Arc::<AtomicU64>::default();
        commits.push(Arc::clone(&own));
        let store = Arc::clone(if n % 2 == 0 { &one } else { &two });
        let stop = Arc::clone(&stop);
        workers.spawn(async move {
            let mut at = 0;
            let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
            while !stop.load(Ordering::Relaxed) {
                let answer = store.commit(put_changeset(n, at)).await;
                let code = match &answer {
                    Ok(outcome) => {
                        expect_receipt(outcome.clone());
                        at += 1;
                        own.fetch_add(1, Ordering::Relaxed);
                        "committed"
                    }
                    Err(error) => error.code.as_str(),
                };
                *codes.entry(code).or_default() += 1;
                let Err(error) = answer else { continue };
                // Retry while the server is unreachable.
                let there = loop {
                    match store.tasks(&[task_id(n)]).await {
                        Ok(found) => break found.first().map_or(0, |t| t.revision),
                        Err(e) => assert!(is_unavailable(e.code), "{e:?}"),
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                };
                match error.code {
                    away if is_unavailable(away) => assert_eq!(there, at, "{error:?}"),
                    RefusalCode::COMMIT_UNKNOWN => assert!(there == at || there == at + 1),
                    _ => panic!("{error:?}"),
                }
                at = there;
            }
            (n, at, codes)
        });
    }
    trouble().await;
    // Afterwards every writer makes progress.
    let counted = || -> Vec<u64> { commits.iter().map(|n| n.load(Ordering::Relaxed)).collect() };
    let (before, begun) = (counted(), Instant::now());
    while counted()
        .iter()
        .zip(&before)
        .any(|(now, before)| now == before)
    {
        let late = begun.elapsed() > Duration::from_secs(120);
        assert!(!late, "{before:?}, then {:?}", counted());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (n, at, codes) in workers.join_all().await {
        assert_eq!(one.tasks(&[task_id(n)]).await.unwrap()[0].revision, at);
        total += at;
        for (code, count) in codes {
            *all.entry(code).or_default() += count;
        }
    }
    assert_eq!(assert_no_gaps(&one).await, total);
    assert!(all["committed"] > 0, "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn broken_connections_lose_no_acknowledged_write() {
    let _alone = SERVER_LOCK.write().await;
    write_during_faults("broken", async || {
        let admin = connect_admin().await;
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_millis(25)).await;
            admin
                .query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'polis'",
                    &[],
                )
                .await
                .unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn server_crash_loses_no_acknowledged_write() {
    let _alone = SERVER_LOCK.write().await;
    let restart = test_setting("POLIS_TEST_PG_RESTART").expect("POLIS_TEST_PG_RESTART");
    write_during_faults("crash", async || {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let restart = restart.clone();
            let status = tokio::task::spawn_blocking(move || {
                std::process::Command::new("sh")
                    .args(["-c", &restart])
                    .status()
            });
            assert!(status.await.unwrap().unwrap().success());
        }
    })
    .await;
}
