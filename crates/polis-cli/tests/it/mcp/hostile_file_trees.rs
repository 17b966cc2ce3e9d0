//! Memory tests of servers on directory trees built to exhaust them: deep, wide and branching. Listings,
//! searches and sums stay within a memory limit.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use serde_json::json;

use super::test_mcp_client::{SESSION_2025_06, TestMcpClient};
use crate::harness::test_project::TestProject;
use crate::harness::test_server::{TestServer, issue_token};
use crate::workspace::workspace_access::{path_str, register_bottom_agent};

/// Maximum memory growth of a server above its idle memory.
const MAX_GROWTH_KIB: u64 = 64 * 1024;

/// Samples the anonymous memory of a process. File-backed pages are left out: how many of them are resident
/// depends on what ran before and on the load of the machine.
struct MemoryWatch {
    baseline_kib: u64,
    peak: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
}

impl MemoryWatch {
    /// Starts sampling an idle process.
    fn start_at_baseline(pid: u32) -> Self {
        let baseline_kib = anonymous_memory_kib(pid).unwrap();
        let peak = Arc::new(AtomicU64::new(baseline_kib));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (seen, stop) = (Arc::clone(&peak), Arc::clone(&is_stopped));
        let sampler = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                seen.fetch_max(anonymous_memory_kib(pid).unwrap_or(0), Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self {
            baseline_kib,
            peak,
            is_stopped,
            sampler,
        }
    }

    /// Stops sampling, and asserts that the growth is below the limit.
    fn assert_growth_within_limit(self, name: &str) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.sampler.join().unwrap();
        let growth = self.peak.load(Ordering::SeqCst) - self.baseline_kib;
        assert!(growth < MAX_GROWTH_KIB, "{name} grew by {growth} KiB");
    }
}

/// Returns the anonymous memory of a process in KiB; `None` if the process has ended.
fn anonymous_memory_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A directory tree deeper than the limit of file descriptors. `rm` removes it with a few descriptors;
/// `TempDir` needs one per level, and would leave it.
struct DeepTree(PathBuf);

impl DeepTree {
    /// Creates an empty tree, in memory (`/dev/shm`) where possible: on a disk, creating the directories
    /// takes minutes.
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

/// Creates a chain of directories deeper than `PATH_MAX`, with many long-named siblings on the way.
fn make_deep_wide_tree(top: &Path) {
    let (long, mode) = ("d".repeat(250), Mode::from_raw_mode(0o755));
    let open = |dir: &OwnedFd, name: &str| {
        openat(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    };
    let mut here: OwnedFd = std::fs::File::open(top).unwrap().into();
    for level in 0..3_000 {
        // Deep enough that the path of each sibling is long.
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

/// Creates a chain of short-named directories, each with siblings: a walk that reaches the end still has all
/// siblings to visit.
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
fn server_memory_is_bounded_for_concurrent_requests() {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    let tree = DeepTree::in_memory();
    let bind = ["ws", "bind", path_str(&tree.0), "--of", "ada"];
    project.run_ok("user", &bind);
    for (name, make) in [
        ("wide", make_deep_wide_tree as fn(&Path)),
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
    // One line just below the line limit, and as many matches as a search returns.
    std::fs::write(tree.0.join("line"), vec![b'x'; 4 * 1024 * 1024 - 10]).unwrap();
    let edit = |name: &str, number: usize| {
        let old = format!("{number:099}");
        json!({"path": name, "oldText": old, "newText": format!("changed {number}")})
    };

    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_06);
    let watch = MemoryWatch::start_at_baseline(client.child.id());
    let info = client.call_tool("get_workspace_info", json!({}));
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
            calls.push(client.send_request("tools/call", call));
        }
    }
    for id in calls {
        let answer = client.wait_for_response(id);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
    watch.assert_growth_within_limit("polis mcp");
    drop(client);

    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let watch = MemoryWatch::start_at_baseline(server.process_id());
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
                    let reply = server.request(ada, line, serde_json::Value::Null);
                    assert_eq!(reply.status, 200, "{line}: {}", reply.body);
                });
            }
            for name in files {
                let (server, ada) = (&server, &ada);
                let mut body = edit(name, 10 + round);
                body.as_object_mut().unwrap().remove("path");
                scope.spawn(move || {
                    let line = format!("PATCH /v1/files?path={name}");
                    let reply = server.request(ada, &line, body);
                    assert_eq!(reply.status, 200, "{line}: {}", reply.body);
                });
            }
        }
    });
    watch.assert_growth_within_limit("polis serve");
    assert!(server.stop().0.success());
}

#[test]
fn server_memory_is_bounded_for_hostile_trees() {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    let tree = DeepTree::in_memory();
    let bind = ["ws", "bind", path_str(&tree.0), "--of", "ada"];
    project.run_ok("user", &bind);
    make_deep_wide_tree(&tree.0);

    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_06);
    let watch = MemoryWatch::start_at_baseline(client.child.id());
    let listed = client.call_tool("list_files", json!({"recursive": true}));
    assert_eq!(listed["truncated"], true);
    client.call_tool("list_files", json!({"recursive": true, "limit": 10}));
    client.call_tool("list_files", json!({"recursive": true, "limit": 4_000_000}));
    let found = client.call_tool("search_files", json!({"pattern": "needle"}));
    assert_eq!(found["matches"][0]["path"], "needle.txt");
    client.call_tool("search_files", json!({"pattern": "needle", "all": true}));
    client.call_tool("get_workspace_info", json!({}));
    // Requests that are short, but would need much memory.
    let many = json!({"path": "many", "content": "a".repeat(8_000_000)});
    client.call_tool("write_file", many);
    let long = "b".repeat(100);
    let edit = json!({"path": "many", "oldText": "a", "newText": long, "replaceAll": true});
    client.call_refused_tool("edit_file", edit, "file_too_large");
    for pattern in [r"\w{1000}", r"(\w{1000}){3}"] {
        client.call_tool_result("search_files", json!({"pattern": pattern}));
    }
    let globs: Vec<String> = (0..200)
        .map(|_| format!("{{{}}}", "ab,".repeat(66)))
        .collect();
    client.call_refused_tool(
        "search_files",
        json!({"pattern": "x", "globs": globs}),
        "invalid_pattern",
    );
    watch.assert_growth_within_limit("polis mcp");
    drop(client);

    let ada = issue_token(&project, "ada", &[]);
    let server = TestServer::start(&project);
    let watch = MemoryWatch::start_at_baseline(server.process_id());
    for address in [
        "/v1/files/list?recursive=true",
        "/v1/files/list?recursive=true&limit=4000000",
        "/v1/files/search?pattern=needle&all=true",
        "/v1/workspace",
    ] {
        let answer = server.request(&ada, &format!("GET {address}"), serde_json::Value::Null);
        assert!(
            answer.status == 200 || answer.status == 404,
            "{address}: {}",
            answer.status
        );
    }
    watch.assert_growth_within_limit("polis serve");
    assert!(server.stop().0.success());

    let listed = project.run_text("ada", &["ws", "ls", "--recursive"]);
    assert!(listed.contains("There are more"), "{} bytes", listed.len());
}
