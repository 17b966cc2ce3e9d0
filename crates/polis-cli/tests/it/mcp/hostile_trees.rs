//! Trees that an agent makes to exhaust a server: listings, searches and sums stay small whatever a tree looks like.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use serde_json::json;

use super::client::{Client, OLD};
use crate::board::Board;
use crate::server::{Server, token};
use crate::workspaces::{add, text};

/// The most memory that a server may take beyond what it has at rest.
const MAX_GROWTH_KIB: u64 = 64 * 1024;

/// Watches how much memory of its own a process takes. Pages of the program's file are left out: how many of them are in
/// memory depends on what ran before, and on what else the machine does.
struct MemoryWatch {
    rest: u64,
    peak: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
}

impl MemoryWatch {
    /// Begins with a process at rest.
    fn begin(pid: u32) -> Self {
        let rest = own_memory(pid).unwrap();
        let peak = Arc::new(AtomicU64::new(rest));
        let is_over = Arc::new(AtomicBool::new(false));
        let (seen, stop) = (Arc::clone(&peak), Arc::clone(&is_over));
        let sampler = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                seen.fetch_max(own_memory(pid).unwrap_or(0), Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self {
            rest,
            peak,
            is_over,
            sampler,
        }
    }

    /// Checks that the process has not grown by more than it may.
    fn end(self, name: &str) {
        self.is_over.store(true, Ordering::SeqCst);
        self.sampler.join().unwrap();
        let growth = self.peak.load(Ordering::SeqCst) - self.rest;
        assert!(growth < MAX_GROWTH_KIB, "{name} grew by {growth} KiB");
    }
}

/// The anonymous memory of a process, in KiB; none if the process is gone.
fn own_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A tree that is deeper than there are descriptors. `rm` needs only a few to remove it; `TempDir` needs one for each
/// level, and would leave it.
struct DeepTree(PathBuf);

impl DeepTree {
    /// An empty one, in memory where that is possible: a disk takes minutes for so many directories.
    fn in_memory() -> Self {
        let place = tempfile::Builder::new()
            .prefix("polis-it-")
            .tempdir_in("/dev/shm");
        let place = place.unwrap_or_else(|_| tempfile::tempdir().unwrap());
        Self(place.keep().canonicalize().unwrap())
    }
}

impl Drop for DeepTree {
    fn drop(&mut self) {
        let _ = Command::new("rm").arg("-rf").arg(&self.0).status();
    }
}

/// A chain of directories, as deep as no path can say; on the way, many siblings with long names.
fn make_tree(top: &Path) {
    let (long, mode) = ("d".repeat(250), Mode::from_raw_mode(0o755));
    let open = |dir: &OwnedFd, name: &str| {
        openat(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    };
    let mut here: OwnedFd = std::fs::File::open(top).unwrap().into();
    for level in 0..3_000 {
        // Deep enough that each of their paths is long.
        if level == 14 {
            for number in 0..30_000 {
                let name = format!("{number:05}{}", "w".repeat(200));
                mkdirat(&here, name.as_str(), mode).unwrap();
            }
        }
        mkdirat(&here, long.as_str(), mode).unwrap();
        here = open(&here, &long);
    }
    let rules = (0..100_000).map(|number| format!("*{number}*[a-z]?\n"));
    std::fs::write(top.join(".gitignore"), rules.collect::<String>()).unwrap();
    std::fs::write(top.join("needle.txt"), "needle\n").unwrap();
}

/// A chain of directories with short names, and others beside each of them: all of those are still to be visited when a
/// walk gets to the end.
fn make_branching_chain(top: &Path) {
    let mode = Mode::from_raw_mode(0o755);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here: OwnedFd = std::fs::File::open(top).unwrap().into();
    for _ in 0..7_000 {
        for name in ["p", "d", "q", "r"] {
            mkdirat(&here, name, mode).unwrap();
        }
        here = openat(&here, "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn servers_stay_small_with_many_requests_at_once() {
    let board = Board::embedded();
    add(&board, "ada", "");
    let tree = DeepTree::in_memory();
    let bind = ["ws", "bind", text(&tree.0), "--of", "ada"];
    board.ok("user", &bind);
    for (name, make) in [
        ("wide", make_tree as fn(&Path)),
        ("chain", make_branching_chain),
    ] {
        std::fs::create_dir(tree.0.join(name)).unwrap();
        make(&tree.0.join(name));
    }
    let large: String = (0..160_000)
        .map(|number| format!("{number:099}\n"))
        .collect();
    let files = ["large-0", "large-1", "large-2"];
    for name in files {
        std::fs::write(tree.0.join(name), &large).unwrap();
    }
    // A line that is held whole, and as many matches as are answered.
    std::fs::write(tree.0.join("line"), vec![b'x'; 4 * 1024 * 1024 - 10]).unwrap();
    let edit = |name: &str, number: usize| {
        let old = format!("{number:099}");
        json!({"path": name, "oldText": old, "newText": format!("changed {number}")})
    };

    let mut client = Client::begin(&board, "ada", OLD);
    let watch = MemoryWatch::begin(client.child.id());
    let info = client.call("get_workspace_info", json!({}));
    assert_eq!(info["truncated"], true);
    let mut calls = Vec::new();
    for round in 0..2 {
        for (tool, arguments) in [
            ("list_files", json!({"recursive": true, "limit": 4_000_000})),
            ("list_files", json!({"recursive": true, "path": "chain"})),
            ("get_workspace_info", json!({})),
            ("search_files", json!({"pattern": "9", "limit": 10_000})),
            (
                "search_files",
                json!({"pattern": "[0-9a-f]{200}y", "all": true}),
            ),
            ("edit_file", edit("large-0", round)),
            ("edit_file", edit("large-1", round)),
            ("edit_file", edit("large-2", round)),
        ] {
            let call = json!({"name": tool, "arguments": arguments});
            calls.push(client.send("tools/call", call));
        }
    }
    for id in calls {
        let answer = client.answer(id);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
    watch.end("polis mcp");
    drop(client);

    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let watch = MemoryWatch::begin(server.id());
    std::thread::scope(|scope| {
        for round in 0..2 {
            for line in [
                "GET /v1/files/list?recursive=true&limit=4000000",
                "GET /v1/files/list?recursive=true&path=chain",
                "GET /v1/files/search?pattern=9&limit=10000",
                "GET /v1/files/search?pattern=needle&all=true",
                "GET /v1/workspace",
            ] {
                let (server, ada) = (&server, &ada);
                scope.spawn(move || {
                    let reply = server.ask(ada, line, serde_json::Value::Null);
                    assert_eq!(reply.status, 200, "{line}: {}", reply.body);
                });
            }
            for name in files {
                let (server, ada) = (&server, &ada);
                let mut body = edit(name, 10 + round);
                body.as_object_mut().unwrap().remove("path");
                scope.spawn(move || {
                    let line = format!("PATCH /v1/files?path={name}");
                    let reply = server.ask(ada, &line, body);
                    assert_eq!(reply.status, 200, "{line}: {}", reply.body);
                });
            }
        }
    });
    watch.end("polis serve");
    assert!(server.end().0.success());
}

#[test]
fn servers_stay_small_whatever_a_tree_looks_like() {
    let board = Board::embedded();
    add(&board, "ada", "");
    let tree = DeepTree::in_memory();
    let bind = ["ws", "bind", text(&tree.0), "--of", "ada"];
    board.ok("user", &bind);
    make_tree(&tree.0);

    let mut client = Client::begin(&board, "ada", OLD);
    let watch = MemoryWatch::begin(client.child.id());
    let listed = client.call("list_files", json!({"recursive": true}));
    assert_eq!(listed["truncated"], true);
    client.call("list_files", json!({"recursive": true, "limit": 10}));
    client.call("list_files", json!({"recursive": true, "limit": 4_000_000}));
    let found = client.call("search_files", json!({"pattern": "needle"}));
    assert_eq!(found["matches"][0]["path"], "needle.txt");
    client.call("search_files", json!({"pattern": "needle", "all": true}));
    client.call("get_workspace_info", json!({}));
    // What is short in a request and large in memory.
    let many = json!({"path": "many", "content": "a".repeat(8_000_000)});
    client.call("write_file", many);
    let long = "b".repeat(100);
    let edit = json!({"path": "many", "oldText": "a", "newText": long, "replaceAll": true});
    client.refused("edit_file", edit, "file_too_large");
    for pattern in [r"\w{1000}", r"(\w{1000}){3}"] {
        client.result("search_files", json!({"pattern": pattern}));
    }
    let globs: Vec<String> = (0..200)
        .map(|_| format!("{{{}}}", "ab,".repeat(66)))
        .collect();
    client.refused(
        "search_files",
        json!({"pattern": "x", "globs": globs}),
        "invalid_pattern",
    );
    watch.end("polis mcp");
    drop(client);

    let ada = token(&board, "ada", &[]);
    let server = Server::start(&board);
    let watch = MemoryWatch::begin(server.id());
    for address in [
        "/v1/files/list?recursive=true",
        "/v1/files/list?recursive=true&limit=4000000",
        "/v1/files/search?pattern=needle&all=true",
        "/v1/workspace",
    ] {
        let answer = server.ask(&ada, &format!("GET {address}"), serde_json::Value::Null);
        assert!(
            answer.status == 200 || answer.status == 404,
            "{address}: {}",
            answer.status
        );
    }
    watch.end("polis serve");
    assert!(server.end().0.success());

    let listed = board.shown("ada", &["ws", "ls", "--recursive"]);
    assert!(listed.contains("There are more"), "{} bytes", listed.len());
}
