//! Collects the measured figures with their targets, and formats them as a table and as `docs/benchmarks.md`.

/// One figure and its target.
#[derive(Debug)]
struct BenchFigure {
    title: String,
    measured: String,
    target: String,
    met: bool,
    method_note: String,
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct BenchReport(Vec<BenchFigure>);

impl BenchReport {
    /// Adds a ratio that must not exceed `at_most`.
    pub(crate) fn add_at_most(&mut self, what: &str, ratio: f64, at_most: f64, detail: &str) {
        self.add_figure(
            what,
            format!("{ratio:.2}x"),
            format!("≤ {at_most}x"),
            ratio <= at_most,
            detail,
        );
    }

    /// Adds a ratio that must reach `at_least`.
    pub(crate) fn add_at_least(&mut self, what: &str, ratio: f64, at_least: f64, detail: &str) {
        self.add_figure(
            what,
            format!("{ratio:.2}x"),
            format!("≥ {at_least}x"),
            ratio >= at_least,
            detail,
        );
    }

    /// Adds a ratio without a target. It puts another figure into perspective that would otherwise be
    /// overrated.
    pub(crate) fn add_without_target(&mut self, what: &str, ratio: f64, detail: &str) {
        self.add_figure(
            what,
            format!("{ratio:.2}x"),
            "none".to_owned(),
            true,
            detail,
        );
    }

    /// Adds a figure with its own format, and prints it as progress.
    pub(crate) fn add_figure(
        &mut self,
        what: &str,
        measured: String,
        target: String,
        met: bool,
        how: &str,
    ) {
        eprintln!(
            "{} {what}: {measured} (target {target}) — {how}",
            if met { "✓" } else { "✗" }
        );
        self.0.push(BenchFigure {
            title: what.to_owned(),
            measured,
            target,
            met,
            method_note: how.to_owned(),
        });
    }

    pub(crate) fn all_targets_met(&self) -> bool {
        self.0.iter().all(|figure| figure.met)
    }

    pub(crate) fn render_table(&self) -> String {
        let mut text =
            "| what | measured | target | | how |\n| --- | --- | --- | --- | --- |\n".to_owned();
        for f in &self.0 {
            let mark = if f.met { "met" } else { "**missed**" };
            text.push_str(&format!(
                "| {} | {} | {} | {mark} | {} |\n",
                f.title, f.measured, f.target, f.method_note
            ));
        }
        text
    }

    pub(crate) fn render_document(&self) -> String {
        format!(
            "# Benchmarks\n\nWritten by `bench/run`; each figure is a ratio between two things measured \
             alternately in the same run.\n\nMachine: {}.\n\n{}",
            describe_machine(),
            self.render_table()
        )
    }
}

fn describe_machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("")
        .trim_matches([' ', '\t', ':']);
    let cores = cpu
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cores} × {model}, Linux {}", kernel.trim())
}
