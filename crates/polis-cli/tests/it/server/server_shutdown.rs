//! Tests of server shutdown: graceful with a grace period, immediate, and by SIGKILL.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::random_kill::{SeededRng, crash_rounds};
use crate::harness::test_project::{TestProject, on_both_stores, wait_until};
use crate::harness::test_server::{TestServer, issue_token};

on_both_stores!(killed_server_loses_no_acknowledged_request_and_repeats_none);

/// Number of concurrent writers.
const WRITER_COUNT: u64 = 6;

fn killed_server_loses_no_acknowledged_request_and_repeats_none(project: &TestProject) {
    let ada = issue_token(project, "ada", &[]);
    let mut dice = SeededRng(7);
    let mut expected = 0;
    for round in 0..crash_rounds().min(40) / 5 + 1 {
        let server = TestServer::start(project);
        // Idempotency keys that were sent, with the response if one was received.
        let sent: Mutex<BTreeMap<String, Option<Value>>> = Mutex::default();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..WRITER_COUNT {
                let (server, ada, sent, stop) = (&server, &ada, &sent, &stop);
                scope.spawn(move || {
                    let mut line = server.connect();
                    for n in 0.. {
                        let key = format!("{round}-{writer}-{n}");
                        sent.lock().unwrap().insert(key.clone(), None);
                        let body = json!({"subject": key});
                        let headers = [("Idempotency-Key", key.as_str())];
                        let reply = line
                            .send_request(ada, "POST /v1/tasks", body, &headers)
                            .and_then(|()| line.read_response());
                        match reply {
                            Ok(reply) => {
                                sent.lock()
                                    .unwrap()
                                    .insert(key, Some(reply.expect_json(201)));
                            }
                            Err(_) => return,
                        }
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            wait_until("some responses", || {
                sent.lock().unwrap().values().flatten().count() >= 20
            });
            std::thread::sleep(Duration::from_micros(dice.next_below(20_000)));
            server.send_signal(Signal::KILL);
            stop.store(true, Ordering::Relaxed);
        });
        drop(server);
        let sent = sent.into_inner().unwrap();
        let server = TestServer::start(project);
        let mut line = server.connect();
        for (key, answered) in &sent {
            let body = json!({"subject": key});
            let headers = [("Idempotency-Key", key.as_str())];
            let again = line.request(&ada, "POST /v1/tasks", body, &headers);
            let task = again.expect_json(201);
            if let Some(first) = answered {
                assert_eq!(task, *first, "a retry returns the first response");
                assert_eq!(again.header("idempotency-replayed"), "true");
            }
        }
        expected += sent.len();
        let subjects = project.list_task_subjects();
        assert_eq!(subjects.len(), expected, "each key created one task");
        for key in sent.keys() {
            assert_eq!(subjects.iter().filter(|s| *s == key).count(), 1, "{key}");
        }
        assert!(server.stop().0.success());
    }
}

#[test]
fn graceful_shutdown_finishes_accepted_requests() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let mut running = server.connect();
    // The command ends when this file exists, which is created after the signal.
    let go = project.data_path("workspaces/ada/go");
    let wait = json!({"command": "touch begun; until [ -e go ]; do sleep 0.01; done; echo done"});
    running
        .send_request(&ada, "POST /v1/commands", wait, &[])
        .unwrap();
    let begun = project.data_path("workspaces/ada/begun");
    wait_until("the command", || begun.exists());
    let mut idle = server.connect();
    idle.request(&ada, "GET /v1/tasks", Value::Null, &[])
        .expect_json(200);
    server.send_signal(Signal::TERM);
    assert!(idle.read_line().is_err(), "an idle connection is closed");
    let address = server.url.trim_start_matches("http://").to_owned();
    wait_until("the closing of the socket", || {
        std::net::TcpStream::connect(&address).is_err()
    });
    std::fs::write(&go, "").unwrap();
    let done = running.read_response().unwrap().expect_json(200);
    assert_eq!(done["stdout"], "done\n");
    let (exit, log) = server.wait_for_exit();
    assert!(exit.success(), "{log}");
}

#[test]
fn graceful_shutdown_ends_requests_after_the_grace_period() {
    let project = TestProject::embedded();
    std::fs::write(
        project.data_path("polis.toml"),
        "[serve]\ngrace = \"300ms\"\n",
    )
    .unwrap();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running
        .send_request(&ada, "POST /v1/commands", wait, &[])
        .unwrap();
    let begun = project.data_path("workspaces/ada/begun");
    wait_until("the command", || begun.exists());
    let from = Instant::now();
    let (exit, log) = server.stop();
    assert!(exit.success(), "{log}");
    assert!(from.elapsed() < Duration::from_secs(30));
    assert!(log.contains("grace period expired"), "{log}");
    // Logged as a command whose client did not wait for it.
    let told = project.read_log();
    let told = told
        .iter()
        .find(|event| event["kind"] == "command.run")
        .unwrap();
    assert_eq!(told["data"]["cancelled"], true, "{told}");
}

#[test]
fn command_is_cancelled_when_its_client_disconnects() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running
        .send_request(&ada, "POST /v1/commands", wait, &[])
        .unwrap();
    let begun = project.data_path("workspaces/ada/begun");
    wait_until("the command", || begun.exists());
    drop(running);
    wait_until("the end of the command", || {
        project
            .read_log()
            .iter()
            .any(|event| event["kind"] == "command.run" && event["data"]["cancelled"] == true)
    });
}

#[test]
fn second_signal_ends_the_server_immediately() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let mut running = server.connect();
    let wait = json!({"command": "touch begun; sleep 100"});
    running
        .send_request(&ada, "POST /v1/commands", wait, &[])
        .unwrap();
    let begun = project.data_path("workspaces/ada/begun");
    wait_until("the command", || begun.exists());
    server.send_signal(Signal::INT);
    let address = server.url.trim_start_matches("http://").to_owned();
    wait_until("the closing of the socket", || {
        std::net::TcpStream::connect(&address).is_err()
    });
    let from = Instant::now();
    server.send_signal(Signal::INT);
    let (exit, _) = server.wait_for_exit();
    assert_eq!(exit.code(), Some(130));
    assert!(from.elapsed() < Duration::from_secs(15));
}
