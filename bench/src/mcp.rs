//! Tool calls over MCP on stdio, compared with the reference memory server.
//!
//! The same client calls both servers alternately, one request and one response line at a time. The peer rewrites its
//! JSON file without `fsync`; every call of polis is durable.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};

/// Environment variable in which `bench/run` passes the peer: the program and its first argument.
const PEER: &str = "POLIS_BENCH_MEMORY_SERVER";

/// Number of calls to one server before the other's turn.
const BLOCK: usize = 100;

/// Measures tool calls.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    updates(scene, report)?;
    lists(scene, report)?;
    cold(scene, report)
}

/// Measures `TaskUpdate` against `add_observations`.
fn updates(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let board = scene.board("mcp")?;
    run(scene.polis(&board, &["task", "create", "--subject", "x"]))?;
    let mut ours = Client::start(scene.polis(&board, &["mcp", "--agent", "bench"]))?;
    ours.initialize()?;
    let mut peer = Client::start(peer(&scene.place("memory.jsonl"))?)?;
    peer.initialize()?;
    let entity = json!({ "name": "task-1", "entityType": "task", "observations": [] });
    peer.call("create_entities", json!({ "entities": [entity] }))?;
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    let rounds = scene.times(1_000);
    // In blocks: a server that is called only now and then has to be woken each time, which would dominate the
    // measurement.
    for block in 0..=rounds / BLOCK {
        for n in 0..BLOCK {
            let text = format!("observation {block}-{n}");
            let took = ours.call("TaskUpdate", json!({ "taskId": "1", "description": text }))?;
            // The first block warms both up.
            if block > 0 {
                our_times.push(took);
            }
        }
        for n in 0..BLOCK {
            let text = format!("observation {block}-{n}");
            let observed = json!([{ "entityName": "task-1", "contents": [text] }]);
            let took = peer.call("add_observations", json!({ "observations": observed }))?;
            if block > 0 {
                peer_times.push(took);
            }
        }
    }
    let (ours, peers) = (median(&mut our_times), median(&mut peer_times));
    let how = format!(
        "{:.0} µs, durable, beside {:.0} µs of `add_observations`, not synchronised; medians of {rounds}, in turns of {BLOCK}",
        ours * 1e6,
        peers * 1e6
    );
    report.at_least(
        "server-memory / `TaskUpdate` over MCP on stdio",
        peers / ours,
        3.0,
        &how,
    );
    Ok(())
}

/// Measures a page of a long list against a page of a short one.
fn lists(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let mut clients = Vec::new();
    for (name, count) in [("mcp-100", 100), ("mcp-10000", 10_000)] {
        let files = scene.task_files(&format!("{name}-files"), count)?;
        let board = scene.board(name)?;
        run(scene.polis(&board, &["task", "import", &files.display().to_string()]))?;
        let mut client = Client::start(scene.polis(&board, &["mcp", "--agent", "bench"]))?;
        client.initialize()?;
        clients.push((client, Vec::new()));
    }
    for n in 0..scene.times(300) + 5 {
        for (client, times) in &mut clients {
            let took = client.call("TaskList", json!({}))?;
            if n >= 5 {
                times.push(took);
            }
        }
    }
    let mut medians = clients.iter_mut().map(|(_, times)| median(times));
    let (short, long) = (
        medians.next().unwrap_or(f64::NAN),
        medians.next().unwrap_or(f64::NAN),
    );
    let how = format!(
        "a page of 10,000 tasks in {:.0} µs beside {:.0} µs of 100, medians, in turns",
        long * 1e6,
        short * 1e6
    );
    report.at_most(
        "`TaskList` over MCP, 10,000 tasks / 100",
        long / short,
        2.0,
        &how,
    );
    Ok(())
}

/// Measures the time from starting the program to its first response, less the time of `true`.
fn cold(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let board = scene.board("mcp-cold")?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for n in 0..scene.times(100) + 3 {
        let begun = Instant::now();
        let mut client = Client::start(scene.polis(&board, &["mcp", "--agent", "bench"]))?;
        client.initialize()?;
        let took = begun.elapsed().as_secs_f64();
        drop(client);
        let nothing = run(Command::new("true"))?.as_secs_f64();
        if n >= 3 {
            ours.push(took);
            floor.push(nothing);
        }
    }
    let (ours, floor) = (median(&mut ours) * 1e3, median(&mut floor) * 1e3);
    report.add(
        "cold start of `polis mcp` to the answer to `initialize`, beyond `true`",
        format!("{:.1} ms", ours - floor),
        "≤ 10 ms".to_owned(),
        ours - floor <= 10.0,
        &format!("{ours:.1} ms beside {floor:.1} ms, medians, in turns"),
    );
    Ok(())
}

/// Returns the peer's command; it stores its graph in this file.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run says where the peer is"
)]
fn peer(file: &Path) -> Fallible<Command> {
    let peer = std::env::var(PEER).map_err(|_| format!("{PEER} is not set: use bench/run"))?;
    let (node, script) = peer.split_once(' ').ok_or("the peer is NODE SCRIPT")?;
    let mut command = Command::new(node);
    command.arg(script).env("MEMORY_FILE_PATH", file);
    Ok(command)
}

/// MCP client of one server.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    line: String,
}

impl Client {
    fn start(mut command: Command) -> Fallible<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self {
            child,
            input,
            output,
            id: 0,
            line: String::new(),
        })
    }

    fn initialize(&mut self) -> Fallible<()> {
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.ask("initialize", params)?;
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(self.input, "{begun}")?;
        Ok(())
    }

    /// Calls a tool. Returns the time in seconds.
    fn call(&mut self, tool: &str, arguments: Value) -> Fallible<f64> {
        let begun = Instant::now();
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )?;
        let took = begun.elapsed().as_secs_f64();
        let answer: Value = serde_json::from_str(&self.line)?;
        if answer["result"].is_null() || answer["result"]["isError"] == true {
            return Err(format!("{tool}: {}", self.line).into());
        }
        Ok(took)
    }

    /// Sends a request and waits for the response line.
    fn ask(&mut self, method: &str, params: Value) -> Fallible<()> {
        self.id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.input.write_all(format!("{request}\n").as_bytes())?;
        let mark = format!("\"id\":{}", self.id);
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                return Err("the server ended".into());
            }
            if self.line.contains(&mark) {
                return Ok(());
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The benchmark started this server, and no more requests follow.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
