//! Scripted team for the crash test: root hires a lead and the lead hires workers. Each worker creates a
//! task, runs a command, writes a file and reports by message.
//!
//! The model checks every request: calls without a result and reports that were delivered twice are recorded
//! as faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use polis_testkit::scripted_model::{
    ModelHttpRequest, ScriptedModel, ScriptedReply, ScriptedToolCall,
};
use serde_json::{Value, json};

use crate::harness::test_project::TestProject;

/// Observations of the scripted model.
#[derive(Debug, Default)]
pub(crate) struct TeamObservations {
    /// Violated invariants, one line each.
    pub(crate) faults: Vec<String>,
    /// The workers whose command was reported as interrupted.
    pub(crate) interrupted: BTreeSet<u64>,
    /// Number of model requests of each member.
    pub(crate) request_counts: BTreeMap<String, u64>,
}

/// A scripted team and its model server.
pub(crate) struct ScriptedTeam {
    pub(crate) model_server: ScriptedModel,
    pub(crate) observations: Arc<Mutex<TeamObservations>>,
    pub(crate) worker_count: u64,
}

impl ScriptedTeam {
    /// Starts the model of a team with this number of workers.
    pub(crate) fn with_workers(worker_count: u64) -> Self {
        let observations = Arc::new(Mutex::new(TeamObservations::default()));
        let shared = Arc::clone(&observations);
        let model_server = ScriptedModel::start(move |request| {
            let mut seen = shared.lock().unwrap();
            record_violations(request, &mut seen);
            scripted_reply(request, worker_count, &mut seen)
        });
        Self {
            model_server,
            observations,
            worker_count,
        }
    }

    /// Writes a project's configuration with this model and hiring limits that suffice for the team.
    pub(crate) fn write_config(&self, board: &TestProject) {
        let text = format!(
            "[models.scripted]\nbase_url = \"{}\"\nmodel = \"scripted\"\n\n[society]\nagents = 200\nspawns_a_minute = 10000\n",
            self.model_server.base_url()
        );
        std::fs::write(board.data_path("polis.toml"), text).unwrap();
    }

    /// Checks all guarantees after the team has finished.
    pub(crate) fn assert_finished(&self, board: &TestProject, workspace: &std::path::Path) {
        let seen = self.observations.lock().unwrap();
        assert_eq!(seen.faults, Vec::<String>::new());
        // Effects in the store: exactly once.
        let tasks = board.run_ok("user", &["task", "list"]);
        let mut subjects: Vec<&str> = tasks["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["subject"].as_str().unwrap())
            .collect();
        subjects.sort_unstable();
        let mut due: Vec<String> = (0..self.worker_count).map(|n| format!("job {n}")).collect();
        due.sort_unstable();
        assert_eq!(subjects, due);
        // Commands: at most once; a missing one was reported to its worker as interrupted.
        let lines = std::fs::read_to_string(workspace.join("effects.txt")).unwrap_or_default();
        let mut ran = BTreeMap::<u64, u64>::new();
        for line in lines.lines() {
            *ran.entry(line.parse().unwrap()).or_default() += 1;
        }
        for n in 0..self.worker_count {
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
        let mail = board.run_ok("user", &["message", "check", "--since", "0"]);
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
fn record_violations(request: &ModelHttpRequest, seen: &mut TeamObservations) {
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
    let heard = report_numbers(request);
    let mut different: Vec<u64> = heard.clone();
    different.dedup();
    if heard.len() != different.len() {
        seen.faults
            .push(format!("a report was heard twice: {heard:?}"));
    }
}

/// Returns the numbers of the reports in a conversation, sorted.
fn report_numbers(request: &ModelHttpRequest) -> Vec<u64> {
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
fn scripted_reply(
    request: &ModelHttpRequest,
    workers: u64,
    seen: &mut TeamObservations,
) -> ScriptedReply {
    let system = request.system_message();
    if let Some(number) = text_between(system, "JOB<", ">").and_then(|n| n.parse::<u64>().ok()) {
        *seen
            .request_counts
            .entry(format!("worker {number}"))
            .or_default() += 1;
        return worker_reply(request, number, seen);
    }
    if system.contains("LEAD-ROLE") {
        *seen.request_counts.entry("lead".to_owned()).or_default() += 1;
        return lead_reply(request, workers);
    }
    *seen.request_counts.entry("root".to_owned()).or_default() += 1;
    root_reply(request)
}

fn root_reply(request: &ModelHttpRequest) -> ScriptedReply {
    match tool_results(request, "send_message").len() {
        0 => match created_ids(request, "spawn_agent").first() {
            None => ScriptedReply::tool_calls([
                tool_call(
                    "r1",
                    "create_role",
                    json!({ "name": "lead", "rolePrompt": "LEAD-ROLE" }),
                ),
                tool_call(
                    "r2",
                    "spawn_agent",
                    hire_arguments("lead", "lead the team".to_owned()),
                ),
            ]),
            Some(lead) => ScriptedReply::tool_calls([tool_call(
                "r3",
                "send_message",
                json!({ "to": lead, "payload": { "text": "begin" } }),
            )]),
        },
        _ => ScriptedReply::text("The lead has it."),
    }
}

fn lead_reply(request: &ModelHttpRequest, workers: u64) -> ScriptedReply {
    let hired = created_ids(request, "spawn_agent");
    let number = hired.len() as u64;
    if number < workers {
        let mut calls = Vec::new();
        if number == 0 {
            let role = json!({ "name": "worker", "rolePrompt": "WORKER-ROLE" });
            calls.push(tool_call("w", "create_role", role));
        }
        for n in number..(number + 10).min(workers) {
            calls.push(tool_call(
                &format!("s{n}"),
                "spawn_agent",
                hire_arguments("worker", format!("JOB<{n}>")),
            ));
        }
        return ScriptedReply::tool_calls(calls);
    }
    if tool_results(request, "send_message").is_empty() {
        let begin = json!({ "to": hired, "payload": { "text": "begin" } });
        return ScriptedReply::tool_calls([tool_call("b", "send_message", begin)]);
    }
    let heard = report_numbers(request);
    if heard.len() as u64 == workers && tool_results(request, "send_message").len() == 1 {
        let done = json!({ "to": "user", "payload": { "text": "ALL DONE" } });
        return ScriptedReply::tool_calls([tool_call("d", "send_message", done)]);
    }
    ScriptedReply::text(format!("Heard {} reports.", heard.len()))
}

fn worker_reply(
    request: &ModelHttpRequest,
    number: u64,
    seen: &mut TeamObservations,
) -> ScriptedReply {
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
            json!({ "to": parent_name(request), "payload": { "text": format!("REPORT<{number}>") } }),
        ),
    ];
    match steps.get(request.assistant_message_count()) {
        Some((name, arguments)) => ScriptedReply::tool_calls([tool_call(
            &format!("c{}", request.assistant_message_count()),
            name,
            arguments.clone(),
        )]),
        None => ScriptedReply::text("Reported."),
    }
}

/// Returns the worker's parent, to which it reports.
fn parent_name(request: &ModelHttpRequest) -> String {
    text_between(request.system_message(), "parent: ", "\n")
        .or_else(|| text_between(request.system_message(), "PARENT<", ">"))
        .unwrap_or_else(|| "lead-1".to_owned())
}

fn hire_arguments(role: &str, objective: String) -> Value {
    json!({ "role": role, "taskBrief": { "objective": objective } })
}

pub(crate) fn tool_call(id: &str, name: &str, arguments: Value) -> ScriptedToolCall {
    ScriptedToolCall::new(id, name, &arguments)
}

/// Returns the ids in the results of all calls of a tool.
pub(super) fn created_ids(request: &ModelHttpRequest, tool: &str) -> Vec<String> {
    tool_results(request, tool)
        .iter()
        .filter_map(|result| serde_json::from_str::<Value>(result).ok())
        .filter_map(|result| result["id"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the results of all calls of a tool.
pub(super) fn tool_results(request: &ModelHttpRequest, tool: &str) -> Vec<String> {
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

pub(super) fn text_between(text: &str, begin: &str, end: &str) -> Option<String> {
    let rest = text.split_once(begin)?.1;
    Some(rest.split_once(end)?.0.trim().to_owned())
}
