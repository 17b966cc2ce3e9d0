//! Prometheus metrics of the server.
//!
//! Code that measures gets a handle once and keeps it; counting is then a single addition. Values maintained
//! elsewhere (live events, memory) are collected when the page is scraped.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use polis_core::{Code, Kind};
use polis_ops::OpError;
use polis_ops::tool::Answer;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value;

/// Media type of the metrics page.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Label value of success among the error codes.
const OK: &str = "ok";
/// Upper bounds of the latency histogram buckets in seconds.
const BUCKETS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTool {
    tool: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOutcome {
    tool: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCode {
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCommand {
    sandbox: String,
    ending: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

type Operations = Family<OfOutcome, Counter>;
type Latencies = Family<OfTool, Histogram, fn() -> Histogram>;

/// All metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    operations: Operations,
    latencies: Latencies,
    conflicts: Family<OfCode, Counter>,
    commands: Family<OfCommand, Counter>,
    responses: Family<OfStatus, Counter>,
    refused: Family<OfCode, Counter>,
    memory: Gauge,
    /// Requests in flight.
    pub in_flight: Gauge,
    /// Open connections.
    pub connections: Gauge,
    /// Write operations in flight, including those waiting for a commit.
    pub changes: Gauge,
    /// Connections closed because of slow, incomplete or malformed requests.
    pub broken: Counter<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates metrics with all values at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("polis");
        let build = Build {
            version: env!("CARGO_PKG_VERSION"),
        };
        registry.register("build", "What is running", Info::new(build));
        let operations = Operations::default();
        registry.register(
            "operations",
            "Calls of tools, by tool and code; ok is success",
            operations.clone(),
        );
        let latencies = Latencies::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register_with_unit(
            "operation_duration",
            "How long calls of tools took",
            Unit::Seconds,
            latencies.clone(),
        );
        let conflicts = Family::default();
        registry.register(
            "conflicts",
            "Calls refused because something was not as the caller expected, by code",
            conflicts.clone(),
        );
        let commands = Family::default();
        registry.register(
            "commands",
            "Commands run, by strength of the sandbox and how they ended",
            commands.clone(),
        );
        let responses = Family::default();
        registry.register("http_responses", "Answers, by status", responses.clone());
        let refused = Family::default();
        registry.register(
            "http_refused",
            "Requests refused before they reached a tool, by code",
            refused.clone(),
        );
        let mut gauge = |name: &str, about: &str| {
            let gauge = Gauge::default();
            registry.register(name, about, gauge.clone());
            gauge
        };
        let in_flight = gauge("http_requests_in_flight", "Requests under way");
        let connections = gauge("http_connections", "Open connections");
        let changes = gauge(
            "changes_in_flight",
            "Changes under way; what waits for a commit is among them",
        );
        let memory = Gauge::default();
        registry.register_with_unit(
            "process_resident_memory",
            "Memory in use",
            Unit::Bytes,
            memory.clone(),
        );
        let broken = Counter::default();
        registry.register(
            "http_connections_broken",
            "Connections ended because of slow, cut off or malformed requests",
            broken.clone(),
        );
        Self {
            registry: Mutex::new(registry),
            operations,
            latencies,
            conflicts,
            commands,
            responses,
            refused,
            memory,
            in_flight,
            connections,
            changes,
            broken,
        }
    }

    /// Returns a handle for the calls of one tool.
    pub fn tool(&self, tool: &'static str) -> ToolMeter {
        ToolMeter {
            tool,
            good: self
                .operations
                .get_or_create_owned(&OfOutcome { tool, code: OK }),
            took: self.latencies.get_or_create_owned(&OfTool { tool }),
            operations: self.operations.clone(),
            conflicts: self.conflicts.clone(),
            commands: self.commands.clone(),
        }
    }

    /// Counts a response.
    pub fn answered(&self, status: u16) {
        self.responses.get_or_create(&OfStatus { status }).inc();
    }

    /// Counts a request refused before it reached a tool.
    pub fn refused(&self, code: Code) {
        let code = code.as_str();
        self.refused.get_or_create(&OfCode { code }).inc();
    }

    /// Registers a collector for values maintained elsewhere.
    pub fn add(&self, others: Box<dyn Collector>) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(others);
    }

    /// Returns the metrics page in OpenMetrics format.
    pub fn page(&self) -> String {
        self.memory.set(resident().unwrap_or(0));
        let mut page = String::with_capacity(16 * 1_024);
        // Writing to memory does not fail.
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = encode(&mut page, &registry);
        page
    }
}

/// Metrics handle of one tool.
#[derive(Debug, Clone)]
pub struct ToolMeter {
    tool: &'static str,
    good: Counter,
    took: Histogram,
    operations: Operations,
    conflicts: Family<OfCode, Counter>,
    commands: Family<OfCommand, Counter>,
}

impl ToolMeter {
    /// Records a call: its duration, and its error code if it was refused or failed.
    pub fn observe(&self, refused: Option<Code>, took: Duration) {
        self.took.observe(took.as_secs_f64());
        let Some(code) = refused else {
            self.good.inc();
            return;
        };
        let (tool, text) = (self.tool, code.as_str());
        self.operations
            .get_or_create(&OfOutcome { tool, code: text })
            .inc();
        if code.kind() == Kind::Conflict {
            self.conflicts.get_or_create(&OfCode { code: text }).inc();
        }
    }

    /// Records a call by its result.
    pub fn called(&self, answer: &Result<Answer, OpError>, took: Duration) {
        self.observe(answer.as_ref().err().map(OpError::code), took);
        match answer {
            Ok(answer) => self.command(&answer.document),
            Err(error) => self.timed_out(error),
        }
    }

    /// Counts a command that timed out.
    pub fn timed_out(&self, error: &OpError) {
        if error.code() == Code::CommandTimeout {
            let told = serde_json::to_value(error.document()).unwrap_or_default();
            self.command(told.get("error").unwrap_or(&Value::Null));
        }
    }

    /// Counts a command, by its result or by the details of its timeout error. Documents without a `sandbox`
    /// field are not counted.
    pub fn command(&self, result: &Value) {
        let flag = |name: &str| result.get(name).is_some_and(|v| v == true);
        let ending = if flag("timedOut") {
            "timed_out"
        } else if flag("outOfMemory") {
            "out_of_memory"
        } else if result.get("signal").is_some() {
            "killed"
        } else {
            "exited"
        };
        if let Some(sandbox) = result.get("sandbox").and_then(Value::as_str) {
            let sandbox = sandbox.to_owned();
            self.commands
                .get_or_create(&OfCommand { sandbox, ending })
                .inc();
        }
    }
}

/// Increments a gauge until it is dropped.
#[derive(Debug)]
pub struct Going<'a>(&'a Gauge);

impl<'a> Going<'a> {
    /// Increments the gauge.
    pub fn on(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Returns the resident memory (VmRSS) in bytes.
fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_what_was_counted() {
        let metrics = Metrics::new();
        let meter = metrics.tool("TaskClaim");
        meter.observe(None, Duration::from_micros(300));
        meter.observe(Some(Code::AlreadyClaimed), Duration::from_micros(300));
        meter.command(&serde_json::json!({"sandbox": "T0", "exitCode": 1}));
        meter.command(&serde_json::json!({"sandbox": "T0", "timedOut": true}));
        metrics.answered(200);
        metrics.refused(Code::Unauthorized);
        let page = metrics.page();
        for line in [
            "polis_operations_total{tool=\"TaskClaim\",code=\"ok\"} 1",
            "polis_operations_total{tool=\"TaskClaim\",code=\"already_claimed\"} 1",
            "polis_operation_duration_seconds_count{tool=\"TaskClaim\"} 2",
            "polis_operation_duration_seconds_bucket{le=\"0.0005\",tool=\"TaskClaim\"} 2",
            "polis_conflicts_total{code=\"already_claimed\"} 1",
            "polis_commands_total{sandbox=\"T0\",ending=\"exited\"} 1",
            "polis_commands_total{sandbox=\"T0\",ending=\"timed_out\"} 1",
            "polis_http_responses_total{status=\"200\"} 1",
            "polis_http_refused_total{code=\"unauthorized\"} 1",
            "# EOF",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(
            !page.contains("polis_process_resident_memory_bytes 0\n"),
            "{page}"
        );
    }
}
