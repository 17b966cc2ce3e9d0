//! Tests of `polis serve`: tokens, several servers on one store, idempotency keys, sockets, logging and
//! limits.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores, spawn_captured};
use crate::harness::test_server::{HttpConnection, TestServer, issue_token};
use crate::workspace::exec::retry_with_longer_timeouts;

on_both_stores!(
    token_acts_as_its_agent_until_revoked,
    servers_and_commands_share_one_store,
    idempotency_key_applies_across_servers,
    files_and_commands_are_confined_to_the_agents_workspace,
);

fn token_acts_as_its_agent_until_revoked(project: &TestProject) {
    let server = TestServer::start(project);
    let (ada, user) = (
        issue_token(project, "ada", &[]),
        issue_token(project, "user", &[]),
    );
    let made = server
        .request(&ada, "POST /v1/tasks", json!({"subject": "x"}))
        .expect_json(201);
    assert_eq!(project.get_task("1")["subject"], made["subject"]);
    let log = project.read_log();
    let created = log
        .iter()
        .find(|event| event["kind"] == "task.created")
        .unwrap();
    assert_eq!(created["actor"], "ada");
    let claimed = server
        .request(&ada, "POST /v1/tasks/claim", Value::Null)
        .expect_json(200);
    assert_eq!(claimed["owner"], "ada");
    server
        .request("", "GET /v1/tasks", Value::Null)
        .expect_problem(401, "unauthorized");
    // A token that expires, a read-only one, and a revoked one: effective immediately, without a restart.
    let short = issue_token(project, "ada", &["--expires", "1ms"]);
    server
        .request(&short, "GET /v1/tasks", Value::Null)
        .expect_problem(401, "unauthorized");
    let read = issue_token(project, "ada", &["--scope", "tasks:read"]);
    server
        .request(&read, "GET /v1/tasks", Value::Null)
        .expect_json(200);
    let refused = server.request(&read, "POST /v1/tasks", json!({"subject": "y"}));
    refused.expect_problem(403, "insufficient_scope");
    server
        .request(&read, "GET /v1/boards/global", Value::Null)
        .expect_problem(403, "insufficient_scope");
    let mut line = server.connect();
    line.request(&read, "GET /v1/tasks", Value::Null, &[])
        .expect_json(200);
    let id = read.split('_').nth(1).unwrap();
    project.run_ok("user", &["agent", "token", "revoke", id]);
    line.request(&read, "GET /v1/tasks", Value::Null, &[])
        .expect_problem(401, "unauthorized");
    project.run_ok("user", &["agent", "token", "revoke", "ada"]);
    server
        .request(&ada, "GET /v1/tasks", Value::Null)
        .expect_problem(401, "unauthorized");
    let stats = server
        .request(&user, "GET /v1/stats", Value::Null)
        .expect_json(200);
    assert_eq!(stats["agents"], 1);
    let (exit, log) = server.stop();
    assert!(exit.success(), "{log}");
}

fn servers_and_commands_share_one_store(project: &TestProject) {
    let servers = [TestServer::start(project), TestServer::start(project)];
    let names = ["ada", "bob", "cyd", "dan"];
    let tokens: Vec<String> = names
        .iter()
        .map(|name| issue_token(project, name, &[]))
        .collect();
    // A client that follows one server receives events of writes through the other and on the command line.
    let mut events = servers[1].connect();
    events
        .send_request(
            &tokens[0],
            "GET /v1/events?kind=task.created",
            Value::Null,
            &[],
        )
        .unwrap();
    assert_eq!(events.read_response_head().unwrap().status, 200);
    let through_one = json!({"subject": "through a server"});
    servers[0]
        .request(&tokens[0], "POST /v1/tasks", through_one)
        .expect_json(201);
    project.run_ok(
        "bob",
        &["task", "create", "--subject", "on the command line"],
    );
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let line = events.read_line().unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            heard.push(event["data"]["subject"].clone());
        }
    }
    assert_eq!(heard, ["through a server", "on the command line"]);
    for n in 0..38 {
        let task = json!({"subject": format!("task {n}")});
        servers[n % 2]
            .request(&tokens[0], "POST /v1/tasks", task)
            .expect_json(201);
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
                        let reply = line.request(token, "POST /v1/tasks/claim", json!({}), &[]);
                        if reply.status == 404 {
                            reply.expect_problem(404, "nothing_to_claim");
                            return mine;
                        }
                        mine.push(reply.expect_json(200)["id"].as_str().unwrap().to_owned());
                    }
                })
            })
            .collect();
        let on_the_side = project.run_json("ada", &["task", "claim"]);
        let mut all: Vec<String> = claimers
            .into_iter()
            .flat_map(|c| c.join().unwrap())
            .collect();
        if on_the_side.exit_code == Some(0) {
            all.push(
                on_the_side.expect_document()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        all
    });
    let each: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), each.len()), (40, 40), "{taken:?}");
    for server in servers {
        assert!(server.stop().0.success());
    }
    // A follower is notified that the server shuts down.
    let mut last = String::new();
    while let Ok(line) = events.read_line() {
        if !line.is_empty() {
            last = format!("{last}{line}\n");
        }
    }
    assert!(last.contains("event: closing"), "{last}");
}

fn idempotency_key_applies_across_servers(project: &TestProject) {
    let servers = [TestServer::start(project), TestServer::start(project)];
    let ada = issue_token(project, "ada", &[]);
    for round in 0..5 {
        let key = format!("round-{round}");
        let replies: Vec<_> = std::thread::scope(|scope| {
            let twins: Vec<_> = (0..6)
                .map(|n| {
                    let (server, ada, key) = (&servers[n % 2], &ada, key.as_str());
                    scope.spawn(move || {
                        let headers = [("Idempotency-Key", key)];
                        let task = json!({"subject": "once"});
                        server
                            .connect()
                            .request(ada, "POST /v1/tasks", task, &headers)
                    })
                })
                .collect();
            twins.into_iter().map(|twin| twin.join().unwrap()).collect()
        });
        let ids: BTreeSet<String> = replies
            .iter()
            .map(|reply| reply.expect_json(201)["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(ids.len(), 1, "{replies:?}");
        let fresh = replies
            .iter()
            .filter(|r| r.header("idempotency-replayed").is_empty());
        assert_eq!(fresh.count(), 1, "{replies:?}");
    }
    assert_eq!(project.list_task_ids("user", &["task", "list"]).len(), 5);
    let headers = [("Idempotency-Key", "round-0")];
    let other = servers[1].connect().request(
        &ada,
        "POST /v1/tasks",
        json!({"subject": "other"}),
        &headers,
    );
    other.expect_problem(422, "idempotency_key_reused");
}

fn files_and_commands_are_confined_to_the_agents_workspace(project: &TestProject) {
    let server = TestServer::start(project);
    let (ada, bob) = (
        issue_token(project, "ada", &[]),
        issue_token(project, "bob", &[]),
    );
    let mut line = server.connect();
    let file = "PUT /v1/files?path=src%2Fa.txt";
    let absent = [("If-None-Match", "*")];
    let put = line.request(&ada, file, json!({"content": "one"}), &absent);
    assert_eq!(put.expect_json(200)["created"], true);
    line.request(&ada, file, json!({"content": "two"}), &absent)
        .expect_problem(412, "file_exists");
    let tag = put.header("etag").to_owned();
    let same = [("If-Match", tag.as_str())];
    line.request(&ada, file, json!({"content": "two"}), &same)
        .expect_json(200);
    line.request(&ada, file, json!({"content": "three"}), &same)
        .expect_problem(412, "hash_mismatch");
    let edit = json!({"oldText": "two", "newText": "2"});
    line.request(&ada, "PATCH /v1/files?path=src%2Fa.txt", edit, &same)
        .expect_problem(412, "hash_mismatch");
    line.request(&bob, "GET /v1/files?path=src%2Fa.txt", Value::Null, &[])
        .expect_problem(404, "file_not_found");
    let run = json!({"command": "cat src/a.txt; exit 3"});
    let ran = line
        .request(&ada, "POST /v1/commands", run, &[])
        .expect_json(200);
    assert_eq!(
        (ran["stdout"].as_str(), ran["exitCode"].as_i64()),
        (Some("two"), Some(3))
    );
    let mut timed_out = 0;
    let (late, _) = retry_with_longer_timeouts(|millis| {
        let millis: u64 = millis.parse().unwrap();
        let slow = json!({"command": "echo begun; sleep 600", "timeoutMs": millis});
        let late = line
            .request(&ada, "POST /v1/commands", slow, &[])
            .expect_problem(422, "command_timeout");
        timed_out += 1;
        (late["stdout"] != "", late)
    });
    assert_eq!(late["stdout"], "begun\n");
    line.request(
        &ada,
        "POST /v1/commands",
        json!({"command": "rm -rf /"}),
        &[],
    )
    .expect_problem(403, "command_blocked");
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
            let reply = line.request(
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
    assert!(project.data_path("polis.toml").exists());
    // The answer reveals no path of the machine.
    let told = line.request(&ada, "GET /v1/files?path=..%2Fx", Value::Null, &[]);
    assert!(
        !told.body.contains(project.path().to_str().unwrap()),
        "{told:?}"
    );
    let figures = issue_token(project, "user", &[]);
    let page = line.request(&figures, "GET /metrics", Value::Null, &[]);
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
fn mcp_is_served_at_the_same_address() {
    let project = TestProject::embedded();
    let server = TestServer::start(&project);
    let ada = issue_token(&project, "ada", &[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let accept = [("Accept", "application/json, text/event-stream")];
    let mut line = server.connect();
    line.request("", "POST /mcp", hello.clone(), &accept)
        .expect_problem(401, "unauthorized");
    line.send_request(&ada, "POST /mcp", hello, &accept)
        .unwrap();
    let head = line.read_response_head().unwrap();
    assert_eq!(head.status, 200, "{head:?}");
    let mut said = String::new();
    while !said.contains("\"result\"") {
        said = line.read_line().unwrap();
    }
    assert!(said.contains("\"serverInfo\""), "{said}");
}

#[test]
fn unix_socket_is_accessible_only_to_its_owner() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let path = project.project_path("polis.sock");
    let listen = format!("unix:{}", path.display());
    let flags = ["--listen", listen.as_str()];
    let server = TestServer::start_with_flags(&project, &flags);
    assert_eq!(server.url, listen);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let mut line = HttpConnection::connect_unix(&path);
    line.request(&ada, "GET /v1/tasks", Value::Null, &[])
        .expect_json(200);
    line.request("", "GET /v1/tasks", Value::Null, &[])
        .expect_problem(401, "unauthorized");
    let second = project.run_json("user", &[&["serve"], &flags[..]].concat());
    assert!(
        second
            .expect_refusal_with_paths(2, "invalid_input")
            .message
            .contains("is already in use by polis")
    );
    // A killed server leaves its socket behind; the next server replaces it.
    server.kill();
    assert!(path.exists());
    let server = TestServer::start_with_flags(&project, &flags);
    HttpConnection::connect_unix(&path)
        .request(&ada, "GET /v1/tasks", Value::Null, &[])
        .expect_json(200);
    assert!(server.stop().0.success());
    assert!(!path.exists());
}

#[test]
fn serve_with_invalid_settings_is_refused_at_start() {
    let project = TestProject::embedded();
    let refused = |flags: &[&str]| {
        project
            .run_json("user", &[&["serve"], flags].concat())
            .expect_refusal(2, "invalid_input")
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
        project
            .run_json("user", &["serve", "--tls-cert", "x.pem"])
            .exit_code,
        Some(2)
    );
    let server = TestServer::start(&project);
    let taken = server.url.trim_start_matches("http://").to_owned();
    assert!(
        refused(&["--listen", &taken])
            .message
            .contains("is already in use by polis")
    );
    let allowed =
        TestServer::start_with_flags(&project, &["--listen", "0.0.0.0:0", "--allow-plaintext"]);
    drop(allowed);
    for (line, what) in [
        ("rate = 0", "number from 1"),
        ("grace = \"0s\"", "out of range"),
        ("origins = [\"example.org\"]", "not an origin"),
        ("hosts = [\"a/b\"]", "not a host"),
        ("max_body = \"many\"", "max_body"),
        ("lisen = \"x\"", "did you mean"),
    ] {
        std::fs::write(
            project.data_path("polis.toml"),
            format!("[serve]\n{line}\n"),
        )
        .unwrap();
        let answer = project
            .run_json("user", &["serve"])
            .expect_refusal(2, "invalid_config");
        assert!(answer.message.contains(what), "{line}: {answer:?}");
    }
}

#[test]
fn access_log_names_requests_but_no_secrets() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--access-log",
        "--log-format",
        "json",
    ];
    let server = TestServer::start_with_flags(&project, &flags);
    let mut line = server.connect();
    let headers = [("X-Request-Id", "my-own.1"), ("Idempotency-Key", "hush")];
    let body = json!({"subject": "not in the log"});
    let reply = line.request(&ada, "POST /v1/tasks", body, &headers);
    assert_eq!(reply.header("x-request-id"), "my-own.1");
    let secret = "GET /v1/boards/global?section=hushed";
    line.request(&ada, secret, Value::Null, &[]);
    line.request(
        "polis_0123456789ab_wrong",
        "GET /v1/tasks",
        Value::Null,
        &[],
    );
    let (exit, log) = server.stop();
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

/// A client of protocol revision 2026-07-28 listens for changes until it exits; Claude Code does so in every
/// run.
#[test]
fn mcp_stream_closed_by_its_client_is_not_logged_as_error() {
    let project = TestProject::embedded();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
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
    line.send_request(&ada, "POST /mcp", listen, &headers)
        .unwrap();
    assert_eq!(line.read_response_head().unwrap().status, 200);
    while !line.read_line().unwrap().contains("acknowledged") {}
    drop(line);
    let (exit, log) = server.stop();
    assert!(exit.success());
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
}

#[test]
fn request_limits_follow_the_configuration() {
    let project = TestProject::embedded();
    let set = "[serve]\nmax_body = \"1KiB\"\nrate = 1\nburst = 4\nhosts = [\"polis.test\"]\n";
    std::fs::write(project.data_path("polis.toml"), set).unwrap();
    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let mut line = server.connect();
    let large = json!({"subject": "x".repeat(2_000)});
    line.request(&ada, "POST /v1/tasks", large, &[])
        .expect_problem(413, "request_too_large");
    let mut line = server.connect();
    let replies: BTreeMap<u16, usize> = (0..20)
        .map(|_| line.request(&ada, "GET /v1/tasks", Value::Null, &[]).status)
        .fold(BTreeMap::new(), |mut counts, status| {
            *counts.entry(status).or_default() += 1;
            counts
        });
    assert!(replies[&429] > 10, "{replies:?}");
    let shown = project.run_ok("user", &["config", "show"]);
    assert_eq!(shown["serve"]["max_body"], "1KiB");
}

/// A port in use: `serve` names its owner, `open` uses the next one.
#[test]
fn port_in_use_is_named_by_serve_and_avoided_by_open() {
    let project = TestProject::embedded();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = format!("[serve]\nlisten = \"{address}\"\n");
    std::fs::write(project.data_path("polis.toml"), config).unwrap();
    let refused = project.run_refused("user", &["serve"], 2, "invalid_input");
    let owner = format!("(process {})", std::process::id());
    assert!(
        refused.message.contains(&address.to_string()) && refused.message.contains(&owner),
        "{refused:?}"
    );
    assert!(refused.hint.contains("--listen 127.0.0.1:0"), "{refused:?}");
    // An explicitly named address is not replaced.
    let named = ["open", "--no-browser", "--listen", &address.to_string()];
    project.run_refused("user", &named, 2, "invalid_input");
    let open = ["open", "--no-browser"];
    let server = TestServer::start_with_command(&mut project.json_command("user", &open));
    let port = server.url.rsplit_once(':').unwrap().1;
    let port: u16 = port.parse().unwrap();
    assert!(port > address.port(), "{}", server.url);
    // In text mode the message names the program that uses the default port.
    let other = TestProject::embedded();
    std::fs::copy(
        project.data_path("polis.toml"),
        other.data_path("polis.toml"),
    )
    .unwrap();
    let mut command = other.command();
    let mut child = spawn_captured(command.args(open));
    let mut noted = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut noted).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        noted.contains(&owner) && noted.contains("Using port"),
        "{noted}"
    );
    let (exit, log) = server.stop();
    assert!(exit.success(), "{log}");
}
