//! Tool calls over MCP on standard input and output, beside the reference memory server.
//!
//! Both servers are asked by the same client, in turns: a line out, a line in. The peer rewrites its JSON
//! file without waiting for the disk; every call of ours is durable.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};

/// Where `bench/run` says the peer is: the program and its first argument.
const PEER: &str = "POLIS_BENCH_MEMORY_SERVER";

/// How many calls are made of one server before the other's turn.
const BLOCK: usize = 100;

/// Measures tool calls.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    updates(scene, report)?;
    lists(scene, report)?;
    cold(scene, report)
}

/// One `TaskUpdate` beside one `add_observations`.
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
    // In blocks: a server that is asked now and then is woken each time, and that is what would be measured.
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

/// A page of a long list beside one of a short list.
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

/// From starting the program to its first answer, beside `true`.
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

/// The peer, keeping its graph in this file.
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

/// A client of one server.
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

    /// Calls a tool; how many seconds it took.
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

    /// Sends a request and waits for the line that answers it.
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
        // It is ours, and its work is done.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
