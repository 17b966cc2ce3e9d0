//! Tool calls over MCP on stdio, compared with the reference memory server.
//!
//! The same client calls both servers alternately, one request and one response line at a time. The peer
//! rewrites its JSON file without `fsync`; every call of polis is durable.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::bench_env::{BenchEnv, BenchResult, median, run_timed};
use crate::report::BenchReport;

/// Environment variable in which `bench/run` passes the peer: the program and its first argument.
const PEER_COMMAND_VARIABLE: &str = "POLIS_BENCH_MEMORY_SERVER";

/// Number of calls to one server before the other's turn.
const CALLS_PER_BLOCK: usize = 100;

/// Measures tool calls.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    measure_updates(env, report)?;
    measure_list_pages(env, report)?;
    measure_cold_start(env, report)
}

/// Measures `TaskUpdate` against `add_observations`.
fn measure_updates(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let board = env.create_project("mcp")?;
    run_timed(env.polis_command(&board, &["task", "create", "--subject", "x"]))?;
    let mut ours = McpClient::start(env.polis_command(&board, &["mcp", "--agent", "bench"]))?;
    ours.initialize()?;
    let mut peer = McpClient::start(peer_command(&env.path_of("memory.jsonl"))?)?;
    peer.initialize()?;
    let entity = json!({ "name": "task-1", "entityType": "task", "observations": [] });
    peer.call_timed("create_entities", json!({ "entities": [entity] }))?;
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    let rounds = env.repetitions(1_000);
    // In blocks: a server that is called only now and then has to be woken each time, which would dominate
    // the measurement.
    for block in 0..=rounds / CALLS_PER_BLOCK {
        for n in 0..CALLS_PER_BLOCK {
            let text = format!("observation {block}-{n}");
            let elapsed =
                ours.call_timed("TaskUpdate", json!({ "taskId": "1", "description": text }))?;
            // The first block warms both up.
            if block > 0 {
                our_times.push(elapsed);
            }
        }
        for n in 0..CALLS_PER_BLOCK {
            let text = format!("observation {block}-{n}");
            let observed = json!([{ "entityName": "task-1", "contents": [text] }]);
            let elapsed =
                peer.call_timed("add_observations", json!({ "observations": observed }))?;
            if block > 0 {
                peer_times.push(elapsed);
            }
        }
    }
    let (ours, peers) = (median(&mut our_times), median(&mut peer_times));
    let detail = format!(
        "{:.0} µs, durable, vs {:.0} µs of `add_observations`, not synchronised; medians of {rounds}, alternating every {CALLS_PER_BLOCK}",
        ours * 1e6,
        peers * 1e6
    );
    report.add_at_least(
        "server-memory / `TaskUpdate` over MCP on stdio",
        peers / ours,
        3.0,
        &detail,
    );
    Ok(())
}

/// Measures a page of a long list against a page of a short one.
fn measure_list_pages(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let mut clients = Vec::new();
    for (name, count) in [("mcp-100", 100), ("mcp-10000", 10_000)] {
        let files = env.write_task_files(&format!("{name}-files"), count)?;
        let board = env.create_project(name)?;
        run_timed(env.polis_command(&board, &["task", "import", &files.display().to_string()]))?;
        let mut client = McpClient::start(env.polis_command(&board, &["mcp", "--agent", "bench"]))?;
        client.initialize()?;
        clients.push((client, Vec::new()));
    }
    for n in 0..env.repetitions(300) + 5 {
        for (client, times) in &mut clients {
            let elapsed = client.call_timed("TaskList", json!({}))?;
            if n >= 5 {
                times.push(elapsed);
            }
        }
    }
    let mut medians = clients.iter_mut().map(|(_, times)| median(times));
    let (short, long) = (
        medians.next().unwrap_or(f64::NAN),
        medians.next().unwrap_or(f64::NAN),
    );
    let detail = format!(
        "a page of 10,000 tasks in {:.0} µs vs {:.0} µs of 100, medians, alternating",
        long * 1e6,
        short * 1e6
    );
    report.add_at_most(
        "`TaskList` over MCP, 10,000 tasks / 100",
        long / short,
        2.0,
        &detail,
    );
    Ok(())
}

/// Measures the time from starting the program to its first response, less the time of `true`.
fn measure_cold_start(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let board = env.create_project("mcp-cold")?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for n in 0..env.repetitions(100) + 3 {
        let started = Instant::now();
        let mut client = McpClient::start(env.polis_command(&board, &["mcp", "--agent", "bench"]))?;
        client.initialize()?;
        let elapsed = started.elapsed().as_secs_f64();
        drop(client);
        let nothing = run_timed(Command::new("true"))?.as_secs_f64();
        if n >= 3 {
            ours.push(elapsed);
            floor.push(nothing);
        }
    }
    let (ours, floor) = (median(&mut ours) * 1e3, median(&mut floor) * 1e3);
    report.add_figure(
        "cold start of `polis mcp` to the response to `initialize`, less `true`",
        format!("{:.1} ms", ours - floor),
        "≤ 10 ms".to_owned(),
        ours - floor <= 10.0,
        &format!("{ours:.1} ms vs {floor:.1} ms, medians, alternating"),
    );
    Ok(())
}

/// Returns the peer's command; it stores its graph in this file.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run sets the command of the peer"
)]
fn peer_command(file: &Path) -> BenchResult<Command> {
    let peer = std::env::var(PEER_COMMAND_VARIABLE)
        .map_err(|_| format!("{PEER_COMMAND_VARIABLE} is not set: use bench/run"))?;
    let (node, script) = peer
        .split_once(' ')
        .ok_or("the peer command must be NODE SCRIPT")?;
    let mut command = Command::new(node);
    command.arg(script).env("MEMORY_FILE_PATH", file);
    Ok(command)
}

/// MCP client of one server.
struct McpClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_request_id: u64,
    response_line: String,
}

impl McpClient {
    fn start(mut command: Command) -> BenchResult<Self> {
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
            last_request_id: 0,
            response_line: String::new(),
        })
    }

    fn initialize(&mut self) -> BenchResult<()> {
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.send_request("initialize", params)?;
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(self.input, "{notification}")?;
        Ok(())
    }

    /// Calls a tool. Returns the time in seconds.
    fn call_timed(&mut self, tool: &str, arguments: Value) -> BenchResult<f64> {
        let started = Instant::now();
        self.send_request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )?;
        let elapsed = started.elapsed().as_secs_f64();
        let answer: Value = serde_json::from_str(&self.response_line)?;
        if answer["result"].is_null() || answer["result"]["isError"] == true {
            return Err(format!("{tool}: {}", self.response_line).into());
        }
        Ok(elapsed)
    }

    /// Sends a request and waits for the response line.
    fn send_request(&mut self, method: &str, params: Value) -> BenchResult<()> {
        self.last_request_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_request_id, "method": method, "params": params });
        self.input.write_all(format!("{request}\n").as_bytes())?;
        let mark = format!("\"id\":{}", self.last_request_id);
        loop {
            self.response_line.clear();
            if self.output.read_line(&mut self.response_line)? == 0 {
                return Err("the server closed its output".into());
            }
            if self.response_line.contains(&mark) {
                return Ok(());
            }
        }
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        // The benchmark started this server, and no more requests follow.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
