//! Fault injection for the PostgreSQL store: lost packets, broken connections and a server crash.
//! Acknowledged writes must survive.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use polis_core::Raw;
use polis_core::message::NewMessage;

use super::*;

/// A TCP proxy to the server that can drop traffic.
struct Wire {
    url: String,
    fault: Arc<AtomicU8>,
}

const WHOLE: u8 = 0;
/// The next COMMIT is lost on its way.
const LOSE_COMMIT: u8 = 1;
/// The next COMMIT arrives, its answer does not.
const LOSE_ANSWER: u8 = 2;
/// No traffic in either direction.
const FROZEN: u8 = 3;
/// Answers do not arrive.
const DEAF: u8 = 4;

impl Wire {
    /// Starts a proxy to the server of this address, which must contain host and port.
    fn to(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("user@host:port/database");
        let (server, after) = rest.split_once('/').expect("host:port/database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let fault = Arc::new(AtomicU8::new(WHOLE));
        let of_wire = Arc::clone(&fault);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let (to, from) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let fault = Arc::clone(&of_wire);
                std::thread::spawn(move || carry(&client, &server, &fault, true));
                let fault = Arc::clone(&of_wire);
                std::thread::spawn(move || carry(&from, &to, &fault, false));
            }
        });
        Self {
            url: format!("{before}@{here}/{after}"),
            fault,
        }
    }

    fn is(&self, fault: u8) {
        self.fault.store(fault, Ordering::SeqCst);
    }
}

/// Forwards bytes in one direction. A fault that cuts the connection applies once: the next connection works.
fn carry(mut from: &TcpStream, mut to: &TcpStream, fault: &AtomicU8, to_server: bool) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..n];
        let commits = to_server && bytes.windows(7).any(|w| w == b"COMMIT\0");
        match fault.load(Ordering::SeqCst) {
            FROZEN => continue,
            LOSE_COMMIT if commits => {
                fault.store(WHOLE, Ordering::SeqCst);
                break;
            }
            LOSE_ANSWER if commits => {
                fault.store(DEAF, Ordering::SeqCst);
                to.write_all(bytes).unwrap();
                std::thread::sleep(Duration::from_millis(200));
                fault.store(WHOLE, Ordering::SeqCst);
                break;
            }
            DEAF if !to_server => continue,
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
async fn a_cut_wire_is_answered_honestly() {
    let _shared = SERVER.read().await;
    let url = board("wire").await;
    // The tables are created by a connection with a longer timeout.
    drop(open(&url).await);
    let wire = Wire::to(&url);
    let patience = Duration::from_secs(5);
    let store = PostgresStore::connect(&wire.url, patience).await.unwrap();
    done(&store, create()).await;

    wire.is(LOSE_COMMIT);
    let error = store.commit(create()).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable, "{error:?}");
    assert!(error.message.contains("Nothing was changed"), "{error:?}");
    assert_eq!(store.last_task_number().await.unwrap(), 1);

    wire.is(LOSE_ANSWER);
    let receipt_of_lost = done(&store, create()).await;
    assert_eq!(receipt_of_lost.created, Some(id(2)));
    assert_eq!(store.last_sequence().await.unwrap(), 2);
    wire.is(LOSE_ANSWER);
    let mut stream = Many(vec![put(3, 0), settle(&[9])].into_iter());
    let streamed = store.commit_stream(&mut stream).await;
    assert_eq!(receipt(streamed.unwrap()).sequence, 3);
    wire.is(LOSE_COMMIT);
    let mut stream = Many(vec![put(4, 0)].into_iter());
    let error = store.commit_stream(&mut stream).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable, "{error:?}");

    // A turn proves the commit it belongs to, like an event.
    let turn = |n: u64| {
        changes().write(Write::AppendTurn {
            member: "run/a".to_owned(),
            turn: n,
            body: RecordBody::Text(format!("turn {n}")),
        })
    };
    let member: MemberKey = "run/a".parse().unwrap();
    let spoken = async || store.last_turns(&member, 9).await.unwrap().len();
    done(&store, turn(0)).await;
    wire.is(LOSE_ANSWER);
    done(&store, turn(1)).await;
    assert_eq!(spoken().await, 2);
    wire.is(LOSE_COMMIT);
    let error = store.commit(turn(2)).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable, "{error:?}");
    assert_eq!(spoken().await, 2);
    done(&store, turn(2)).await;
    // So does a message.
    let letter = |text: &str| {
        changes().write(Write::SendMessage(Box::new(NewMessage {
            from: AgentId::user(),
            to: "a".parse().unwrap(),
            created_at: Timestamp::from_millis(0),
            deliver_at: 0,
            reply_to: None,
            run: None,
            payload: Raw::of(&text).unwrap(),
        })))
    };
    wire.is(LOSE_ANSWER);
    assert_eq!(done(&store, letter("one")).await.messages, [1]);
    wire.is(LOSE_COMMIT);
    let error = store.commit(letter("two")).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable, "{error:?}");
    assert_eq!(done(&store, letter("two")).await.messages, [2]);
    // Without any of them the outcome cannot be known.
    wire.is(LOSE_ANSWER);
    let unproven = changes().write(Write::RaiseTaskNumber(3));
    let error = store.commit(unproven).await.unwrap_err();
    assert_eq!(error.code, Code::CommitUnknown, "{error:?}");

    wire.is(FROZEN);
    let begun = Instant::now();
    let error = store.last_task_number().await.unwrap_err();
    assert_eq!(error.code, Code::StoreBusy, "{error:?}");
    let error = store.commit(create()).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable, "{error:?}");
    assert!(begun.elapsed() < 4 * patience);
    wire.is(WHOLE);
    assert_eq!(done(&store, create()).await.created, Some(id(4)));
}

/// Whether a store reports that nothing was done because its server is unreachable or too busy.
fn is_away(code: Code) -> bool {
    matches!(code, Code::StoreUnavailable | Code::StoreBusy)
}

/// Runs many writers while `trouble` happens. Acknowledged writes exist; writes reported as "nothing was
/// changed" do not.
async fn write_through(name: &str, trouble: impl AsyncFnOnce()) {
    let url = board(name).await;
    let (one, two) = tokio::join!(open(&url), open(&url));
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
                let answer = store.commit(put(n, at)).await;
                let code = match &answer {
                    Ok(outcome) => {
                        receipt(outcome.clone());
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
                    match store.tasks(&[id(n)]).await {
                        Ok(found) => break found.first().map_or(0, |t| t.revision),
                        Err(e) => assert!(is_away(e.code), "{e:?}"),
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                };
                match error.code {
                    away if is_away(away) => assert_eq!(there, at, "{error:?}"),
                    Code::CommitUnknown => assert!(there == at || there == at + 1),
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
        assert_eq!(one.tasks(&[id(n)]).await.unwrap()[0].revision, at);
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
async fn broken_connections_lose_nothing() {
    let _alone = SERVER.write().await;
    write_through("broken", async || {
        let admin = admin().await;
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
async fn a_crashed_server_loses_nothing() {
    let _alone = SERVER.write().await;
    let restart = setting("POLIS_TEST_PG_RESTART").expect("POLIS_TEST_PG_RESTART");
    write_through("crash", async || {
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
