//! Prometheus metrics of the server: tool calls, latencies, HTTP responses, commands and memory.
//!
//! Code that measures gets a handle once and keeps it; counting is then a single addition. Values maintained
//! elsewhere (live events, memory) are collected when the page is scraped.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::{RefusalCode, RefusalKind};
use polis_ops::OpError;
use polis_ops::tool::ToolOutput;
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
pub const OPENMETRICS_MEDIA_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Label value of success among the error codes.
const SUCCESS_LABEL: &str = "ok";
/// Upper bounds of the latency histogram buckets in seconds.
const LATENCY_BUCKETS_SECS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolOutcomeLabels {
    tool: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorCodeLabels {
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CommandLabels {
    sandbox: String,
    ending: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

type ToolCallCounters = Family<ToolOutcomeLabels, Counter>;
type ToolCallLatencies = Family<ToolLabels, Histogram, fn() -> Histogram>;

/// Registry with all counters, gauges and histograms of a server.
#[derive(Debug)]
pub struct ServerMetrics {
    registry: Mutex<Registry>,
    operations: ToolCallCounters,
    latencies: ToolCallLatencies,
    conflicts: Family<ErrorCodeLabels, Counter>,
    commands: Family<CommandLabels, Counter>,
    responses: Family<StatusLabels, Counter>,
    refused_requests: Family<ErrorCodeLabels, Counter>,
    resident_memory: Gauge,
    /// Requests in flight.
    pub in_flight: Gauge,
    /// Open connections.
    pub connections: Gauge,
    /// Write operations in flight, including those waiting for a commit.
    pub writes_in_flight: Gauge,
    /// Connections closed because of slow, incomplete or malformed requests.
    pub broken_connections: Counter<u64, AtomicU64>,
}

impl Default for ServerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerMetrics {
    /// Creates metrics with all values at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("polis");
        let build = BuildLabels {
            version: env!("CARGO_PKG_VERSION"),
        };
        registry.register("build", "Build information", Info::new(build));
        let operations = ToolCallCounters::default();
        registry.register(
            "operations",
            "Tool calls by tool and error code (ok: success)",
            operations.clone(),
        );
        let latencies =
            ToolCallLatencies::new_with_constructor(|| Histogram::new(LATENCY_BUCKETS_SECS));
        registry.register_with_unit(
            "operation_duration",
            "Duration of tool calls",
            Unit::Seconds,
            latencies.clone(),
        );
        let conflicts = Family::default();
        registry.register(
            "conflicts",
            "Tool calls refused because of a conflict, by error code",
            conflicts.clone(),
        );
        let commands = Family::default();
        registry.register(
            "commands",
            "Commands run, by sandbox tier and outcome",
            commands.clone(),
        );
        let responses = Family::default();
        registry.register(
            "http_responses",
            "HTTP responses by status code",
            responses.clone(),
        );
        let refused_requests = Family::default();
        registry.register(
            "http_refused",
            "Requests refused before they reached a tool, by error code",
            refused_requests.clone(),
        );
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let in_flight = gauge("http_requests_in_flight", "Requests in flight");
        let connections = gauge("http_connections", "Open connections");
        let writes_in_flight = gauge(
            "changes_in_flight",
            "Write operations in flight, including those waiting for a commit",
        );
        let resident_memory = Gauge::default();
        registry.register_with_unit(
            "process_resident_memory",
            "Resident memory of the process",
            Unit::Bytes,
            resident_memory.clone(),
        );
        let broken_connections = Counter::default();
        registry.register(
            "http_connections_broken",
            "Connections closed because of slow, incomplete or malformed requests",
            broken_connections.clone(),
        );
        Self {
            registry: Mutex::new(registry),
            operations,
            latencies,
            conflicts,
            commands,
            responses,
            refused_requests,
            resident_memory,
            in_flight,
            connections,
            writes_in_flight,
            broken_connections,
        }
    }

    /// Returns a handle for the calls of one tool.
    pub fn tool_meter(&self, tool: &'static str) -> ToolMeter {
        ToolMeter {
            tool,
            successes: self.operations.get_or_create_owned(&ToolOutcomeLabels {
                tool,
                code: SUCCESS_LABEL,
            }),
            durations: self.latencies.get_or_create_owned(&ToolLabels { tool }),
            operations: self.operations.clone(),
            conflicts: self.conflicts.clone(),
            commands: self.commands.clone(),
        }
    }

    /// Counts an HTTP response by its status code.
    pub fn count_response(&self, status: u16) {
        self.responses.get_or_create(&StatusLabels { status }).inc();
    }

    /// Counts a request refused before it reached a tool.
    pub fn count_refused_request(&self, code: RefusalCode) {
        let code = code.as_str();
        self.refused_requests
            .get_or_create(&ErrorCodeLabels { code })
            .inc();
    }

    /// Registers a collector for values maintained elsewhere.
    pub fn register_collector(&self, others: Box<dyn Collector>) {
        let mut registry = self.registry.lock();
        registry.register_collector(others);
    }

    /// Returns the metrics page in OpenMetrics format.
    pub fn render_openmetrics(&self) -> String {
        self.resident_memory
            .set(read_resident_memory().unwrap_or(0));
        let mut page = String::with_capacity(16 * 1_024);
        // Writing to memory does not fail.
        let registry = self.registry.lock();
        let _ = encode(&mut page, &registry);
        page
    }
}

/// Metrics handle of one tool.
#[derive(Debug, Clone)]
pub struct ToolMeter {
    tool: &'static str,
    successes: Counter,
    durations: Histogram,
    operations: ToolCallCounters,
    conflicts: Family<ErrorCodeLabels, Counter>,
    commands: Family<CommandLabels, Counter>,
}

impl ToolMeter {
    /// Records a call: its duration, and its error code if it was refused or failed.
    pub fn record_call(&self, refused: Option<RefusalCode>, duration: Duration) {
        self.durations.observe(duration.as_secs_f64());
        let Some(code) = refused else {
            self.successes.inc();
            return;
        };
        let (tool, text) = (self.tool, code.as_str());
        self.operations
            .get_or_create(&ToolOutcomeLabels { tool, code: text })
            .inc();
        if code.kind() == RefusalKind::Conflict {
            self.conflicts
                .get_or_create(&ErrorCodeLabels { code: text })
                .inc();
        }
    }

    /// Records a call by its result, and the command if it ran one.
    pub fn record_result(&self, answer: &Result<ToolOutput, OpError>, duration: Duration) {
        self.record_call(answer.as_ref().err().map(OpError::code), duration);
        match answer {
            Ok(answer) => self.count_command(&answer.document),
            Err(error) => self.count_command_timeout(error),
        }
    }

    /// Counts a command if the error is that it timed out.
    pub fn count_command_timeout(&self, error: &OpError) {
        if error.code() == RefusalCode::COMMAND_TIMEOUT {
            let details = serde_json::to_value(error.details()).unwrap_or_default();
            self.count_command(&details);
        }
    }

    /// Counts a command, by its result or by the details of its timeout error. Documents without a `sandbox`
    /// field are not counted.
    pub fn count_command(&self, result: &Value) {
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
                .get_or_create(&CommandLabels { sandbox, ending })
                .inc();
        }
    }
}

/// Guard that keeps a gauge incremented by one until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard<'a>(&'a Gauge);

impl<'a> GaugeGuard<'a> {
    /// Increments the gauge now; dropping the guard decrements it.
    pub fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Returns the resident memory (VmRSS) in bytes; `None` if `/proc` does not provide it.
fn read_resident_memory() -> Option<i64> {
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
    fn metrics_page_lists_recorded_values() {
        let metrics = ServerMetrics::new();
        let meter = metrics.tool_meter("TaskClaim");
        meter.record_call(None, Duration::from_micros(300));
        meter.record_call(
            Some(RefusalCode::ALREADY_CLAIMED),
            Duration::from_micros(300),
        );
        meter.count_command(&serde_json::json!({"sandbox": "T0", "exitCode": 1}));
        meter.count_command(&serde_json::json!({"sandbox": "T0", "timedOut": true}));
        metrics.count_response(200);
        metrics.count_refused_request(RefusalCode::UNAUTHORIZED);
        let page = metrics.render_openmetrics();
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
