//! Scripted team for the crash test: root hires a lead and the lead hires workers. Each worker creates a task, runs a
//! command, writes a file and reports by message.
//!
//! The model checks every request: calls without a result and reports that were delivered twice are recorded as faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use polis_testkit::model_server::{ModelServer, Reply, Request, ToolCall};
use serde_json::{Value, json};

use crate::board::Board;

/// Observations of the model.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Violated invariants.
    pub(crate) faults: Vec<String>,
    /// The workers whose command was reported as interrupted.
    pub(crate) interrupted: BTreeSet<u64>,
    /// Number of model requests of each member.
    pub(crate) asked: BTreeMap<String, u64>,
}

/// A scripted team.
pub(crate) struct Team {
    pub(crate) server: ModelServer,
    pub(crate) seen: Arc<Mutex<Seen>>,
    pub(crate) workers: u64,
}

impl Team {
    /// Starts the model of a team with this number of workers.
    pub(crate) fn of(workers: u64) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let server = ModelServer::start(move |request| {
            let mut seen = shared.lock().unwrap();
            check(request, &mut seen);
            answer(request, workers, &mut seen)
        });
        Self {
            server,
            seen,
            workers,
        }
    }

    /// Writes a board's configuration with this model and hiring limits that suffice for the team.
    pub(crate) fn configure(&self, board: &Board) {
        let text = format!(
            "[models.scripted]\nbase_url = \"{}\"\nmodel = \"scripted\"\n\n[society]\nagents = 200\nspawns_a_minute = 10000\n",
            self.server.base_url()
        );
        std::fs::write(board.workspace("polis.toml"), text).unwrap();
    }

    /// Checks all guarantees after the team has finished.
    pub(crate) fn check_end(&self, board: &Board, workspace: &std::path::Path) {
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.faults, Vec::<String>::new());
        // Effects in the store: exactly once.
        let tasks = board.ok("user", &["task", "list"]);
        let mut subjects: Vec<&str> = tasks["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["subject"].as_str().unwrap())
            .collect();
        subjects.sort_unstable();
        let mut due: Vec<String> = (0..self.workers).map(|n| format!("job {n}")).collect();
        due.sort_unstable();
        assert_eq!(subjects, due);
        // Commands: at most once; a missing one was reported to its worker as interrupted.
        let lines = std::fs::read_to_string(workspace.join("effects.txt")).unwrap_or_default();
        let mut ran = BTreeMap::<u64, u64>::new();
        for line in lines.lines() {
            *ran.entry(line.parse().unwrap()).or_default() += 1;
        }
        for n in 0..self.workers {
            match ran.get(&n).copied().unwrap_or(0) {
                1 => {}
                0 => assert!(seen.interrupted.contains(&n), "command {n} is lost"),
                more => panic!("command {n} ran {more} times"),
            }
            // Files: all written; a write may be repeated.
            let file = workspace.join(format!("out/{n}.txt"));
            assert_eq!(std::fs::read_to_string(file).unwrap(), format!("{n}\n"));
        }
        // Messages: the person received the final message once.
        let mail = board.ok("user", &["message", "check", "--since", "0"]);
        let told: Vec<&Value> = mail["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["payload"].to_string().contains("ALL DONE"))
            .collect();
        assert_eq!(told.len(), 1, "{mail}");
    }
}

/// Records the invariants that a request violates.
fn check(request: &Request, seen: &mut Seen) {
    let mut open: Vec<String> = Vec::new();
    for message in request.messages() {
        match message["role"].as_str().unwrap_or_default() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                match open.iter().position(|call| call == id) {
                    Some(at) => {
                        open.remove(at);
                    }
                    None => seen
                        .faults
                        .push(format!("a result without a call: {message}")),
                }
            }
            _ if !open.is_empty() => {
                seen.faults
                    .push(format!("calls without a result: {open:?}"));
                open.clear();
            }
            _ => {}
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.push(call["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    if !open.is_empty() {
        seen.faults
            .push(format!("calls without a result: {open:?}"));
    }
    // A report is delivered once.
    let heard = heard(request);
    let mut different: Vec<u64> = heard.clone();
    different.dedup();
    if heard.len() != different.len() {
        seen.faults
            .push(format!("a report was heard twice: {heard:?}"));
    }
}

/// Returns the numbers of the reports in a conversation, sorted.
fn heard(request: &Request) -> Vec<u64> {
    let mut numbers = Vec::new();
    for message in request.messages().iter().filter(|m| m["role"] == "user") {
        let text = message["content"].as_str().unwrap_or_default();
        for part in text.split("REPORT<").skip(1) {
            numbers.extend(part.split('>').next().and_then(|n| n.parse::<u64>().ok()));
        }
    }
    numbers.sort_unstable();
    numbers
}

/// Returns the model's reply to a request.
fn answer(request: &Request, workers: u64, seen: &mut Seen) -> Reply {
    let system = request.system();
    if let Some(number) = between(system, "JOB<", ">").and_then(|n| n.parse::<u64>().ok()) {
        *seen.asked.entry(format!("worker {number}")).or_default() += 1;
        return worker(request, number, seen);
    }
    if system.contains("LEAD-ROLE") {
        *seen.asked.entry("lead".to_owned()).or_default() += 1;
        return lead(request, workers);
    }
    *seen.asked.entry("root".to_owned()).or_default() += 1;
    root(request)
}

fn root(request: &Request) -> Reply {
    match called(request, "send_message").len() {
        0 => match made(request, "spawn_agent").first() {
            None => Reply::calls([
                tool(
                    "r1",
                    "create_role",
                    json!({ "name": "lead", "rolePrompt": "LEAD-ROLE" }),
                ),
                tool(
                    "r2",
                    "spawn_agent",
                    hire("lead", "lead the team".to_owned()),
                ),
            ]),
            Some(lead) => Reply::calls([tool(
                "r3",
                "send_message",
                json!({ "to": lead, "payload": { "text": "begin" } }),
            )]),
        },
        _ => Reply::text("The lead has it."),
    }
}

fn lead(request: &Request, workers: u64) -> Reply {
    let hired = made(request, "spawn_agent");
    let number = hired.len() as u64;
    if number < workers {
        let mut calls = Vec::new();
        if number == 0 {
            let role = json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" });
            calls.push(tool("w", "create_role", role));
        }
        for n in number..(number + 10).min(workers) {
            calls.push(tool(
                &format!("s{n}"),
                "spawn_agent",
                hire("worker", format!("JOB<{n}>")),
            ));
        }
        return Reply::calls(calls);
    }
    if called(request, "send_message").is_empty() {
        let begin = json!({ "to": hired, "payload": { "text": "begin" } });
        return Reply::calls([tool("b", "send_message", begin)]);
    }
    let heard = heard(request);
    if heard.len() as u64 == workers && called(request, "send_message").len() == 1 {
        let done = json!({ "to": "user", "payload": { "text": "ALL DONE" } });
        return Reply::calls([tool("d", "send_message", done)]);
    }
    Reply::text(format!("Heard {} reports.", heard.len()))
}

fn worker(request: &Request, number: u64, seen: &mut Seen) -> Reply {
    for message in request.messages().iter().filter(|m| m["role"] == "tool") {
        if message["content"]
            .as_str()
            .unwrap_or_default()
            .contains("call_interrupted")
        {
            seen.interrupted.insert(number);
        }
    }
    let steps = [
        ("TaskCreate", json!({ "subject": format!("job {number}") })),
        (
            "run_command",
            json!({ "command": format!("echo {number} >> effects.txt") }),
        ),
        (
            "write_file",
            json!({ "path": format!("out/{number}.txt"), "content": format!("{number}\n") }),
        ),
        (
            "send_message",
            json!({ "to": parent(request), "payload": { "text": format!("REPORT<{number}>") } }),
        ),
    ];
    match steps.get(request.answers()) {
        Some((name, arguments)) => Reply::calls([tool(
            &format!("c{}", request.answers()),
            name,
            arguments.clone(),
        )]),
        None => Reply::text("Reported."),
    }
}

/// Returns the worker's parent, to which it reports.
fn parent(request: &Request) -> String {
    between(request.system(), "parent: ", "\n")
        .or_else(|| between(request.system(), "PARENT<", ">"))
        .unwrap_or_else(|| "lead-1".to_owned())
}

fn hire(role: &str, objective: String) -> Value {
    json!({ "role": role, "taskBrief": { "objective": objective } })
}

pub(super) fn tool(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, &arguments)
}

/// Returns the ids in the results of all calls of a tool.
pub(super) fn made(request: &Request, tool: &str) -> Vec<String> {
    called(request, tool)
        .iter()
        .filter_map(|result| serde_json::from_str::<Value>(result).ok())
        .filter_map(|result| result["id"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the results of all calls of a tool.
pub(super) fn called(request: &Request, tool: &str) -> Vec<String> {
    let mut ids = BTreeSet::new();
    let mut results = Vec::new();
    for message in request.messages() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if call["function"]["name"] == tool {
                ids.insert(call["id"].as_str().unwrap_or_default());
            }
        }
        if message["role"] == "tool"
            && ids.contains(message["tool_call_id"].as_str().unwrap_or_default())
        {
            results.push(message["content"].as_str().unwrap_or_default().to_owned());
        }
    }
    results
}

pub(super) fn between(text: &str, begin: &str, end: &str) -> Option<String> {
    let rest = text.split_once(begin)?.1;
    Some(rest.split_once(end)?.0.trim().to_owned())
}
