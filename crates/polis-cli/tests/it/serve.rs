//! Tests of `polis serve`: one or several servers and commands on one store.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::board::{Board, on_both_stores, start};
use crate::exec::with_time_to_begin;
use crate::server::{Connection, Server, token};

on_both_stores!(
    a_token_acts_as_its_agent_until_it_is_revoked,
    several_servers_and_commands_are_one,
    a_key_counts_on_every_server,
    files_and_commands_are_the_agents_own,
);

fn a_token_acts_as_its_agent_until_it_is_revoked(board: &Board) {
    let server = Server::start(board);
    let (ada, user) = (token(board, "ada", &[]), token(board, "user", &[]));
    let made = server
        .ask(&ada, "POST /v1/tasks", json!({"subject": "x"}))
        .good(201);
    assert_eq!(board.get("1")["subject"], made["subject"]);
    let log = board.log();
    let created = log
        .iter()
        .find(|event| event["kind"] == "task.created")
        .unwrap();
    assert_eq!(created["actor"], "ada");
    let claimed = server
        .ask(&ada, "POST /v1/tasks/claim", Value::Null)
        .good(200);
    assert_eq!(claimed["owner"], "ada");
    server
        .ask("", "GET /v1/tasks", Value::Null)
        .refused(401, "unauthorized");
    // A token that expires, a read-only one, and a revoked one: effective immediately, without a restart.
    let short = token(board, "ada", &["--expires", "1ms"]);
    server
        .ask(&short, "GET /v1/tasks", Value::Null)
        .refused(401, "unauthorized");
    let read = token(board, "ada", &["--scope", "tasks:read"]);
    server.ask(&read, "GET /v1/tasks", Value::Null).good(200);
    let refused = server.ask(&read, "POST /v1/tasks", json!({"subject": "y"}));
    refused.refused(403, "insufficient_scope");
    server
        .ask(&read, "GET /v1/boards/global", Value::Null)
        .refused(403, "insufficient_scope");
    let mut line = server.connect();
    line.ask(&read, "GET /v1/tasks", Value::Null, &[]).good(200);
    let id = read.split('_').nth(1).unwrap();
    board.ok("user", &["agent", "token", "revoke", id]);
    line.ask(&read, "GET /v1/tasks", Value::Null, &[])
        .refused(401, "unauthorized");
    board.ok("user", &["agent", "token", "revoke", "ada"]);
    server
        .ask(&ada, "GET /v1/tasks", Value::Null)
        .refused(401, "unauthorized");
    let stats = server.ask(&user, "GET /v1/stats", Value::Null).good(200);
    assert_eq!(stats["agents"], 1);
    let (exit, log) = server.end();
    assert!(exit.success(), "{log}");
}

fn several_servers_and_commands_are_one(board: &Board) {
    let servers = [Server::start(board), Server::start(board)];
    let names = ["ada", "bob", "cyd", "dan"];
    let tokens: Vec<String> = names.iter().map(|name| token(board, name, &[])).collect();
    // A client that follows one server receives events of writes through the other and on the command line.
    let mut events = servers[1].connect();
    events
        .send(
            &tokens[0],
            "GET /v1/events?kind=task.created",
            Value::Null,
            &[],
        )
        .unwrap();
    assert_eq!(events.head().unwrap().status, 200);
    let through_one = json!({"subject": "through a server"});
    servers[0]
        .ask(&tokens[0], "POST /v1/tasks", through_one)
        .good(201);
    board.ok(
        "bob",
        &["task", "create", "--subject", "on the command line"],
    );
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let line = events.line().unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            heard.push(event["data"]["subject"].clone());
        }
    }
    assert_eq!(heard, ["through a server", "on the command line"]);
    for n in 0..38 {
        let task = json!({"subject": format!("task {n}")});
        servers[n % 2]
            .ask(&tokens[0], "POST /v1/tasks", task)
            .good(201);
    }
    // All clients claim the best task, on either server; no task is claimed twice.
    let taken: Vec<String> = std::thread::scope(|scope| {
        let claimers: Vec<_> = (0..8)
            .map(|n| {
                let (server, token) = (&servers[n % 2], &tokens[n % tokens.len()]);
                scope.spawn(move || {
                    let mut line = server.connect();
                    let mut mine = Vec::new();
                    loop {
                        let reply = line.ask(token, "POST /v1/tasks/claim", json!({}), &[]);
                        if reply.status == 404 {
                            reply.refused(404, "nothing_to_claim");
                            return mine;
                        }
                        mine.push(reply.good(200)["id"].as_str().unwrap().to_owned());
                    }
                })
            })
            .collect();
        let on_the_side = board.run("ada", &["task", "claim"]);
        let mut all: Vec<String> = claimers
            .into_iter()
            .flat_map(|c| c.join().unwrap())
            .collect();
        if on_the_side.exit == Some(0) {
            all.push(on_the_side.document()["id"].as_str().unwrap().to_owned());
        }
        all
    });
    let each: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), each.len()), (40, 40), "{taken:?}");
    for server in servers {
        assert!(server.end().0.success());
    }
    // A follower is notified that the server shuts down.
    let mut last = String::new();
    while let Ok(line) = events.line() {
        if !line.is_empty() {
            last = format!("{last}{line}\n");
        }
    }
    assert!(last.contains("event: closing"), "{last}");
}

fn a_key_counts_on_every_server(board: &Board) {
    let servers = [Server::start(board), Server::start(board)];
    let ada = token(board, "ada", &[]);
    for round in 0..5 {
        let key = format!("round-{round}");
        let replies: Vec<_> = std::thread::scope(|scope| {
            let twins: Vec<_> = (0..6)
                .map(|n| {
                    let (server, ada, key) = (&servers[n % 2], &ada, key.as_str());
                    scope.spawn(move || {
                        let headers = [("Idempotency-Key", key)];
                        let task = json!({"subject": "once"});
                        server.connect().ask(ada, "POST /v1/tasks", task, &headers)
                    })
                })
                .collect();
            twins.into_iter().map(|twin| twin.join().unwrap()).collect()
        });
        let ids: BTreeSet<String> = replies
            .iter()
            .map(|reply| reply.good(201)["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(ids.len(), 1, "{replies:?}");
        let fresh = replies
            .iter()
            .filter(|r| r.header("idempotency-replayed").is_empty());
        assert_eq!(fresh.count(), 1, "{replies:?}");
    }
    assert_eq!(board.listed("user", &["task", "list"]).len(), 5);
    let headers = [("Idempotency-Key", "round-0")];
    let other = servers[1].connect().ask(
        &ada,
        "POST /v1/tasks",
        json!({"subject": "other"}),
        &headers,
    );
    other.refused(422, "idempotency_key_reused");
}

fn files_and_commands_are_the_agents_own(board: &Board) {
    let server = Server::start(board);
    let (ada, bob) = (token(board, "ada", &[]), token(board, "bob", &[]));
    let mut line = server.connect();
    let file = "PUT /v1/files?path=src%2Fa.txt";
    let absent = [("If-None-Match", "*")];
    let put = line.ask(&ada, file, json!({"content": "one"}), &absent);
    assert_eq!(put.good(200)["created"], true);
    line.ask(&ada, file, json!({"content": "two"}), &absent)
        .refused(412, "file_exists");
    let tag = put.header("etag").to_owned();
    let same = [("If-Match", tag.as_str())];
    line.ask(&ada, file, json!({"content": "two"}), &same)
        .good(200);
    line.ask(&ada, file, json!({"content": "three"}), &same)
        .refused(412, "hash_mismatch");
    let edit = json!({"oldText": "two", "newText": "2"});
    line.ask(&ada, "PATCH /v1/files?path=src%2Fa.txt", edit, &same)
        .refused(412, "hash_mismatch");
    line.ask(&bob, "GET /v1/files?path=src%2Fa.txt", Value::Null, &[])
        .refused(404, "file_not_found");
    let run = json!({"command": "cat src/a.txt; exit 3"});
    let ran = line.ask(&ada, "POST /v1/commands", run, &[]).good(200);
    assert_eq!(
        (ran["stdout"].as_str(), ran["exitCode"].as_i64()),
        (Some("two"), Some(3))
    );
    let mut timed_out = 0;
    let (late, _) = with_time_to_begin(|millis| {
        let millis: u64 = millis.parse().unwrap();
        let slow = json!({"command": "echo begun; sleep 600", "timeoutMs": millis});
        let late = line
            .ask(&ada, "POST /v1/commands", slow, &[])
            .refused(422, "command_timeout");
        timed_out += 1;
        (late["stdout"] != "", late)
    });
    assert_eq!(late["stdout"], "begun\n");
    line.ask(
        &ada,
        "POST /v1/commands",
        json!({"command": "rm -rf /"}),
        &[],
    )
    .refused(403, "command_blocked");
    for path in [
        "..%2F..%2Fpolis.db",
        "%2Fetc%2Fpasswd",
        "a%00b",
        "..%2F..%2F..%2F..%2Fetc%2Fpasswd",
        "src%2F..%2F..%2F..%2Fpolis.db",
        "%252e%252e%252f%252e%252e%252fpolis.db",
        "%c0%ae%c0%ae%2fpolis.db",
        "..%5C..%5Cpolis.db",
    ] {
        for method in ["GET", "DELETE"] {
            let reply = line.ask(
                &ada,
                &format!("{method} /v1/files?path={path}"),
                Value::Null,
                &[],
            );
            assert!(
                (400..=404).contains(&reply.status),
                "{method} {path}: {reply:?}"
            );
        }
    }
    assert!(board.workspace("polis.toml").exists());
    // The answer reveals no path of the machine.
    let told = line.ask(&ada, "GET /v1/files?path=..%2Fx", Value::Null, &[]);
    assert!(
        !told.body.contains(board.path().to_str().unwrap()),
        "{told:?}"
    );
    let figures = token(board, "user", &[]);
    let page = line.ask(&figures, "GET /metrics", Value::Null, &[]);
    assert!(page.body.contains("polis_commands_total{"), "{}", page.body);
    assert!(
        page.body
            .contains(&format!("ending=\"timed_out\"}} {timed_out}\n")),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("polis_events_readers 0"),
        "{}",
        page.body
    );
}

#[test]
fn mcp_is_at_the_same_address() {
    let board = Board::embedded();
    let server = Server::start(&board);
    let ada = token(&board, "ada", &[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let accept = [("Accept", "application/json, text/event-stream")];
    let mut line = server.connect();
    line.ask("", "POST /mcp", hello.clone(), &accept)
        .refused(401, "unauthorized");
    line.send(&ada, "POST /mcp", hello, &accept).unwrap();
    let head = line.head().unwrap();
    assert_eq!(head.status, 200, "{head:?}");
    let mut said = String::new();
    while !said.contains("\"result\"") {
        said = line.line().unwrap();
    }
    assert!(said.contains("\"serverInfo\""), "{said}");
}

#[test]
fn a_socket_in_the_file_system_is_its_owners() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let path = board.file("polis.sock");
    let listen = format!("unix:{}", path.display());
    let flags = ["--listen", listen.as_str()];
    let server = Server::start_with(&board, &flags);
    assert_eq!(server.url, listen);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let mut line = Connection::unix(&path);
    line.ask(&ada, "GET /v1/tasks", Value::Null, &[]).good(200);
    line.ask("", "GET /v1/tasks", Value::Null, &[])
        .refused(401, "unauthorized");
    let second = board.run("user", &[&["serve"], &flags[..]].concat());
    assert!(
        second
            .refusal(2, "invalid_input")
            .message
            .contains("is already in use by polis")
    );
    // A killed server leaves its socket behind; the next server replaces it.
    server.kill();
    assert!(path.exists());
    let server = Server::start_with(&board, &flags);
    Connection::unix(&path)
        .ask(&ada, "GET /v1/tasks", Value::Null, &[])
        .good(200);
    assert!(server.end().0.success());
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_served_is_told_before() {
    let board = Board::embedded();
    let refused = |flags: &[&str]| {
        board
            .run("user", &[&["serve"], flags].concat())
            .refusal(2, "invalid_input")
    };
    let open = refused(&["--listen", "0.0.0.0:0"]);
    assert!(open.hint.contains("--allow-plaintext"), "{open:?}");
    refused(&["--listen", "nonsense"]);
    refused(&[
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        "nowhere.pem",
        "--tls-key",
        "nowhere.pem",
    ]);
    assert_eq!(
        board.run("user", &["serve", "--tls-cert", "x.pem"]).exit,
        Some(2)
    );
    let server = Server::start(&board);
    let taken = server.url.trim_start_matches("http://").to_owned();
    assert!(
        refused(&["--listen", &taken])
            .message
            .contains("is already in use by polis")
    );
    let allowed = Server::start_with(&board, &["--listen", "0.0.0.0:0", "--allow-plaintext"]);
    drop(allowed);
    for (line, what) in [
        ("rate = 0", "number from 1"),
        ("grace = \"0s\"", "out of range"),
        ("origins = [\"example.org\"]", "not an origin"),
        ("hosts = [\"a/b\"]", "not a host"),
        ("max_body = \"many\"", "max_body"),
        ("lisen = \"x\"", "did you mean"),
    ] {
        std::fs::write(board.workspace("polis.toml"), format!("[serve]\n{line}\n")).unwrap();
        let answer = board.run("user", &["serve"]).refusal(2, "invalid_config");
        assert!(answer.message.contains(what), "{line}: {answer:?}");
    }
}

#[test]
fn the_log_names_requests_and_never_a_token() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--access-log",
        "--log-format",
        "json",
    ];
    let server = Server::start_with(&board, &flags);
    let mut line = server.connect();
    let headers = [("X-Request-Id", "my-own.1"), ("Idempotency-Key", "hush")];
    let body = json!({"subject": "not in the log"});
    let reply = line.ask(&ada, "POST /v1/tasks", body, &headers);
    assert_eq!(reply.header("x-request-id"), "my-own.1");
    let secret = "GET /v1/boards/global?section=hushed";
    line.ask(&ada, secret, Value::Null, &[]);
    line.ask(
        "polis_0123456789ab_wrong",
        "GET /v1/tasks",
        Value::Null,
        &[],
    );
    let (exit, log) = server.end();
    assert!(exit.success());
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let requests: Vec<&Value> = lines
        .iter()
        .filter(|line| line["target"] == "polis::access")
        .collect();
    assert_eq!(requests.len(), 3, "{log}");
    assert_eq!(requests[0]["id"], "my-own.1");
    assert_eq!(requests[0]["agent"], "ada");
    assert_eq!(requests[0]["path"], "/v1/tasks");
    assert_eq!(requests[0]["status"], 201);
    assert_eq!(requests[1]["path"], "/v1/boards/global");
    assert_eq!(requests[2]["code"], "unauthorized");
    for hidden in [
        ada.rsplit('_').next().unwrap(),
        "hush",
        "wrong",
        "not in the log",
        "Bearer",
    ] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}

/// A client of protocol revision 2026-07-28 listens for changes until it exits; Claude Code does so in every run.
#[test]
fn mcp_stream_closed_by_its_client_is_not_logged_as_error() {
    let board = Board::embedded();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": {"resourcesListChanged": true},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let mut line = server.connect();
    line.send(&ada, "POST /mcp", listen, &headers).unwrap();
    assert_eq!(line.head().unwrap().status, 200);
    while !line.line().unwrap().contains("acknowledged") {}
    drop(line);
    let (exit, log) = server.end();
    assert!(exit.success());
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
}

#[test]
fn limits_come_from_the_configuration() {
    let board = Board::embedded();
    let set = "[serve]\nmax_body = \"1KiB\"\nrate = 1\nburst = 4\nhosts = [\"polis.test\"]\n";
    std::fs::write(board.workspace("polis.toml"), set).unwrap();
    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let mut line = server.connect();
    let large = json!({"subject": "x".repeat(2_000)});
    line.ask(&ada, "POST /v1/tasks", large, &[])
        .refused(413, "request_too_large");
    let mut line = server.connect();
    let replies: BTreeMap<u16, usize> = (0..20)
        .map(|_| line.ask(&ada, "GET /v1/tasks", Value::Null, &[]).status)
        .fold(BTreeMap::new(), |mut counts, status| {
            *counts.entry(status).or_default() += 1;
            counts
        });
    assert!(replies[&429] > 10, "{replies:?}");
    let shown = board.ok("user", &["config", "show"]);
    assert_eq!(shown["serve"]["max_body"], "1KiB");
}

/// A port in use: `serve` names its owner, `open` uses the next one.
#[test]
fn taken_port_is_named_by_serve_and_avoided_by_open() {
    let board = Board::embedded();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = format!("[serve]\nlisten = \"{address}\"\n");
    std::fs::write(board.workspace("polis.toml"), config).unwrap();
    let refused = board.refused("user", &["serve"], 2, "invalid_input");
    let owner = format!("(process {})", std::process::id());
    assert!(
        refused.message.contains(&address.to_string()) && refused.message.contains(&owner),
        "{refused:?}"
    );
    assert!(refused.hint.contains("--listen 127.0.0.1:0"), "{refused:?}");
    // An explicitly named address is not replaced.
    let named = ["open", "--no-browser", "--listen", &address.to_string()];
    board.refused("user", &named, 2, "invalid_input");
    let open = ["open", "--no-browser"];
    let server = Server::start_by(&mut board.json_command("user", &open));
    let port = server.url.rsplit_once(':').unwrap().1;
    let port: u16 = port.parse().unwrap();
    assert!(port > address.port(), "{}", server.url);
    // In text mode the message names the program that uses the default port.
    let other = Board::embedded();
    std::fs::copy(board.workspace("polis.toml"), other.workspace("polis.toml")).unwrap();
    let mut command = other.command();
    let mut child = start(command.args(open));
    let mut noted = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut noted).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        noted.contains(&owner) && noted.contains("Using port"),
        "{noted}"
    );
    let (exit, log) = server.end();
    assert!(exit.success(), "{log}");
}
