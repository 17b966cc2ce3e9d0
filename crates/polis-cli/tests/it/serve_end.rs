//! Tests of server shutdown: graceful, immediate, and by SIGKILL.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::board::{Board, eventually, on_both_stores};
use crate::kill::{Dice, rounds};
use crate::server::{Server, token};

on_both_stores!(a_killed_server_has_done_what_it_said_and_nothing_twice);

/// Number of concurrent writers.
const WRITERS: u64 = 6;

fn a_killed_server_has_done_what_it_said_and_nothing_twice(board: &Board) {
    let ada = token(board, "ada", &[]);
    let mut dice = Dice(7);
    let mut expected = 0;
    for round in 0..rounds().min(40) / 5 + 1 {
        let server = Server::start(board);
        // Idempotency keys that were sent, with the response if one was received.
        let sent: Mutex<BTreeMap<String, Option<Value>>> = Mutex::default();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (server, ada, sent, stop) = (&server, &ada, &sent, &stop);
                scope.spawn(move || {
                    let mut line = server.connect();
                    for n in 0.. {
                        let key = format!("{round}-{writer}-{n}");
                        sent.lock().unwrap().insert(key.clone(), None);
                        let body = json!({"subject": key});
                        let headers = [("Idempotency-Key", key.as_str())];
                        let reply = line
                            .send(ada, "POST /v1/tasks", body, &headers)
                            .and_then(|()| line.read());
                        match reply {
                            Ok(reply) => {
                                sent.lock().unwrap().insert(key, Some(reply.good(201)));
                            }
                            Err(_) => return,
                        }
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            eventually("some answers", || {
                sent.lock().unwrap().values().flatten().count() >= 20
            });
            std::thread::sleep(Duration::from_micros(dice.below(20_000)));
            server.signal(Signal::KILL);
            stop.store(true, Ordering::Relaxed);
        });
        drop(server);
        let sent = sent.into_inner().unwrap();
        let server = Server::start(board);
        let mut line = server.connect();
        for (key, answered) in &sent {
            let body = json!({"subject": key});
            let headers = [("Idempotency-Key", key.as_str())];
            let again = line.ask(&ada, "POST /v1/tasks", body, &headers);
            let task = again.good(201);
            if let Some(first) = answered {
                assert_eq!(task, *first, "answered as the first time");
                assert_eq!(again.header("idempotency-replayed"), "true");
            }
        }
        expected += sent.len();
        let subjects = board.listed_subjects();
        assert_eq!(subjects.len(), expected, "each key made one task");
        for key in sent.keys() {
            assert_eq!(subjects.iter().filter(|s| *s == key).count(), 1, "{key}");
        }
        assert!(server.end().0.success());
    }
}

#[test]
fn a_server_finishes_what_it_accepted() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let mut running = server.connect();
    // The command ends when this file exists, which is created after the signal.
    let go = board.workspace("workspaces/ada/go");
    let wait = json!({"command": "touch begun; until [ -e go ]; do sleep 0.01; done; echo done"});
    running.send(&ada, "POST /v1/commands", wait, &[]).unwrap();
    let begun = board.workspace("workspaces/ada/begun");
    eventually("the command", || begun.exists());
    let mut idle = server.connect();
    idle.ask(&ada, "GET /v1/tasks", Value::Null, &[]).good(200);
    server.signal(Signal::TERM);
    assert!(idle.line().is_err(), "an idle connection is closed");
    let address = server.url.trim_start_matches("http://").to_owned();
    eventually("the socket's end", || {
        std::net::TcpStream::connect(&address).is_err()
    });
    std::fs::write(&go, "").unwrap();
    let done = running.read().unwrap().good(200);
    assert_eq!(done["stdout"], "done\n");
    let (exit, log) = server.wait();
    assert!(exit.success(), "{log}");
}

#[test]
fn what_does_not_end_in_time_is_ended() {
    let board = Board::embedded();
    std::fs::write(
        board.workspace("polis.toml"),
        "[serve]\ngrace = \"300ms\"\n",
    )
    .unwrap();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running.send(&ada, "POST /v1/commands", wait, &[]).unwrap();
    let begun = board.workspace("workspaces/ada/begun");
    eventually("the command", || begun.exists());
    let from = Instant::now();
    let (exit, log) = server.end();
    assert!(exit.success(), "{log}");
    assert!(from.elapsed() < Duration::from_secs(30));
    assert!(log.contains("time was up"), "{log}");
    // Logged as a command whose client did not wait for it.
    let told = board.log();
    let told = told
        .iter()
        .find(|event| event["kind"] == "command.run")
        .unwrap();
    assert_eq!(told["data"]["cancelled"], true, "{told}");
}

#[test]
fn a_command_ends_when_nobody_waits_for_it() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running.send(&ada, "POST /v1/commands", wait, &[]).unwrap();
    let begun = board.workspace("workspaces/ada/begun");
    eventually("the command", || begun.exists());
    drop(running);
    eventually("the end of the command", || {
        board
            .log()
            .iter()
            .any(|event| event["kind"] == "command.run" && event["data"]["cancelled"] == true)
    });
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running.send(&ada, "POST /v1/commands", wait, &[]).unwrap();
    let begun = board.workspace("workspaces/ada/begun");
    eventually("the command", || begun.exists());
    server.signal(Signal::INT);
    let address = server.url.trim_start_matches("http://").to_owned();
    eventually("the socket's end", || {
        std::net::TcpStream::connect(&address).is_err()
    });
    let from = Instant::now();
    server.signal(Signal::INT);
    let (exit, _) = server.wait();
    assert_eq!(exit.code(), Some(130));
    assert!(from.elapsed() < Duration::from_secs(15));
}
