//! Collects the measured figures with their targets, and formats them as a table and as `docs/benchmarks.md`.

/// One figure and its target.
#[derive(Debug)]
struct Figure {
    what: String,
    measured: String,
    target: String,
    met: bool,
    how: String,
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Figure>);

impl Report {
    /// Adds a ratio that must not exceed `at_most`.
    pub(crate) fn at_most(&mut self, what: &str, ratio: f64, at_most: f64, how: &str) {
        self.add(
            what,
            format!("{ratio:.2}x"),
            format!("≤ {at_most}x"),
            ratio <= at_most,
            how,
        );
    }

    /// Adds a ratio that must reach `at_least`.
    pub(crate) fn at_least(&mut self, what: &str, ratio: f64, at_least: f64, how: &str) {
        self.add(
            what,
            format!("{ratio:.2}x"),
            format!("≥ {at_least}x"),
            ratio >= at_least,
            how,
        );
    }

    /// Adds a ratio without a target. It puts another figure into perspective that would otherwise be overrated.
    pub(crate) fn tell(&mut self, what: &str, ratio: f64, how: &str) {
        self.add(what, format!("{ratio:.2}x"), "none".to_owned(), true, how);
    }

    /// Adds a figure with its own format, and prints it as progress.
    pub(crate) fn add(
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
        self.0.push(Figure {
            what: what.to_owned(),
            measured,
            target,
            met,
            how: how.to_owned(),
        });
    }

    pub(crate) fn all_met(&self) -> bool {
        self.0.iter().all(|figure| figure.met)
    }

    pub(crate) fn table(&self) -> String {
        let mut text =
            "| what | measured | target | | how |\n| --- | --- | --- | --- | --- |\n".to_owned();
        for f in &self.0 {
            let mark = if f.met { "met" } else { "**missed**" };
            text.push_str(&format!(
                "| {} | {} | {} | {mark} | {} |\n",
                f.what, f.measured, f.target, f.how
            ));
        }
        text
    }

    pub(crate) fn document(&self) -> String {
        format!(
            "# Benchmarks\n\nWritten by `bench/run`; each figure is a ratio between two things measured in the same \
             run, in turns.\n\nMachine: {}.\n\n{}",
            machine(),
            self.table()
        )
    }
}

fn machine() -> String {
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
