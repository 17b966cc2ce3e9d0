//! Society runtime compared with a bare loop that sends the same requests, and with a loop on the official Python
//! client.
//!
//! Each of the three is a separate process that calls a scripted model server, which answers at once. CPU time is that
//! of the whole process with all its threads. Only the society is durable: every step is committed before the next.

mod kills;
mod limits;
mod ours;
mod server;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::report::Report;
use crate::scene::{Fallible, Scene, median};
use server::Manner;

/// Number of agents, and of calls that each makes.
const AGENTS: usize = 100;
const TURNS: usize = 20;
/// The tool that every agent calls: it adds a new artifact to the store.
const TOOL: &str = "put_artifact";
const ARGUMENTS: &str = r#"{"type":"note","content":"AGENT has done step N of its work, and this is what it says about it."}"#;

/// Measures the society.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    beside(scene, report)?;
    idle(scene, report)?;
    many(scene, report)?;
    limits::measure(scene, report)?;
    kills::measure(scene, report)
}

/// Runs a child process of this benchmark; `part` selects which.
pub(crate) fn child(part: &str, rest: &[String]) -> Fallible<()> {
    let text = |n: usize| {
        rest.get(n)
            .map(String::as_str)
            .ok_or("an argument is missing")
    };
    let number = |n: usize| Fallible::Ok(text(n)?.parse::<usize>()?);
    match part {
        "server" => {
            let manner = Manner {
                think_ms: text(3)?.parse()?,
                refuses_percent: text(4)?.parse()?,
                seed: text(5)?.parse()?,
            };
            server::serve(number(0)?, text(1)?, text(2)?, manner)
        }
        "ours" => {
            println!("{}", ours::run(text(0)?, Path::new(text(1)?), number(2)?)?);
            Ok(())
        }
        "idle" => {
            println!("{}", ours::idle(Path::new(text(0)?), number(1)?)?);
            Ok(())
        }
        _ => Err("no such part".into()),
    }
}

/// Measures 100 agents with 20 calls each: CPU time and wall time compared with the two loops.
fn beside(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let (mut ours, mut bare, mut python) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..scene.times(5).max(2) {
        let server = Server::start(TURNS, TOOL, ARGUMENTS)?;
        let place = scene.place(&format!("society-{round}"));
        let figures =
            start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?.figures()?;
        complete(&figures, AGENTS, TURNS)?;
        let first = scene.place("first-request.json");
        std::fs::write(&first, server.get("/first")?)?;
        ours.push((server.figures()?, figures));
        // Each loop gets its own server, so that the server's figures are of that loop only.
        let server = Server::start(TURNS, TOOL, ARGUMENTS)?;
        let figures =
            Process::of(peer("POLIS_BENCH_BARE_LOOP", &server.base, &first, AGENTS)?)?.figures()?;
        complete(&figures, AGENTS, TURNS)?;
        bare.push((server.figures()?, figures));
        let server = Server::start(TURNS, TOOL, ARGUMENTS)?;
        let figures = Process::of(peer(
            "POLIS_BENCH_OPENAI_LOOP",
            &server.base,
            &first,
            AGENTS,
        )?)?
        .figures()?;
        complete(&figures, AGENTS, TURNS)?;
        python.push((server.figures()?, figures));
    }
    let each = |of: &[(Value, Value)], name: &str| {
        let mut values: Vec<f64> = of
            .iter()
            .map(|(_, f)| number(f, name) / number(f, "turns"))
            .collect();
        median(&mut values) * 1e6
    };
    let (cpu, wall) = (each(&ours, "cpu"), each(&ours, "wall"));
    let (floor, floor_wall) = (each(&bare, "cpu"), each(&bare, "wall"));
    let openai = each(&python, "cpu");
    let bytes = |of: &[(Value, Value)]| {
        of.first()
            .map_or(0.0, |(s, _)| number(s, "bytes") / number(s, "requests"))
    };
    let sizes = format!(
        "requests of {:.0} bytes beside {:.0}",
        bytes(&ours),
        bytes(&bare)
    );
    report.at_most(
        "society, 100 agents x 20 calls, processor time of a turn / bare tokio + reqwest loop",
        cpu / floor,
        3.0,
        &format!("{cpu:.0} µs, durable, beside {floor:.0} µs; {sizes}"),
    );
    report.at_most(
        "the same, wall time",
        wall / floor_wall,
        3.0,
        &format!("{wall:.0} µs a turn beside {floor_wall:.0} µs, the server on the same two cores"),
    );
    report.at_least(
        "bare Python `openai` loop / society, processor time of a turn",
        openai / cpu,
        15.0,
        &format!("{openai:.0} µs beside {cpu:.0} µs"),
    );
    Ok(())
}

/// Measures the memory of a process with many idle agents.
fn idle(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let agents = if scene.quick { 1_000 } else { 10_000 };
    let place = scene.place("society-idle");
    let figures = start("idle", &[&shown(&place), &agents.to_string()])?.figures()?;
    let resident = number(&figures, "resident") / 1e6;
    report.add(
        &format!("memory of a process that holds {agents} idle agents"),
        format!("{resident:.0} MB"),
        "≤ 200 MB".to_owned(),
        resident <= 200.0,
        &format!(
            "resident, {:.0} MB before the first was hired",
            number(&figures, "before") / 1e6
        ),
    );
    Ok(())
}

/// Measures 1,000 agents with 20 calls each: memory, and growth of the store. The calls only read, so that the store
/// grows by the conversations and nothing else.
fn many(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let agents = if scene.quick { 200 } else { 1_000 };
    let look = r#"{"taskId":"1","offset":N}"#;
    let server = Server::start(TURNS, "TaskGet", look)?;
    let place = scene.place("society-many");
    let figures = start("ours", &[&server.base, &shown(&place), &agents.to_string()])?.figures()?;
    complete(&figures, agents, TURNS)?;
    let (half, end) = (
        number(&figures, "residentHalf"),
        number(&figures, "resident"),
    );
    report.at_most(
        &format!("{agents} agents x 20 calls, memory at the end / half-way"),
        end / half,
        1.25,
        &format!(
            "{:.0} MB beside {:.0} MB; nothing lost",
            end / 1e6,
            half / 1e6
        ),
    );
    let (grown, talked) = (number(&figures, "grown"), number(&figures, "conversations"));
    report.at_most(
        "the same, what the store grew by / the bytes of the conversations",
        grown / talked,
        2.0,
        &format!(
            "{:.1} MB beside {:.1} MB of messages as they go to the model; calls that look",
            grown / 1e6,
            talked / 1e6
        ),
    );
    Ok(())
}

/// Fails unless every agent made all its calls and each effect is in the store exactly once.
fn complete(figures: &Value, agents: usize, turns: usize) -> Fallible<()> {
    let expected = (agents * (turns + 1)) as f64;
    if number(figures, "turns") != expected {
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

fn number(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or(f64::NAN)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the CPU time of this process so far, in seconds.
fn spent() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a benchmark")]
    let (seconds, nanos) = (time.tv_sec as f64, time.tv_nsec as f64);
    seconds + nanos / 1e9
}

/// Returns the resident set size of this process in bytes.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok());
    pages.unwrap_or(f64::NAN) * 4_096.0
}

fn itself(part: &str, arguments: &[&str]) -> Fallible<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(format!("child:{part}")).args(arguments);
    Ok(command)
}

fn start(part: &str, arguments: &[&str]) -> Fallible<Process> {
    Process::of(itself(part, arguments)?)
}

/// Returns the command of a loop to compare with.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run says where the peer is"
)]
fn peer(name: &str, base: &str, first: &Path, agents: usize) -> Fallible<Command> {
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
struct Process(Child);

impl Process {
    fn of(mut command: Command) -> Fallible<Self> {
        Ok(Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?,
        ))
    }

    /// Waits for the process. Returns the JSON document that it printed.
    fn figures(mut self) -> Fallible<Value> {
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

impl Drop for Process {
    fn drop(&mut self) {
        // The benchmark started this process and no longer needs it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The scripted model server in a child process, killed on drop.
struct Server {
    _process: Process,
    address: String,
    base: String,
}

impl Server {
    fn start(turns: usize, tool: &str, arguments: &str) -> Fallible<Self> {
        Self::with(turns, tool, arguments, Manner::default())
    }

    fn with(turns: usize, tool: &str, arguments: &str, manner: Manner) -> Fallible<Self> {
        let mut process = start(
            "server",
            &[
                &turns.to_string(),
                tool,
                arguments,
                &manner.think_ms.to_string(),
                &manner.refuses_percent.to_string(),
                &manner.seed.to_string(),
            ],
        )?;
        let mut line = String::new();
        let output = process.0.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = format!("127.0.0.1:{}", line.trim());
        Ok(Self {
            _process: process,
            base: format!("http://{address}/v1"),
            address,
        })
    }

    fn get(&self, path: &str) -> Fallible<String> {
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

    fn figures(&self) -> Fallible<Value> {
        Ok(serde_json::from_str(&self.get("/figures")?)?)
    }
}
