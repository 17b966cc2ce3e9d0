//! Society benchmarks: CPU time and wall time compared with a bare loop that sends the same requests and with
//! a loop on the official Python client, and the memory of many idle and of many working agents.
//! `rate_limits` and `crash_cost` measure the behaviour with refused requests and after kills.
//!
//! Each measured program is a separate process that calls a scripted model server, which answers at once. CPU
//! time is that of the whole process with all its threads. Only the society is durable: every step is
//! committed before the next.

mod crash_cost;
mod measured_society;
mod model_server;
mod rate_limits;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::report::BenchReport;
use model_server::ModelBehaviour;

/// Number of agents, and of calls that each makes.
const AGENT_COUNT: usize = 100;
const CALLS_PER_AGENT: usize = 20;
/// The tool that every agent calls in the comparison with the loops: it adds a new artifact to the store.
const TOOL_NAME: &str = "put_artifact";
const TOOL_ARGUMENTS: &str = r#"{"type":"note","content":"AGENT has done step N of its work, and this is what it says about it."}"#;

/// Measures the society.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    measure_against_loops(env, report)?;
    measure_idle_memory(env, report)?;
    measure_many_agents(env, report)?;
    rate_limits::measure(env, report)?;
    crash_cost::measure(env, report)
}

/// Runs a child process of this benchmark; `part` selects which.
pub(crate) fn run_child_process(part: &str, rest: &[String]) -> BenchResult<()> {
    let text = |n: usize| {
        rest.get(n)
            .map(String::as_str)
            .ok_or("an argument is missing")
    };
    let number = |n: usize| BenchResult::Ok(text(n)?.parse::<usize>()?);
    match part {
        "server" => {
            let behaviour = ModelBehaviour {
                think_ms: text(3)?.parse()?,
                refused_percent: text(4)?.parse()?,
                seed: text(5)?.parse()?,
            };
            model_server::serve_model(number(0)?, text(1)?, text(2)?, behaviour)
        }
        "ours" => {
            println!(
                "{}",
                measured_society::run_society(text(0)?, Path::new(text(1)?), number(2)?)?
            );
            Ok(())
        }
        "idle" => {
            println!(
                "{}",
                measured_society::measure_idle_memory(Path::new(text(0)?), number(1)?)?
            );
            Ok(())
        }
        _ => Err("no such part".into()),
    }
}

/// Measures 100 agents with 20 calls each: CPU time and wall time compared with the two loops.
fn measure_against_loops(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let (mut ours, mut bare, mut python) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..env.repetitions(5).max(2) {
        let server = ModelServerProcess::start(CALLS_PER_AGENT, TOOL_NAME, TOOL_ARGUMENTS)?;
        let directory = env.path_of(&format!("society-{round}"));
        let figures = start_child(
            "ours",
            &[
                &server.base_url,
                &path_text(&directory),
                &AGENT_COUNT.to_string(),
            ],
        )?
        .wait_for_figures()?;
        check_complete(&figures, AGENT_COUNT, CALLS_PER_AGENT)?;
        let first = env.path_of("first-request.json");
        std::fs::write(&first, server.http_get("/first")?)?;
        ours.push((server.fetch_figures()?, figures));
        // Each loop gets its own server, so that the server's figures are of that loop only.
        let server = ModelServerProcess::start(CALLS_PER_AGENT, TOOL_NAME, TOOL_ARGUMENTS)?;
        let figures = ChildProcess::spawn(peer_command(
            "POLIS_BENCH_BARE_LOOP",
            &server.base_url,
            &first,
            AGENT_COUNT,
        )?)?
        .wait_for_figures()?;
        check_complete(&figures, AGENT_COUNT, CALLS_PER_AGENT)?;
        bare.push((server.fetch_figures()?, figures));
        let server = ModelServerProcess::start(CALLS_PER_AGENT, TOOL_NAME, TOOL_ARGUMENTS)?;
        let figures = ChildProcess::spawn(peer_command(
            "POLIS_BENCH_OPENAI_LOOP",
            &server.base_url,
            &first,
            AGENT_COUNT,
        )?)?
        .wait_for_figures()?;
        check_complete(&figures, AGENT_COUNT, CALLS_PER_AGENT)?;
        python.push((server.fetch_figures()?, figures));
    }
    let median_per_turn = |results: &[(Value, Value)], name: &str| {
        let mut values: Vec<f64> = results
            .iter()
            .map(|(_, f)| figure_number(f, name) / figure_number(f, "turns"))
            .collect();
        median(&mut values) * 1e6
    };
    let (cpu, wall) = (
        median_per_turn(&ours, "cpu"),
        median_per_turn(&ours, "wall"),
    );
    let (floor, floor_wall) = (
        median_per_turn(&bare, "cpu"),
        median_per_turn(&bare, "wall"),
    );
    let openai = median_per_turn(&python, "cpu");
    let bytes = |results: &[(Value, Value)]| {
        results.first().map_or(0.0, |(s, _)| {
            figure_number(s, "bytes") / figure_number(s, "requests")
        })
    };
    let sizes = format!(
        "requests of {:.0} bytes vs {:.0}",
        bytes(&ours),
        bytes(&bare)
    );
    report.add_at_most(
        "society, 100 agents x 20 calls, CPU time per turn / bare tokio + reqwest loop",
        cpu / floor,
        3.0,
        &format!("{cpu:.0} µs, durable, vs {floor:.0} µs; {sizes}"),
    );
    report.add_at_most(
        "the same, wall time",
        wall / floor_wall,
        3.0,
        &format!("{wall:.0} µs a turn vs {floor_wall:.0} µs, the server on the same two cores"),
    );
    report.add_at_least(
        "bare Python `openai` loop / society, CPU time per turn",
        openai / cpu,
        15.0,
        &format!("{openai:.0} µs vs {cpu:.0} µs"),
    );
    Ok(())
}

/// Measures the memory of a process with many idle agents.
fn measure_idle_memory(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let agents = if env.quick { 1_000 } else { 10_000 };
    let directory = env.path_of("society-idle");
    let figures =
        start_child("idle", &[&path_text(&directory), &agents.to_string()])?.wait_for_figures()?;
    let resident = figure_number(&figures, "resident") / 1e6;
    report.add_figure(
        &format!("memory of a process that holds {agents} idle agents"),
        format!("{resident:.0} MB"),
        "≤ 200 MB".to_owned(),
        resident <= 200.0,
        &format!(
            "resident, {:.0} MB before the first was hired",
            figure_number(&figures, "before") / 1e6
        ),
    );
    Ok(())
}

/// Measures 1,000 agents with 20 calls each: memory, and growth of the store. The calls only read, so that
/// the store grows by the conversations and nothing else.
fn measure_many_agents(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let agents = if env.quick { 200 } else { 1_000 };
    let arguments = r#"{"taskId":"1","offset":N}"#;
    let server = ModelServerProcess::start(CALLS_PER_AGENT, "TaskGet", arguments)?;
    let directory = env.path_of("society-many");
    let figures = start_child(
        "ours",
        &[
            &server.base_url,
            &path_text(&directory),
            &agents.to_string(),
        ],
    )?
    .wait_for_figures()?;
    check_complete(&figures, agents, CALLS_PER_AGENT)?;
    let (half, end) = (
        figure_number(&figures, "residentHalf"),
        figure_number(&figures, "resident"),
    );
    report.add_at_most(
        &format!("{agents} agents x 20 calls, memory at the end / halfway"),
        end / half,
        1.25,
        &format!("{:.0} MB vs {:.0} MB; nothing lost", end / 1e6, half / 1e6),
    );
    let (growth, conversation_bytes) = (
        figure_number(&figures, "grown"),
        figure_number(&figures, "conversations"),
    );
    report.add_at_most(
        "the same, growth of the store / size of the conversations",
        growth / conversation_bytes,
        2.0,
        &format!(
            "{:.1} MB vs {:.1} MB of messages as sent to the model; read-only calls",
            growth / 1e6,
            conversation_bytes / 1e6
        ),
    );
    Ok(())
}

/// Fails unless every agent made all its calls and each effect is in the store exactly once.
fn check_complete(figures: &Value, agents: usize, turns: usize) -> BenchResult<()> {
    let expected = (agents * (turns + 1)) as f64;
    if figure_number(figures, "turns") != expected {
        return Err(format!("{figures}: not {expected} turns").into());
    }
    // Calls that only read have no effects.
    if let Some(effects) = figures["effects"].as_u64().filter(|effects| *effects > 0)
        && effects != (agents * turns) as u64
    {
        return Err(format!("{figures}: effects are missing").into());
    }
    Ok(())
}

fn figure_number(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or(f64::NAN)
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the CPU time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a benchmark")]
    let (seconds, nanos) = (time.tv_sec as f64, time.tv_nsec as f64);
    seconds + nanos / 1e9
}

/// Returns the resident set size of this process in bytes.
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok());
    pages.unwrap_or(f64::NAN) * 4_096.0
}

fn own_command(part: &str, arguments: &[&str]) -> BenchResult<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(format!("child:{part}")).args(arguments);
    Ok(command)
}

fn start_child(part: &str, arguments: &[&str]) -> BenchResult<ChildProcess> {
    ChildProcess::spawn(own_command(part, arguments)?)
}

/// Returns the command of a loop to compare with.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run sets the command of the peer"
)]
fn peer_command(name: &str, base: &str, first: &Path, agents: usize) -> BenchResult<Command> {
    let peer = std::env::var(name).map_err(|_| format!("{name} is not set: use bench/run"))?;
    let mut words = peer.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .arg(base)
        .arg(first)
        .arg(agents.to_string());
    Ok(command)
}

/// A child process of this benchmark, killed on drop.
struct ChildProcess(Child);

impl ChildProcess {
    fn spawn(mut command: Command) -> BenchResult<Self> {
        Ok(Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?,
        ))
    }

    /// Waits for the process. Returns the JSON document that it printed.
    fn wait_for_figures(mut self) -> BenchResult<Value> {
        let mut text = String::new();
        self.0
            .stdout
            .take()
            .ok_or("no output")?
            .read_to_string(&mut text)?;
        if !self.0.wait()?.success() {
            return Err("a process of the benchmark failed".into());
        }
        Ok(serde_json::from_str(text.trim())?)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The benchmark started this process and no longer needs it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The scripted model server in a child process, killed on drop.
struct ModelServerProcess {
    _process: ChildProcess,
    address: String,
    base_url: String,
}

impl ModelServerProcess {
    fn start(turns: usize, tool: &str, arguments: &str) -> BenchResult<Self> {
        Self::start_with_behaviour(turns, tool, arguments, ModelBehaviour::default())
    }

    fn start_with_behaviour(
        turns: usize,
        tool: &str,
        arguments: &str,
        behaviour: ModelBehaviour,
    ) -> BenchResult<Self> {
        let mut process = start_child(
            "server",
            &[
                &turns.to_string(),
                tool,
                arguments,
                &behaviour.think_ms.to_string(),
                &behaviour.refused_percent.to_string(),
                &behaviour.seed.to_string(),
            ],
        )?;
        let mut line = String::new();
        let output = process.0.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = format!("127.0.0.1:{}", line.trim());
        Ok(Self {
            _process: process,
            base_url: format!("http://{address}/v1"),
            address,
        })
    }

    fn http_get(&self, path: &str) -> BenchResult<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }

    fn fetch_figures(&self) -> BenchResult<Value> {
        Ok(serde_json::from_str(&self.http_get("/figures")?)?)
    }
}
