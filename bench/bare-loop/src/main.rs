//! Baseline of the society benchmark: the same requests in a bare tokio and reqwest loop, without persistence
//! and with tools that do nothing.

use std::time::Instant;

use serde_json::{Value, json};

type LoopResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// `bare-loop BASE FIRST-REQUEST AGENTS`: runs AGENTS agents in a loop until the model calls no more tools.
/// The first request is one that the society sent: the system message and the tools are taken from it.
fn main() -> LoopResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, first, agents] = arguments.as_slice() else {
        return Err("bare-loop BASE FIRST-REQUEST AGENTS".into());
    };
    let agents: usize = agents.parse()?;
    let first: Value = serde_json::from_str(&std::fs::read_to_string(first)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (client, begun, cpu) = (reqwest::Client::builder().build()?, Instant::now(), cpu_seconds());
    let turns = runtime.block_on(async {
        let loops: Vec<_> = (0..agents)
            .map(|n| tokio::spawn(run_agent_loop(client.clone(), base.clone(), first.clone(), n)))
            .collect();
        let mut turns = 0;
        for done in loops {
            turns += done.await??;
        }
        LoopResult::Ok(turns)
    })?;
    let figures = json!({
        "turns": turns,
        "wall": begun.elapsed().as_secs_f64(),
        "cpu": cpu_seconds() - cpu,
    });
    println!("{figures}");
    Ok(())
}

/// Returns the CPU time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

async fn run_agent_loop(client: reqwest::Client, base: String, mut body: Value, n: usize) -> LoopResult<u64> {
    let address = format!("{base}/chat/completions");
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    // The last message is the status message. It is sent at the end of every request, as in the society.
    let mut before = messages;
    let after = before.pop().unwrap_or_default();
    let mut conversation = Vec::new();
    for message in &mut before {
        if let Some(text) = message["content"].as_str() {
            message["content"] = text.replace("worker-0", &format!("worker-{n}")).into();
        }
    }
    let mut turns = 0;
    loop {
        let all: Vec<&Value> = before
            .iter()
            .chain(&conversation)
            .chain(std::iter::once(&after))
            .collect();
        body["messages"] = json!(all);
        let request = client
            .post(&address)
            .header("authorization", "Bearer none")
            .header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await?.text().await?;
        let (mut call, mut arguments, mut content) = (Value::Null, String::new(), String::new());
        for line in answer.lines() {
            let Some(data) = line.strip_prefix("data: ").filter(|d| *d != "[DONE]") else {
                continue;
            };
            let chunk: Value = serde_json::from_str(data)?;
            let delta = &chunk["choices"][0]["delta"];
            if let Some(text) = delta["content"].as_str() {
                content.push_str(text);
            }
            let part = &delta["tool_calls"][0];
            if part["id"].is_string() {
                call = part.clone();
            }
            if let Some(more) = part["function"]["arguments"].as_str() {
                arguments.push_str(more);
            }
        }
        turns += 1;
        if call.is_null() {
            return Ok(turns);
        }
        let id = call["id"].clone();
        call["function"]["arguments"] = arguments.into();
        conversation.push(json!({ "role": "assistant", "content": content, "tool_calls": [call] }));
        conversation.push(json!({ "role": "tool", "tool_call_id": id, "content": "{\"ok\":true}" }));
    }
}
